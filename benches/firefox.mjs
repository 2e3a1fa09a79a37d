// What Firefox takes for the calls that agents make most.

import { atRest } from './rest.mjs'

/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */

/** How often each is done in a round. */
const TIMES = 5

/**
 * Milliseconds of each call, as on Chromium: calls in one session that is in use, of which the first round is not kept, and
 * in each round a session more, made and closed.
 * @param {StdioClient} client @param {string} url @param {number} rounds
 */
export async function firefoxTimes(client, url, rounds) {
  /** @type {Record<'firefoxClick' | 'firefoxEvaluate' | 'firefoxNavigate' | 'firefoxSession', number[]>} */
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
    await atRest()
    for (let time = 0; time < TIMES; time++) {
      // To another page each time: to navigate to the one that is shown is something else.
      await timed('firefoxNavigate', 'navigate', {
        sessionId,
        url: `${url}/${time % 2 ? '' : 'other'}`
      })
    }
    await client.call('navigate', { sessionId, url: `${url}/` })
    // Each row by itself, as on Chromium: what a click has painted is the click's.
    await atRest()
    for (let time = 0; time < TIMES; time++)
      await timed('firefoxClick', 'click', { sessionId, selector: '#count' })
    await atRest()
    for (let time = 0; time < TIMES; time++)
      await timed('firefoxEvaluate', 'evaluate', { sessionId, script: 'document.title' })
    await atRest()
    const another = (await timed('firefoxSession', 'create_session', {})).structuredContent
    await client.call('close_session', { sessionId: another.sessionId })
  }
  await client.close()
  return times
}
