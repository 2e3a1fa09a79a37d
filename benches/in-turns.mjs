// The same calls, in turns, on two servers: what the second's way of doing them costs.

/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */
/** Troupe alone, recording where it is told to. @typedef {(store: string, ...flags: string[]) => StdioClient} Start */

/** @param {StdioClient} one @param {StdioClient} other @param {string} page @param {number} calls
 * @param {(call: number) => readonly [string, object]} make */
export async function inTurns(one, other, page, calls, make) {
  const clients = [one, other]
  for (const client of clients) {
    await client.initialize()
    await client.call('create_session', {})
    await client.call('navigate', { url: page })
  }
  /** @type {number[][]} */
  const times = [[], []]
  // The first ones warm them up.
  for (let call = -calls / 10; call < calls; call++) {
    for (const which of call % 2 ? [0, 1] : [1, 0]) {
      const begun = performance.now()
      await clients[which].call(...make(call))
      if (call >= 0) times[which].push(performance.now() - begun)
    }
  }
  await Promise.all(clients.map((client) => client.close()))
  return {
    /** What it takes with so large a share of the calls quicker: milliseconds more, and how many times as long.
     * @param {number} share */
    at: (share) => {
      const [first, second] = times.map(
        (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length * share)]
      )
      return { more: second - first, times: second / first }
    }
  }
}

/** How many times as long a click takes that tells its changes. @param {Start} start @param {string} page */
export async function changesCost(start, page) {
  const click = /** @type {const} */ (['click', { selector: '#count' }])
  const told = await inTurns(
    start('none', '--after-action', 'none'),
    start('none'),
    page,
    100,
    () => click
  )
  return told.at(0.5).times
}

/** What it adds to a navigation that connections lead through the gate. @param {Start} start @param {string} page */
export async function gateCost(start, page) {
  const navigate = /** @type {const} */ (['navigate', { url: page }])
  const led = await inTurns(
    start('none', '--allow-private-network'),
    start('none'),
    page,
    40,
    () => navigate
  )
  return led.at(0.5).more
}
