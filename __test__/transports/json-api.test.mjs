// The JSON API: calls over plain HTTP, for programs without an MCP client.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { BRIEF } from '../support/browser.mjs'
import { startHttpServer } from '../support/http.mjs'
import { recordFile } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startSite } from '../support/site.mjs'
import { until, within } from '../support/wait.mjs'

const TOKEN = 'correct-horse'
const WITH_TOKEN = { env: { TROUPE_AUTH_TOKEN: TOKEN } }
const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

describe('the JSON API', { timeout: 60_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  /** @type {ReturnType<import('../support/http.mjs').HttpServer['program']>} */
  let ask
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  before(async () => {
    site = await startSite(scope, {
      '/logs':
        "<title>Logs</title>Said something<script>console.info('a word'); console.error('a complaint')</script>"
    })
    server = await startHttpServer(scope, [], WITH_TOKEN)
    ask = server.program(TOKEN)
  })
  const open = async () => (await ask('POST', '/sessions')).json.session_id
  const evaluate = (session_id, script) => ({ session_id, tool: 'evaluate', params: { script } })

  test('completes the main task: navigate, click, read', async () => {
    const created = await ask('POST', '/sessions', { viewport: { width: 500, height: 400 } })
    assert.equal(created.status, 201, created.text)
    const { session_id } = created.json
    assert.match(session_id, UUID)
    assert.ok(Date.parse(created.json.expires_at) > Date.now())
    const navigated = await ask('POST', '/requests', {
      session_id,
      tool: 'navigate',
      params: { url: site.url('/form') }
    })
    assert.equal(navigated.status, 200, navigated.text)
    const { ref_id, timestamp, result, ...rest } = navigated.json
    assert.match(ref_id, UUID)
    assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000, timestamp)
    assert.equal(result.title, 'Form')
    assert.equal(rest.session_id, session_id)
    assert.equal(rest.status, 'success')
    assert.equal(rest.metadata.tool, 'navigate')
    assert.equal(rest.metadata.console_error_count, 0)
    assert.equal(
      (
        await ask('POST', '/requests', {
          session_id,
          tool: 'type',
          params: { selector: '#name', text: 'Ada' }
        })
      ).json.status,
      'success'
    )
    assert.equal(
      (await ask('POST', '/requests', { session_id, tool: 'click', params: { selector: '#send' } }))
        .json.result.page.title,
      'Echo'
    )
    const wide = await ask('POST', '/requests', evaluate(session_id, 'innerWidth'))
    assert.equal(wide.json.result.value, 500)
    const { json } = await ask('GET', '/sessions?state=active')
    assert.match(
      json.sessions.find((session) => session.session_id === session_id).pages[0].url,
      /\/echo/
    )
    assert.equal((await ask('DELETE', `/sessions/${session_id}`)).json.success, true)
    assert.equal((await ask('DELETE', `/sessions/${session_id}`)).status, 404)
  })

  const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

  test('writes every time as ISO 8601, and leaves the numbers of a page as they are', async () => {
    const { session_id, expires_at } = (await ask('POST', '/sessions')).json
    assert.match(expires_at, ISO)
    const make = async (tool, params = {}) =>
      (await ask('POST', '/requests', { session_id, tool, params })).json
    await make('navigate', { url: site.url('/form') })
    const { sessions } = (await ask('GET', '/sessions?state=active')).json
    const session = sessions.find((session) => session.session_id === session_id)
    assert.match(session.created_at, ISO)
    assert.match(session.expires_at, ISO)
    const { requests } = (await ask('GET', `/sessions/${session_id}/requests`)).json
    for (const { timestamp } of requests) assert.match(timestamp, ISO)
    assert.ok(requests.length > 0)
    const created = (await make('create_session')).result
    assert.match(created.expiresAt, ISO)
    assert.deepEqual(
      (await make('evaluate', { script: '({ at: 5, createdAt: 6 })' })).result.value,
      { at: 5, createdAt: 6 }
    )
    // A state with ISO times could not be restored.
    await make('set_cookies', {
      cookies: [{ name: 'a', value: '1', url: site.url('/'), expires: 4_000_000_000 }]
    })
    assert.ok((await make('get_cookies')).result.cookies[0].expires > 1_000_000_000)
    await ask('DELETE', `/sessions/${session_id}`)
    await ask('DELETE', `/sessions/${created.sessionId}`)
  })

  test('writes the times of the request log as ISO 8601, and durations as numbers', async () => {
    const { session_id } = (await ask('POST', '/sessions')).json
    const make = async (tool, params = {}) =>
      (await ask('POST', '/requests', { session_id, tool, params })).json
    await make('navigate', { url: site.url('/form') })
    const log = (await make('get_request_log')).result.requests
    assert.ok(log.length > 0)
    for (const { startTime, duration } of log) {
      assert.match(startTime, ISO)
      assert.equal(typeof duration, 'number')
    }
    await ask('DELETE', `/sessions/${session_id}`)
  })

  test('uses the id that the program passes for a call, if it is a UUID', async () => {
    const request_id = '2f5a3a2c-4b7e-4c55-9d55-1f9d1a0c7a11'
    const { json } = await ask('POST', '/requests', { tool: 'create_new_session', request_id })
    assert.equal(json.ref_id, request_id)
    assert.equal(json.session_id, json.result.sessionId)
    await ask('DELETE', `/sessions/${json.session_id}`)
    assert.equal(
      (await ask('POST', '/requests', { tool: 'list_sessions', request_id: 'mine' })).status,
      400
    )
    const again = await ask('POST', '/requests', { tool: 'create_session', request_id })
    assert.deepEqual([again.status, again.json.error], [409, 'REQUEST_ID_TAKEN'])
  })

  test('returns a call later: its data, its content, and later changes', async () => {
    const { ref_id: opened, session_id } = (
      await ask('POST', '/requests', { tool: 'create_session' })
    ).json
    const asked = await ask('POST', '/requests', {
      session_id,
      tool: 'navigate',
      params: { url: site.url('/logs') }
    })
    const { ref_id, metadata } = asked.json
    assert.deepEqual([metadata.tool, metadata.has_snapshot], ['navigate', true])
    const recorded = (await ask('GET', `/requests/${ref_id}`)).json
    // It may have begun shortly before it was recorded; its content is now its result.
    assert.deepEqual(
      { ...recorded, timestamp: 0, result: asked.json.result },
      { ...asked.json, timestamp: 0 }
    )
    const content = await ask('GET', `/requests/${ref_id}/content`)
    assert.equal(content.json.ref_id, ref_id)
    assert.match(content.json.content, /Said something/)
    assert.equal(
      (await ask('GET', `/requests/${ref_id}/content`)).json.content,
      '',
      'nothing has changed'
    )
    assert.match(
      (await ask('GET', `/requests/${ref_id}/content?reset_cursor=true`)).json.content,
      /Said something/
    )
    assert.match(
      (await ask('GET', `/requests/${ref_id}/content?search_for=something`)).json.content,
      /Said something/
    )
    assert.equal((await ask('GET', `/requests/${ref_id}/content?offset=many`)).status, 400)
    const { requests } = (await ask('GET', `/sessions/${session_id}/requests`)).json
    assert.deepEqual(
      requests.map(({ ref_id, tool, status }) => [ref_id, tool, status]),
      [
        [ref_id, 'navigate', 'success'],
        [opened, 'create_session', 'success']
      ]
    )
    const failed = (await ask('POST', '/requests', evaluate(session_id, 'missing()'))).json
    assert.equal((await ask('GET', `/requests/${failed.ref_id}`)).json.error, failed.error)
    const reading = (await ask('POST', '/requests', { session_id, tool: 'list_requests' })).json
    assert.deepEqual(
      [reading.status, reading.ref_id],
      ['success', undefined],
      'what reads the record is not in it'
    )
    await ask('DELETE', `/sessions/${session_id}`)
  })

  test('returns the images of an earlier call', async () => {
    const session_id = await open()
    const taken = await ask('POST', '/requests', { session_id, tool: 'screenshot' })
    const pictures = await ask('GET', `/requests/${taken.json.ref_id}/content`)
    assert.deepEqual(pictures.json, {
      ref_id: taken.json.ref_id,
      content: '',
      images: [{ data: taken.json.result.data, mime_type: 'image/png' }]
    })
    const byTool = await ask('POST', '/requests', {
      tool: 'get_content',
      params: { refId: taken.json.ref_id }
    })
    assert.deepEqual(byTool.json.result, { text: '', images: [taken.json.result] })
    await ask('DELETE', `/sessions/${session_id}`)
  })

  test('returns the console messages of a call later', async () => {
    const session_id = await open()
    const { ref_id, metadata } = (
      await ask('POST', '/requests', {
        session_id,
        tool: 'navigate',
        params: { url: site.url('/logs') }
      })
    ).json
    assert.deepEqual([metadata.has_console_logs, metadata.console_error_count], [true, 1])
    assert.match(
      (await ask('GET', `/requests/${ref_id}/console`)).json.console,
      /\[info\] a word[^]*\[error\] a complaint/
    )
    assert.doesNotMatch(
      (await ask('GET', `/requests/${ref_id}/console?level=error`)).json.console,
      /a word/
    )
    assert.equal((await ask('GET', `/requests/${ref_id}/console?level=loud`)).status, 400)
    await ask('DELETE', `/sessions/${session_id}`)
  })

  test('responds to a failed call with 200, and to a call that could not be made with an HTTP error status', async () => {
    const session_id = await open()
    const failed = await ask('POST', '/requests', evaluate(session_id, 'missing()'))
    assert.equal(failed.status, 200)
    assert.equal(failed.json.status, 'error')
    assert.equal(failed.json.error_code, 'SCRIPT_ERROR')
    // The second is WebKit's message.
    assert.match(
      failed.json.error,
      /missing is not defined|ReferenceError: Can't find variable: missing/
    )
    for (const [what, status, error] of [
      [{ session_id: crypto.randomUUID(), tool: 'snapshot' }, 404, 'SESSION_NOT_FOUND'],
      [{ tool: 'snapshot' }, 400, 'INVALID_PARAMETERS'],
      [{ session_id, tool: 'snapshot', params: { dept: 3 } }, 400, 'INVALID_PARAMETERS'],
      [{ session_id, tool: 'snapshot', params: { sessionId: 'another' } }, 400, 'INVALID_REQUEST'],
      [{ session_id, tool: 'snapshat' }, 404, 'UNKNOWN_TOOL'],
      [{ session_id }, 400, 'INVALID_REQUEST'],
      [{ session_id, tool: 'snapshot', more: 1 }, 400, 'INVALID_REQUEST'],
      ['{', 400, 'INVALID_REQUEST'],
      ['[]', 400, 'INVALID_REQUEST']
    ]) {
      const { status: actual, json, text } = await ask('POST', '/requests', what)
      assert.deepEqual([actual, json.error], [status, error], text)
      assert.ok(json.message.length > 10 && typeof json.details === 'object', text)
    }
    assert.equal(
      (await ask('POST', '/requests', 'tool=x', { headers: { 'content-type': 'text/plain' } }))
        .status,
      415
    )
    assert.equal((await ask('POST', '/requests', ' '.repeat(5 << 20))).status, 413)
    assert.equal(
      (await ask('GET', `/requests/${crypto.randomUUID()}`)).json.error,
      'RECORD_NOT_FOUND'
    )
    assert.equal((await ask('GET', '/nowhere')).status, 404)
    const other = await ask('PUT', '/sessions')
    assert.deepEqual([other.status, other.json.error], [405, 'METHOD_NOT_ALLOWED'])
    assert.equal((await ask('GET', '/sessions?state=lost')).status, 400)
    await ask('DELETE', `/sessions/${session_id}`)
  })

  test('shows the sessions of all clients', async () => {
    const client = await server.connect()
    await client.ok('navigate', { url: site.url('/form') })
    const [{ sessionId }] = (await client.ok('list_sessions')).sessions
    const { json } = await ask('GET', '/sessions')
    assert.ok(json.sessions.some((session) => session.session_id === sessionId))
    assert.equal(
      (await ask('POST', '/requests', evaluate(sessionId, 'document.title'))).json.result.value,
      'Form'
    )
    await client.delete()
  })

  test('lists all sessions of the former server, also those that have never left about:blank', async (t) => {
    const record = ['--store', recordFile(t), '--max-sessions', '20']
    const first = await startHttpServer(t, record, WITH_TOKEN)
    const created = await Promise.all(
      Array.from(
        { length: 11 },
        async () => (await first.program(TOKEN)('POST', '/sessions')).json.session_id
      )
    )
    await first.end()
    const second = await startHttpServer(t, record, WITH_TOKEN)
    const { json } = await second.program(TOKEN)('GET', '/sessions')
    assert.deepEqual(json.sessions.map(({ session_id }) => session_id).sort(), created.sort())
  })

  test('rejects foreign origins and hosts, and requests without a token', async () => {
    assert.equal(
      (await ask('GET', '/sessions', undefined, { headers: { origin: 'https://evil.example' } }))
        .status,
      403
    )
    for (const path of ['/sessions', '/requests', '/openapi.json', '/sessions/x']) {
      assert.equal((await server.program('wrong')('GET', path)).status, 401, path)
    }
  })

  test('a call is canceled when its program disconnects', async () => {
    const session_id = await open()
    const hangUp = new AbortController()
    const running = ask('POST', '/requests', evaluate(session_id, 'new Promise(() => {})'), {
      signal: hangUp.signal
    })
    const behind = ask('POST', '/requests', evaluate(session_id, '"free"'))
    await (await fetch(server.at('/health'))).arrayBuffer()
    hangUp.abort()
    await assert.rejects(running, { name: 'AbortError' })
    assert.equal((await within(behind, 'the call behind it', 5000)).json.result.value, 'free')
    await ask('DELETE', `/sessions/${session_id}`)
  })

  test('responds with 503 to a call that runs when the server stops', async (t) => {
    const own = await startHttpServer(t, [], WITH_TOKEN)
    const program = own.program(TOKEN)
    const { session_id } = (await program('POST', '/sessions')).json
    const page = site.hold('/held')
    const running = program('POST', '/requests', {
      session_id,
      tool: 'navigate',
      params: { url: site.url('/held') }
    })
    await page.requested
    assert.equal((await own.end()).code, 0)
    page.release()
    const { status, json } = await running
    assert.deepEqual([status, json.details.retryable], [503, true])
  })

  test('resumes an expired session', async (t) => {
    const own = await startHttpServer(
      t,
      ['--session-timeout', String(BRIEF), '--session-expiry', 'fixed'],
      WITH_TOKEN
    )
    const program = own.program(TOKEN)
    // The browser may take longer to start than the session timeout.
    const session_id = await until(async () => {
      const { session_id } = (await program('POST', '/sessions')).json
      const navigated = await program('POST', '/requests', {
        session_id,
        tool: 'navigate',
        params: { url: site.url('/form') }
      })
      return navigated.status === 200 && session_id
    }, 'a session and its page')
    const ended = async () =>
      (await program('POST', '/requests', evaluate(session_id, '1'))).status === 410
    await until(ended, 'its expiry', BRIEF + 8500)
    const resumed = await program('POST', `/sessions/${session_id}/resume`)
    assert.equal(resumed.status, 200, resumed.text)
    assert.deepEqual(resumed.json.pages, [{ page_id: 'page-1', url: site.url('/form') }])
  })

  test('responds with 503 if no session can be created', async (t) => {
    const full = (await startHttpServer(t, ['--max-sessions', '1'], WITH_TOKEN)).program(TOKEN)
    assert.equal((await full('POST', '/sessions')).status, 201)
    const refused = await full('POST', '/sessions')
    assert.deepEqual(
      [refused.status, refused.json.error, refused.headers.get('retry-after')],
      [503, 'MAX_SESSIONS_REACHED', '1']
    )
    const without = await startHttpServer(t, ['--executable-path', '/nowhere/chromium'], {
      ...WITH_TOKEN
    })
    const { status, json } = await without.program(TOKEN)('POST', '/requests', {
      tool: 'create_session'
    })
    assert.deepEqual([status, json.error], [503, 'BROWSER_ERROR'])
    assert.equal((await fetch(without.at('/health'))).status, 503)
    const created = await without.program(TOKEN)('POST', '/sessions')
    assert.deepEqual([created.status, created.json.error], [503, 'BROWSER_ERROR'])
  })

  test('omits tools that the server does not offer', async (t) => {
    const few = (
      await startHttpServer(t, ['--tools', 'list_sessions,navigate'], WITH_TOKEN)
    ).program(TOKEN)
    const { json } = await few('GET', '/openapi.json')
    assert.deepEqual(Object.keys(json.paths), [
      '/api/requests',
      '/api/requests/{ref_id}',
      '/api/sessions'
    ])
    assert.equal((await few('POST', '/sessions')).status, 405)
    const removed = await few('POST', '/requests', { tool: 'create_session' })
    assert.deepEqual(
      [removed.status, removed.json.status, removed.json.error_code],
      [200, 'error', 'BLOCKED_BY_POLICY']
    )
    assert.equal((await few('POST', '/requests', { tool: 'no_such_tool' })).status, 404)
  })
})
