// Sessions that a client on a port has created: they are released with the client and resumed by
// its next call, whose result reports what was lost.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

const NOTICE = /suspended.*Lost: JavaScript state.*mocks/

describe('a session that a client created', { timeout: 120_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  before(async () => {
    site = await startSite(scope)
    server = await startHttpServer(scope, ['--idle-timeout', '400'])
  })
  const awaitSessionCount = (left = 0) =>
    until(async () => (await server.sessionCount()) === left, 'the release of the session', 5000)

  test('is released by its DELETE, and another client can resume it', async () => {
    const client = await server.connect()
    const sessionId = await client.createSession()
    await client.ok('navigate', { sessionId, url: site.url('/set-cookie?whose=mine') })
    assert.equal(await client.delete(), 204)
    assert.equal(await server.sessionCount(), 0)
    const other = await server.connect()
    const { json } = await other.call('get_cookies', { sessionId })
    assert.deepEqual([json.errorCode, json.details.reason], ['SESSION_NOT_FOUND', 'recoverable'])
    assert.match(json.suggestion, /session_resume/)
    await other.ok('session_resume', { sessionId })
    assert.match(JSON.stringify(await other.ok('get_cookies', { sessionId })), /mine/)
    await other.ok('close_session', { sessionId })
    await other.delete()
  })

  test('is released when its WebSocket is closed', async () => {
    const socket = await server.webSocket()
    await socket.initialize()
    const sessionId = await socket.createSession()
    assert.equal(await server.sessionCount(), 1)
    await socket.close()
    await awaitSessionCount()
    const other = await server.connect()
    await other.ok('session_resume', { sessionId })
    await other.ok('close_session', { sessionId })
    await other.delete()
  })

  test('is suspended while the client is idle; the next call resumes it, and its result says what is lost', async () => {
    const client = await server.connect()
    const sessionId = await client.createSession()
    await client.ok('navigate', { url: site.url('/form') })
    await client.ok('evaluate', { script: 'globalThis.mark = 1' })
    await awaitSessionCount()
    // The client has created only this session, so a call need not name it.
    const first = await client.call('evaluate', {
      script: 'document.title + typeof globalThis.mark'
    })
    assert.equal(first.json.value, 'Formundefined')
    assert.equal(first.meta.sessionId, sessionId)
    assert.match(first.json.resumed, NOTICE)
    assert.equal((await client.ok('evaluate', { script: '1' })).resumed, undefined)
    assert.ok(
      (await client.ok('list_sessions')).sessions.some(
        ({ sessionId: id, state, expiresAt }) =>
          id === sessionId && state === 'active' && expiresAt > Date.now()
      )
    )

    await awaitSessionCount()
    const named = await client.call('snapshot', { sessionId })
    assert.match(named.text, /textbox/)
    assert.match(JSON.stringify(named.result?.content ?? named), NOTICE)
    await awaitSessionCount()
    const failed = (await client.call('click', { sessionId, selector: '#never', timeout: 1 })).json
    assert.match(failed.details.resumed, NOTICE)
    await awaitSessionCount()
    const steps = [{ tool: 'get_text', arguments: { selector: 'title' } }]
    assert.match((await client.ok('batch', { sessionId, steps })).resumed, NOTICE)
    await client.ok('close_session', { sessionId })
    await client.delete()
  })

  test('loses its mocks while it is suspended, and the result reports that', async () => {
    const client = await server.connect()
    const script = "fetch('/mocked').then((response) => response.text())"
    await client.createSession()
    await client.ok('navigate', { url: site.url('/form') })
    await client.ok('mock_response', { url: '**/mocked', response: { body: 'mocked' } })
    assert.equal((await client.ok('evaluate', { script })).value, 'mocked')
    await awaitSessionCount()
    const { value, resumed } = await client.ok('evaluate', { script })
    assert.notEqual(value, 'mocked')
    assert.match(resumed, NOTICE)
    await client.delete()
  })

  test('cannot be used after close_session, also if it was suspended', async () => {
    const client = await server.connect()
    const sessionId = await client.createSession()
    await awaitSessionCount()
    await client.ok('close_session', { sessionId })
    assert.equal(
      (await client.call('session_resume', { sessionId })).json.errorCode,
      'SESSION_NOT_FOUND'
    )
    assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
    await client.delete()
  })

  test('stays as long as another client uses it', async () => {
    const [client, other] = [await server.connect(), await server.connect()]
    const stream = await other.fetch('GET', { headers: { accept: 'text/event-stream' } })
    const sessionId = await client.createSession()
    await client.ok('evaluate', { sessionId, script: 'globalThis.mark = 1' })
    await other.ok('evaluate', { sessionId, script: '1' })
    await client.delete()
    assert.equal((await other.ok('evaluate', { sessionId, script: 'globalThis.mark' })).value, 1)
    await stream.body?.cancel()
    await awaitSessionCount()
    assert.match((await other.ok('evaluate', { sessionId, script: '1' })).resumed, NOTICE)
    await other.ok('close_session', { sessionId })
    await other.delete()
  })

  test('is resumed for each of two clients that were both absent', async () => {
    const [client, other] = [await server.connect(), await server.connect()]
    const sessionId = await client.createSession()
    await other.ok('navigate', { sessionId, url: site.url('/form') })
    await awaitSessionCount()
    assert.match((await client.ok('evaluate', { script: '1' })).resumed, NOTICE)
    const again = await other.ok('evaluate', { sessionId, script: 'document.title' })
    assert.deepEqual([again.value, again.resumed], ['Form', undefined])
    await awaitSessionCount()
    await client.delete()
    assert.equal(
      (await other.ok('evaluate', { sessionId, script: 'document.title' })).value,
      'Form'
    )
    await other.delete()
    assert.equal(await server.sessionCount(), 0)
  })

  test('by a stateless client, or by the JSON API, belongs to no client and stays', async () => {
    const stateless = await server.stateless().createSession()
    const { json } = await server.program()('POST', '/sessions', {})
    const client = await server.connect()
    await client.ok('evaluate', { sessionId: stateless, script: '1' })
    await client.delete()
    assert.equal(await server.sessionCount(), 2)
    for (const sessionId of [stateless, json.session_id])
      await server.stateless().ok('close_session', { sessionId })
  })
})

test(
  'the first result of a resumed implicit session reports that it was suspended',
  { timeout: 60_000 },
  async (t) => {
    const server = await startHttpServer(t, ['--idle-timeout', '300'])
    const site = await startSite(t)
    const client = await server.connect()
    await client.ok('navigate', { url: site.url('/form') })
    await until(async () => (await server.sessionCount()) === 0, 'the suspension')
    assert.match((await client.ok('get_text', { selector: 'title' })).resumed, NOTICE)
    assert.equal((await client.ok('get_text', { selector: 'title' })).resumed, undefined)
    await client.delete()
  }
)

test(
  'a session that expires while it is suspended is reported as expired',
  { timeout: 60_000 },
  async (t) => {
    const server = await startHttpServer(t, ['--idle-timeout', '100', '--session-timeout', '2500'])
    const other = server.stateless()
    await until(
      async () => (await other.call('create_session')).json.expiresAt,
      'the browser',
      60_000
    )
    const client = await server.connect()
    const { sessionId, expiresAt } = await client.ok('create_session')
    await until(() => Date.now() > expiresAt + 50, 'the expiry')
    assert.equal(
      (await client.call('get_cookies', { sessionId })).json.errorCode,
      'SESSION_EXPIRED'
    )
    await client.ok('session_resume', { sessionId })
    await client.delete()
  }
)

describe('the limit of sessions', { timeout: 60_000 }, () => {
  test('depends on memory over HTTP: eleven conversations have their sessions', async (t) => {
    const server = await startHttpServer(t)
    const clients = await Promise.all(Array.from({ length: 11 }, () => server.connect()))
    for (const client of clients)
      assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
    assert.equal(await server.sessionCount(), 11)
    const limit = await server.metric('session_limit')
    assert.ok(limit >= 11, `${limit}`)
    await Promise.all(clients.map((client) => client.delete()))
  })

  test('is 10 over stdio; the error says where it came from and names the option', async (t) => {
    const full = async (args, count, options) => {
      const server = await startServer(t, args, options)
      for (let number = 0; number < count; number++) await server.createSession()
      const { json } = await server.call('create_session')
      assert.deepEqual([json.errorCode, json.details.maxSessions], ['MAX_SESSIONS_REACHED', count])
      assert.match(json.suggestion, /--max-sessions/)
      return json.message
    }
    assert.match(await full([], 10), /limit is 10 \(the default over stdio\)/)
    assert.match(await full(['--max-sessions', '1'], 1), /limit is 1 \(set by `--max-sessions`\)/)
    assert.match(
      await full([], 1, { env: { TROUPE_MAX_SESSIONS: '1' } }),
      /limit is 1 \(set by environment variable `TROUPE_MAX_SESSIONS`\)/
    )
  })
})
