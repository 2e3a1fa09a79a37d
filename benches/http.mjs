// Measures servers on a port: one call without work, and a hundred concurrent clients that each
// load a page, click and read. Each server is measured alone.
import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { freePort } from '../__test__/support/ports.mjs'
import { StepError } from '../scripts/run.mjs'
import { serverMemory } from './memory.mjs'
import { untilIdle } from './idle.mjs'

/** @typedef {import('./servers.mjs').HttpSide} HttpSide */

export const CLIENTS = 100
const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'troupe-bench', version: '0' }
}
/** How long to wait for all clients (ms). */
const TIMEOUT = 120_000

/** @typedef {Awaited<ReturnType<typeof start>>} HttpServer */

/**
 * Starts a server on a port and waits until it listens.
 * @param {Pick<HttpSide, 'command' | 'env'>} side
 */
export async function start({ command, env }) {
  const port = await freePort()
  const [program, ...args] = command(port)
  const child = spawn(program, args, {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { ...process.env, ...env }
  })
  const exited = new Promise((resolve) => child.on('close', resolve))
  let stderr = ''
  child.stderr.on('data', (data) => (stderr += data))
  const deadline = performance.now() + 30_000
  while (!(await listens(port))) {
    if (child.exitCode !== null || performance.now() > deadline)
      throw new StepError(`no server on the port: ${stderr}`)
  }
  const end = async () => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await exited
    clearTimeout(timer)
  }
  return {
    url: `http://localhost:${port}/mcp`,
    token: env.TROUPE_AUTH_TOKEN ?? '',
    port,
    pid: /** @type {number} */ (child.pid),
    end
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function listens(port) {
  return new Promise((resolve) => {
    const socket = connect(port, 'localhost')
    socket.on('connect', () => resolve(true))
    socket.on('error', () => setTimeout(() => resolve(false), 20))
    socket.on('connect', () => socket.destroy())
  })
}

/** One client over `fetch`. */
export class Client {
  /** @type {string | null} */
  #session = null
  #nextId = 1

  /** @param {{ url: string, token: string }} server */
  constructor({ url, token }) {
    this.url = url
    this.token = token
  }

  /** @param {object} message */
  #post(message) {
    return fetch(this.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${this.token}`,
        ...(this.#session ? { 'mcp-session-id': this.#session } : {})
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message })
    })
  }

  async initialize() {
    const response = await this.#post({
      id: this.#nextId++,
      method: 'initialize',
      params: INITIALIZE
    })
    await response.text()
    this.#session = response.headers.get('mcp-session-id')
    await (await this.#post({ method: 'notifications/initialized' })).text()
    return this.#session
  }

  /** Ends the client, as one that disconnects. */
  async close() {
    const headers = { authorization: `Bearer ${this.token}`, 'mcp-session-id': this.#session ?? '' }
    await (await fetch(this.url, { method: 'DELETE', headers })).text()
  }

  /**
   * Calls a tool and returns the text of its result.
   * @param {string} name
   * @param {object} args
   * @returns {Promise<string>}
   */
  async call(name, args) {
    const response = await this.#post({
      id: this.#nextId++,
      method: 'tools/call',
      params: { name, arguments: args }
    })
    const text = await response.text()
    if (!response.ok || /"isError":\s*true/.test(text)) throw new Error(text)
    return text
  }
}

/**
 * Runs concurrent clients that each load a page, click and read. Returns the seconds for `count`
 * clients that succeed, the number of failures, and the server's memory at the end. `isWarm`:
 * whether the browser runs before they start.
 * @param {HttpSide} side @param {string} site @param {number} [count] @param {boolean} [isWarm]
 */
export async function clientsAtOnce(side, site, count = CLIENTS, isWarm = false) {
  const server = await start(side)
  try {
    if (isWarm) {
      const first = new Client(server)
      await first.initialize()
      await first.call(...side.tools.navigate(site))
    }
    const begun = performance.now()
    const work = async () => {
      const client = new Client(server)
      await client.initialize()
      await client.call(...side.tools.navigate(site))
      await client.call(...side.tools.click())
      if (!/\b1\b/.test(await client.call(...side.tools.count())))
        throw new Error('the client read an unexpected count')
    }
    const late = new Promise((_, reject) =>
      setTimeout(() => reject(new Error('too late')), TIMEOUT).unref()
    )
    const all = Array.from({ length: count }, () => Promise.race([work(), late]))
    const settled = await Promise.allSettled(all)
    const wrong = settled.filter(({ status }) => status === 'rejected').length
    // Clients that fail early would make it look fast.
    const seconds = ((performance.now() - begun) / 1000 / (count - wrong)) * count
    return { seconds, wrong, memory: serverMemory(server.pid) }
  } finally {
    await server.end()
  }
}

/**
 * Returns the durations (ms) of calls without work over one open connection. Uses a plain socket to
 * measure the server instead of Node's HTTP client. A first navigation waits until the browser
 * runs.
 * @param {HttpSide} side @param {number} times @param {string} site
 */
export async function idleCalls(side, times, site) {
  const server = await start(side)
  try {
    const client = new Client(server)
    const session = await client.initialize()
    await client.call(...side.tools.navigate(site))
    const connection = connectFor(server, session, side.idle)
    const taken = []
    await untilIdle()
    for (let time = 0; time < times * 1.2; time++) {
      const milliseconds = await connection.call()
      // The first calls warm the server up.
      if (time >= times * 0.2) taken.push(milliseconds)
    }
    connection.close()
    return taken
  } finally {
    await server.end()
  }
}

/**
 * Opens a connection that makes the same call again and again. A plain socket needs less processor
 * time than Node's HTTP client, so the server is measured.
 * @param {Pick<HttpServer, 'port' | 'token'>} server @param {string | null} session
 * @param {readonly [string, object]} call
 */
export function connectFor({ port, token }, session, [name, args]) {
  const params = { name, arguments: args }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params })
  const request =
    `POST /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\n` +
    `Authorization: Bearer ${token}\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: ${session}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const socket = connect({ port, host: 'localhost', noDelay: true })
  let answer = ''
  let answered = () => {}
  let failed = (/** @type {Error} */ _error) => {}
  socket.on('data', (data) => {
    answer += data
    if (answer.endsWith('\r\n0\r\n\r\n')) answered()
  })
  socket.on('error', (error) => failed(error))
  socket.on('close', () => failed(new Error('the server closed the connection')))
  return {
    /** Makes the call. Returns its duration (ms). */
    async call() {
      answer = ''
      const done = new Promise((resolve, reject) => {
        answered = () => resolve(undefined)
        failed = reject
      })
      const begun = performance.now()
      socket.write(request)
      await done
      const milliseconds = performance.now() - begun
      if (!answer.includes('"result"')) throw new StepError(`the call failed: ${answer}`)
      return milliseconds
    },
    close: () => socket.destroy()
  }
}
