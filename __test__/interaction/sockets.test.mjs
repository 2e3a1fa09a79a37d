// Pages that get their content over a WebSocket: results contain the server's responses.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { pause } from '../support/wait.mjs'

const PAGE = (/** @type {number} */ port) => `<title>Live</title>
  <button onclick="socket.send('run')">Run</button><button onclick="socket.send('ignored')">Ignore</button>
  <main></main><script>
    const socket = new WebSocket('ws://127.0.0.1:${port}')
    socket.onopen = () => socket.send('page')
    socket.onmessage = ({ data }) => document.querySelector('main').append(data, document.createElement('br'))
  </script>`

/** Messages to the page, and ms before each. */
const RESPONSES = {
  page: [
    [30, 'Welcome'],
    [60, 'to the page']
  ],
  run: [
    [40, 'started'],
    [50, 'finished']
  ],
  ignored: []
}

/** Answers messages with those of RESPONSES. @param {{ after: (end: () => unknown) => void }} t */
async function startSocketServer(t) {
  const server = createServer()
  const sockets = new Set()
  server.on('upgrade', (request, socket) => {
    sockets.add(socket)
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`
    )
    socket.on('error', () => {})
    socket.on('data', async (frame) => {
      // A short masked text frame.
      const text = frame.subarray(6).map((byte, index) => byte ^ frame[2 + (index % 4)])
      for (const [ms, answer] of RESPONSES[text.toString()] ?? []) {
        await pause(ms, 'the latency of the server')
        socket.write(Buffer.concat([Buffer.from([0x81, answer.length]), Buffer.from(answer)]))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    sockets.forEach((socket) => socket.destroy())
    server.close()
  })
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}

describe('a page with a WebSocket', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/live': (request, response) =>
        response
          .setHeader('content-type', 'text/html')
          .end(PAGE(Number(new URL(request.url, 'http://x').searchParams.get('port'))))
    }
  })

  test('is shown by the navigation with the content that the socket brings', async (t) => {
    const sessionId = await server.createSession()
    const url = site.url(`/live?port=${await startSocketServer(t)}`)
    const { snapshot } = await server.ok('navigate', { sessionId, url })
    assert.match(snapshot, /Welcome/)
    assert.match(snapshot, /to the page/)
  })

  test('is shown after an action with the whole response to a message', async (t) => {
    const sessionId = await server.createSession()
    const url = site.url(`/live?port=${await startSocketServer(t)}`)
    await server.ok('navigate', { sessionId, url })
    const { changes } = await server.ok('click', { sessionId, selector: 'text=Run' })
    assert.match(changes, /started/)
    assert.match(changes, /finished/)
  })

  test('does not delay an action for long if there is no response', async (t) => {
    const sessionId = await server.createSession()
    const url = site.url(`/live?port=${await startSocketServer(t)}`)
    await server.ok('navigate', { sessionId, url })
    const { json, ms } = await server.call('click', { sessionId, selector: 'text=Ignore' })
    assert.equal(json.settled, undefined)
    assert.ok(ms < 1500, `${ms} ms`)
  })
})
