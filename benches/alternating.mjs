// Makes the same calls on two servers alternately, and compares their durations.
import { quantile } from 'simple-statistics'

/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */
/**
 * Starts Troupe with a store.
 * @typedef {(store: string, ...flags: string[]) => StdioClient} Start
 */

/** @param {StdioClient} one @param {StdioClient} other @param {string} page @param {number} calls
 * @param {(call: number) => readonly [string, object]} make */
export async function alternate(one, other, page, calls, make) {
  const clients = [one, other]
  for (const client of clients) {
    await client.initialize()
    await client.call('create_session', {})
    await client.call('navigate', { url: page })
  }
  return timeAlternately(clients, calls, calls / 10, make)
}

/**
 * Makes the same calls with two clients alternately, and closes the clients.
 * @param {StdioClient[]} clients @param {number} calls
 * @param {number} warmUps the number of calls before them, which are not measured
 * @param {(call: number) => readonly [string, object]} make
 */
export async function timeAlternately(clients, calls, warmUps, make) {
  /** @type {number[][]} */
  const times = [[], []]
  for (let call = -warmUps; call < calls; call++) {
    for (const which of call % 2 ? [0, 1] : [1, 0]) {
      const begun = performance.now()
      await clients[which].call(...make(call))
      if (call >= 0) times[which].push(performance.now() - begun)
    }
  }
  await Promise.all(clients.map((client) => client.close()))
  return {
    /**
     * Compares the second server with the first at a quantile: the difference in milliseconds, and
     * the ratio.
     * @param {number} share the quantile, 0 to 1
     */
    at: (share) => {
      const [first, second] = times.map((list) => quantile(list, share))
      return { difference: second - first, ratio: second / first }
    }
  }
}

/**
 * Returns the ratio of a click with `changes` to one without.
 * @param {Start} start
 * @param {string} page
 */
export async function changesCost(start, page) {
  const click = /** @type {const} */ (['click', { selector: '#count' }])
  const compared = await alternate(
    start('none', '--after-action', 'none'),
    start('none'),
    page,
    100,
    () => click
  )
  return compared.at(0.5).ratio
}

/**
 * Returns what the egress proxy adds to a navigation, in milliseconds.
 * @param {Start} start
 * @param {string} page
 */
export async function proxyCost(start, page) {
  const navigate = /** @type {const} */ (['navigate', { url: page }])
  const compared = await alternate(
    start('none', '--allow-private-network'),
    start('none'),
    page,
    40,
    () => navigate
  )
  return compared.at(0.5).difference
}
