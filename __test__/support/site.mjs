// A web site for tests on a free port of this machine. pages.mjs contains its pages.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { PAGES } from './pages.mjs'

/**
 * @typedef {import('node:http').IncomingMessage} Request
 * @typedef {import('node:http').ServerResponse} Response
 * @typedef {(request: Request, response: Response, url: URL) => void} Route
 * @typedef {{ method: string, path: string, headers: import('node:http').IncomingHttpHeaders, body:
 *   string }} ReceivedRequest
 */

/**
 * Routes in addition to the pages. A path that ends with / matches all paths below it.
 * @type {Record<string, Route>}
 */
const ROUTES = {
  // /redirect?to=/form&times=3
  '/redirect': (_request, response, { searchParams }) => {
    const to = searchParams.get('to') ?? '/'
    const times = Number(searchParams.get('times') ?? 1)
    const location =
      times > 1 ? `/redirect?${new URLSearchParams({ to, times: String(times - 1) })}` : to
    response.writeHead(302, { location }).end()
  },
  // /status/404
  '/status/': (_request, response, { pathname }) => {
    const status = Number(pathname.split('/')[2])
    sendHtml(response, `<title>Status ${status}</title><p>${status}</p>`, status)
  },
  // /slow?ms=300
  '/slow': (_request, response, { searchParams }) => {
    const timer = setTimeout(
      () => sendHtml(response, '<title>Slow</title><p>At last</p>'),
      Number(searchParams.get('ms') ?? 500)
    )
    response.on('close', () => clearTimeout(timer))
  },
  // Never responds.
  '/hang': () => {},
  // Resets the connection before the response.
  '/drop': (request) => request.socket.destroy(),
  '/download': attachmentRoute('report.bin', 'the report'),
  // /set-cookie?name=value, HttpOnly
  '/set-cookie': (_request, response, { searchParams }) => {
    const cookies = [...searchParams].map(
      ([name, value]) => `${name}=${encodeURIComponent(value)}; HttpOnly; Path=/`
    )
    response.setHeader('set-cookie', cookies)
    sendHtml(response, '<title>Cookies set</title>')
  },
  // /forget-cookie?name=name
  '/forget-cookie': (_request, response, { searchParams }) => {
    response.setHeader(
      'set-cookie',
      searchParams.getAll('name').map((name) => `${name}=; Path=/; Max-Age=0`)
    )
    sendHtml(response, '<title>Cookie forgotten</title>')
  },
  // The page's text is the received cookie header.
  '/cookies': (request, response) =>
    sendHtml(
      response,
      `<title>Cookies</title><pre id="out">${escape(request.headers.cookie ?? '')}</pre>`
    ),
  // The page's text is the received query and body.
  '/echo': (_request, response, { search }) =>
    sendHtml(response, `<title>Echo</title><pre id="out">${escape(search)}</pre>`)
}

/**
 * Starts a site. It ends with the test.
 * @param {{ after: (end: () => unknown) => void }} t a test, or the result of `shared()`
 * @param {Record<string, string | Route>} [routes] more paths, as HTML or as functions. They take
 *   precedence over the site's own
 */
export async function startSite(t, routes) {
  const site = new Site(routes)
  await site.start(t)
  return site
}

export class Site {
  /** The received requests in order. @type {ReceivedRequest[]} */
  requests = []
  port = 0
  /** @type {Map<string, { requested: () => void, released: Promise<void> }>} */
  #held = new Map()

  /** Creates a site without starting it. @param {Record<string, string | Route>} [routes] */
  constructor(routes = {}) {
    this.routes = { ...PAGES, ...ROUTES, ...routes }
  }

  /** @param {{ after: (end: () => unknown) => void }} t */
  async start(t) {
    const server = createServer((request, response) => this.#answer(request, response))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    })
    this.port = /** @type {import('node:net').AddressInfo} */ (server.address()).port
  }

  get origin() {
    return `http://127.0.0.1:${this.port}`
  }

  /** @param {string} [path] */
  url(path = '/') {
    return `${this.origin}${path}`
  }

  /**
   * Holds the responses for `path` until `release()`. `requested` resolves when a request has
   * arrived.
   * @param {string} path
   */
  hold(path) {
    let requested = () => {}
    let release = () => {}
    const asked = /** @type {Promise<void>} */ (new Promise((resolve) => (requested = resolve)))
    const released = /** @type {Promise<void>} */ (new Promise((resolve) => (release = resolve)))
    this.#held.set(path, { requested, released })
    return {
      requested: asked,
      release: () => {
        this.#held.delete(path)
        release()
      }
    }
  }

  /** @param {Request} request @param {Response} response */
  async #answer(request, response) {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const seen = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: ''
    }
    this.requests.push(seen)
    request.on('error', () => {})
    for await (const part of request) seen.body += part
    const hold = this.#held.get(url.pathname)
    if (hold) {
      hold.requested()
      await hold.released
    }
    const { routes } = this
    const found =
      routes[url.pathname] ??
      routes[
        Object.keys(routes).find(
          (path) => path !== '/' && path.endsWith('/') && url.pathname.startsWith(path)
        ) ?? ''
      ]
    if (typeof found === 'function') found(request, response, url)
    else if (found) sendHtml(response, found)
    else sendHtml(response, '<title>Not found</title>', 404)
  }
}

/**
 * Creates a route for one visit, whose response never ends. `closed` resolves when the page closes.
 * @returns {{ route: Route, opened: Promise<void>, closed: Promise<void> }}
 */
export function openEnded() {
  let open = () => {}
  let close = () => {}
  const opened = /** @type {Promise<void>} */ (new Promise((resolve) => (open = resolve)))
  const closed = /** @type {Promise<void>} */ (new Promise((resolve) => (close = resolve)))
  /** @type {Route} */
  const route = (_request, response, { searchParams }) => {
    if (!searchParams.has('stream'))
      return sendHtml(response, "<title>Open</title><script>fetch('?stream')</script>")
    response.writeHead(200).write('more to come')
    response.on('close', close)
    open()
  }
  return { route, opened, closed }
}

/**
 * Creates a route that responds with a file to download.
 * @param {string} name @param {string | Buffer} body @returns {Route}
 */
export function attachmentRoute(name, body) {
  const headers = {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${name}"`
  }
  return (_request, response) => response.writeHead(200, headers).end(body)
}

/** Creates a route that responds with a script. @param {string} source @returns {Route} */
export const scriptRoute = (source) => (_request, response) =>
  response.writeHead(200, { 'content-type': 'text/javascript' }).end(source)

/** @param {Response} response @param {string} text @param {number} [status] */
export function sendHtml(response, text, status = 200) {
  response
    .writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .end(text)
}

/** @param {string} text */
function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
