// Requirement 3: an agent navigates to a URL.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { NO_ANSWER } from '../support/browser.mjs'
import { startShared } from '../support/scope.mjs'
import { UNKNOWN_SESSION, startWithExpiredSession } from '../support/sessions.mjs'
import { freePort } from '../support/ports.mjs'
import { isPending, within } from '../support/wait.mjs'

describe('requirement 3: navigating', { timeout: 60_000 }, () => {
  const { server, site } = startShared()
  let sessionId

  before(async () => {
    sessionId = await server.createSession()
  })

  test('3.1 navigate opens the URL in the page of the session, and in no other page', async () => {
    const other = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    await server.ok('navigate', { sessionId: other, url: site.url('/buttons') })
    const place = async (id) =>
      (await server.ok('evaluate', { sessionId: id, script: 'location.href' })).value
    assert.equal(await place(sessionId), site.url('/form'))
    assert.equal(await place(other), site.url('/buttons'))
    await server.ok('close_session', { sessionId: other })
  })

  test('3.2 a navigation returns the title, the final URL and the status', async () => {
    const facts = async (path) => {
      const { success, title, url, status } = await server.ok('navigate', {
        sessionId,
        url: site.url(path)
      })
      return { success, title, url, status }
    }
    assert.deepEqual(await facts('/form'), {
      success: true,
      title: 'Form',
      url: site.url('/form'),
      status: 200
    })
    assert.deepEqual(await facts('/redirect?to=/form&times=3'), {
      success: true,
      title: 'Form',
      url: site.url('/form'),
      status: 200
    })
    assert.deepEqual(await facts('/status/404'), {
      success: true,
      title: 'Status 404',
      url: site.url('/status/404'),
      status: 404
    })
  })

  test('3.3 an unknown session is reported as SESSION_NOT_FOUND, an expired one as SESSION_EXPIRED', async (t) => {
    const missing = await server.call('navigate', {
      sessionId: UNKNOWN_SESSION,
      url: site.url('/')
    })
    assert.equal(missing.isError, true)
    assert.equal(missing.json.errorCode, 'SESSION_NOT_FOUND')
    assert.match(missing.json.message, new RegExp(UNKNOWN_SESSION))
    const late = await startWithExpiredSession(t)
    const { isError, json } = await late.server.call('navigate', {
      sessionId: late.sessionId,
      url: site.url('/')
    })
    assert.equal(isError, true)
    assert.equal(json.errorCode, 'SESSION_EXPIRED')
    assert.match(json.message, /expired/)
  })

  test('3.4 a navigation that fails or times out is reported as NAVIGATION_FAILED with the reason', async () => {
    const cases = [
      [`http://127.0.0.1:${await freePort()}/`, 'net::ERR_CONNECTION_REFUSED', false],
      [site.url('/drop'), NO_ANSWER, true],
      [site.url('/hang'), 'timeout', true]
    ]
    for (const [url, reason, retryable] of cases) {
      const { isError, json, ms } = await server.call('navigate', { sessionId, url, timeout: 400 })
      assert.equal(isError, true)
      assert.equal(json.errorCode, 'NAVIGATION_FAILED')
      assert.equal(json.details.reason, reason)
      assert.equal(json.retryable, retryable)
      assert.ok(json.message.includes(url), json.message)
      if (reason === 'timeout') assert.ok(ms >= 400 && ms < 10_000, `${ms} ms`)
      // The session remains usable.
      assert.equal((await server.ok('navigate', { sessionId, url: site.url('/') })).title, 'Home')
    }
  })

  test('3.5 navigate returns when the page has loaded, and not before', async () => {
    const script = site.hold('/held.js')
    const navigation = server.ok('navigate', { sessionId, url: site.url('/loading') })
    await within(script.requested, 'the script of the page')
    // The document has arrived and its script has not. The round trip of another call does not
    // change that.
    await server.ok('list_sessions')
    assert.ok(await isPending(navigation), 'navigate returned before the page had loaded')
    script.release()
    assert.equal((await navigation).title, 'Loaded')

    // A client can choose not to wait.
    const second = site.hold('/held.js')
    const early = await server.ok('navigate', {
      sessionId,
      url: site.url('/loading'),
      waitUntil: 'domcontentloaded'
    })
    assert.equal(early.title, 'Loading')
    second.release()
  })
})
