// Unknown sessions and pages.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BRIEF } from '../support/browser.mjs'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { assertRefusal } from './refusal.mjs'

describe('a session', { timeout: 60_000 }, () => {
  const { server } = startShared()

  const notFound = (message) => ({
    errorCode: 'SESSION_NOT_FOUND',
    message,
    suggestion: /create_session/,
    retryable: false,
    within: 500
  })
  const works = async () => assert.equal((await server.ok('evaluate', { script: '1' })).value, 1)

  for (const sessionId of [
    '00000000-0000-4000-8000-000000000000',
    'nonsense',
    '',
    "'; DROP TABLE sessions; --"
  ]) {
    test(`named ${JSON.stringify(sessionId)} was never there`, async () => {
      const error = await assertRefusal(
        server,
        'navigate',
        { sessionId, url: 'about:blank' },
        notFound(/there is no session/)
      )
      assert.equal(error.sessionId, sessionId)
      await assertRefusal(server, 'close_session', { sessionId }, notFound(/there is no session/))
      await works()
    })
  }

  test('that was closed is reported as closed', async () => {
    const sessionId = await server.createSession()
    await server.ok('close_session', { sessionId })
    for (const [tool, args] of /** @type {const} */ ([
      ['navigate', { url: 'about:blank' }],
      ['click', { selector: 'a' }],
      ['close_session', {}]
    ])) {
      await assertRefusal(server, tool, { sessionId, ...args }, notFound(/was closed/))
    }
    await works()
  })

  test('with an unknown page id fails, and the error lists the open pages', async () => {
    const sessionId = await server.createSession()
    for (const pageId of ['page-9', 'nonsense', '']) {
      const { message } = await assertRefusal(
        server,
        'snapshot',
        { sessionId, pageId },
        { errorCode: 'PAGE_NOT_FOUND', retryable: false, within: 500 }
      )
      assert.match(message, /page-1/)
    }
    assert.equal(
      (await server.ok('evaluate', { sessionId, pageId: 'page-1', script: '1' })).value,
      1
    )
    await server.ok('close_session', { sessionId })
  })

  test('must be named if there are several', async () => {
    const sessions = [await server.createSession(), await server.createSession()]
    const { details } = await assertRefusal(
      server,
      'evaluate',
      { script: '1' },
      { errorCode: 'INVALID_PARAMETERS', message: /`sessionId`/ }
    )
    assert.deepEqual(details.sessions, sessions)
    for (const sessionId of sessions) await server.ok('close_session', { sessionId })
    await works()
  })

  test('that has expired is reported as expired', async (t) => {
    const brief = await startServer(t, [
      '--session-timeout',
      String(BRIEF),
      '--session-expiry',
      'fixed'
    ])
    // The browser runs: its start is no part of the session's time.
    await brief.ok('navigate', { url: 'about:blank' })
    const { sessionId, expiresAt } = await brief.ok('create_session')
    const hanging = await brief.call('evaluate', { sessionId, script: 'new Promise(() => {})' })
    assert.equal(hanging.json.errorCode, 'SESSION_EXPIRED', hanging.text)
    assert.ok(Date.now() >= expiresAt)
    await assertRefusal(
      brief,
      'evaluate',
      { sessionId, script: '1' },
      { errorCode: 'SESSION_EXPIRED', suggestion: /create_session/, retryable: false }
    )
    assert.ok(await brief.createSession())
  })
})
