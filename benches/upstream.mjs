// Measures what `--upstream` adds to a call: the same calls to @playwright/mcp, directly and behind
// Troupe, alternately.
import { quantile } from 'simple-statistics'

/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */

const CALLS = 400

/**
 * Returns what a call takes longer at the median and at the 99th percentile, in milliseconds.
 * @param {{ direct: () => StdioClient, through: () => StdioClient }} sides @param {string} page
 */
export async function passingCosts({ direct, through }, page) {
  const clients = [direct(), through()]
  for (const client of clients) {
    await client.initialize()
    await client.call('browser_navigate', { url: page })
  }
  /** @type {number[][]} */
  const times = [[], []]
  for (let call = -20; call < CALLS; call++) {
    for (const which of call % 2 ? [0, 1] : [1, 0]) {
      const begun = performance.now()
      await clients[which].call('browser_tabs', { action: 'list' })
      if (call >= 0) times[which].push(performance.now() - begun)
    }
  }
  await Promise.all(clients.map((client) => client.close()))
  const at = (share) => times.map((list) => quantile(list, share))
  const [[median, medianThrough], [p99, lateThrough]] = [at(0.5), at(0.99)]
  return { upstreamMedian: medianThrough - median, upstreamLate: lateThrough - p99 }
}
