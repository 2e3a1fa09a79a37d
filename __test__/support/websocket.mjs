// A minimal WebSocket client, because Node 20 has none. It sends text frames, and any bytes that a
// test passes.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { RpcClient } from './rpc.mjs'
import { within } from './wait.mjs'

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const TEXT = 1
const BINARY = 2
const CLOSE = 8
const PING = 9

/**
 * @typedef {{ opcode: number, isLast: boolean, payload: Buffer, size: number }} WebSocketFrame
 *   `isLast`: whether it ends its message. The payload is unmasked. `size`: the length of the
 *   whole frame in bytes.
 */

/**
 * Reads the complete frames at the beginning of `bytes`. Returns them and the rest.
 * @param {Buffer} bytes
 */
export function takeFrames(bytes) {
  /** @type {WebSocketFrame[]} */
  const frames = []
  for (let frame; (frame = firstFrame(bytes)); bytes = bytes.subarray(frame.size))
    frames.push(frame)
  return { frames, rest: bytes }
}

/** Returns undefined if the first frame is incomplete. @param {Buffer} bytes */
function firstFrame(bytes) {
  if (bytes.length < 2) return undefined
  const short = bytes[1] & 0x7f
  const maskAt = short < 126 ? 2 : short === 126 ? 4 : 10
  const isMasked = bytes[1] > 0x7f
  const begin = maskAt + (isMasked ? 4 : 0)
  if (bytes.length < begin) return undefined
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  const size = begin + length
  if (bytes.length < size) return undefined
  const payload = Buffer.from(bytes.subarray(begin, size))
  if (isMasked) payload.forEach((byte, at) => (payload[at] = byte ^ bytes[maskAt + (at % 4)]))
  return { opcode: bytes[0] & 0x0f, isLast: bytes[0] > 0x7f, payload, size }
}

/**
 * Opens a WebSocket. If the server rejects it, throws an error with the `status` of the response.
 * @template {WebSocketClient} [T=WebSocketClient]
 * @param {string} url `ws://…` @param {Record<string, string>} [headers]
 * @param {new (...given: ConstructorParameters<typeof WebSocketClient>) => T} [Client]
 */
export async function openWebSocket(
  url,
  headers = {},
  Client = /** @type {any} */ (WebSocketClient)
) {
  const key = randomBytes(16).toString('base64')
  const asked = request(url.replace(/^ws/, 'http'), {
    agent: false,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
      'sec-websocket-protocol': 'mcp',
      ...headers
    }
  })
  asked.end()
  const [response, socket, head] = await within(
    Promise.race([once(asked, 'upgrade'), once(asked, 'response')]),
    'the answer to the upgrade',
    10_000
  )
  if (!socket) {
    response.resume()
    throw Object.assign(new Error(`refused with ${response.statusCode}`), {
      status: response.statusCode
    })
  }
  const accept = createHash('sha1')
    .update(key + GUID)
    .digest('base64')
  if (response.headers['sec-websocket-accept'] !== accept)
    throw new Error('another WebSocket was accepted')
  return new Client(socket, head, response.headers)
}

export class WebSocketClient extends RpcClient {
  /** @type {Buffer} */
  #bytes = Buffer.alloc(0)
  /** The number of received pings. */
  pings = 0
  /** The code of the server's closing frame. @type {number | undefined} */
  closeCode

  /**
   * @param {import('node:net').Socket} socket
   * @param {Buffer} head
   * @param {import('node:http').IncomingHttpHeaders} headers
   */
  constructor(socket, head, headers) {
    super()
    this.socket = socket
    this.headers = headers
    this.ended = new Promise((resolve) => socket.on('close', resolve)).then(() =>
      this.disconnected('the WebSocket is closed')
    )
    socket.on('error', () => {})
    // Read with the later data, when the fields of a derived class exist.
    socket.unshift(head)
    socket.on('data', (data) => this.#take(data))
  }

  /** @param {object} message */
  send(message) {
    this.sendFrame(TEXT, JSON.stringify({ jsonrpc: '2.0', ...message }))
  }

  /** @param {number} opcode @param {string | Buffer} payload */
  sendFrame(opcode, payload) {
    const bytes = Buffer.from(payload)
    const length = Buffer.alloc(bytes.length < 126 ? 1 : bytes.length < 65_536 ? 3 : 9)
    length[0] = length.length === 1 ? bytes.length : length.length === 3 ? 126 : 127
    if (length.length === 3) length.writeUInt16BE(bytes.length, 1)
    if (length.length === 9) length.writeBigUInt64BE(BigInt(bytes.length), 1)
    length[0] |= 0x80
    const mask = randomBytes(4)
    const masked = bytes.map((byte, at) => byte ^ mask[at % 4])
    this.socket.write(Buffer.concat([Buffer.from([0x80 | opcode]), length, mask, masked]))
  }

  /** Closes the connection with a close frame. */
  async close() {
    this.sendFrame(CLOSE, Buffer.from([0x03, 0xe8]))
    await within(this.ended, 'the end of the WebSocket', 5000)
  }

  /** Closes the socket without a close frame. */
  cut() {
    this.socket.resetAndDestroy()
  }

  /** @param {Buffer} data */
  #take(data) {
    const { frames, rest } = takeFrames(Buffer.concat([this.#bytes, data]))
    this.#bytes = rest
    for (const { opcode, payload } of frames) this.#frame(opcode, payload)
  }

  /** Handles a binary message. @param {Buffer} _payload */
  receiveBytes(_payload) {}

  /** @param {number} opcode @param {Buffer} payload */
  #frame(opcode, payload) {
    if (opcode === PING) {
      this.pings++
      this.sendFrame(PING + 1, payload)
    }
    if (opcode === CLOSE) {
      this.closeCode = payload.length > 1 ? payload.readUInt16BE(0) : undefined
      this.socket.end()
    }
    if (opcode === TEXT) this.receive(payload.toString())
    if (opcode === BINARY) this.receiveBytes(payload)
  }
}
