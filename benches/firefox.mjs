// Measures the most frequent calls on Firefox.

import { untilIdle } from './idle.mjs'

/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */

/** The number of calls of each kind in a round. */
const TIMES = 5

/**
 * Returns the duration of each call in milliseconds: calls in one session, without the first round,
 * and a new session in each round.
 * @param {StdioClient} client @param {string} url @param {number} rounds
 */
export async function firefoxTimes(client, url, rounds) {
  /**
   * @type {Record<'firefoxClick' | 'firefoxEvaluate' | 'firefoxNavigate' | 'firefoxSession',
   *   number[]>}
   */
  const times = { firefoxClick: [], firefoxEvaluate: [], firefoxNavigate: [], firefoxSession: [] }
  await client.initialize()
  const { sessionId } = (await client.call('create_session', {})).structuredContent
  for (let round = 0; round <= rounds; round++) {
    /** @param {keyof typeof times} row @param {string} tool @param {object} args */
    const timed = async (row, tool, args) => {
      const begun = performance.now()
      const answer = await client.call(tool, args)
      if (round > 0) times[row].push(performance.now() - begun)
      return answer
    }
    await untilIdle()
    for (let time = 0; time < TIMES; time++) {
      // Alternates between two pages: a navigation to the current page is a reload.
      await timed('firefoxNavigate', 'navigate', {
        sessionId,
        url: `${url}/${time % 2 ? '' : 'other'}`
      })
    }
    await client.call('navigate', { sessionId, url: `${url}/` })
    // Measures each kind separately, so that painting after a click is not part of another call.
    await untilIdle()
    for (let time = 0; time < TIMES; time++)
      await timed('firefoxClick', 'click', { sessionId, selector: '#count' })
    await untilIdle()
    for (let time = 0; time < TIMES; time++)
      await timed('firefoxEvaluate', 'evaluate', { sessionId, script: 'document.title' })
    await untilIdle()
    const another = (await timed('firefoxSession', 'create_session', {})).structuredContent
    await client.call('close_session', { sessionId: another.sessionId })
  }
  await client.close()
  return times
}
