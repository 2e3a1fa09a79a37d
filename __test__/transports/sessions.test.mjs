// Each `Mcp-Session-Id` has its own browser session, created at its first call. It ends
// with a DELETE, or some time after the client has disconnected, but never while a slow client uses
// it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { cleanEnvironment } from '../support/browser.mjs'
import { events, startHttpServer } from '../support/http.mjs'
import { descendants } from '../support/processes.mjs'
import { kill, recordFile } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { logInAsMember, awaitDurableState, memberSite } from '../support/state.mjs'
import { isPending, until, within } from '../support/wait.mjs'

/**
 * Begins a call, closes its stream after the first event, and returns that event's id.
 * @param {import('../support/http.mjs').HttpClient} client
 * @param {string} script
 */
async function cutOff(client, script) {
  const hangUp = new AbortController()
  const params = { name: 'evaluate', arguments: { script } }
  const response = await client.fetch('POST', {
    body: { jsonrpc: '2.0', id: script, method: 'tools/call', params },
    signal: hangUp.signal
  })
  const first = await /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader().read()
  hangUp.abort()
  const [, id] = /^id: ?(.+)$/m.exec(new TextDecoder().decode(first.value)) ?? []
  assert.ok(id, 'the stream begins with an id')
  return id
}

describe('over HTTP', { timeout: 120_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  before(async () => {
    site = await startSite(scope)
    server = await startHttpServer(scope, ['--max-sessions', '100'])
  })

  test('two clients have two ids and two browser sessions, created at their first call', async () => {
    const [one, other] = await Promise.all([server.connect(), server.connect()])
    assert.match(one.sessionId ?? '', /^[\da-f-]{36}$/)
    assert.notEqual(one.sessionId, other.sessionId)
    const before = await server.sessionCount()
    assert.equal((await one.request('tools/list')).result.tools.length > 10, true)
    assert.equal(await server.sessionCount(), before, 'a list needs no session')
    await one.ok('navigate', { url: site.url('/set-cookie?whose=one') })
    assert.equal(await server.sessionCount(), before + 1)
    await other.ok('navigate', { url: site.url('/cookies') })
    assert.equal((await other.ok('get_text', { selector: '#out' })).text ?? '', '')
    await one.ok('navigate', { url: site.url('/cookies') })
    assert.match(JSON.stringify(await one.ok('get_text', { selector: '#out' })), /whose=one/)
    assert.equal((await one.ok('list_sessions')).sessions.length, 1, 'each sees its own')
    await Promise.all([one.delete(), other.delete()])
    assert.equal(await server.sessionCount(), before)
  })

  test('the implicit session of a client is not accessible to others; a created one is, by its id', async () => {
    const [one, other] = await Promise.all([server.connect(), server.connect()])
    await one.ok('navigate', { url: site.url('/form') })
    const [{ sessionId }] = (await one.ok('list_sessions')).sessions
    const { meta } = await one.call('snapshot')
    const uri = `playwright:///page/${sessionId}/page-1`
    for (const client of [other, server.stateless()]) {
      const all = {
        navigate: { url: site.url('/') },
        snapshot: {},
        evaluate: { script: '1' },
        get_cookies: {},
        close_session: {},
        session_resume: {}
      }
      const record = { get_content: {}, get_console_content: {}, list_requests: {} }
      for (const [tool, args] of Object.entries({ ...all, ...record })) {
        const { json, text } = await client.call(tool, { sessionId, ...args })
        assert.deepEqual(
          [json?.errorCode, json?.details?.reason],
          ['SESSION_NOT_FOUND', 'unknown'],
          `${tool}: ${text}`
        )
      }
      const { text } = await client.call('batch', {
        steps: [{ tool: 'get_cookies', arguments: { sessionId } }]
      })
      assert.match(text, /SESSION_NOT_FOUND/)
      assert.equal(
        (await client.call('get_content', { refId: meta.refId })).json?.errorCode,
        'RECORD_NOT_FOUND'
      )
      assert.match(
        (await client.request('resources/read', { uri })).error?.message,
        /there is no session/
      )
      assert.ok(
        !JSON.stringify((await client.request('resources/list')).result).includes(sessionId)
      )
      assert.ok(!JSON.stringify(await client.ok('list_sessions')).includes(sessionId))
    }
    assert.match(
      (await other.request('resources/subscribe', { uri })).error?.message,
      /there is no session/
    )
    // It is not affected.
    assert.equal((await one.ok('evaluate', { sessionId, script: 'document.title' })).value, 'Form')
    assert.ok((await one.request('resources/read', { uri })).result)
    const { requests } = await one.ok('list_requests', { sessionId })
    assert.deepEqual([...new Set(requests.map(({ status }) => status))], ['success'])
    const created = await one.createSession()
    assert.equal((await other.ok('evaluate', { sessionId: created, script: '6 * 7' })).value, 42)
    await other.ok('close_session', { sessionId: created })
    await Promise.all([one.delete(), other.delete()])
  })

  test('an id that is unknown or was deleted gets 404, and a request without one 400', async () => {
    const client = await server.connect()
    assert.equal(await client.delete(), 204)
    for (const sessionId of [client.sessionId, 'never-there', '../../etc/passwd']) {
      const { error } = await Object.assign(client, { sessionId }).request('tools/list')
      assert.equal(error.status, 404, JSON.stringify(error))
    }
    const { error } = await Object.assign(client, { sessionId: null }).request('tools/list')
    assert.equal(error.status, 400, JSON.stringify(error))
  })

  test('a DELETE can name the session in the query', async () => {
    const client = await server.connect()
    await client.ok('navigate', { url: site.url('/') })
    const { status } = await server.fetch(`/mcp?session=${client.sessionId}`, { method: 'DELETE' })
    assert.equal(status, 204)
    assert.equal(await server.sessionCount(), 0)
    assert.equal(
      (await server.fetch(`/mcp?session=${client.sessionId}`, { method: 'DELETE' })).status,
      404
    )
  })

  test('a DELETE while a call runs stops the call and answers it', async () => {
    const client = await server.connect()
    await client.ok('navigate', { url: site.url('/') })
    const fetched = site.hold('/running')
    const script = "fetch('/running'); new Promise(() => {})"
    const running = client.call('evaluate', { script })
    await within(fetched.requested, 'the script')
    fetched.release()
    const behind = client.call('evaluate', { script: '1' })
    const begun = performance.now()
    assert.equal(await client.delete(), 204)
    const { error, isError } = await within(running, 'the end of the call', 3000)
    assert.ok(error || isError)
    assert.ok(performance.now() - begun < 2000)
    await within(behind, 'the end of the call behind it', 3000)
    assert.equal(await server.sessionCount(), 0)
  })

  test('a client of 2025-03-26 sends several messages in one body, and one of a later revision does not', async () => {
    const client = server.client()
    await client.initialize('2025-03-26')
    const call = (id, script) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'evaluate', arguments: { script } }
    })
    const batch = [
      call('one', 'globalThis.list = [1]'),
      { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
      { jsonrpc: '2.0', id: 'wrong', method: 5 },
      { jsonrpc: '2.0', id: 'begin', method: 'initialize', params: {} },
      { jsonrpc: '2.0', id: 'two', method: 'ping' },
      call('three', 'list.push(2) && list')
    ]
    const response = await client.fetch('POST', { body: batch })
    assert.equal(response.status, 200)
    const answers = new Map(
      events(await within(response.text(), 'the answers')).map((message) => [message.id, message])
    )
    assert.equal(answers.size, 5, 'what wants no answer has none')
    assert.deepEqual(answers.get('three').result.structuredContent.value, [1, 2])
    assert.deepEqual(answers.get('two').result, {})
    for (const id of ['wrong', 'begin']) assert.equal(answers.get(id).error.code, -32600)
    const news = [{ jsonrpc: '2.0', method: 'notifications/roots/list_changed' }]
    assert.equal((await client.fetch('POST', { body: news })).status, 202)
    assert.equal((await client.fetch('POST', { body: [1, 2] })).status, 400)
    const later = { 'mcp-protocol-version': '2025-06-18' }
    assert.equal((await client.fetch('POST', { body: batch, headers: later })).status, 400)
    await client.delete()
  })

  test('calls of a client run in the order of their arrival', async () => {
    const client = await server.connect()
    await client.ok('evaluate', { script: 'globalThis.list = []' })
    const numbers = Array.from({ length: 40 }, (_, number) => number)
    const streams = []
    for (const number of numbers) {
      const params = {
        name: 'evaluate',
        arguments: { script: `list.push(${number}) && list.length` }
      }
      const body = { jsonrpc: '2.0', id: `order-${number}`, method: 'tools/call', params }
      // Its stream has begun, so the server has read the request. The response may come at any
      // time.
      streams.push(await client.fetch('POST', { body }))
    }
    const texts = await Promise.all(streams.map((stream) => stream.text()))
    const values = texts.map((text) =>
      Number(/"structuredContent":\{"success":true,"value":(\d+)\}/.exec(text)?.[1])
    )
    assert.deepEqual(
      values,
      numbers.map((number) => number + 1)
    )
    await client.delete()
  })

  test('a canceled call stops at once', async () => {
    const client = await server.connect()
    await client.ok('navigate', { url: site.url('/') })
    const params = { name: 'click', arguments: { selector: '#never', timeout: 60_000 } }
    // Its stream has begun, so the server has read the request.
    await client.fetch('POST', {
      body: { jsonrpc: '2.0', id: 'to-cancel', method: 'tools/call', params }
    })
    const behind = client.call('evaluate', { script: '"free"' })
    assert.equal(await client.notify('notifications/cancelled', { requestId: 'to-cancel' }), 202)
    assert.equal((await within(behind, 'the call behind it', 5000)).json.value, 'free')
    await client.delete()
  })

  test('a stateless client must name its session', async () => {
    const client = server.stateless()
    const { json } = await client.call('navigate', { url: site.url('/') })
    assert.equal(json.errorCode, 'INVALID_PARAMETERS')
    assert.match(json.suggestion, /create_session/)
    const { sessionId } = await client.ok('create_session')
    assert.equal((await client.ok('navigate', { sessionId, url: site.url('/form') })).title, 'Form')
    await client.ok('close_session', { sessionId })
    assert.equal(
      (await client.request('server/discover')).result.supportedVersions.includes('2026-07-28'),
      true
    )
  })

  test('a stateless call is canceled when its client disconnects', async () => {
    const client = server.stateless()
    const { sessionId } = await client.ok('create_session')
    const hangUp = new AbortController()
    const script = 'new Promise(() => {})'
    const running = client.call('evaluate', { sessionId, script }, { signal: hangUp.signal })
    const behind = client.call('evaluate', { sessionId, script: '"free"' })
    await (await fetch(server.at('/health'))).arrayBuffer()
    hangUp.abort()
    await assert.rejects(running, { name: 'AbortError' })
    assert.equal((await within(behind, 'the call behind it', 5000)).json.value, 'free')
    await client.ok('close_session', { sessionId })
  })

  test('the stream of a client resumes after the last event', async () => {
    const client = await server.connect()
    const lastEventId = await cutOff(client, 'new Promise((done) => setTimeout(done, 700, "late"))')
    const again = await client.fetch('GET', {
      headers: { 'last-event-id': lastEventId, accept: 'text/event-stream' }
    })
    assert.match(await within(again.text(), 'the rest of the stream'), /"late"/)
    await client.delete()
  })

  test('a reconnecting client gets the result of a call that ended while it was disconnected', async () => {
    const client = await server.connect()
    const lastEventId = await cutOff(client, 'new Promise((done) => setTimeout(done, 300, "kept"))')
    // It has ended when the next one has.
    await client.ok('evaluate', { script: '1' })
    for (const round of ['once', 'again']) {
      const rest = await client.fetch('GET', {
        headers: { 'last-event-id': lastEventId, accept: 'text/event-stream' }
      })
      assert.match(await within(rest.text(), `the answer, ${round}`), /"kept"/)
    }
    const otherClient = await client.fetch('GET', {
      headers: { 'last-event-id': '1/nowhere', accept: 'text/event-stream' }
    })
    assert.ok(!(await within(otherClient.text(), 'the end of the stream')).includes('kept'))
    await client.delete()
  })

  test('the log has no errors after these tests', () => {
    assert.doesNotMatch(server.stderr(), /ERROR/)
  })
})

describe('the sessions of a server that has ended', { timeout: 60_000 }, () => {
  test('are listed over HTTP only to a client that has named them, and on stdio to the same user and directory', async (t) => {
    const record = recordFile(t)
    const members = await memberSite(t)
    const args = ['--store', record]
    const first = await startHttpServer(t, args)
    const client = await first.connect()
    const created = await client.createSession()
    await logInAsMember(client, members, created)
    const own = (
      await client.call('navigate', { sessionId: undefined, url: members.url('/plain') })
    ).meta.sessionId
    assert.equal(own, created)
    const other = await first.connect()
    const { sessionId: implicit } = (await other.call('navigate', { url: members.url('/log-in') }))
      .meta
    await awaitDurableState()
    await kill(first)

    const second = await startHttpServer(t, args)
    const otherClients = [await second.connect(), second.stateless()]
    for (const otherClient of otherClients) {
      for (const state of [
        undefined,
        'active',
        'recoverable',
        'stale',
        'expired',
        'closed',
        'error'
      ]) {
        assert.deepEqual((await otherClient.ok('list_sessions', { state })).sessions, [], state)
      }
      const { json } = await otherClient.call('session_resume', { sessionId: crypto.randomUUID() })
      assert.equal(json.errorCode, 'SESSION_NOT_FOUND')
    }
    // The id is a capability token, and all that the client of the first server has.
    const again = await second.connect()
    assert.equal(
      (await again.call('get_cookies', { sessionId: created })).json.details.reason,
      'recoverable'
    )
    await again.ok('session_resume', { sessionId: created })
    assert.equal((await again.ok('get_cookies', { sessionId: created })).cookies[0].value, '42')
    assert.deepEqual(
      (await again.ok('list_sessions')).sessions.map(({ sessionId }) => sessionId),
      [created]
    )
    for (const otherClient of otherClients)
      assert.deepEqual((await otherClient.ok('list_sessions')).sessions, [])
    const all = await second.program()('GET', '/sessions')
    assert.deepEqual(
      all.json.sessions.map(({ session_id }) => session_id).sort(),
      [created, implicit].sort()
    )
    await second.end()

    const local = await startServer(t, args)
    const listed = (await local.ok('list_sessions', { state: 'recoverable' })).sessions.map(
      ({ sessionId }) => sessionId
    )
    assert.deepEqual(listed.sort(), [created, implicit].sort())
  })
})

describe('an absent client', { timeout: 60_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  before(async () => {
    site = await startSite(scope)
    server = await startHttpServer(scope, ['--idle-timeout', '400', '--max-sessions', '2'])
  })
  const idle = () =>
    until(async () => (await server.sessionCount()) === 0, 'the end of the session', 5000)

  test('that only sends POST requests has its session suspended after the idle timeout, and keeps its login and page', async () => {
    const client = await server.connect()
    await client.ok('navigate', { url: site.url('/set-cookie?whose=mine') })
    await client.ok('navigate', { url: site.url('/form') })
    const [{ sessionId }] = (await client.ok('list_sessions')).sessions
    assert.equal(await server.sessionCount(), 1)
    await idle()
    assert.equal((await client.ok('evaluate', { script: 'document.title' })).value, 'Form')
    assert.equal(await server.sessionCount(), 1)
    await idle()
    // Also by its id.
    const { json, meta } = await client.call('navigate', { sessionId, url: site.url('/cookies') })
    assert.equal(json.title, 'Cookies')
    assert.equal(meta.sessionId, sessionId)
    assert.match(JSON.stringify(await client.ok('get_text', { selector: '#out' })), /whose=mine/)
    await client.delete()
  })

  test('keeps its suspended session inaccessible to others, and releases it when it ends', async () => {
    const client = await server.connect()
    await client.ok('navigate', { url: site.url('/form') })
    const [{ sessionId }] = (await client.ok('list_sessions')).sessions
    await idle()
    const other = server.stateless()
    for (const tool of ['session_resume', 'close_session', 'get_cookies']) {
      const { json, text } = await other.call(tool, { sessionId })
      assert.deepEqual(
        [json?.errorCode, json?.details?.reason],
        ['SESSION_NOT_FOUND', 'unknown'],
        `${tool}: ${text}`
      )
    }
    // Reading a resource resumes it, and so does the tool; it remains the client's implicit
    // session.
    const uri = `playwright:///page/${sessionId}/page-1`
    const { result } = await client.request('resources/read', { uri })
    assert.equal(JSON.parse(result.contents[0].text).metadata.title, 'Form')
    await idle()
    assert.equal((await client.ok('session_resume', { sessionId })).expiresAt, undefined)
    await idle()
    await client.ok('close_session', { sessionId })
    assert.equal(
      (await client.call('session_resume', { sessionId })).json.errorCode,
      'SESSION_NOT_FOUND'
    )

    await client.ok('navigate', { url: site.url('/form') })
    const [{ sessionId: left }] = (await client.ok('list_sessions')).sessions
    await client.delete()
    assert.ok((await other.ok('session_resume', { sessionId: left })).expiresAt > Date.now())
    assert.equal(
      (await other.ok('evaluate', { sessionId: left, script: 'document.title' })).value,
      'Form'
    )
    await other.ok('close_session', { sessionId: left })
  })

  test('waits for a free session when it returns, and has lost nothing', async () => {
    const client = await server.connect()
    await client.ok('navigate', { url: site.url('/form') })
    await idle()
    const other = await server.connect()
    // A client with an open stream is not idle.
    const stream = await other.fetch('GET', { headers: { accept: 'text/event-stream' } })
    const others = [await other.createSession(), await other.createSession()]
    assert.equal(
      (await client.call('evaluate', { script: '1' })).json.errorCode,
      'MAX_SESSIONS_REACHED'
    )
    for (const sessionId of others) await other.ok('close_session', { sessionId })
    await stream.body?.cancel()
    assert.equal((await client.ok('evaluate', { script: 'document.title' })).value, 'Form')
    await Promise.all([client.delete(), other.delete()])
  })

  test('does not count: an implicit session waits for a free slot up to --queue-timeout', async (t) => {
    const own = await startHttpServer(t, ['--max-sessions', '1', '--queue-timeout', '20000'])
    const [first, second] = [await own.connect(), await own.connect()]
    await first.ok('navigate', { url: site.url('/form') })
    const navigated = second.ok('navigate', { url: site.url('/form') })
    assert.ok(await isPending(navigated))
    await first.delete()
    assert.equal((await navigated).title, 'Form')
  })

  test('has its session in the record as recoverable while it is suspended, and after its client has disconnected', async (t) => {
    const file = recordFile(t)
    const own = await startHttpServer(t, ['--idle-timeout', '400', '--store', file])
    const client = await own.connect()
    await client.ok('navigate', { url: site.url('/form') })
    const [{ sessionId }] = (await client.ok('list_sessions')).sessions
    const is = async (state) => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [BIN, 'sessions', '--store', file],
        { env: cleanEnvironment() }
      )
      return stdout
        .split('\n')
        .some((line) => line.includes(sessionId) && line.includes(` ${state} `))
    }
    await until(() => is('recoverable'), 'the suspended session')
    assert.equal((await client.ok('evaluate', { script: 'document.title' })).value, 'Form')
    await client.delete()
    await until(() => is('recoverable'), 'the session of the disconnected client')
  })

  test('and whose only session another client has closed gets an implicit one', async () => {
    const [client, other] = [await server.connect(), await server.connect()]
    await other.ok('close_session', { sessionId: await client.createSession() })
    assert.equal((await client.ok('navigate', { url: site.url('/form') })).title, 'Form')
    await Promise.all([client.delete(), other.delete()])
  })

  test('keeps its session while a long call runs or its stream is open', async () => {
    const client = await server.connect()
    const script = (ms) => `new Promise((done) => setTimeout(done, ${ms}, globalThis.mark))`
    await client.ok('evaluate', { script: 'globalThis.mark = "kept"' })
    assert.equal((await client.ok('evaluate', { script: script(1500) })).value, 'kept')
    const stream = new AbortController()
    const listening = await client.fetch('GET', {
      headers: { accept: 'text/event-stream' },
      signal: stream.signal
    })
    assert.equal(listening.status, 200)
    // Another client's long call measures the time.
    const clock = await server.connect()
    await clock.ok('evaluate', { script: script(1500) })
    assert.equal((await client.ok('evaluate', { script: script(0) })).value, 'kept')
    // Its connection breaks, the call continues.
    const hangUp = new AbortController()
    const running = client.call('evaluate', { script: script(1500) }, { signal: hangUp.signal })
    await (await fetch(server.at('/health'))).arrayBuffer()
    hangUp.abort()
    await assert.rejects(running, { name: 'AbortError' })
    stream.abort()
    assert.equal((await client.ok('evaluate', { script: script(0) })).value, 'kept')
    await until(async () => (await server.sessionCount()) === 0, 'the end of both sessions', 5000)
  })

  test('with a running call when the server ends gets a retryable error', async (t) => {
    const own = await startHttpServer(t)
    const [client, stateless] = [await own.connect(), own.stateless()]
    const sessionId = await stateless.createSession()
    const pages = [site.hold('/held-1'), site.hold('/held-2')]
    const running = [
      client.call('navigate', { url: site.url('/held-1') }),
      stateless.call('navigate', { sessionId, url: site.url('/held-2') })
    ]
    await Promise.all(pages.map(({ requested }) => requested))
    const before = own.stderr().length
    assert.equal((await own.end()).code, 0)
    for (const page of pages) page.release()
    for (const { json, text, error } of await Promise.all(running)) {
      assert.deepEqual(
        [json?.errorCode, json?.retryable],
        ['SERVER_UNAVAILABLE', true],
        text || JSON.stringify(error)
      )
    }
    assert.doesNotMatch(own.stderr().slice(before), /ERROR|WARN/)
  })

  test('leaves no process behind when the server ends', async (t) => {
    const own = await startHttpServer(t)
    const clients = await Promise.all([own.connect(), own.connect(), own.connect()])
    await Promise.all(clients.map((client) => client.ok('evaluate', { script: '1' })))
    assert.ok(descendants(own.child.pid ?? 0).length > 0)
    const begun = performance.now()
    const { code } = await own.end()
    assert.equal(code, 0, own.stderr())
    assert.ok(performance.now() - begun < 2000, `${performance.now() - begun} ms`)
  })
})
