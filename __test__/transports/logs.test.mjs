// The log and the metrics, and the end of calls that run while the server stops.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { BROWSER, cleanEnvironment } from '../support/browser.mjs'
import { startHttpServer } from '../support/http.mjs'
import { browsers } from '../support/processes.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until, within } from '../support/wait.mjs'

/** The entries of a log; fails if a line is not JSON. @param {string} text @returns {any[]} */
const entries = (text) =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** @param {any[]} log @param {string} tool */
const callsOf = (log, tool) =>
  log.filter(({ message, tool: called }) => message === 'call' && called === tool)

describe('the log', { timeout: 60_000 }, () => {
  test('has one line for each call, and one for the start and the stop; in JSON every line is an object with flat fields', async (t) => {
    const server = await startHttpServer(t, ['--log-format', 'json'])
    const client = await server.connect()
    await client.ok('evaluate', { script: 'new Promise((done) => setTimeout(done, 60))' })
    const [{ sessionId }] = (await client.ok('list_sessions')).sessions
    await client.call('click', { selector: '#never', timeout: 1 })
    await client.call('nonsense')
    const hangUp = new AbortController()
    const running = client.call(
      'evaluate',
      { script: 'new Promise(() => {})' },
      { signal: hangUp.signal, id: 77 }
    )
    running.catch(() => {})
    await until(
      async () => (await server.fetch('/metrics')).text().then((text) => /tool="click"/.test(text)),
      'the calls before'
    )
    await client.notify('notifications/cancelled', { requestId: 77 })
    await until(
      () => callsOf(entries(server.stderr()), 'evaluate').length === 2,
      'the end of the cancelled call'
    )
    hangUp.abort()
    await client.delete()
    assert.equal((await server.end()).code, 0)

    const log = entries(server.stderr())
    for (const entry of log)
      assert.ok(
        Object.values(entry).every((value) => value === null || typeof value !== 'object'),
        JSON.stringify(entry)
      )
    const [evaluated, cancelled] = callsOf(log, 'evaluate')
    assert.deepEqual(
      [evaluated.level, evaluated.session, evaluated.result],
      ['INFO', sessionId, 'ok']
    )
    assert.ok(
      evaluated.duration_ms >= 60 && evaluated.duration_ms < 30_000,
      JSON.stringify(evaluated)
    )
    assert.match(evaluated.ref_id, /^[0-9a-f-]{36}$/)
    assert.deepEqual([cancelled.session, cancelled.result], [sessionId, 'cancelled'])
    assert.deepEqual(
      callsOf(log, 'click').map(({ result }) => result),
      ['ELEMENT_NOT_FOUND']
    )
    assert.deepEqual(
      callsOf(log, 'nonsense').map(({ result }) => result),
      ['unknown tool']
    )
    const [started, stopped] = ['the server has started', 'the server has stopped'].map((message) =>
      log.filter((entry) => entry.message === message)
    )
    assert.deepEqual([started.length, stopped.length], [1, 1])
    assert.equal(started[0].url, server.url)
    assert.equal(started[0].pid, server.child.pid)
    assert.ok(log.some(({ message }) => message === `serving MCP at ${server.url}`))
  })

  test('has the URL and the file of the token in JSON at any level', async (t) => {
    const server = await startHttpServer(t, ['--log-format', 'json', '--log-level', 'warn'])
    const log = entries(server.stderr())
    assert.ok(
      log.some(({ message }) => message === `serving MCP at ${server.url}`),
      server.stderr()
    )
    assert.ok(
      log.some(({ message }) => /^clients must send the /.test(message)),
      server.stderr()
    )
    assert.ok(!log.some(({ message }) => message === 'the server has started'), server.stderr())
  })

  test('goes to stdout over HTTP if logging.destination is stdout', async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'troupe.json')
    writeFileSync(
      file,
      JSON.stringify({ logging: { level: 'info', format: 'json', destination: 'stdout' } })
    )
    const server = await startHttpServer(t, ['--config', file])
    let stdout = ''
    server.child.stdout.on('data', (data) => (stdout += data))
    const client = await server.connect()
    await client.ok('evaluate', { script: '6 * 7' })
    await client.delete()
    await server.end()
    assert.equal(callsOf(entries(stdout), 'evaluate').length, 1, stdout)
    assert.doesNotMatch(server.stderr(), /evaluate/)
    // Over stdio, stdout carries the protocol.
    const local = await startServer(t, ['--config', file])
    await local.ok('evaluate', { script: '6 * 7' })
    await local.awaitLog(/`stdout` means stderr, because stdout carries the protocol/)
    await local.awaitLog(/"tool":"evaluate"/)
  })

  test('has the error and the advice if the browser cannot be started', async (t) => {
    const server = await startHttpServer(t, [
      '--log-format',
      'json',
      '--executable-path',
      '/nowhere/browser'
    ])
    await until(
      () =>
        entries(server.stderr()).some(({ message }) => message === 'no browser could be started'),
      'the failed start'
    )
    const failed = entries(server.stderr()).find(
      ({ message }) => message === 'no browser could be started'
    )
    assert.equal(failed.level, 'ERROR')
    assert.match(failed.error, /\/nowhere\/browser/)
    assert.match(failed.advice, /troupe install|executable-path/)
  })

  test('of `troupe call` does not repeat the error of the call', () => {
    const args = [
      BIN,
      'call',
      'navigate',
      '{"url":"about:blank"}',
      '--headless',
      '--executable-path',
      '/nowhere/browser',
      '--store',
      'none'
    ]
    const { status, stderr } = spawnSync(process.execPath, args, { env: cleanEnvironment() })
    assert.equal(status, 1)
    assert.equal(JSON.parse(String(stderr)).errorCode, 'BROWSER_ERROR', String(stderr))
  })

  test('has an error at startup as JSON', async (t) => {
    const first = await startHttpServer(t)
    const second = await startServer(
      t,
      ['--transport', 'http', '--port', String(first.port), '--log-format', 'json'],
      { handshake: false }
    )
    assert.equal((await second.exit).code, 1)
    const [failed] = entries(second.stderr()).filter(({ level }) => level === 'ERROR')
    assert.match(failed.message, /cannot be bound/)
    assert.match(failed.advice, /--port/)
  })
})

describe('the metrics', { timeout: 60_000 }, () => {
  test('report the limit of sessions, the queue, browsers and memory', async (t) => {
    const server = await startHttpServer(t, ['--max-sessions', '1', '--queue-timeout', '20000'])
    const [client, second] = [await server.connect(), await server.connect()]
    const sessionId = await client.createSession()
    assert.deepEqual(
      [
        await server.metric('session_limit'),
        await server.metric('sessions'),
        await server.metric('session_queue')
      ],
      [1, 1, 0]
    )
    const waiting = second.ok('create_session')
    await until(async () => (await server.metric('session_queue')) === 1, 'the call that waits')
    await until(
      async () => (await server.metric('session_queue_seconds')) > 0.1,
      'the time that the call has waited'
    )
    assert.equal(await server.metric('browsers'), 1)
    for (const name of ['server_memory_bytes', 'child_memory_bytes', 'memory_available_bytes']) {
      assert.ok((await server.metric(name)) > 1 << 20, name)
    }
    await client.ok('close_session', { sessionId })
    await waiting
    assert.equal(await server.metric('session_queue'), 0)
    assert.equal(await server.metric('session_queue_seconds'), 0)
  })

  test('count a browser that was restarted after a crash', async (t) => {
    const server = await startHttpServer(t)
    const client = await server.connect()
    await client.ok('evaluate', { script: '6 * 7' })
    assert.equal(await server.metric('browser_restarts_total'), 0)
    const [{ pid }] = browsers(server.child.pid ?? 0)
    process.kill(pid, 'SIGKILL')
    const again = async () => (await client.call('evaluate', { script: '6 * 7' })).json.value === 42
    await until(
      async () => (await again()) && (await server.metric('browser_restarts_total')) === 1,
      'the restart',
      30_000
    )
    assert.ok(BROWSER === 'webkit' || (await server.metric('browsers')) === 1)
  })
})

describe('SIGTERM', { timeout: 60_000 }, () => {
  /**
   * Starts a server and a call that runs until its `page` is released.
   * @param {import('node:test').TestContext} t @param {number} drainTimeout
   */
  async function startHeldCall(t, drainTimeout) {
    const server = await startHttpServer(t, ['--drain-timeout', `${drainTimeout}`])
    const client = await server.connect()
    await client.ok('evaluate', { script: '1' })
    const site = await startSite(t)
    const page = site.hold('/held')
    const running = client.call('navigate', { url: site.url('/held') })
    await page.requested
    return { server, page, running }
  }

  test('lets running calls over HTTP finish', async (t) => {
    const server = await startHttpServer(t, ['--drain-timeout', '20000'])
    const [client, stateless] = [await server.connect(), server.stateless()]
    const sessionId = await stateless.createSession()
    await client.ok('evaluate', { script: '1' })
    const site = await startSite(t)
    const pages = [site.hold('/held-1'), site.hold('/held-2'), site.hold('/held-3')]
    const program = server.program()
    const running = [
      client.ok('navigate', { url: site.url('/held-1') }),
      stateless.ok('navigate', { sessionId, url: site.url('/held-2') }),
      program('POST', '/requests', {
        tool: 'navigate',
        session_id: await client.createSession(),
        params: { url: site.url('/held-3') }
      })
    ]
    await Promise.all(pages.map(({ requested }) => requested))
    server.child.kill('SIGTERM')
    const stops = () =>
      fetch(server.at('/health')).then(
        ({ status }) => status === 503,
        () => true
      )
    await until(stops, 'the end of new connections')
    for (const page of pages) page.release()
    const [first, second, third] = await Promise.all(running)
    assert.deepEqual(
      [first.success, second.success, third.status],
      [true, true, 200],
      JSON.stringify(third)
    )
    // Well before the limit.
    assert.equal((await within(server.exit, 'the end of the server', 5000)).code, 0)
  })

  test('is not needed: POST /admin/drain with the token has the same effect', async (t) => {
    const { server, page, running } = await startHeldCall(t, 20_000)
    const stranger = await fetch(server.at('/admin/drain'), { method: 'POST' })
    assert.equal(stranger.status, 401)
    assert.equal((await server.fetch('/admin/drain', { method: 'GET' })).status, 405)
    assert.equal((await server.fetch('/admin/drain', { method: 'POST' })).status, 202)
    page.release()
    assert.equal((await running).json.success, true)
    assert.equal((await within(server.exit, 'the end of the server', 5000)).code, 0)
  })

  test('makes /health respond with 503 on open connections while calls finish', async (t) => {
    const { server, page, running } = await startHeldCall(t, 20_000)
    // A load balancer sends repeated requests on one connection.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    const sockets = new Set()
    const ask = async () => {
      const request = get(server.at('/health'), { agent }).on('socket', (socket) =>
        sockets.add(socket)
      )
      const [response] = await once(request, 'response')
      return { status: response.statusCode, body: await json(response) }
    }
    assert.equal((await ask()).status, 200)
    server.child.kill('SIGTERM')
    const stopping = await until(async () => {
      const answer = await ask()
      return answer.status === 503 && answer
    }, 'the 503')
    assert.match(JSON.stringify(stopping.body), /the server is stopping/)
    assert.equal((await ask()).status, 503)
    assert.equal(sockets.size, 1, 'it was another connection')
    page.release()
    assert.equal((await running).json.success, true)
    assert.equal((await within(server.exit, 'the end of the server', 5000)).code, 0)
  })

  test('makes /ready respond with 503, and rejects new clients and sessions, while calls finish', async (t) => {
    const { server, page, running } = await startHeldCall(t, 20_000)
    const stateless = server.stateless()
    const ready = () => fetch(server.at('/ready'), { headers: { connection: 'close' } })
    const before = await ready()
    assert.deepEqual([before.status, await before.json()], [200, { status: 'ready' }])
    server.child.kill('SIGTERM')
    const draining = await until(async () => {
      const response = await ready()
      return response.status === 503 && response
    }, 'the 503')
    assert.deepEqual(await draining.json(), { status: 'draining' })
    await assert.rejects(server.connect(), /STOPPING/)
    const { json: rejected } = await stateless.call('create_session')
    assert.deepEqual([rejected.errorCode, rejected.retryable], ['SERVER_UNAVAILABLE', true])
    page.release()
    assert.equal((await running).json.success, true)
    assert.equal((await within(server.exit, 'the end of the server', 5000)).code, 0)
    await assert.rejects(ready(), 'the listener is still open')
  })

  test('cancels calls that have not finished within --drain-timeout', async (t) => {
    const { server, running } = await startHeldCall(t, 300)
    const begun = performance.now()
    server.child.kill('SIGTERM')
    const { json } = await running
    assert.ok(performance.now() - begun >= 290)
    assert.deepEqual([json.errorCode, json.retryable], ['SERVER_UNAVAILABLE', true])
    assert.equal((await within(server.exit, 'the end of the server', 5000)).code, 0)
  })

  test('lets running calls over stdio finish', async (t) => {
    const server = await startServer(t)
    const site = await startSite(t)
    const page = site.hold('/held')
    const running = server.ok('navigate', { url: site.url('/held') })
    await page.requested
    server.child.kill('SIGTERM')
    // Requests are still answered, whether the signal has arrived or not.
    await server.request('ping')
    page.release()
    assert.equal((await running).success, true)
    assert.equal((await within(server.exit, 'the end of the server', 5000)).code, 0)
  })
})
