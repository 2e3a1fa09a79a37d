// A minimal JSON-RPC client over stdio, so that the server is measured: one line out, one line in,
// no schema validation.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/**
 * @typedef {{ content: { type: string, text?: string, data?: string }[], structuredContent?: any,
 *   isError?: boolean }} ToolResult
 */

export class StdioClient {
  #child
  #nextId = 1
  /** @type {Map<number, { resolve: (message: any) => void, reject: (error: Error) => void }>} */
  #pending = new Map()
  /** The end of the server's stderr, for the error if it exits. */
  #stderr = ''

  /** @param {string[]} command @param {Record<string, string>} [env] @param {string} [cwd] */
  constructor([program, ...args], env = {}, cwd = undefined) {
    this.spawned = performance.now()
    this.#child = spawn(program, args, { stdio: 'pipe', env: { ...process.env, ...env }, cwd })
    this.exited = new Promise((resolve) => this.#child.on('close', resolve))
    this.#child.stderr.on('data', (data) => (this.#stderr = (this.#stderr + data).slice(-2000)))
    this.#child.stdin.on('error', () => {})
    createInterface({ input: this.#child.stdout }).on('line', (line) =>
      this.#receive(JSON.parse(line))
    )
    this.exited.then((code) => {
      for (const { reject } of this.#pending.values()) {
        reject(new Error(`\`${[program, ...args].join(' ')}\` ended with ${code}: ${this.#stderr}`))
      }
    })
  }

  get pid() {
    return /** @type {number} */ (this.#child.pid)
  }

  async initialize() {
    const result = await this.request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'troupe-bench', version: '0' }
    })
    this.#send({ method: 'notifications/initialized' })
    return result
  }

  /** @param {string} method @param {object} [params] */
  async request(method, params = {}) {
    const id = this.#nextId++
    const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }))
    this.#send({ id, method, params })
    const { result, error } = await answer
    if (error) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }

  /** @param {string} name @param {object} args @returns {Promise<ToolResult>} */
  async call(name, args) {
    const result = await this.request('tools/call', { name, arguments: args })
    if (result.isError) throw new Error(`${name}: ${textOf(result)}`)
    return result
  }

  /** Ends the server by closing its stdin, and waits until it has exited. */
  async close() {
    this.#child.stdin.end()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000)
    await this.exited
    clearTimeout(timer)
  }

  /** @param {object} message */
  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** @param {any} message */
  #receive(message) {
    if (message.method) {
      // Responds to every request of the server (ping, roots).
      if (message.id !== undefined) this.#send({ id: message.id, result: {} })
      return
    }
    this.#pending.get(message.id)?.resolve(message)
    this.#pending.delete(message.id)
  }
}

/** @param {ToolResult} result */
export function textOf(result) {
  return result.content.map((part) => part.text ?? '').join('\n')
}
