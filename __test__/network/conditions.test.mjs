// set_offline and set_throttling.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { INITIATOR_ROUTES, responseForEachInitiator } from '../support/everywhere.mjs'
import { startShared } from '../support/scope.mjs'

describe('network conditions', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    args: ['--max-sessions', '50'],
    routes: {
      ...INITIATOR_ROUTES,
      '/opener': '<title>Opener</title><a id="popup" href="/form" target="_blank">Popup</a>',
      '/api/big': (_request, response) =>
        response.writeHead(200, { 'cache-control': 'no-store' }).end('x'.repeat(30_000))
    }
  })

  const FETCH = `() => { const begun = performance.now(); return fetch('/api/big').then((answer) => answer.text()).then(() => performance.now() - begun) }`
  const UPLOAD = `() => { const begun = performance.now(); return fetch('/api/x', { method: 'POST', body: 'x'.repeat(30_000) }).then(() => performance.now() - begun) }`

  test('set_offline blocks every kind of request, and unblocks it', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/everywhere/page') })
    assert.deepEqual(
      await server.evaluate('ask', { sessionId, args: ['/api/x'] }),
      responseForEachInitiator('real')
    )
    assert.deepEqual(await server.ok('set_offline', { sessionId, offline: true }), {
      success: true,
      message: 'The session is offline.'
    })
    assert.deepEqual(
      await server.evaluate('ask', { sessionId, args: ['/api/x'] }),
      responseForEachInitiator('failed')
    )
    assert.equal(await server.evaluate('navigator.onLine', { sessionId }), false)
    await server.ok('set_offline', { sessionId, offline: false })
    assert.deepEqual(
      await server.evaluate('ask', { sessionId, args: ['/api/x'] }),
      responseForEachInitiator('real')
    )
    assert.equal(await server.evaluate('navigator.onLine', { sessionId }), true)
  })

  test('offline mode applies to navigations and new pages; mocks still respond', async () => {
    const sessionId = await server.createSession()
    await server.ok('set_offline', { sessionId, offline: true })
    const { json, isError } = await server.call('navigate', { sessionId, url: site.url('/') })
    assert.equal(isError, true)
    assert.deepEqual(
      [json.errorCode, json.details.reason, json.retryable],
      ['NAVIGATION_FAILED', 'net::ERR_INTERNET_DISCONNECTED', true]
    )
    await server.ok('mock_response', {
      sessionId,
      url: site.url('/'),
      response: { body: '<title>Here</title>' }
    })
    await server.ok('pages', { sessionId, action: 'new' })
    assert.equal(
      (await server.ok('navigate', { sessionId, pageId: 'page-2', url: site.url('/') })).title,
      'Here'
    )
    assert.equal(
      await server.evaluate(`fetch('/api/x').then(() => 'came', () => 'failed')`, {
        sessionId,
        pageId: 'page-2'
      }),
      'failed'
    )
  })

  test('a popup of an offline session is offline', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/opener') })
    await server.ok('set_offline', { sessionId, offline: true })
    const asked = site.requests.length
    const { newPage } = await server.ok('click', { sessionId, selector: '#popup' })
    assert.equal(newPage.pageId, 'page-2')
    assert.equal(site.requests.length, asked)
  })

  test('set_throttling limits latency, download and upload independently, also in new pages', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/') })
    assert.match(
      (await server.ok('set_throttling', { sessionId, latency: 300 })).message,
      /no limit; upload: no limit; latency: 300 ms/
    )
    assert.ok((await server.evaluate(FETCH, { sessionId })) >= 300)
    await server.ok('set_throttling', { sessionId, downloadSpeed: 60_000 })
    assert.ok((await server.evaluate(FETCH, { sessionId })) >= 300, 'download')
    await server.ok('pages', { sessionId, action: 'new', url: site.url('/') })
    assert.ok((await server.evaluate(FETCH, { sessionId, pageId: 'page-2' })) >= 300, 'new page')
    await server.ok('set_throttling', { sessionId, uploadSpeed: 60_000 })
    assert.ok((await server.evaluate(UPLOAD, { sessionId })) >= 300, 'upload')
    const { message } = await server.ok('set_throttling', {
      sessionId,
      downloadSpeed: 0,
      uploadSpeed: -1,
      latency: 0
    })
    assert.equal(message, 'The network is not throttled.')
    assert.ok((await server.evaluate(FETCH, { sessionId })) < 300, 'lifted')
  })

  test('blocked WebSockets stay blocked when the network is throttled', async (t) => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/') })
    await server.ok('block_resource', { sessionId, resourceType: 'websocket' })
    await server.ok('set_throttling', { sessionId, latency: 50 })
    // This accepts every socket.
    const sockets = createServer().listen(0, '127.0.0.1')
    sockets.on('upgrade', ({ headers }, socket) => {
      const accept = createHash('sha1')
        .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64')
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`
      )
      t.after(() => socket.destroy())
    })
    await once(sockets, 'listening')
    t.after(() => sockets.close())
    const { port } = /** @type {import('node:net').AddressInfo} */ (sockets.address())
    await server.evaluate(`window.socket = new WebSocket('ws://127.0.0.1:${port}'), 0`, {
      sessionId
    })
    assert.ok((await server.evaluate(FETCH, { sessionId })) >= 50)
    // It stays pending, or fails.
    assert.notEqual(await server.evaluate('socket.readyState', { sessionId }), 1)
  })

  for (const [tool, args] of /** @type {const} */ ([
    ['set_offline', {}],
    ['set_offline', { offline: 'yes' }],
    ['set_throttling', { latency: 'slow' }]
  ])) {
    test(`${tool} refuses ${JSON.stringify(args)}`, async () => {
      const { json, isError } = await server.call(tool, {
        ...args,
        sessionId: await server.createSession()
      })
      assert.equal(isError, true)
      assert.equal(json.errorCode, 'INVALID_PARAMETERS')
    })
  }
})
