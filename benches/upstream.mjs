// What passing a call through costs: the same calls in turns, to @playwright/mcp itself and to one behind Troupe.
/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */

const CALLS = 400

/**
 * Milliseconds that a call takes more at the median, and the slowest in a hundred.
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
  const at = (share) =>
    times.map((list) => list.toSorted((a, b) => a - b)[Math.floor(list.length * share)])
  const [[median, medianThrough], [late, lateThrough]] = [at(0.5), at(0.99)]
  return { upstreamMedian: medianThrough - median, upstreamLate: lateThrough - late }
}
