// Measures what `--upstream` adds to a call: the same calls to @playwright/mcp, directly and behind
// Troupe, alternately.
import { timeAlternately } from './alternating.mjs'

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
  const { at } = await timeAlternately(clients, CALLS, 20, () => [
    'browser_tabs',
    { action: 'list' }
  ])
  return { upstreamMedian: at(0.5).difference, upstreamLate: at(0.99).difference }
}
