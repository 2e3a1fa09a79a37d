// Requirement 2: an agent closes a session that it no longer needs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BRIEF, BROWSER } from '../support/browser.mjs'
import { inMemoryManager } from '../support/managers.mjs'
import { browsers } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { UNKNOWN_SESSION } from '../support/sessions.mjs'
import { openEnded, startSite } from '../support/site.mjs'
import { until, within } from '../support/wait.mjs'

describe('requirement 2: closing a session', { timeout: 60_000 }, () => {
  test('2.1 close_session closes the page and the context', async (t) => {
    const page = openEnded()
    const site = await startSite(t, { '/open': page.route })
    const server = await startServer(t)
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/set-cookie?who=me') })
    await server.ok('navigate', { sessionId, url: site.url('/open') })
    await within(page.opened, 'the page')
    assert.equal((await server.ok('close_session', { sessionId })).success, true)
    await within(page.closed, 'the end of the page', 5000)
    const next = await server.createSession()
    await server.ok('navigate', { sessionId: next, url: site.url('/cookies') })
    assert.equal(site.requests.at(-1).headers.cookie, undefined, 'its cookies outlived it')
  })

  test('2.2 closing a session cancels its timer', async () => {
    const { manager, advance } = inMemoryManager({ sessionTimeout: 1000 })
    const { sessionId } = await manager.createSession()
    await manager.closeSession(sessionId)
    // If its timer had fired, it would be reported as expired now, like the other one.
    const other = await manager.createSession()
    advance(1000)
    await assert.rejects(other.close(), { code: 'SESSION_EXPIRED' })
    const { error } = manager.validateSession(sessionId)
    assert.equal(error.errorCode, 'SESSION_NOT_FOUND')
    assert.equal(error.details.reason, 'closed')
    await manager.shutdown()
  })

  test('2.3 calls to a closed session fail', async (t) => {
    const server = await startServer(t)
    const sessionId = await server.createSession()
    const other = await server.createSession()
    await server.ok('close_session', { sessionId })
    const { sessions } = await server.ok('list_sessions')
    assert.deepEqual(
      sessions.map((session) => session.sessionId),
      [other]
    )
    for (const [tool, args] of /** @type {const} */ ([
      ['navigate', { url: 'data:,' }],
      ['close_session', {}]
    ])) {
      const { json } = await server.call(tool, { sessionId, ...args })
      assert.equal(json.errorCode, 'SESSION_NOT_FOUND')
    }
  })

  test('2.4 closing an unknown session fails with SESSION_NOT_FOUND and a description', async (t) => {
    const server = await startServer(t)
    const { isError, json } = await server.call('close_session', { sessionId: UNKNOWN_SESSION })
    assert.equal(isError, true)
    assert.equal(json.errorCode, 'SESSION_NOT_FOUND')
    assert.match(json.message, new RegExp(UNKNOWN_SESSION))
  })

  test('2.5 an expired session is closed, and its resources are released', async (t) => {
    const page = openEnded()
    const site = await startSite(t, { '/open': page.route })
    const server = await startServer(t, ['--session-timeout', String(BRIEF), '--max-sessions', '1'])
    await server.awaitBrowserReady()
    const sessionId = await server.createSession()
    const before = browsers(server.child.pid).map(({ pid }) => pid)
    await server.ok('navigate', { sessionId, url: site.url('/open') })
    assert.equal((await server.call('create_session')).json.errorCode, 'MAX_SESSIONS_REACHED')
    await within(page.closed, 'the end of the page', BRIEF + 3500)
    const { json } = await server.call('close_session', { sessionId })
    assert.equal(json.errorCode, 'SESSION_EXPIRED')
    // Its slot in the same browser is free again. The response that the session is closed may come
    // after the page has closed.
    await until(async () => !(await server.call('create_session')).isError, 'its place')
    // In WebKit, each session has its own browser: their number is the same as before.
    const after = browsers(server.child.pid).map(({ pid }) => pid)
    if (BROWSER === 'webkit') assert.equal(after.length, before.length)
    else assert.deepEqual(after, before)
  })
})
