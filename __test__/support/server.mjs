// The product as a client has it: its bin entry as a child process, JSON-RPC in lines on its stdin and stdout.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BROWSER_ARGUMENTS, cleanEnvironment } from './browser.mjs'
import { note } from './notes.mjs'
import { allEnded, descendants } from './processes.mjs'
import { within } from './wait.mjs'

export const BIN = fileURLToPath(new URL('../../bin/troupe.js', import.meta.url))

/** Servers that run now; none outlives this process, however it ends. @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')))

let made = ''

/** Of all servers of this process; gone with it. */
function outputFolder() {
  if (made === '') {
    made = mkdtempSync(join(tmpdir(), 'troupe-test-output-'))
    process.on('exit', () => rmSync(made, { recursive: true, force: true }))
  }
  return made
}

/**
 * Starts a server with `args`, shakes hands with it, and ends it with the test.
 * @param {{ after: (end: () => unknown) => void }} t a test, or what `shared()` gives
 * @param {string[]} [args]
 * @param {ServerOptions} [options]
 */
export async function startServer(t, args = [], options = {}) {
  const server = new Server(args, options)
  await server.start(t)
  return server
}

/**
 * @typedef {{ env?: Record<string, string>, cwd?: string, command?: string[], browser?: boolean, handshake?: boolean }} ServerOptions
 *   `browser: false` leaves the browser's own arguments out, `handshake: false` the `initialize`; `command` is what is
 *   started in place of the bin entry
 */

export class Server {
  #nextId = 1
  /** @type {Map<number | string, (message: any) => void>} */
  #pending = new Map()
  #stderr = ''
  /** Every message that came, and every line on stdout that is none. @type {any[]} */
  received = []
  /** @type {string[]} */
  unparsable = []
  /** What is answered where the server asks: a ping, a question. @type {(request: any) => object | Promise<object>} */
  answer = () => ({})

  /** One that is yet to be started. @param {string[]} [args] @param {ServerOptions} [options] */
  constructor(args = [], { browser = true, handshake = true, ...options } = {}) {
    this.args = [...(browser ? BROWSER_ARGUMENTS : []), ...args]
    this.handshake = handshake
    this.options = options
  }

  /** @param {{ after: (end: () => unknown) => void }} t */
  async start(t) {
    const { env, cwd, command: [program, ...first] = [process.execPath, BIN] } = this.options
    // Where a test says no folder, what is downloaded does not go into the checkout.
    const place = cwd ? {} : { TROUPE_OUTPUT_DIR: outputFolder() }
    const child = spawn(program, [...first, ...this.args], { cwd, env: cleanEnvironment({ ...place, ...env }), stdio: 'pipe' })
    this.child = child
    running.add(child)
    /** How it ended. @type {Promise<{ code: number | null, signal: string | null }>} */
    this.exit = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        running.delete(child)
        resolve({ code, signal })
      })
    })
    child.stdin.on('error', () => {})
    child.stderr.on('data', (data) => (this.#stderr += data))
    createInterface({ input: child.stdout }).on('line', (line) => this.#receive(line))
    this.exit.then(({ code, signal }) => {
      const error = { code: 'GONE', message: `the server ended with ${signal ?? code}: ${this.#stderr}` }
      for (const resolve of this.#pending.values()) resolve({ error })
      this.#pending.clear()
    })
    t.after(() => this.end())
    if (this.handshake) await this.initialize()
  }

  /** What it has written there so far. */
  stderr() {
    return this.#stderr
  }

  /** @param {string} line without its end */
  sendRaw(line) {
    this.child.stdin.write(`${line}\n`)
  }

  /** @param {object} message */
  send(message) {
    this.sendRaw(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }

  /** @param {string} method @param {object} [params] */
  notify(method, params) {
    this.send({ method, params })
  }

  /**
   * The whole answer, `{ id, result }` or `{ id, error }`; `error.code` is `GONE` if the server ended first.
   * @param {string} method @param {object} [params] @param {{ timeout?: number, id?: number | string }} [options]
   */
  async request(method, params, { timeout = 30_000, id = this.#nextId++ } = {}) {
    const answer = new Promise((resolve) => this.#pending.set(id, resolve))
    if (this.child.exitCode === null && this.child.signalCode === null) this.send({ id, method, params })
    else this.#pending.get(id)?.({ error: { code: 'GONE', message: `the server has ended: ${this.#stderr}` } })
    return within(answer, `the answer to ${method}`, timeout)
  }

  /** @param {string} [protocolVersion] @param {object} [capabilities] what this client can do */
  async initialize(protocolVersion = '2025-06-18', capabilities = {}) {
    const params = { protocolVersion, capabilities, clientInfo: { name: 'troupe-test', version: '0' } }
    const { result, error } = await this.request('initialize', params)
    if (error) throw new Error(`initialize: ${error.message}`)
    this.notify('notifications/initialized')
    return result
  }

  /**
   * A tool's answer. `json` is its text as JSON (of a success or an error), `text` all its text parts, `meta` its `_meta`,
   * `ms` how long it took.
   * @param {string} tool @param {object} [args] @param {{ timeout?: number, id?: number | string }} [options]
   */
  async call(tool, args = {}, options) {
    const begun = performance.now()
    const { result, error } = await this.request('tools/call', { name: tool, arguments: args }, options)
    const ms = performance.now() - begun
    const text = (result?.content ?? []).map((part) => part.text ?? '').join('\n')
    const answer = { result, error, isError: result?.isError === true, json: readJson(text), text, meta: result?._meta, ms }
    if (result) note(tool, args, answer)
    return answer
  }

  /** As `call`, for one that must succeed: its JSON, or its text. @param {string} tool @param {object} [args] @returns {Promise<any>} */
  async ok(tool, args) {
    const { json, text, isError, error } = await this.call(tool, args)
    if (error || isError) throw new Error(`${tool}: ${error ? JSON.stringify(error) : text}`)
    return json ?? text
  }

  /** A new session's id. @param {object} [args] @returns {Promise<string>} */
  async createSession(args) {
    return (await this.ok('create_session', args)).sessionId
  }

  /** Returns when its browser runs, so that what is timed after holds none of its start. */
  async browserReady() {
    await this.ok('close_session', { sessionId: await this.createSession() })
  }

  askToEnd() {
    this.child.stdin.end()
  }

  /**
   * Ends it as a client does, by closing its stdin. Fails where it does not end by itself, or leaves a process behind.
   * @returns {Promise<{ code: number | null, signal: string | null }>}
   */
  async end() {
    const { pid } = this.child
    const below = process.platform === 'linux' && pid ? descendants(pid) : []
    this.askToEnd()
    try {
      return await within(this.exit, `the end of the server, whose stderr is ${this.#stderr || 'empty'}`, 5000)
    } finally {
      this.child.kill('SIGKILL')
      await this.exit
      await allEnded(below)
    }
  }

  /** Notifications of a kind that have come. @param {string} method @returns {any[]} their parameters */
  notifications(method) {
    return this.received.filter((message) => message.method === method && message.id === undefined).map(({ params }) => params)
  }

  /** @param {any} request */
  async #answer(request) {
    this.send({ id: request.id, result: await this.answer(request) })
  }

  /** @param {string} line */
  #receive(line) {
    const message = readJson(line)
    if (!message) {
      this.unparsable.push(line)
      return
    }
    this.received.push(message)
    // Whatever the server asks (a ping, the roots) gets an answer, and is not kept waiting.
    if (message.method && message.id !== undefined) this.#answer(message)
    if (message.method) return
    this.#pending.get(message.id)?.(message)
    this.#pending.delete(message.id)
  }
}

/** @param {string} text */
function readJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
