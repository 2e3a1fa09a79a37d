// Runs the server as clients do: the bin entry as a child process, and JSON-RPC lines on its stdin
// and stdout.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BROWSER_ARGUMENTS, cleanEnvironment } from './browser.mjs'
import { noteOptions } from './notes.mjs'
import { awaitProcessesEnded, descendants } from './processes.mjs'
import { RpcClient } from './rpc.mjs'
import { until, within } from './wait.mjs'

export const BIN = fileURLToPath(new URL('../../bin/troupe.js', import.meta.url))

/**
 * Running servers. They are killed when this process exits.
 * @type {Set<import('node:child_process').ChildProcess>}
 */
const running = new Set()
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')))

let createdFolder = ''

/** Returns a folder for the files of this process. It is removed at exit. */
export function processFolder() {
  if (createdFolder === '') {
    createdFolder = mkdtempSync(join(tmpdir(), 'troupe-test-output-'))
    process.on('exit', () => rmSync(createdFolder, { recursive: true, force: true }))
  }
  return createdFolder
}

/**
 * Starts a server with `args`, initializes it, and ends it with the test.
 * @param {{ after: (end: () => unknown) => void }} t a test, or the result of `shared()`
 * @param {string[]} [args]
 * @param {ServerOptions} [options]
 */
export async function startServer(t, args = [], options = {}) {
  const server = new Server(args, options)
  await server.start(t)
  return server
}

/**
 * @typedef {{ env?: Record<string, string>, cwd?: string, command?: string[], browser?: boolean,
 *   handshake?: boolean }} ServerOptions
 *   `browser: false` omits the browser's arguments, `handshake: false` omits `initialize`.
 *   `command` is started in place of the bin entry
 */

export class Server extends RpcClient {
  #stderr = ''

  /**
   * Creates a server without starting it.
   * @param {string[]} [args]
   * @param {ServerOptions} [options]
   */
  constructor(args = [], { browser = true, handshake = true, ...options } = {}) {
    super()
    this.args = [...(browser ? BROWSER_ARGUMENTS : []), ...args]
    this.handshake = handshake
    this.options = options
  }

  /** @param {{ after: (end: () => unknown) => void }} t */
  async start(t) {
    const { env, cwd, command: [program, ...first] = [process.execPath, BIN] } = this.options
    // Without a working directory of the test, downloads would be written into the checkout.
    const outputVariables = cwd ? {} : { TROUPE_OUTPUT_DIR: processFolder() }
    const child = spawn(program, [...first, ...this.args], {
      cwd,
      env: cleanEnvironment({ ...outputVariables, ...env }),
      stdio: 'pipe'
    })
    this.child = child
    running.add(child)
    /**
     * The exit code and the signal.
     * @type {Promise<{ code: number | null, signal: string | null }>}
     */
    this.exit = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        running.delete(child)
        resolve({ code, signal })
      })
    })
    child.stdin.on('error', () => {})
    child.stderr.on('data', (data) => (this.#stderr += data))
    createInterface({ input: child.stdout }).on('line', (line) => this.receive(line))
    this.exit.then(({ code, signal }) =>
      this.disconnected(`the server ended with ${signal ?? code}: ${this.#stderr}`)
    )
    t.after(() => this.end())
    if (this.handshake) await this.initialize()
  }

  /** @param {string} text */
  receive(text) {
    if (this.received.length === 0) this.noteOptions()
    super.receive(text)
  }

  /** Records its options for the coverage when it has started. */
  noteOptions() {
    const { command = [BIN] } = this.options
    // Skipped for servers of other projects, which some tests start.
    if (!command.some((part) => basename(part) === basename(BIN))) return
    noteOptions({ args: this.args, env: this.options.env, cwd: this.options.cwd })
  }

  /** Returns its stderr so far. */
  stderr() {
    return this.#stderr
  }

  /**
   * Waits until its stderr matches. Output that it wrote before a response may be read after it.
   * @param {RegExp} pattern
   */
  async awaitLog(pattern) {
    await until(() => pattern.test(this.#stderr), `${pattern} in its stderr`).catch((late) => {
      throw new Error(`${late.message}: ${this.#stderr || 'empty'}`)
    })
  }

  /** @param {string} line without its end */
  sendRaw(line) {
    this.child.stdin.write(`${line}\n`)
  }

  /** @param {object} message */
  send(message) {
    this.sendRaw(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }

  /**
   * @param {string} method
   * @param {object} [params]
   * @param {Parameters<RpcClient['request']>[2]} [options]
   */
  async request(method, params, options) {
    if (this.child.exitCode === null && this.child.signalCode === null)
      return super.request(method, params, options)
    return { error: { code: 'GONE', message: `the server has ended: ${this.#stderr}` } }
  }

  /** Waits until its browser runs, so that later measurements do not include the start. */
  async awaitBrowserReady() {
    const ready = async () => {
      const { json, text } = await this.call('create_session')
      const {
        sessionId,
        errorCode = (await this.call('close_session', { sessionId })).json.errorCode
      } = json
      // The browser's start took longer than the session timeout. The slot of that session is free
      // when the browser has closed it.
      if (errorCode && !['SESSION_EXPIRED', 'MAX_SESSIONS_REACHED'].includes(errorCode))
        throw new Error(text)
      return !errorCode
    }
    await until(ready, 'its browser', 60_000)
  }

  askToEnd() {
    this.child.stdin.end()
  }

  /**
   * Ends the server by closing its stdin. Fails if it does not exit or if a child process remains.
   * @returns {Promise<{ code: number | null, signal: string | null }>}
   */
  async end() {
    const { pid } = this.child
    const below = process.platform === 'linux' && pid ? descendants(pid) : []
    this.askToEnd()
    try {
      return await within(
        this.exit,
        `the end of the server, whose stderr is ${this.#stderr || 'empty'}`,
        5000
      )
    } finally {
      this.child.kill('SIGKILL')
      await this.exit
      if (below.length > 0) await awaitProcessesEnded(below)
    }
  }

  /**
   * Returns the received notifications of a kind.
   * @param {string} method
   * @returns {any[]} their parameters
   */
  notifications(method) {
    return this.received
      .filter((message) => message.method === method && message.id === undefined)
      .map(({ params }) => params)
  }
}
