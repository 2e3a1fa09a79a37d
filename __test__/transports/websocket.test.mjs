// MCP over a WebSocket: one message per frame, one browser session per client, the same order as on
// stdio.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { META, MODERN } from '../support/modern.mjs'
import { shared } from '../support/scope.mjs'
import { startSite } from '../support/site.mjs'
import { until, within } from '../support/wait.mjs'

describe('a WebSocket', { timeout: 120_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  before(async () => {
    site = await startSite(scope)
    server = await startHttpServer(scope, ['--idle-timeout', '600'], { transport: 'websocket' })
  })
  const open = async (headers) => {
    const client = await server.webSocket(headers)
    await client.initialize()
    return client
  }

  test('serves MCP as subprotocol `mcp` to both protocol generations, and is the only endpoint with `--transport websocket`', async () => {
    const client = await open()
    assert.equal(client.headers['sec-websocket-protocol'], 'mcp')
    assert.equal((await client.ok('navigate', { url: site.url('/form') })).title, 'Form')
    assert.equal((await server.fetch('/mcp')).status, 404)
    await client.close()
    const modern = await server.webSocket()
    const { result } = await modern.request('server/discover', { _meta: META })
    assert.ok(result.supportedVersions.includes(MODERN))
    const called = await modern.request('tools/call', {
      name: 'evaluate',
      arguments: { script: '6 * 7' },
      _meta: META
    })
    assert.equal(called.result.structuredContent.value, 42)
    await modern.close()
  })

  test('has its own session, which ends when the connection is closed', async () => {
    const [one, other] = await Promise.all([open(), open()])
    await one.ok('navigate', { url: site.url('/set-cookie?whose=one') })
    await other.ok('navigate', { url: site.url('/cookies') })
    assert.ok(!JSON.stringify(await other.ok('get_text', { selector: 'body' })).includes('whose'))
    assert.equal(await server.sessionCount(), 2)
    await Promise.all([one.close(), other.close()])
    await until(async () => (await server.sessionCount()) === 0, 'the end of both sessions')
  })

  test('that is interrupted gets its session back if it reconnects in time, but not later', async () => {
    const client = await open()
    const id = String(client.headers['mcp-session-id'])
    await client.ok('evaluate', { script: 'globalThis.mark = "kept"' })
    client.cut()
    await client.ended
    const again = await open({ 'mcp-session-id': id })
    assert.equal(again.headers['mcp-session-id'], id)
    assert.equal((await again.ok('evaluate', { script: 'globalThis.mark' })).value, 'kept')
    again.cut()
    await until(async () => (await server.sessionCount()) === 0, 'the end of the session', 5000)
  })

  test('cannot claim an open session, the implicit session of another client, or an invalid id', async () => {
    const [one, other] = await Promise.all([open(), open()])
    const own = (await one.call('evaluate', { script: 'globalThis.mark = "mine"' })).meta.sessionId
    const created = await other.createSession()
    for (const claimed of [own, created, crypto.randomUUID(), 'nonsense']) {
      const claimant = await open({ 'troupe-own-session': claimed })
      const { json, meta } = await claimant.call('evaluate', {
        script: 'globalThis.mark ?? "nothing"'
      })
      assert.equal(json.value, 'nothing')
      assert.notEqual(meta.sessionId, claimed)
      await claimant.close()
    }
    assert.equal((await one.ok('evaluate', { script: 'globalThis.mark' })).value, 'mine')
    // The session of a client that has ended can be used by its id.
    await one.close()
    const successor = await until(async () => {
      const claimant = await open({ 'troupe-own-session': own })
      if ((await claimant.call('evaluate', { script: '1' })).meta.sessionId === own) return claimant
      await claimant.close()
    }, 'the session, once its owner is gone')
    assert.equal((await successor.ok('list_sessions')).sessions[0].expiresAt, undefined)
    await other.ok('close_session', { sessionId: created })
    await Promise.all([other.close(), successor.close()])
  })

  test('400 calls sent at once run in order', async () => {
    const client = await open()
    const numbers = Array.from({ length: 400 }, (_, number) => number)
    const script = (number) => `(globalThis.list ??= []).push(${number}) && list.length`
    const answers = await Promise.all(
      numbers.map((number) => client.ok('evaluate', { script: script(number) }))
    )
    assert.deepEqual(
      answers.map(({ value }) => value),
      numbers.map((number) => number + 1)
    )
    await client.close()
  })

  test('a call stops when it is canceled, and when its client is disconnected', async () => {
    const client = await open()
    const { sessionId } = await client.ok('create_session')
    const forever = { sessionId, script: 'new Promise(() => {})' }
    client.call('evaluate', forever, { id: 'one' }).catch(() => null)
    const behind = client.ok('evaluate', { sessionId, script: '"free"' })
    client.send({ method: 'notifications/cancelled', params: { requestId: 'one' } })
    assert.equal((await within(behind, 'the call behind it', 5000)).value, 'free')
    client.call('evaluate', forever).catch(() => null)
    await client.request('ping')
    client.cut()
    const other = await open()
    assert.equal(
      (await within(other.ok('evaluate', { sessionId, script: '"free"' }), 'the session', 5000))
        .value,
      'free'
    )
    await other.ok('close_session', { sessionId })
    await other.close()
  })

  test('an invalid message gets an error response, a message that is too large closes the connection, and the next client is served', async () => {
    const client = await open()
    for (const [text, code] of /** @type {const} */ ([
      ['{', -32700],
      ['17', -32600],
      ['{"jsonrpc":"2.0","id":7,"method":5}', -32600]
    ])) {
      const before = client.received.length
      client.sendFrame(1, text)
      const answer = await until(() => client.received[before], `the answer to ${text}`)
      assert.equal(answer.error.code, code, JSON.stringify(answer))
    }
    assert.deepEqual((await client.request('ping')).result, {})
    client.sendFrame(1, Buffer.alloc((4 << 20) + 1, ' '))
    await within(client.ended, 'the end of the WebSocket', 5000)
    const nonsense = await open()
    nonsense.socket.write(Buffer.alloc(64, 0xff))
    await within(nonsense.ended, 'the end of it', 5000)
    const next = await open()
    assert.deepEqual((await next.request('ping')).result, {})
    await next.close()
  })

  test('is rejected for foreign origins and hosts', async () => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { host: 'evil.example' },
      { origin: 'null' }
    ]) {
      await assert.rejects(server.webSocket(headers), { status: 403 })
    }
    await (await open({ origin: new URL(server.at('/')).origin })).close()
  })

  test('whose client does not read is closed, and its session is suspended', async (t) => {
    const own = await startHttpServer(t, ['--idle-timeout', '300', '--result-budget', '100000000'])
    const client = await own.webSocket()
    await client.initialize()
    await client.ok('evaluate', { script: '1' })
    client.socket.pause()
    // More than the socket buffers on both sides.
    const params = { name: 'evaluate', arguments: { script: '"x".repeat(6_000_000)' } }
    for (let id = 1000; id < 1005; id++) client.send({ id, method: 'tools/call', params })
    const answered = () => own.metric('calls_total{tool="evaluate",outcome="ok"}')
    await until(async () => (await answered()) === 6, 'the calls', 30_000)
    // The client closes its side, and still does not read.
    client.socket.end()
    await until(async () => (await own.sessionCount()) === 0, 'the rest of its session')
    client.cut()
  })

  test('is pinged while its client sends nothing', async (t) => {
    const own = await startHttpServer(t, [], { transport: 'websocket' })
    const client = await own.webSocket()
    await client.initialize()
    await until(() => client.pings > 0, 'a ping', 45_000)
    assert.deepEqual((await client.request('ping')).result, {})
    await client.close()
  })

  test('gets a close frame when the server ends', async (t) => {
    const own = await startHttpServer(t)
    const client = await own.webSocket()
    await client.initialize()
    const running = client.call('evaluate', { script: 'new Promise(() => {})' })
    await client.request('ping')
    const { code } = await own.end()
    assert.equal(code, 0)
    await within(client.ended, 'the end of the WebSocket', 1000)
    const { error, isError } = await running
    assert.ok(error || isError)
  })
})
