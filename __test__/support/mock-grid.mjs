// A Selenium Grid that the tests control: HTTP endpoints of WebDriver sessions, each with its own
// Chromium. `__test__/apps/grid.test.mjs` uses a real Grid.
import { createServer as createPlain } from 'node:http'
import { createServer as createTls } from 'node:https'
import { startBrowser } from './running-browser.mjs'
import { forwardUpgrade, joinSockets, listen } from './sockets.mjs'
import { IDENTITY } from './tls.mjs'

/** The address that the Grid returns. Clients cannot reach it. */
const INTERNAL = 'ws://node.invalid:4444'

/**
 * @param {any} t
 * @param {{ slots?: number, sessionTimeout?: number, queueTimeout?: number, tls?: boolean,
 *   allows?: (request: import('node:http').IncomingMessage) => unknown }} [options]
 *   the times are in ms
 */
export async function startGrid(t, options = {}) {
  const { slots = 1, sessionTimeout = 300_000, queueTimeout = 60_000, tls = false } = options
  const { allows = () => true } = options
  /** @type {Map<string, { browser: any, capabilities: any, touched: number }>} */
  const sessions = new Map()
  /** Requests for sessions: their capabilities. @type {any[]} */
  const requests = []
  /** Functions that continue the requests in the queue. @type {Set<() => void>} */
  const queue = new Set()
  /** Requests for which a browser starts. */
  let starting = 0
  let number = 0

  const status = () => ({
    ready: true,
    nodes: [
      {
        sessionTimeout,
        slots: Array.from({ length: slots }, (_, at) => {
          const [sessionId, session] = [...sessions][at] ?? []
          return { session: session ? { sessionId, capabilities: session.capabilities } : null }
        })
      }
    ]
  })

  const hasSlot = () => sessions.size + starting < slots
  /** Resolves to true when a slot is free, or to false after `queueTimeout`. */
  const awaitSlot = () =>
    new Promise((resolve) => {
      if (hasSlot()) return resolve(true)
      const done = (/** @type {boolean} */ found) => {
        clearTimeout(late)
        queue.delete(proceed)
        resolve(found)
      }
      const late = setTimeout(() => done(false), queueTimeout)
      const proceed = () => hasSlot() && done(true)
      queue.add(proceed)
      t.after(() => clearTimeout(late))
    })

  /** @param {string} body @returns {Promise<[number, object]>} */
  const create = async (body) => {
    const requestedCapabilities = JSON.parse(body).capabilities.alwaysMatch
    requests.push(requestedCapabilities)
    if (!(await awaitSlot())) {
      const message =
        'Could not start a new session. New session request timed out \nHost info: host: node'
      return [500, { error: 'session not created', message, stacktrace: '' }]
    }
    starting++
    const browser = await startBrowser(t).finally(() => starting--)
    const id = `session-${++number}`
    const capabilities = { ...requestedCapabilities, 'se:cdp': `${INTERNAL}/session/${id}/se/cdp` }
    sessions.set(id, { browser, capabilities, touched: Date.now() })
    return [200, { sessionId: id, capabilities }]
  }

  /** @param {string} id */
  const remove = (id) => {
    sessions.get(id)?.browser.child.kill('SIGKILL')
    sessions.delete(id)
    queue.forEach((proceed) => proceed())
  }

  const evictions = setInterval(() => {
    for (const [id, { touched }] of sessions) if (Date.now() - touched > sessionTimeout) remove(id)
  }, 50)

  const respond = async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    /** @param {[number, any]} answer */
    const send = ([code, value]) =>
      response
        .writeHead(code, { 'content-type': 'application/json; charset=utf-8' })
        .end(JSON.stringify({ value }))
    if (!allows(request)) return send([401, { error: 'unknown error', message: '' }])
    const [, name, id] = request.url.split('/')
    if (request.url === '/status') return send([200, status()])
    if (request.method === 'POST') return send(await create(body))
    const session = name === 'session' ? sessions.get(id) : undefined
    if (!session) return send([404, { error: 'invalid session id', message: 'no session' }])
    session.touched = Date.now()
    if (request.method === 'DELETE') remove(id)
    send([200, null])
  }

  const server = tls ? createTls(IDENTITY, respond) : createPlain(respond)
  server.on('upgrade', (request, from) => {
    const session = sessions.get(`${request.url}`.split('/')[2])
    if (!allows(request)) return from.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    if (!session) return from.end('HTTP/1.1 404 Not Found\r\n\r\n')
    joinSockets(from, forwardUpgrade(request, session.browser.ws))
  })
  t.after(() => clearInterval(evictions))
  const { port } = await listen(t, server)
  return {
    host: `127.0.0.1:${port}`,
    url: `webdriver+http${tls ? 's' : ''}://127.0.0.1:${port}`,
    sessions,
    requests,
    /** The number of requests in the queue. */
    waiting: () => queue.size,
    remove
  }
}
