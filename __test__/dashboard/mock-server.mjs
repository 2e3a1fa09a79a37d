// A mock server for the dashboard's page. It responds with sample data, sends drawn images, and
// stores the messages of the page. `node __test__/dashboard/mock-server.mjs` starts it and prints a
// link to the page.
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../../scripts/run.mjs'
import { launchChromium } from '../page/world.mjs'
import { until } from '../support/wait.mjs'
import { callsOf, metrics, sampleSessions } from './sample-sessions.mjs'

export const PAGE = join(ROOT, 'lib/dashboard')
const DASHBOARD = join(ROOT, 'dashboard/')
/** Why tests are skipped, or false. */
export const notInstalled = existsSync(join(DASHBOARD, 'node_modules'))
  ? false
  : 'dashboard/node_modules is missing: run `npm run setup`, or `npm ci` in dashboard'
/** `require` with the packages of the dashboard. */
export const requireOfDashboard = createRequire(join(DASHBOARD, 'package.json'))

export const VIEWPORT = { width: 1280, height: 720 }
const COOKIE = 'troupe_dashboard=valid'
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.md': 'text/markdown'
}
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Pages whose screenshots are the images of the sessions, by the end of the session's id. */
const DRAWN = {
  shop:
    '<body style="margin:0;font:20px sans-serif"><div style="background:#234;color:#fff;padding:24px 40px;font-size:28px">Corner Shop</div><div style="padding:40px;display:grid;grid-template-columns:repeat(3,1fr);gap:30px">' +
    ['Kettle', 'Teapot', 'Cup', 'Tray', 'Spoon', 'Jar']
      .map(
        (name, index) =>
          `<div style="border:1px solid #ccc;border-radius:10px;padding:20px"><div style="height:140px;background:hsl(${index * 55} 50% 75%)"></div><b>${name}</b><br>$ ${index * 7 + 9}</div>`
      )
      .join('') +
    '</div>',
  login:
    '<body style="margin:0;font:20px sans-serif;background:#eef;display:grid;place-items:center;height:100vh"><div style="background:#fff;padding:50px;border-radius:12px;width:420px"><h1 style="margin-top:0">Sign in</h1><p>Name</p><div style="border:1px solid #999;height:40px"></div><p>Password</p><div style="border:1px solid #999;height:40px"></div><p style="background:#246;color:#fff;padding:12px;text-align:center">Continue</p></div>',
  other:
    '<body style="margin:40px;font:20px serif"><h1>Minutes of the meeting</h1>' +
    '<p>The committee discussed the budget of the next year and the repair of the roof.</p>'.repeat(
      9
    )
}

/** Draws the images once. @param {import('playwright-core').Browser} browser */
export async function drawFrames(browser) {
  const page = await browser.newPage({ viewport: VIEWPORT })
  /** @type {Record<string, Buffer>} */
  const frames = {}
  for (const [name, html] of Object.entries(DRAWN)) {
    await page.setContent(`<!doctype html>${html}`)
    frames[name] = await page.screenshot({ type: 'jpeg', quality: 60 })
  }
  await page.close()
  return frames
}

/**
 * Starts the server and ends it with `t`.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {{ frames: Record<string, Buffer>, me?: object, sessions?: any[] }} options
 */
export async function startMockServer(t, options) {
  const server = new MockServer(options)
  await server.start()
  t.after(() => server.close())
  return server
}

export class MockServer {
  /** The messages of all pages. @type {any[]} */
  received = []
  /** The requests that change something or export, as `METHOD path`. @type {string[]} */
  requests = []
  /** The bodies of uploads. @type {string[]} */
  uploads = []
  /** The status of a proxy that responds in place of the API, with an HTML page. */
  proxyStatus = 0
  /** The message of the error that an upload gets. */
  uploadError = ''
  /** The token of the next link. */
  token = 'one-time'
  #frameNumber = 0
  /** The sockets, each with a function that sends its next images. @type {Map<any, () => void>} */
  #sockets = new Map()

  constructor({ frames, me = {}, sessions = sampleSessions() }) {
    this.frames = frames
    this.me = { readOnly: false, session: null, version: '0.1.0', ...me }
    this.sessions = sessions
    /** @type {Record<string, any[]>} by session */
    this.calls = Object.fromEntries(sessions.map((session) => [session.id, callsOf(session)]))
    this.metrics = metrics()
  }

  async start(port = 0) {
    const { WebSocketServer } = requireOfDashboard('ws')
    this.http = createServer((request, response) => this.#respond(request, response))
    const sockets = new WebSocketServer({ noServer: true })
    this.http.on('upgrade', (request, socket, head) => {
      const isAllowed = request.headers.cookie?.includes(COOKIE)
      if (!isAllowed) return void socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
      sockets.handleUpgrade(request, socket, head, (opened) => this.#serve(opened))
    })
    this.http.listen(port, '127.0.0.1')
    await once(this.http, 'listening')
    this.port = /** @type {any} */ (this.http.address()).port
    this.url = `http://127.0.0.1:${this.port}/dashboard/`
  }

  async close() {
    this.cut()
    const http = this.http
    http?.close()
    http?.closeAllConnections()
    if (http?.listening) await once(http, 'close')
  }

  /** Returns a link that signs in and opens a view. */
  link(view = '/') {
    return `${this.url}#token=${this.token}&view=${encodeURIComponent(view)}`
  }

  /** Ends all WebSockets. */
  cut() {
    for (const socket of this.#sockets.keys()) socket.terminate()
  }

  /** Sends a new image of each watched session whose last one was acknowledged. */
  repaint() {
    for (const sendFrames of this.#sockets.values()) sendFrames()
  }

  /** Sends a message to all pages. @param {object} message */
  send(message) {
    for (const socket of this.#sockets.keys()) socket.send(JSON.stringify(message))
  }

  sendSessions() {
    const live = this.sessions.filter(({ state }) => state === 'active')
    this.send({ type: 'sessions', sessions: live })
  }

  /** Adds a call to a session and reports it. @param {any} call */
  report(call) {
    const calls = this.calls[call.session]
    const index = calls.findIndex(({ id }) => id === call.id)
    if (index < 0) calls.unshift(call)
    else calls[index] = call
    this.send({ type: 'call', call })
  }

  /** Waits for a message. @param {(message: any) => boolean} matches */
  async message(matches, what = 'a message of the page') {
    return await until(() => this.received.find(matches), what)
  }

  /** The input events of all messages. @returns {any[]} */
  get input() {
    return this.received.filter(({ type }) => type === 'input').flatMap(({ events }) => events)
  }

  /** @param {any} socket */
  #serve(socket) {
    /** The sessions that wait for an acknowledgment. */
    const pending = new Set()
    let watched = new Set()
    const sendFrame = (id) => {
      if (pending.has(id)) return
      pending.add(id)
      const frame = ++this.#frameNumber
      const header = Buffer.from(
        JSON.stringify({ id, frame, page: 'p1', ...VIEWPORT, takenAt: new Date().toISOString() })
      )
      const length = Buffer.alloc(4)
      length.writeUInt32BE(header.length)
      const name = Object.keys(this.frames).find((one) => id.endsWith(one)) ?? 'other'
      socket.send(Buffer.concat([length, header, this.frames[name]]))
    }
    const sendFrames = () => watched.forEach(sendFrame)
    this.#sockets.set(socket, sendFrames)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('message', (data) => {
      const message = JSON.parse(String(data))
      this.received.push(message)
      if (message.type === 'watch') {
        watched = new Set(message.sessions.map(({ id }) => id))
        for (const id of pending) if (!watched.has(id)) pending.delete(id)
        sendFrames()
      }
      if (message.type === 'ack') pending.delete(message.id)
      if (message.type === 'hold') this.#hold(message.id, 'you')
      if (message.type === 'release') this.#hold(message.id, null)
      if (message.type === 'dialog') this.send({ type: 'dialog', id: message.id, dialog: null })
      if (message.type === 'done') {
        const session = this.sessions.find(({ id }) => id === message.id)
        session.question = null
        this.sendSessions()
      }
    })
    this.sendSessions()
  }

  /** @param {string} id @param {string | null} by */
  #hold(id, by) {
    const session = this.sessions.find((one) => one.id === id)
    session.heldBy = by && 'viewer'
    this.send({ type: 'held', id, by })
    this.sendSessions()
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async #respond(request, response) {
    const url = new URL(request.url ?? '/', this.url)
    const path = url.pathname.replace('/dashboard/', '')
    const method = request.method ?? ''
    if (method !== 'GET' || path.endsWith('/export')) {
      this.requests.push(`${method} ${path}${url.search}`)
    }
    const json = (value, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    const failed = (status, code, message) =>
      json({ error: { code, message, suggestion: null } }, status)

    if (this.proxyStatus && path.startsWith('api/'))
      return void response
        .writeHead(this.proxyStatus, { 'content-type': 'text/html' })
        .end('<h1>Bad gateway</h1>')
    if (path === 'login') {
      let body = ''
      for await (const part of request) body += part
      if (JSON.parse(body).token !== this.token)
        return void failed(401, 'LINK_EXPIRED', 'The link was used, or it has expired.')
      this.token = `${this.token}-next`
      const cookie = `${COOKIE}; HttpOnly; SameSite=Strict; Path=/dashboard/`
      return void response.writeHead(204, { 'set-cookie': cookie }).end()
    }
    if (!path.startsWith('api/')) return void this.#file(path, response)
    if (!request.headers.cookie?.includes(COOKIE))
      return void failed(401, 'UNAUTHORIZED', 'The request has no valid cookie.')

    const [, kind, id, what] = path.split('/').map(decodeURIComponent)
    const all = Object.values(this.calls).flat()
    const containing = (calls, text) =>
      calls.filter((call) =>
        JSON.stringify(call)
          .toLowerCase()
          .includes((text ?? '').toLowerCase())
      )
    const session = this.sessions.find((one) => one.id === id)
    if (kind === 'me') return void json(this.me)
    if (kind === 'metrics') return void json(this.metrics)
    if (kind === 'search')
      return void json({ calls: containing(all, url.searchParams.get('text')) })
    if (kind === 'calls') {
      const call = all.find((one) => one.id === id)
      if (what === 'pictures')
        return void response.writeHead(200, { 'content-type': 'image/jpeg' }).end(this.frames.shop)
      return void (call ? json(call) : failed(404, 'CALL_NOT_FOUND', `There is no call \`${id}\`.`))
    }
    if (!id) return void json({ sessions: this.sessions })
    if (!session) return void failed(404, 'SESSION_NOT_FOUND', `There is no session \`${id}\`.`)
    if (what === 'files') {
      let body = ''
      for await (const part of request) body += part
      this.uploads.push(body)
      if (this.uploadError) return void failed(500, 'FILE_ERROR', this.uploadError)
      this.send({ type: 'chooser', id, chooser: null })
      return void response.writeHead(204).end()
    }
    if (method === 'DELETE') {
      this.sessions = this.sessions.filter((one) => one !== session)
      return void response.writeHead(204).end()
    }
    if (what === 'calls') {
      const found = containing(this.calls[id], url.searchParams.get('search'))
      const begin = Number(url.searchParams.get('before') ?? 0)
      const end = begin + Number(url.searchParams.get('limit'))
      const next = end < found.length ? String(end) : null
      return void json({ calls: found.slice(begin, end), next })
    }
    json({ ...session, pages: session.pages ?? [] })
  }

  /** @param {string} path @param {import('node:http').ServerResponse} response */
  #file(path, response) {
    const file = join(PAGE, path || 'index.html')
    if (!existsSync(file)) return void response.writeHead(404).end()
    response
      .writeHead(200, {
        'content-type': TYPES[extname(file)],
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff'
      })
      .end(readFileSync(file))
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  /** @type {(() => unknown)[]} */
  const ends = []
  const browser = await launchChromium({ after: (end) => void ends.push(end) })
  const frames = await drawFrames(browser)
  for (const end of ends) await end()
  const server = new MockServer({ frames })
  await server.start(Number(process.env.PORT ?? 0))
  setInterval(() => server.repaint(), 1000)
  console.log(server.link())
}
