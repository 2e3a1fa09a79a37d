// Requirement 1: an agent creates a session.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BRIEF } from '../support/browser.mjs'
import { startServer } from '../support/server.mjs'
import { openEnded, startSite } from '../support/site.mjs'
import { within } from '../support/wait.mjs'

const UUID_V4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

describe('requirement 1: creating a session', { timeout: 60_000 }, () => {
  test('1.1 each call of create_session returns a new sessionId', async (t) => {
    const server = await startServer(t)
    const [one, two] = await Promise.all([server.ok('create_session'), server.ok('create_session')])
    for (const { sessionId, message } of [one, two]) {
      assert.match(sessionId, UUID_V4)
      assert.match(message, /session is open.*sessionId/)
    }
    assert.notEqual(one.sessionId, two.sessionId)
  })

  test('1.2 a new session has its own browser context and page', async (t) => {
    const server = await startServer(t)
    const site = await startSite(t)
    const one = await server.createSession()
    const two = await server.createSession()
    await server.ok('navigate', { sessionId: one, url: site.url('/set-cookie?who=one') })
    const { sessions } = await server.ok('list_sessions')
    assert.deepEqual(
      sessions.map(({ sessionId, state, pages }) => ({ sessionId, state, pages })),
      [
        {
          sessionId: one,
          state: 'active',
          pages: [{ pageId: 'page-1', url: site.url('/set-cookie?who=one') }]
        },
        { sessionId: two, state: 'active', pages: [{ pageId: 'page-1', url: 'about:blank' }] }
      ]
    )
    await server.ok('navigate', { sessionId: two, url: site.url('/cookies') })
    assert.equal(site.requests.at(-1).headers.cookie, undefined)
  })

  test('1.3 a session expires the configured time after its creation', async (t) => {
    const server = await startServer(t, ['--session-timeout', '60000'])
    const before = Date.now()
    const { expiresAt, sessionId } = await server.ok('create_session')
    assert.ok(
      expiresAt >= before + 60_000 && expiresAt <= Date.now() + 60_000,
      `${expiresAt - before}`
    )
    const { sessions } = await server.ok('list_sessions')
    const listed = sessions.find((session) => session.sessionId === sessionId)
    assert.equal(listed.createdAt + 60_000, expiresAt)
    assert.equal(listed.expiresAt, expiresAt)
  })

  test('1.4 an expired session is closed automatically', async (t) => {
    const page = openEnded()
    const site = await startSite(t, { '/open': page.route })
    const server = await startServer(t, ['--session-timeout', String(BRIEF)])
    await server.awaitBrowserReady()
    const { sessionId, expiresAt } = await server.ok('create_session')
    await server.ok('navigate', { sessionId, url: site.url('/open') })
    await within(page.opened, 'the page')
    // There are no more calls, so the page is closed at the expiry.
    await within(page.closed, 'the end of the page', BRIEF + 3500)
    assert.ok(Date.now() >= expiresAt, `it closed ${expiresAt - Date.now()} ms too early`)
    assert.deepEqual((await server.ok('list_sessions')).sessions, [])
    const { isError, json } = await server.call('navigate', { sessionId, url: site.url('/') })
    assert.equal(isError, true)
    assert.equal(json.errorCode, 'SESSION_EXPIRED')
  })

  test('1.5 a session over the limit is rejected with MAX_SESSIONS_REACHED and a description', async (t) => {
    const server = await startServer(t, ['--max-sessions', '2'])
    const first = await server.createSession()
    await server.createSession()
    const { isError, json } = await server.call('create_session')
    assert.equal(isError, true)
    assert.equal(json.errorCode, 'MAX_SESSIONS_REACHED')
    assert.match(json.message, /\b2\b/)
    // The other sessions are unchanged, and closing one frees a slot.
    await server.ok('evaluate', { sessionId: first, script: '1' })
    await server.ok('close_session', { sessionId: first })
    await server.createSession()
  })
})
