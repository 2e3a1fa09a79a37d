// `--connect`: a stdio proxy for a running server, which may be restarted meanwhile.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { text } from 'node:stream/consumers'
import { before, describe, test } from 'node:test'
import { cleanEnvironment } from '../support/browser.mjs'
import { startHttpServer } from '../support/http.mjs'
import { freePort } from '../support/ports.mjs'
import { shared } from '../support/scope.mjs'
import { META, MODERN, modernRequest } from '../support/modern.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { joinSockets, listen, startForwarder } from '../support/sockets.mjs'
import {
  logInAsMember,
  formOf,
  HALF_FILLED,
  awaitDurableState,
  memberSite
} from '../support/state.mjs'
import { kill, recordFile, temporaryFolder } from '../support/record.mjs'
import { IDENTITY, TRUST } from '../support/tls.mjs'
import { isPending, until, within } from '../support/wait.mjs'

/** Resets connections. @param {Set<import('node:net').Socket>} sockets */
const resetAll = (sockets) => sockets.forEach((socket) => socket.resetAndDestroy())

/**
 * A stdio client of the server at `url`.
 * @param {any} t
 * @param {string} url
 * @param {any} [options]
 * @param {string[]} [args]
 */
const startStdioProxy = (t, url, options, args = []) =>
  startServer(t, ['--connect', url, ...args], { browser: false, ...options })

describe('the stdio proxy of a server', { timeout: 120_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  before(async () => {
    site = await startSite(scope, {
      '/late':
        "<title>Late</title><script>fetch('/held').then(() => document.body.append('Here at last'))</script>"
    })
  })

  test('behaves like that server for a stdio client: tools, sessions, order, errors', async (t) => {
    const server = await startHttpServer(t)
    const [one, other] = await Promise.all([
      startStdioProxy(t, server.url),
      startStdioProxy(t, server.at('/'))
    ])
    assert.equal(
      (await one.ok('navigate', { url: site.url('/set-cookie?whose=one') })).title,
      'Cookies set'
    )
    await other.ok('navigate', { url: site.url('/cookies') })
    assert.ok(!JSON.stringify(await other.ok('get_text', { selector: 'body' })).includes('whose'))
    const numbers = Array.from({ length: 100 }, (_, number) => number)
    const script = (number) => `(globalThis.list ??= []).push(${number}) && list.length`
    const answers = await Promise.all(
      numbers.map((number) => one.ok('evaluate', { script: script(number) }))
    )
    assert.deepEqual(
      answers.map(({ value }) => value),
      numbers.map((number) => number + 1)
    )
    one.sendRaw('{')
    const refused = await until(
      () => one.received.find(({ error }) => error?.code === -32700),
      'the answer'
    )
    assert.equal(refused.id, null)
    await one.end()
    // The implicit session ends with the client.
    await until(async () => (await server.sessionCount()) === 1, 'the end of its session', 5000)
    assert.deepEqual(one.unparsable, [])
  })

  test('waits for a server that is not running yet, and survives its restart', async (t) => {
    const port = await freePort()
    const client = await startStdioProxy(t, `http://127.0.0.1:${port}`, { handshake: false })
    const greeted = client.initialize()
    const listed = client.request('tools/list')
    assert.ok(await isPending(greeted))
    const first = await startHttpServer(t, ['--port', String(port)])
    assert.equal((await greeted).serverInfo.name, 'troupe')
    assert.ok((await listed).result.tools.length > 10)
    await client.ok('evaluate', { script: '1' })

    // Killed during a call, which may have run.
    const running = client.call('evaluate', { script: 'new Promise(() => {})' })
    await client.request('ping')
    first.child.kill('SIGKILL')
    const { json, isError } = await within(running, 'the end of the call', 5000)
    assert.ok(isError)
    assert.equal(json.errorCode, 'SERVER_UNAVAILABLE')
    assert.equal(json.retryable, true)
    // Later requests wait and succeed, without another handshake.
    const meanwhile = [client.call('evaluate', { script: '6 * 7' }), client.request('tools/list')]
    await first.exit
    assert.ok(await isPending(meanwhile[0]))
    await startHttpServer(t, ['--port', String(port)])
    const [called, again] = await within(Promise.all(meanwhile), 'the answers', 20_000)
    assert.equal(called.json.value, 42, called.text)
    assert.ok(again.result.tools.length > 10)
  })

  test('restores everything after kill -9 of the server: both sessions, subscriptions, log level', async (t) => {
    const members = await memberSite(t)
    const [port, record] = [await freePort(), recordFile(t)]
    const serve = () => startHttpServer(t, ['--port', String(port), '--store', record])
    const first = await serve()
    const client = await startStdioProxy(t, `http://127.0.0.1:${port}`)
    await logInAsMember(client, members)
    const [{ sessionId: own }] = (await client.ok('list_sessions')).sessions
    const [, save] = /button "Save".*?\[ref=(e\d+)\]/.exec(await client.ok('snapshot')) ?? []
    const created = await client.createSession()
    await client.ok('navigate', { url: members.url('/plain') })
    const uri = (/** @type {string} */ sessionId) => `playwright:///page/${sessionId}/page-1`
    for (const sessionId of [own, created])
      assert.ok((await client.request('resources/subscribe', { uri: uri(sessionId) })).result)
    assert.ok((await client.request('logging/setLevel', { level: 'info' })).result)
    await awaitDurableState()
    await kill(first)
    const before = client.received.length
    await serve()

    assert.deepEqual(await formOf(client, own), HALF_FILLED)
    assert.equal(
      (await client.ok('get_cookies', { sessionId: own })).cookies.find(
        ({ name }) => name === 'sid'
      )?.httpOnly,
      true
    )
    assert.match((await client.ok('click', { sessionId: own, selector: save })).message, /Save/)
    // Calls without an id use the created session, which expires; the implicit one does not.
    assert.equal((await client.ok('evaluate', { script: 'document.title' })).value, 'Plain')
    const { sessions } = await client.ok('list_sessions')
    const lives = sessions.map(({ sessionId, expiresAt }) => [sessionId, typeof expiresAt])
    assert.deepEqual(
      new Map(lives),
      new Map([
        [own, 'undefined'],
        [created, 'number']
      ])
    )

    const since = (/** @type {string} */ method) =>
      client.received.slice(before).filter((message) => message.method === method)
    const updates = (/** @type {string} */ sessionId) =>
      since('notifications/resources/updated').filter(({ params }) => params.uri === uri(sessionId))
        .length
    // Changes in between were not observed, so the client is notified.
    assert.ok(updates(own) > 0 && updates(created) > 0)
    const updatesBefore = updates(created)
    await client.ok('navigate', { url: members.url('/inner') })
    await until(() => updates(created) > updatesBefore, 'the update')
    const logged = () =>
      since('notifications/message').map(({ params }) => [params.data.tool, params.data.sessionId])
    await until(
      () => logged().some(([tool, id]) => tool === 'navigate' && id === created),
      'what is logged'
    )
    await client.ok('close_session', { sessionId: created })
    assert.equal((await client.ok('evaluate', { script: 'document.title' })).value, 'Saved Ann')
  })

  test(`restores the session and the subscriptions of a client of ${MODERN}`, async (t) => {
    const [port, record] = [await freePort(), recordFile(t)]
    const serve = () => startHttpServer(t, ['--port', String(port), '--store', record])
    const first = await serve()
    const client = await startStdioProxy(t, `http://127.0.0.1:${port}`, { handshake: false })
    const call = (/** @type {string} */ name, /** @type {object} */ args) =>
      modernRequest(client, 'tools/call', { name, arguments: args })
    const { sessionId } = (await call('navigate', { url: site.url('/form') }))._meta
    const uri = `playwright:///page/${sessionId}/page-1`
    client.send({
      id: 'listening',
      method: 'subscriptions/listen',
      params: { notifications: { resourceSubscriptions: [uri] }, _meta: META }
    })
    const acknowledged = () =>
      client.notifications('notifications/subscriptions/acknowledged').length
    await until(() => acknowledged() === 1, 'the acknowledgment')
    await awaitDurableState()
    await kill(first)
    await serve()
    await until(() => acknowledged() === 2, 'the acknowledgment of the next server', 20_000)
    const updates = () =>
      client.notifications('notifications/resources/updated').filter((update) => update.uri === uri)
        .length
    const before = updates()
    const { _meta, structuredContent } = await call('evaluate', {
      script: 'location.reload(), document.title'
    })
    assert.deepEqual([_meta.sessionId, structuredContent.value], [sessionId, 'Form'])
    await until(() => updates() > before, 'the update')
  })

  test('keeps subscriptions and log level if only the connection breaks', async (t) => {
    const server = await startHttpServer(t)
    const forwarder = await startForwarder(t, server.port)
    const client = await startStdioProxy(t, `http://127.0.0.1:${forwarder.port}`)
    const { meta } = await client.call('navigate', { url: site.url('/form') })
    const uri = `playwright:///page/${meta.sessionId}/page-1`
    for (const each of [uri, `playwright:///session/${meta.sessionId}`])
      await client.request('resources/subscribe', { uri: each })
    await client.request('resources/unsubscribe', {
      uri: `playwright:///session/${meta.sessionId}`
    })
    await client.request('logging/setLevel', { level: 'info' })
    resetAll(forwarder.sockets)
    await client.request('ping')
    const before = client.received.length
    await client.ok('navigate', { url: site.url('/late') })
    const since = () =>
      client.received
        .slice(before)
        .map(({ method, params }) =>
          (method ? [method, params.uri ?? params.data?.tool] : []).join(' ')
        )
    await until(
      () =>
        since().includes(`notifications/resources/updated ${uri}`) &&
        since().includes('notifications/message navigate'),
      'the messages to the client'
    )
    assert.ok(!since().some((line) => line.includes('playwright:///session/')), since().join('\n'))
  })

  test('keeps its session if only the connection breaks', async (t) => {
    const server = await startHttpServer(t)
    const forwarder = await startForwarder(t, server.port)
    const client = await startStdioProxy(t, `http://127.0.0.1:${forwarder.port}`)
    await client.ok('evaluate', { script: 'globalThis.mark = "kept"' })
    for (let round = 0; round < 20; round++) {
      resetAll(forwarder.sockets)
      // The broken connection is not detected yet: the message does not arrive, and is sent again.
      assert.equal((await client.ok('evaluate', { script: 'globalThis.mark' })).value, 'kept')
    }
  })

  test('repeats read-only calls if the connection breaks, and reports other calls that may have run', async (t) => {
    const server = await startHttpServer(t)
    const forwarder = await startForwarder(t, server.port)
    const client = await startStdioProxy(t, `http://127.0.0.1:${forwarder.port}`)
    const late = site.hold('/held')
    await client.ok('navigate', { url: site.url('/late') })
    await late.requested
    const waiting = client.call('wait_for', { text: 'Here at last', timeout: 20_000 })
    await client.request('ping')
    resetAll(forwarder.sockets)
    await client.request('ping')
    assert.ok(await isPending(waiting))
    late.release()
    const { isError, text } = await within(waiting, 'the text', 10_000)
    assert.ok(!isError, text)
    const running = client.call('evaluate', { script: 'new Promise(() => {})' })
    await client.request('ping')
    resetAll(forwarder.sockets)
    const { json } = await within(running, 'the end of the call', 5000)
    assert.deepEqual([json.errorCode, json.retryable], ['SERVER_UNAVAILABLE', true])
    assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
  })

  test('sends the token, and ends with one line if it is rejected', async (t) => {
    const server = await startHttpServer(t, [], { env: { TROUPE_AUTH_TOKEN: 'correct-horse' } })
    const client = await startStdioProxy(t, server.url, {
      env: { TROUPE_AUTH_TOKEN: 'correct-horse' }
    })
    assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
    const otherClient = await startStdioProxy(t, server.url, { handshake: false })
    const { code } = await within(otherClient.exit, 'its end', 10_000)
    assert.equal(code, 2)
    assert.match(
      otherClient.stderr(),
      /^troupe: .*rejected the connection: 401.*--auth-token-file/m
    )
  })

  test('reports the URL on stderr at the first failure to connect, and names it in its errors', async (t) => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/mcp`
    const begun = performance.now()
    const client = await startStdioProxy(t, url, { handshake: false })
    await client.awaitLog(new RegExp(`cannot connect to ${url}: .*refused.*; retrying`))
    assert.ok(performance.now() - begun < 10_000)
    const server = await startHttpServer(t, ['--port', String(port)])
    await client.initialize()
    const running = client.call('evaluate', { script: 'new Promise(() => {})' })
    await client.request('ping')
    await kill(server)
    const { json } = await within(running, 'the end of the call', 5000)
    assert.deepEqual([json.errorCode, json.retryable], ['SERVER_UNAVAILABLE', true])
    assert.ok(json.message.includes(url), json.message)
  })

  for (const [
    what,
    respond,
    found
  ] of /** @type {[string, (socket: import('node:net').Socket) => void, RegExp][]} */ ([
    [
      'a web server',
      (socket) =>
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')),
      /it responds with 200 OK/
    ],
    [
      'a server without this path',
      (socket) =>
        socket.once('data', () =>
          socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
        ),
      /it responds with 404 Not Found/
    ],
    [
      'a server that moved',
      (socket) =>
        socket.once('data', () =>
          socket.end('HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n')
        ),
      /it responds with 301/
    ],
    [
      'another WebSocket server',
      (socket) => socket.once('data', (request) => socket.write(upgraded(request))),
      /the answer is not from Troupe/
    ],
    [
      'a server of another protocol',
      (socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'),
      /there is no Troupe server/
    ]
  ]))
    test(`rejects ${what} at once`, async (t) => {
      const { port } = await listen(t, createServer(respond))
      const client = await startStdioProxy(t, `http://127.0.0.1:${port}`, { handshake: false })
      const { code } = await within(client.exit, 'its end', 5000)
      assert.equal(code, 2)
      assert.match(
        client.stderr(),
        new RegExp(`^troupe: there is no Troupe server at http://127.0.0.1:${port}/: `, 'm')
      )
      assert.match(client.stderr(), found)
    })

  test('rejects a server that does not speak TLS at once', async (t) => {
    const server = await startHttpServer(t)
    const client = await startStdioProxy(t, `https://127.0.0.1:${server.port}/mcp`, {
      handshake: false
    })
    assert.equal((await within(client.exit, 'its end', 10_000)).code, 2)
    assert.match(client.stderr(), /there is no Troupe server at https:.*it does not speak TLS/)
  })

  test('finds the token file of its user, also if the server creates it later', async (t) => {
    const state = temporaryFolder(t)
    const env = { XDG_STATE_HOME: state }
    const port = await freePort()
    const client = await startStdioProxy(t, `http://localhost:${port}/mcp`, {
      env,
      handshake: false
    })
    const greeted = client.initialize()
    assert.ok(await isPending(greeted))
    await startHttpServer(t, ['--port', String(port)], { env })
    await within(greeted, 'the answer of the server', 20_000)
    assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
  })

  test('waits if the server is full (429), and connects when it is not', async (t) => {
    const server = await startHttpServer(t, ['--max-connections', '1'])
    const holder = connect(server.port, '127.0.0.1')
    await new Promise((resolve) => holder.on('connect', resolve))
    const client = await startStdioProxy(t, server.url, { handshake: false })
    await client.awaitLog(/cannot connect to .*: HTTP error: 429 Too Many Requests; retrying/)
    const greeted = client.initialize()
    assert.ok(await isPending(greeted))
    holder.destroy()
    assert.equal(
      (await within(greeted, 'the answer of the server', 20_000)).serverInfo.name,
      'troupe'
    )
  })

  test('connects to a server behind TLS with a trusted certificate, and reports an untrusted one', async (t) => {
    const server = await startHttpServer(t)
    const proxy = createTlsServer(IDENTITY, (socket) =>
      joinSockets(socket, connect(server.port, '127.0.0.1'))
    )
    const { port } = await listen(t, proxy)
    const client = await startStdioProxy(t, `https://127.0.0.1:${port}/mcp`, {
      env: TRUST
    })
    assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
    const otherClient = await startStdioProxy(t, `wss://127.0.0.1:${port}/ws`, {
      handshake: false
    })
    const { code } = await within(otherClient.exit, 'its end', 10_000)
    assert.equal(code, 2)
    assert.match(otherClient.stderr(), /^troupe: .*is not trusted: .*certificate/m)
  })
})

describe('troupe call --connect', { timeout: 60_000 }, () => {
  /** @param {string[]} args @param {Record<string, string>} [env] */
  const run = async (args, env) => {
    const environment = cleanEnvironment(env)
    // A warning that an option of servers has no effect here would precede the JSON on stderr.
    delete environment.TROUPE_STORE
    const child = spawn(process.execPath, [BIN, 'call', ...args], { env: environment })
    const [out, err] = [child.stdout, child.stderr].map((stream) => text(stream))
    const [status] = await once(child, 'exit')
    return { status, stdout: (await out).trimEnd(), stderr: await err }
  }

  test('makes the call on that server', async (t) => {
    const env = { TROUPE_AUTH_TOKEN: 'correct-horse' }
    const server = await startHttpServer(t, [], { env })
    const client = await server.connect()
    const sessionId = await client.createSession()
    await client.ok('navigate', {
      sessionId,
      url: 'data:text/html,<title>There</title><h1>There</h1>'
    })
    const call = (tool, args) => run([tool, JSON.stringify(args), '--connect', server.url], env)
    const evaluated = await call('evaluate', { sessionId, script: 'document.title' })
    assert.deepEqual(
      [evaluated.status, JSON.parse(evaluated.stdout).value],
      [0, 'There'],
      evaluated.stderr
    )
    const shown = await call('snapshot', { sessionId })
    assert.match(shown.stdout, /^Page: .*[^]*heading "There" .*\]$/, 'without the marks for agents')
    assert.match((await call('screenshot', { sessionId })).stdout, /^data:image\/\w+;base64,\S+$/)
    const failed = await call('click', { sessionId, selector: '#nothing', timeout: 50 })
    assert.deepEqual([failed.status, JSON.parse(failed.stderr).errorCode], [1, 'ELEMENT_NOT_FOUND'])
    assert.equal(
      JSON.parse((await call('no_such_tool', {})).stderr).errorCode,
      'INVALID_PARAMETERS'
    )
    // The implicit session has ended with it.
    assert.equal((await call('navigate', { url: 'data:text/html,<title>Own</title>' })).status, 0)
    await until(async () => (await server.sessionCount()) === 1, 'the end of its own session')
  })

  test('fails at once if no server listens or the token is wrong', async (t) => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`
    const begun = performance.now()
    const missing = await run(['list_sessions', '--connect', url])
    assert.ok(performance.now() - begun < 10_000)
    assert.equal(missing.status, 1)
    const { errorCode, message } = JSON.parse(missing.stderr)
    assert.deepEqual([errorCode, message.includes(url)], ['SERVER_UNAVAILABLE', true], message)
    const server = await startHttpServer(t, [], { env: { TROUPE_AUTH_TOKEN: 'correct-horse' } })
    const otherClient = await run(['list_sessions', '--connect', server.url], {
      TROUPE_AUTH_TOKEN: 'wrong'
    })
    assert.match(JSON.parse(otherClient.stderr).suggestion, /--auth-token-file/)
  })
})

/** The response of a WebSocket server to an upgrade request. @param {Buffer} request */
function upgraded(request) {
  const key = /^sec-websocket-key: (.*)\r$/im.exec(request.toString())?.[1]
  const accept = createHash('sha1')
    .update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  const headers = [
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    'Sec-WebSocket-Protocol: mcp'
  ]
  return `HTTP/1.1 101 Switching Protocols\r\n${headers.join('\r\n')}\r\n\r\n`
}
