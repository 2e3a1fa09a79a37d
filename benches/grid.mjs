// Measures a session in a Selenium Grid, and a session on the same browser without the Grid.
import { untilIdle } from './idle.mjs'

/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */

/** The number of calls of each kind in a round. */
const TIMES = 5

/** The calls of a round, by the end of their row. @type {[string, string, object][]} */
const CALLS = [
  ['Click', 'click', { selector: '#count' }],
  ['Evaluate', 'evaluate', { script: 'document.title' }],
  ['Snapshot', 'snapshot', {}]
]

/**
 * Passes the duration of each call to `add`, in milliseconds. The sides alternate, and the first
 * round is not counted, except for the time to the first page.
 * @param {Record<'grid' | 'local', () => StdioClient>} sides @param {string} url
 * @param {number} rounds @param {(row: string, value: number) => void} add
 */
export async function gridTimes(sides, url, rounds, add) {
  /** @type {[string, StdioClient][]} */
  const clients = []
  for (const [side, start] of Object.entries(sides)) {
    await untilIdle()
    const client = start()
    clients.push([side, client])
    await client.initialize()
    await client.call('create_session', {})
    await client.call('navigate', { url: `${url}/` })
    add(`${side}First`, performance.now() - client.spawned)
  }
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const [side, client] of round % 2 ? clients.toReversed() : clients) {
        /** @param {string} row @param {string} tool @param {object} args */
        const timed = async (row, tool, args) => {
          const begun = performance.now()
          await client.call(tool, args)
          if (round > 0) add(side + row, performance.now() - begun)
        }
        await untilIdle()
        // Alternates between two pages: a navigation to the current page is a reload.
        for (let time = 0; time < TIMES; time++)
          await timed('Navigate', 'navigate', { url: `${url}/${time % 2 ? 'other' : ''}` })
        for (const [row, tool, args] of CALLS) {
          await untilIdle()
          for (let time = 0; time < TIMES; time++) await timed(row, tool, args)
        }
      }
    }
  } finally {
    await Promise.all(clients.map(([, client]) => client.close()))
  }
}
