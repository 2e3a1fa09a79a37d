// Kills a server or its browser with SIGKILL at a random time during a series of calls, repeatedly.
import assert from 'node:assert/strict'
import { browsers } from './processes.mjs'
import { randomNumbers } from './random.mjs'
import { kill, recordFile } from './record.mjs'
import {
  logInAsMember,
  formOf,
  HALF_FILLED,
  awaitDurableState,
  memberSite,
  startOn
} from './state.mjs'
import { pause, until } from './wait.mjs'

/** Typical calls of an agent. None changes the values of the form. @type {[string, object][]} */
const STREAM = [
  ['snapshot', {}],
  ['scroll', { y: 40 }],
  ['hover', { selector: '#save' }],
  ['evaluate', { script: 'localStorage.count = 1 + Number(localStorage.count ?? 0)' }],
  ['get_value', { selector: '#name' }],
  ['press', { key: 'Tab' }],
  ['find', { text: 'save' }]
]

/** Makes calls until one fails, or until `over` is aborted. */
async function stream(server, sessionId, over) {
  for (let call = 0; !over.aborted; call++) {
    const [tool, args] = STREAM[call % STREAM.length]
    const { error } = await server.call(tool, { sessionId, ...args })
    if (error) return
  }
}

/**
 * Checks that the log-in, which is older than a second, and the entered values survive each kill.
 * @param {import('node:test').TestContext} t
 * @param {'server' | 'browser'} killed
 * @param {number} rounds
 */
export async function killRounds(t, killed, rounds) {
  const random = randomNumbers(t)
  const site = await memberSite(t)
  const record = recordFile(t)
  let server = await startOn(t, record)
  const sessionId = await server.createSession()
  await logInAsMember(server, site, sessionId)
  await awaitDurableState()
  for (let round = 0; round < rounds; round++) {
    const over = new AbortController()
    const streaming = stream(server, sessionId, over.signal)
    const moment = random() * 1200
    await pause(moment, 'the moment of the crash is random')
    if (killed === 'server') {
      await kill(server)
      await streaming
      server = await startOn(t, record)
      await server.ok('session_resume', { sessionId })
    } else {
      const [browser] = browsers(/** @type {number} */ (server.child.pid))
      process.kill(browser.pid, 'SIGKILL')
      over.abort()
      await streaming
      // A call that arrives before the server has noticed the crash reports it.
      await until(
        async () =>
          (await server.call('get_cookies', { sessionId })).json?.errorCode !== 'BROWSER_CRASHED',
        'the session'
      )
      // More than three crashes within a minute are a crash loop, so a new server is started.
      if (round % 2 === 1) {
        await formOf(server, sessionId)
        await server.end()
        server = await startOn(t, record)
        await server.ok('session_resume', { sessionId })
      }
    }
    assert.deepEqual(
      await formOf(server, sessionId),
      HALF_FILLED,
      `round ${round}, after ${Math.round(moment)} ms`
    )
    assert.equal(
      (await server.ok('get_cookies', { sessionId })).cookies.find(({ name }) => name === 'sid')
        ?.httpOnly,
      true
    )
  }
}
