// A viewer of the dashboard: opens a link as a browser does, and keeps the cookie.
import { ask } from './http.mjs'
import { until } from './wait.mjs'
import { WebSocketClient, openWebSocket } from './websocket.mjs'

/**
 * Creates a link, and returns its token.
 * @param {import('./http.mjs').HttpServer} server
 * @param {{ readOnly?: boolean, session?: string }} [options]
 */
export async function createLink(server, options = {}) {
  const response = await server.fetch('/dashboard/links', {
    method: 'POST',
    body: JSON.stringify(options)
  })
  const { path } = /** @type {{ path: string }} */ (await response.json())
  return new URLSearchParams(new URL(path, server.url).hash.slice(1)).get('token') ?? ''
}

/**
 * Exchanges a token for a cookie.
 * @param {import('./http.mjs').HttpServer} server @param {string} token
 * @param {Record<string, string>} [headers]
 */
export function logIn(server, token, headers = {}) {
  return ask(server.at('/dashboard/login'), {
    method: 'POST',
    headers: { origin: new URL(server.url).origin, ...headers },
    body: JSON.stringify({ token })
  })
}

/**
 * Opens a new link.
 * @param {import('./http.mjs').HttpServer} server
 * @param {{ readOnly?: boolean, session?: string }} [options]
 */
export async function openDashboard(server, options) {
  const { headers } = await logIn(server, await createLink(server, options))
  const [cookie = ''] = headers['set-cookie'] ?? []
  return new Viewer(server, cookie.split(';')[0])
}

/** A browser that has opened a link. */
export class Viewer {
  /** @param {import('./http.mjs').HttpServer} server @param {string} cookie */
  constructor(server, cookie) {
    this.server = server
    this.cookie = cookie
  }

  /** The headers that a browser sends. */
  get headers() {
    return { cookie: this.cookie, origin: new URL(this.server.url).origin }
  }

  /**
   * Sends a request to a path of the API.
   * @param {string} path @param {string} [method] @param {string} [body]
   */
  api(path, method = 'GET', body) {
    return ask(this.server.at(`/dashboard/api${path}`), { method, headers: this.headers, body })
  }

  /**
   * Connects to the WebSocket. The test closes it.
   * @param {{ after: (end: () => unknown) => void }} t
   * @param {Record<string, string>} [headers]
   */
  async live(t, headers = this.headers) {
    const live = await openWebSocket(this.server.at('/dashboard/api/live'), headers, LiveSocket)
    t.after(() => live.cut())
    return live
  }
}

/**
 * @typedef {{ id: string, frame: number, page: string, width: number, height: number, takenAt:
 *   string, jpeg: Buffer }} Frame
 */

/** The WebSocket of a viewer. It shows each image at once, unless `acknowledges` is false. */
export class LiveSocket extends WebSocketClient {
  /** @type {any[]} */
  messages = []
  /** @type {Frame[]} */
  frames = []
  acknowledges = true

  /** @param {string} text */
  receive(text) {
    this.messages.push(JSON.parse(text))
  }

  /** @param {Buffer} bytes */
  receiveBytes(bytes) {
    const end = 4 + bytes.readUInt32BE(0)
    const header = JSON.parse(bytes.subarray(4, end).toString())
    this.frames.push({ ...header, jpeg: Buffer.from(bytes.subarray(end)) })
    if (this.acknowledges) this.say({ type: 'ack', id: header.id, frame: header.frame })
  }

  /** Sends a message. @param {object} message */
  say(message) {
    this.sendFrame(1, JSON.stringify(message))
  }

  /** Watches sessions. @param {...string} ids */
  watch(...ids) {
    const sessions = ids.map((id) => ({ id, width: 640, height: 480, calls: true }))
    this.say({ type: 'watch', sessions })
  }

  /** Waits for a frame. @param {(frame: Frame) => boolean} [fits] */
  frame(fits = () => true) {
    return until(() => this.frames.find(fits), 'a live image')
  }

  /** Waits for a message. @param {string} type @param {(message: any) => boolean} [fits] */
  message(type, fits = () => true) {
    return until(
      () => this.messages.find((message) => message.type === type && fits(message)),
      `the message ${type}`
    )
  }
}
