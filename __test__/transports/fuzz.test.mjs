// Random bytes on every transport: the server neither crashes nor hangs, and serves the next
// client.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { before, describe, test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { fc } from '../support/random.mjs'
import { shared, startShared } from '../support/scope.mjs'
import { within } from '../support/wait.mjs'

const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
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

/** @param {string} body @param {string} token */
const post = (body, token) =>
  `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`

const junk = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes))

/** Valid messages with a few wrong bytes, or cut off. @param {string[]} right */
const almost = (right) =>
  fc
    .tuple(
      fc.constantFrom(...right),
      fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 4 }),
      fc.nat()
    )
    .map(([text, changes, end]) => {
      const bytes = Buffer.from(text)
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte
      return end % 3 === 0 ? bytes.subarray(0, end % bytes.length) : bytes
    })

/**
 * @param {fc.Arbitrary<Buffer>} arbitrary
 * @param {(bytes: Buffer) => Promise<void>} check
 * @param {number} numRuns
 */
const forAll = (arbitrary, check, numRuns) =>
  fc.assert(fc.asyncProperty(arbitrary, check), { numRuns, endOnFailure: true })

describe('random bytes', { timeout: 120_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  before(async () => {
    server = await startHttpServer(scope, ['--request-timeout', '1000'])
  })
  const isWell = async () => {
    assert.equal((await fetch(server.at('/health'))).status, 200)
    assert.doesNotMatch(server.stderr(), /panicked|ERROR/)
  }

  test('over HTTP close the connection or get a response', async () => {
    const requests = [
      post(PING, server.token),
      post(INITIALIZE, server.token),
      'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'DELETE /mcp?session=x HTTP/1.1\r\nHost: localhost\r\n\r\n'
    ]
    await forAll(
      fc.oneof(junk, almost(requests)),
      async (bytes) => {
        const socket = connect(server.port, '127.0.0.1')
        socket.on('error', () => {})
        socket.resume()
        await once(socket, 'connect')
        const ended = new Promise((resolve) => socket.on('close', resolve))
        socket.end(bytes)
        await within(ended, `the end after ${JSON.stringify(bytes.toString('latin1'))}`, 5000)
      },
      300
    )
    await isWell()
  })

  test('over a WebSocket close it or get a response', async () => {
    const frames = fc.record({
      opcode: fc.nat({ max: 15 }),
      payload: fc.oneof(junk, almost([PING, INITIALIZE, `[${PING}]`]))
    })
    await fc.assert(
      fc.asyncProperty(fc.array(frames, { maxLength: 5 }), junk, async (whole, rest) => {
        const client = await server.webSocket()
        for (const { opcode, payload } of whole) client.sendFrame(opcode, payload)
        client.socket.end(rest)
        await within(client.ended, 'the end of the WebSocket', 5000)
      }),
      { numRuns: 100, endOnFailure: true }
    )
    await isWell()
  })
})

describe('random lines', { timeout: 60_000 }, () => {
  const { server } = startShared()

  test('do not prevent a stdio server from answering the next request', async () => {
    await forAll(
      fc.oneof(junk, almost([PING, `[${PING},${PING}]`])),
      async (bytes) => {
        server.child.stdin.write(Buffer.concat([bytes, Buffer.from('\n')]))
        assert.deepEqual((await server.request('ping', undefined, { timeout: 5000 })).result, {})
      },
      300
    )
    assert.doesNotMatch(server.stderr(), /panicked|ERROR/)
  })
})
