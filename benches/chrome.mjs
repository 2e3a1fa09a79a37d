// Measures full Chrome with `--headless`, which most users have, with Troupe and @playwright/mcp on
// the same binary.
import { pathOf } from '../__test__/support/browser.mjs'
import { clientsAtOnce } from './http.mjs'
import { untilIdle } from './idle.mjs'

/** Calls of each row in a round. */
const TIMES = 5
/** Clients that start at the same time on a running browser. */
const TOGETHER = 10

/** Path of the browser, or `undefined`. */
export function findChrome() {
  return pathOf('chromium') ?? pathOf('google-chrome')
}

/**
 * Measures both servers alternately and passes each value to `add`, in milliseconds. The first
 * round is not counted.
 * @param {{ stdio: import('./servers.mjs').Server[], http: import('./servers.mjs').HttpSide[] }}
 *   sides
 * @param {string} url
 * @param {number} rounds
 * @param {(row: string, server: string, value: number) => void} add
 */
export async function chromeTimes({ stdio, http }, url, rounds, add) {
  /**
   * @type {{ server: import('./servers.mjs').Server, client:
   *   import('./stdio-client.mjs').StdioClient }[]}
   */
  const running = []
  for (const server of stdio) {
    const client = server.start()
    await client.initialize()
    await server.createSession(client)
    await client.call(...server.tools.navigate(`${url}/`))
    add('chromeFirst', server.name, performance.now() - client.spawned)
    running.push({ server, client })
  }
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const { server, client } of running) {
        for (const [row, action] of /** @type {const} */ ([
          ['chromeNavigate', 'navigate'],
          ['chromeClick', 'click']
        ])) {
          await client.call(...server.tools.navigate(`${url}/`))
          await untilIdle()
          for (let time = 0; time < TIMES; time++) {
            const begun = performance.now()
            await client.call(...server.tools[action](`${url}/${time % 2 ? '' : 'other'}`))
            if (round > 0) add(row, server.name, performance.now() - begun)
          }
        }
      }
    }
  } finally {
    await Promise.all(running.map(({ client }) => client.close()))
  }
  for (let round = 0; round < Math.ceil(rounds / 3); round++) {
    for (const side of http) {
      await untilIdle()
      const { seconds, wrong } = await clientsAtOnce(side, `${url}/`, TOGETHER, true)
      if (wrong < TOGETHER) add('chromeTen', side.name, seconds * 1000)
    }
  }
}
