// Starts the server on a port. Has a minimal client of Streamable HTTP.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { META, MODERN } from './modern.mjs'
import { RpcClient, readJson } from './rpc.mjs'
import { Server } from './server.mjs'
import { until, within } from './wait.mjs'
import { openWebSocket } from './websocket.mjs'

/**
 * Sends a request with any headers, including those that `fetch` sets itself.
 * @param {string} url
 * @param {{ method?: string, headers?: Record<string, string | string[]>, body?: string | Buffer,
 *   localAddress?: string }} [options]
 *   `localAddress`: from which to connect
 */
export async function ask(url, { body, ...options } = {}) {
  const asked = request(url, { ...options, agent: false })
  asked.end(body)
  const [response] = await within(once(asked, 'response'), 'an answer', 10_000)
  const parts = []
  for await (const part of response) parts.push(part)
  const bytes = Buffer.concat(parts)
  const text = bytes.toString()
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes,
    text,
    json: readJson(text)
  }
}

/**
 * Starts a server on a free port, and ends it with the test.
 * @param {{ after: (end: () => unknown) => void }} t a test, or the result of `shared()`
 * @param {string[]} [args]
 * @param {{ env?: Record<string, string>, cwd?: string, transport?: string, browser?: boolean }}
 *   [options]
 */
export async function startHttpServer(t, args = [], { transport = 'http', ...options } = {}) {
  const server = new HttpServer(['--transport', transport, '--port', '0', ...args], {
    ...options,
    handshake: false
  })
  await server.start(t)
  const ended = server.exit.then(() => {
    throw new Error(`the server ended at once: ${server.stderr()}`)
  })
  await Promise.race([until(() => server.url, 'the address on stderr'), ended])
  server.noteOptions()
  return server
}

export class HttpServer extends Server {
  /** The URL of MCP that the server prints to stderr. */
  get url() {
    return /serving MCP at (\S+?)["\n]/.exec(this.stderr())?.[1] ?? ''
  }

  /** Returns the URL of a path of the server. @param {string} path */
  at(path) {
    return new URL(path, this.url.replace(/^ws/, 'http')).href
  }

  get port() {
    return Number(new URL(this.url).port)
  }

  /**
   * The token that its clients send: the configured one, or the one in the file whose path it
   * prints to stderr. Empty if there is none.
   */
  get token() {
    const file = /clients must send the token in (.+?); `troupe/.exec(this.stderr())?.[1]
    return this.options.env?.TROUPE_AUTH_TOKEN ?? (file ? readFileSync(file, 'utf8').trim() : '')
  }

  /** The header that contains the token. @returns {Record<string, string>} */
  get authorization() {
    return this.token ? { authorization: `Bearer ${this.token}` } : {}
  }

  /** `fetch` with the token. @param {string} path @param {RequestInit} [options] */
  fetch(path, { headers, ...options } = {}) {
    return fetch(this.at(path), { headers: { ...this.authorization, ...headers }, ...options })
  }

  /** Returns the number of open sessions. @returns {Promise<number>} */
  async sessionCount() {
    const { sessions } = /** @type {any} */ (await (await this.fetch('/health')).json())
    return sessions
  }

  /**
   * Returns a value of /metrics, or NaN if the server does not report it.
   * @param {string} name with its labels, without `troupe_`
   */
  async metric(name) {
    const text = await (await this.fetch('/metrics')).text()
    const begin = `troupe_${name} `
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(begin))
        ?.slice(begin.length)
    )
  }

  /** Connects a client and initializes it. @param {Record<string, string>} [headers] */
  async connect(headers) {
    const client = this.client(headers)
    await client.initialize()
    return client
  }

  /** Creates a client without initializing it. @param {Record<string, string>} [headers] */
  client(headers) {
    return new HttpClient(this.url, { ...this.authorization, ...headers })
  }

  /** A client of 2026-07-28, which has no session of the protocol. */
  stateless() {
    return new StatelessClient(this.url, this.authorization)
  }

  /** A WebSocket with the token. @param {Record<string, string>} [headers] */
  webSocket(headers) {
    return openWebSocket(this.at('/ws'), { ...this.authorization, ...headers })
  }

  /** Returns a client of the JSON API, which sends its token. */
  program(token = this.token) {
    /**
     * @param {string} method
     * @param {string} path
     * @param {any} [body]
     * @param {RequestInit} [more]
     */
    return async (method, path, body, { headers, ...more } = {}) => {
      const json = body === undefined ? {} : { 'content-type': 'application/json' }
      const response = await fetch(this.at(`/api${path}`), {
        method,
        headers: { authorization: `Bearer ${token}`, ...json, ...headers },
        body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
        ...more
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, json: readJson(text), text }
    }
  }

  askToEnd() {
    this.child.kill('SIGTERM')
  }
}

/** A client with an `Mcp-Session-Id`. Each of its requests is a POST. */
export class HttpClient extends RpcClient {
  /** @type {string | null} */
  sessionId = null

  /** @param {string} url @param {Record<string, string>} [headers] */
  constructor(url, headers = {}) {
    super()
    this.url = url
    this.headers = headers
  }

  /**
   * Sends an HTTP request.
   * @param {string} method
   * @param {{ body?: any, headers?: Record<string, string>, signal?: AbortSignal, path?: string }}
   *   [options]
   */
  fetch(method, { body, headers, signal, path = '' } = {}) {
    return fetch(this.url + path, {
      method,
      signal,
      headers: {
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        accept: 'application/json, text/event-stream',
        ...(this.sessionId ? { 'mcp-session-id': this.sessionId } : {}),
        ...this.headers,
        ...headers
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    })
  }

  /**
   * Returns the whole response, `{ id, result }` or `{ id, error }`. `error.status` is set if the
   * HTTP request was rejected.
   * @param {string} method
   * @param {object} [params]
   * @param {{ signal?: AbortSignal, id?: number | string, timeout?: number }} [options]
   */
  async request(
    method,
    params,
    { signal, id = this.nextId(), timeout = this.requestTimeout } = {}
  ) {
    const answer = async () => {
      const response = await this.fetch('POST', {
        body: { jsonrpc: '2.0', id, method, params },
        signal
      })
      this.sessionId ??= response.headers.get('mcp-session-id')
      const text = await response.text()
      if (!response.ok) return { error: { status: response.status, ...readJson(text) } }
      const messages = response.headers.get('content-type')?.startsWith('text/event-stream')
        ? events(text)
        : [readJson(text)]
      return (
        messages.find((message) => message?.id === id) ?? {
          error: { code: 'NONE', message: `no answer in ${text}` }
        }
      )
    }
    return within(answer(), `the answer to ${method}`, timeout)
  }

  /** @param {string} method @param {object} [params] */
  async notify(method, params) {
    const response = await this.fetch('POST', { body: { jsonrpc: '2.0', method, params } })
    await response.arrayBuffer()
    return response.status
  }

  /** Ends the session, as clients do when they disconnect. */
  async delete() {
    return (await this.fetch('DELETE')).status
  }
}

/** A client whose requests are self-contained. */
export class StatelessClient extends HttpClient {
  /** The capabilities of this client. */
  capabilities = {}

  /**
   * @param {string} method
   * @param {any} [params]
   * @param {Parameters<HttpClient['request']>[2]} [options]
   */
  request(method, params, options) {
    const _meta = {
      ...META,
      'io.modelcontextprotocol/clientCapabilities': this.capabilities
    }
    const { headers } = this
    const named = params?.name ?? params?.uri
    const name = named ? { 'mcp-name': named } : {}
    this.headers = { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...name, ...headers }
    // `fetch` reads the headers before anything is awaited.
    const answer = super.request(method, { ...params, _meta }, options)
    this.headers = headers
    return answer
  }
}

/** The messages of a stream that has ended. @param {string} text */
export function events(text) {
  return text
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5))
        .join('\n')
    )
    .filter((data) => data.trim() !== '')
    .map(readJson)
}
