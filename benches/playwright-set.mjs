// Measures the Playwright set of Troupe and @playwright/mcp, with the same calls on the same
// binary.
import { untilIdle } from './idle.mjs'

/** Calls of each row in a round. */
const TIMES = 5

/** The rows of calls, the page that each is made on, and its action. */
const CALLS = /** @type {const} */ ([
  ['setClick', '/', 'click'],
  ['setNavigate', '/', 'navigate'],
  ['setRows', '/rows', 'snapshot']
])

/**
 * Measures both servers alternately and passes each value to `add`, in milliseconds. Calls of the
 * first round are not counted.
 * @param {import('./servers.mjs').Server[]} sides
 * @param {string} url
 * @param {number} rounds
 * @param {(row: string, server: string, value: number) => void} add
 */
export async function playwrightSetTimes(sides, url, rounds, add) {
  for (let round = 0; round <= rounds; round++) {
    for (const server of sides) {
      await untilIdle()
      const client = server.start()
      try {
        await client.initialize()
        await client.call(...server.tools.navigate(`${url}/`))
        if (round > 0) add('setFirst', server.name, performance.now() - client.spawned)
        for (const [row, page, action] of CALLS) {
          await client.call(...server.tools.navigate(`${url}${page}`))
          for (let time = 0; time < TIMES; time++) {
            const begun = performance.now()
            await client.call(...server.tools[action](`${url}/${time % 2 ? '' : 'other'}`))
            if (round > 0) add(row, server.name, performance.now() - begun)
          }
        }
      } finally {
        await client.close()
      }
    }
  }
}
