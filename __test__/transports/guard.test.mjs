// Unauthorized clients, foreign web pages and broken clients cannot affect a network server.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { cleanEnvironment } from '../support/browser.mjs'
import { HttpClient, ask, startHttpServer } from '../support/http.mjs'
import { freePort } from '../support/ports.mjs'
import { browsers } from '../support/processes.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { until, within } from '../support/wait.mjs'

/** A raw connection: the received data, and its end. @param {number} port */
async function dial(port) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const dialled = { socket, text: '', ended: new Promise((resolve) => socket.on('close', resolve)) }
  socket.on('error', () => {})
  socket.on('data', (data) => (dialled.text += data))
  return dialled
}

/**
 * A POST of a client with the token.
 * @param {Awaited<ReturnType<typeof startHttpServer>>} server
 * @param {Record<string, string>} [headers]
 */
const post = ({ authorization }, headers) => ({
  method: 'POST',
  headers: {
    ...authorization,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...headers
  }
})
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'x', version: '0' }
  }
})

describe('a local server', { timeout: 120_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  before(async () => {
    const args = [
      '--request-timeout',
      '700',
      '--allowed-origins',
      'https://app.example',
      '--allowed-hosts',
      'tools.example'
    ]
    server = await startHttpServer(scope, args)
  })

  test('rejects a foreign Host, as of a page after DNS rebinding', async () => {
    for (const path of ['/mcp', '/ws', '/api/sessions', '/metrics', '/nowhere']) {
      for (const host of [
        'evil.example',
        `evil.example:${server.port}`,
        '127.0.0.1.evil.example',
        'localhost.'
      ]) {
        const { status, text } = await ask(server.at(path), { headers: { host } })
        assert.equal(status, 403, `${path} for ${host}: ${text}`)
      }
    }
    for (const host of [
      'localhost',
      `127.0.0.1:${server.port}`,
      '[::1]:80',
      'TOOLS.example:8443'
    ]) {
      assert.equal(
        (await ask(server.url, { ...post(server, { host }), body: INITIALIZE })).status,
        200,
        host
      )
    }
  })

  test('rejects foreign origins and accepts allowed ones', async () => {
    for (const origin of [
      'https://evil.example',
      'null',
      'http://app.example',
      `http://localhost:${server.port + 1}`,
      'file://'
    ]) {
      const { status } = await ask(server.url, { ...post(server, { origin }), body: INITIALIZE })
      assert.equal(status, 403, origin)
      const preflight = await ask(server.url, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' }
      })
      assert.equal(preflight.status, 403, origin)
      assert.equal(preflight.headers['access-control-allow-origin'], undefined)
    }
    const headers = {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'mcp-session-id'
    }
    const preflight = await ask(server.url, { method: 'OPTIONS', headers })
    assert.equal(preflight.status, 200)
    assert.equal(preflight.headers['access-control-allow-origin'], 'https://app.example')
    assert.match(preflight.headers['access-control-allow-headers'] ?? '', /mcp-session-id/)
    const called = await ask(server.url, {
      ...post(server, { origin: 'https://app.example' }),
      body: INITIALIZE
    })
    assert.equal(called.status, 200)
    assert.equal(called.headers['access-control-expose-headers'], 'mcp-session-id')
    // Its own origin, as in the conformance suite.
    const own = { host: `localhost:${server.port}`, origin: `http://localhost:${server.port}` }
    assert.equal((await ask(server.url, { ...post(server, own), body: INITIALIZE })).status, 200)
  })

  test('responds with security headers', async () => {
    for (const path of ['/health', '/nowhere', '/mcp', '/api/sessions']) {
      const { headers } = await ask(server.at(path))
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.match(headers['content-security-policy'] ?? '', /default-src 'none'/)
      assert.match(headers['cache-control'] ?? '', /no-store|no-cache/)
    }
  })

  test('rejects a body of 5 MiB with 413, with or without Content-Length, and continues to serve', async () => {
    const body = Buffer.alloc(5 << 20, ' ')
    const response = await ask(server.url, {
      ...post(server, { 'content-length': String(body.length) }),
      body
    })
    assert.equal(response.status, 413, response.text)
    const chunked = await ask(server.url, {
      ...post(server, { 'transfer-encoding': 'chunked' }),
      body
    })
    assert.equal(chunked.status, 413, chunked.text)
    const most = Buffer.concat([
      Buffer.alloc((4 << 20) - INITIALIZE.length, ' '),
      Buffer.from(INITIALIZE)
    ])
    assert.equal((await ask(server.url, { ...post(server), body: most })).status, 200)
  })

  test('responds to invalid messages with JSON-RPC errors', async () => {
    for (const [body, code] of /** @type {const} */ ([
      ['{', -32700],
      ['', -32600],
      ['[]', -32600],
      ['17', -32600],
      ['{"jsonrpc":"2.0","id":1,"method":5}', -32600]
    ])) {
      const { status, text } = await ask(server.url, { ...post(server), body })
      assert.equal(status, 400, `${body}: ${text}`)
      assert.equal(JSON.parse(text).error.code, code, text)
    }
    for (const [headers, status] of /** @type {const} */ ([
      [{ 'content-type': 'text/plain' }, 415],
      [{ accept: 'text/html' }, 406]
    ])) {
      assert.equal(
        (await ask(server.url, { ...post(server, headers), body: INITIALIZE })).status,
        status
      )
    }
    assert.equal(
      (await ask(server.url, { ...post(server), method: 'PUT', body: INITIALIZE })).status,
      405
    )
  })

  test('disconnects clients that send a head or a body too slowly', async () => {
    const begun = performance.now()
    const head = await dial(server.port)
    head.socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ')
    const drip = setInterval(() => head.socket.write('a'), 50)
    const body = await dial(server.port)
    body.socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.token}\r\nContent-Length: 100000\r\n\r\n`
    )
    const more = setInterval(() => body.socket.write('a'), 50)
    await within(Promise.all([head.ended, body.ended]), 'the end of both connections', 5000)
    clearInterval(drip)
    clearInterval(more)
    assert.ok(performance.now() - begun > 600)
    assert.match(body.text, /^HTTP\/1\.1 408 /)
  })

  test('is not affected by half-closed or reset sockets, or by random data', async () => {
    const half = await dial(server.port)
    half.socket.end('POST /mcp HTTP/1.1\r\nHost: localhost\r\n')
    const silent = await dial(server.port)
    silent.socket.end()
    const reset = await dial(server.port)
    reset.socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab')
    reset.socket.resetAndDestroy()
    const tls = await dial(server.port)
    tls.socket.write(
      Buffer.from([
        0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x0d, 0x0a, 0x0d, 0x0a
      ])
    )
    const split = await dial(server.port)
    split.socket.write(
      'GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n'
    )
    await within(
      Promise.all([half.ended, silent.ended, reset.ended, tls.ended, split.ended]),
      'the end of them',
      5000
    )
    assert.equal((await ask(server.at('/health'))).status, 200)
  })

  test('serves 1,000 connections at once', { timeout: 60_000 }, async (t) => {
    // With the default timeout: these connections send nothing until all are open.
    const server = await startHttpServer(t)
    const dialled = await Promise.all(Array.from({ length: 1000 }, () => dial(server.port)))
    for (const { socket } of dialled)
      socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    await within(Promise.all(dialled.map(({ ended }) => ended)), 'the answers', 30_000)
    assert.equal(dialled.filter(({ text }) => text.startsWith('HTTP/1.1 200 ')).length, 1000)
  })

  test('reports its health, and metrics for Prometheus', async () => {
    const health = JSON.parse((await ask(server.at('/health'))).text)
    assert.equal(health.status, 'ok')
    const client = await server.connect()
    await client.call('evaluate', { script: '1' })
    await client.call('close_session', { sessionId: 'none' })
    const { text } = await ask(server.at('/metrics'), { headers: server.authorization })
    assert.match(text, /^troupe_calls_total\{tool="evaluate",outcome="ok"\} \d+$/m)
    assert.match(
      text,
      /^troupe_calls_total\{tool="close_session",outcome="SESSION_NOT_FOUND"\} 1$/m
    )
    assert.match(text, /^troupe_sessions 1$/m)
    assert.match(text, /^troupe_http_requests_total\{path="\/mcp",status="200"\} \d+$/m)
    assert.match(
      text,
      /^troupe_call_seconds_bucket\{le="0.01",tool="evaluate"\} \d+$|^troupe_call_seconds_count/m
    )
    await client.delete()
  })
})

describe('the token', { timeout: 60_000 }, () => {
  const scope = shared()
  /** @type {string} */
  let file
  before(() => {
    const folder = temporaryFolder(scope)
    file = join(folder, 'token')
    writeFileSync(file, 'correct-horse\n', { mode: 0o600 })
  })

  test('is required on every path; the server creates it in a file that only its user can read', async (t) => {
    const state = temporaryFolder(t)
    const env = { XDG_STATE_HOME: state }
    const servers = await Promise.all([
      startHttpServer(t, [], { env }),
      startHttpServer(t, ['--host', '0.0.0.0'], { env })
    ])
    const [, path] = /clients must send the token in (.+?);/.exec(servers[0].stderr()) ?? []
    assert.equal(statSync(path).mode & 0o777, 0o600)
    for (const server of servers) {
      const url = `http://127.0.0.1:${server.port}`
      for (const asked of ['/mcp', '/ws', '/metrics', '/api/sessions']) {
        for (const authorization of ['', 'Bearer wrong', `Basic ${server.token}`]) {
          assert.equal(
            (await ask(url + asked, { headers: { authorization } })).status,
            401,
            `${asked} with ${authorization}`
          )
        }
      }
      assert.equal((await ask(`${url}/health`)).status, 200)
      const client = new HttpClient(`${url}/mcp`, server.authorization)
      await client.initialize()
      assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
      await client.delete()
    }
    assert.equal(servers[0].token, servers[1].token, 'one token for all servers of a user')
  })

  test('is not required with --no-auth, except by the JSON API', async (t) => {
    const server = await startHttpServer(t, ['--no-auth'])
    assert.match(server.stderr(), /no token is required/)
    const client = new HttpClient(server.url)
    await client.initialize()
    assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
    await client.delete()
    assert.equal((await ask(server.at('/metrics'))).status, 200)
    assert.equal((await ask(server.at('/api/sessions'))).status, 401)
  })

  test('cannot be disabled if other machines can reach the server', () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com']) {
      const { status, stderr } = spawnSync(process.execPath, [
        BIN,
        '--transport',
        'http',
        '--no-auth',
        '--host',
        host,
        '--port',
        '0'
      ])
      assert.equal(status, 2, String(stderr))
      assert.match(
        String(stderr),
        /^troupe: `--no-auth` and `--host` contradict each other: other machines can reach this address\n$/
      )
    }
    const both = spawnSync(process.execPath, [
      BIN,
      '--transport',
      'http',
      '--no-auth',
      '--auth-token-file',
      file
    ])
    assert.equal(both.status, 2)
  })

  test('is referenced in the snippet of `troupe config CLIENT`, which works when the client inserts it', async (t) => {
    const server = await startHttpServer(t, ['--port', String(await freePort())])
    const token = readFileSync(/in (\S+);/.exec(server.stderr())?.[1] ?? '', 'utf8').trim()
    const print = (client, over = '--http') => {
      const args = [BIN, 'config', client, ...over.split(' '), '--port', String(server.port)]
      const { status, stdout, stderr } = spawnSync(process.execPath, args, {
        env: cleanEnvironment()
      })
      assert.equal(status, 0, String(stderr))
      assert.ok(!`${stdout}${stderr}`.includes(token), 'the token is printed')
      return String(stdout)
    }
    for (const [name, entryOf, reference] of /** @type {const} */ ([
      ['claude-code', (json) => json.mcpServers.troupe, '${TROUPE_AUTH_TOKEN}'],
      ['vscode', (json) => json.servers.troupe, '${input:troupe-token}'],
      ['cursor', (json) => json.mcpServers.troupe, '${env:TROUPE_AUTH_TOKEN}']
    ])) {
      assert.equal(print(name), print(name, '--transport http'))
      const { url, headers } = entryOf(JSON.parse(print(name).replaceAll(reference, token)))
      const client = new HttpClient(url, headers)
      await client.initialize()
      assert.ok((await client.request('tools/list')).result.tools.length > 10, name)
      await client.delete()
    }
    // This client only starts commands.
    const { command, args } = JSON.parse(print('claude-desktop')).mcpServers.troupe
    assert.equal(command, process.platform === 'win32' ? 'cmd' : 'npx')
    const stdioProxy = await startServer(t, args.slice(args.indexOf('troupe') + 1), {
      browser: false
    })
    assert.equal((await stdioProxy.ok('evaluate', { script: '6 * 7' })).value, 42)
  })

  test('can come from a file or the environment, and does not appear in the process list', async (t) => {
    const servers = await Promise.all([
      startHttpServer(t, ['--host', '0.0.0.0', '--auth-token-file', file]),
      startHttpServer(t, [], { env: { TROUPE_AUTH_TOKEN: 'correct-horse' } })
    ])
    for (const server of servers) {
      const url = `http://127.0.0.1:${server.port}/mcp`
      for (const headers of [
        {},
        { authorization: 'Bearer wrong' },
        { authorization: 'Basic correct-horse' }
      ]) {
        const { error } = await new HttpClient(url, headers).request('initialize', {})
        assert.equal(error.status, 401)
        assert.equal((await ask(url.replace('mcp', 'metrics'), { headers })).status, 401)
        assert.equal((await ask(url.replace('mcp', 'ws'), { headers })).status, 401)
      }
      assert.equal((await ask(url.replace('mcp', 'health'))).status, 200)
      const client = new HttpClient(url, { authorization: 'Bearer correct-horse' })
      await client.initialize()
      assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
      assert.ok(
        !readFileSync(`/proc/${server.child.pid}/cmdline`, 'utf8').includes('correct-horse')
      )
      for (const { pid, command } of browsers(server.child.pid ?? 0)) {
        assert.ok(
          !readFileSync(`/proc/${pid}/environ`, 'utf8').includes('correct-horse'),
          command[0]
        )
      }
      await client.delete()
    }
  })

  test('on the command line is accepted with a warning', async (t) => {
    const server = await startHttpServer(t, ['--auth-token', 'correct-horse'])
    assert.match(server.stderr(), /process list/)
    assert.ok(!server.stderr().includes('correct-horse'))
  })
})

describe('limits', { timeout: 60_000 }, () => {
  test('of the rate respond with 429 to clients that send too many requests', async (t) => {
    const server = await startHttpServer(t, ['--rate-limit', '5'])
    const answers = []
    for (let round = 0; round < 12; round++) answers.push((await ask(server.at('/nowhere'))).status)
    assert.ok(answers.includes(429), answers.join(' '))
    assert.ok(answers.filter((status) => status === 404).length >= 5)
    await until(async () => (await ask(server.at('/nowhere'))).status === 404, 'room again', 5000)
  })

  test('of connections and clients respond with 429 to one more', async (t) => {
    const server = await startHttpServer(t, ['--max-connections', '3'])
    const held = await Promise.all([dial(server.port), dial(server.port), dial(server.port)])
    const { status, headers } = await ask(server.at('/health'))
    assert.equal(status, 429)
    assert.equal(headers['retry-after'], '1')
    for (const { socket } of held) socket.destroy()
    await until(async () => (await ask(server.at('/health'))).status === 200, 'a place', 5000)
    // Absent clients are detached for new ones.
    for (let number = 0; number < 6; number++) {
      const { status } = await ask(server.url, { ...post(server), body: INITIALIZE })
      assert.equal(status, 200, `client ${number}`)
    }
  })

  test('a port that is in use is reported in one line', async (t) => {
    const server = await startHttpServer(t)
    const args = [BIN, '--headless', '--transport', 'http', '--port', String(server.port)]
    const { status, stderr } = spawnSync(process.execPath, args, { env: cleanEnvironment() })
    assert.equal(status, 1)
    assert.match(String(stderr), /^troupe: 127\.0\.0\.1:\d+ cannot be bound: .*--port.*\n$/m)
  })
})
