// Requirement 6: an administrator configures the server by its start parameters.
import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { BROWSER_ARGUMENTS } from '../support/browser.mjs'
import {
  NO_DISPLAY,
  WITHOUT_DISPLAY,
  assertNeedsDisplay,
  isHeadless,
  startDisplay
} from '../support/display.mjs'
import { browsers } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { until, within } from '../support/wait.mjs'

const SANDBOX = BROWSER_ARGUMENTS.filter((argument) => argument !== '--headless')

/** The command line of the browser that the server has started, once it can be used. */
async function browserOf(server) {
  await server.awaitBrowserReady()
  return browsers(server.child.pid)[0].command
}

/** Returns bounds of the lifetime of a new session: its creation takes time. */
async function lifeOf(server) {
  const before = Date.now()
  const { expiresAt } = await server.ok('create_session')
  return { atLeast: expiresAt - Date.now(), atMost: expiresAt - before }
}

/** Creates sessions until one is rejected. */
async function sessionsUntilRefused(server, tries = 20) {
  for (let made = 0; made < tries; made++) {
    const { isError, json } = await server.call('create_session')
    if (isError) return { made, errorCode: json.errorCode }
  }
  throw new Error(`${tries} sessions and no limit`)
}

describe('requirement 6: start parameters', { timeout: 90_000 }, () => {
  test('6.1 without --browser, the server starts Chromium', async (t) => {
    const server = await startServer(t)
    assert.match(basename((await browserOf(server))[0]), /chromium|headless.shell/i)
    assert.match((await server.ok('evaluate', { script: 'navigator.userAgent' })).value, /Chrome\//)
  })

  test('6.2 --browser selects the browser, or the server prints one line with the reason for its failure', async (t) => {
    for (const spelling of [['--browser', 'chromium'], ['--browser=chromium']]) {
      const server = await startServer(t, spelling)
      assert.match(basename((await browserOf(server))[0]), /chromium|headless.shell/i)
      await server.end()
    }
    const server = await startServer(t, ['--browser', 'netscape'], { handshake: false })
    const exit = await within(server.exit, 'the end of the server', 5000)
    assert.equal(exit.code, 2)
    assert.match(server.stderr(), /^troupe: .*netscape.*\n$/)
  })

  test(
    '6.3 without --headless the browser has a window',
    { skip: NO_DISPLAY ?? false },
    async (t) => {
      const server = await startServer(t, SANDBOX, { browser: false, env: await startDisplay(t) })
      assert.equal(isHeadless(await browserOf(server)), false)
      assert.doesNotMatch(
        (await server.ok('evaluate', { script: 'navigator.userAgent' })).value,
        /Headless/
      )
    }
  )

  test('6.3 without a display the browser runs headless, and one line reports that', async (t) => {
    const server = await startServer(t, SANDBOX, { browser: false, env: WITHOUT_DISPLAY })
    assert.equal(isHeadless(await browserOf(server)), true)
    assert.equal(server.stderr().match(/no display/g)?.length, 1, server.stderr())
  })

  test('6.4 --headless determines whether the browser has a window', async (t) => {
    for (const spelling of [['--headless'], ['--headless=true'], ['--headless', 'true']]) {
      const server = await startServer(t, [...spelling, ...SANDBOX], { browser: false })
      assert.equal(isHeadless(await browserOf(server)), true, spelling.join(' '))
      assert.doesNotMatch(server.stderr(), /WARN|display/)
      await server.end()
    }
    // Property 8 shows `--headless=false` with a display; without one it cannot be.
    await assertNeedsDisplay(t, ['--headless=false', ...SANDBOX])
  })

  test('6.5 without --session-timeout a session lives for 5 minutes', async (t) => {
    const { atLeast, atMost } = await lifeOf(await startServer(t))
    assert.ok(atLeast <= 300_000 && 300_000 <= atMost, `${atLeast} to ${atMost}`)
  })

  test('6.6 --session-timeout is the lifetime of a session in milliseconds', async (t) => {
    const ways = [
      { args: ['--session-timeout', '60000'] },
      { args: ['--sessionTimeout=60000'] },
      { args: [], env: { TROUPE_SESSION_TIMEOUT: '60000' } }
    ]
    for (const { args, env } of ways) {
      const server = await startServer(t, args, { env })
      const { atLeast, atMost } = await lifeOf(server)
      assert.ok(atLeast <= 60_000 && 60_000 <= atMost, `${args}: ${atLeast} to ${atMost}`)
      await server.end()
    }
  })

  test('6.7 without --max-sessions the limit is 10 sessions', async (t) => {
    assert.deepEqual(await sessionsUntilRefused(await startServer(t)), {
      made: 10,
      errorCode: 'MAX_SESSIONS_REACHED'
    })
  })

  test('6.8 --max-sessions is the limit of sessions', async (t) => {
    const ways = [
      { args: ['--max-sessions', '2'] },
      { args: ['--maxSessions=3'] },
      { args: [], env: { TROUPE_MAX_SESSIONS: '1' } }
    ]
    for (const [index, limit] of [2, 3, 1].entries()) {
      const { args, env } = ways[index]
      const server = await startServer(t, args, { env })
      assert.deepEqual(await sessionsUntilRefused(server), {
        made: limit,
        errorCode: 'MAX_SESSIONS_REACHED'
      })
      await until(
        async () => (await server.ok('list_sessions')).sessions.length === limit,
        'the list of sessions',
        1000
      )
      await server.end()
    }
  })
})
