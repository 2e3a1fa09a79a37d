// A scripted agent: it does a job with one program, reads refs from results, and counts tokens.
import { spawn } from 'node:child_process'
import { StdioClient, textOf } from '../stdio-client.mjs'

/** A command may start a daemon and a browser (ms). */
const DEADLINE = 60_000
/** The origin in the counted texts: the port of the site differs between runs. */
const ORIGIN = 'http://127.0.0.1:8000'
/** The working directory in the counted texts. */
const FOLDER = '/home/ada/shop'

/**
 * A connection to a program. `call` resolves to the text that the model reads.
 * @typedef {{ call: (tool: string, args: any) => Promise<string>, close: () => Promise<unknown> }}
 *   Client
 * @typedef {(text: string) => number} Count
 * @typedef {{ turns: number, sent: number, read: number }} Cost
 */

export class Agent {
  /** @type {Cost} */
  cost = { turns: 0, sent: 0, read: 0 }
  /** The latest result. */
  latest = ''
  #client
  #count
  #withFixedValues

  /**
   * @param {Client} client @param {Count} count
   * @param {{ url: string, folder: string, random?: [RegExp, string][] }} variable the parts of
   *   texts that differ between runs. They are counted with fixed values
   */
  constructor(client, count, { url, folder, random = [] }) {
    this.#client = client
    this.#count = count
    /** @param {string} text */
    this.#withFixedValues = (text) => {
      let fixed = text.replaceAll(url, ORIGIN).replaceAll(folder, FOLDER)
      for (const [pattern, sample] of random) fixed = fixed.replace(pattern, sample)
      return fixed
    }
  }

  /** One turn: a call of a tool. @param {string} tool @param {object} args */
  async call(tool, args) {
    const text = await this.#client.call(tool, args)
    this.cost.turns++
    this.cost.sent += this.#count(this.#withFixedValues(`${tool} ${JSON.stringify(args)}`))
    this.cost.read += this.#count(this.#withFixedValues(text))
    // In JSON, the quotes of a snapshot are escaped.
    this.latest = text.startsWith('{') ? text.replaceAll('\\"', '"') : text
  }

  /**
   * One turn: commands for a shell, of which each runs if the one before succeeded.
   * @param {...string} commands
   */
  shell(...commands) {
    return this.call('bash', { command: commands.join(' && ') })
  }

  /**
   * The first group of the pattern in the latest result, which must match.
   * @param {RegExp} pattern
   */
  found(pattern) {
    const match = pattern.exec(this.latest)
    if (!match) throw new Error(`no ${pattern} in\n${this.latest}`)
    return match[1] ?? match[0]
  }
}

/** An MCP server over stdio. @implements {Client} */
export class McpClient {
  #stdio

  /** @param {string[]} command @param {string} cwd @param {Record<string, string>} [env] */
  constructor(command, cwd, env) {
    this.#stdio = new StdioClient(command, env, cwd)
  }

  /** Resolves to the instructions and tools of the server. */
  async initialize() {
    const { instructions = '' } = await this.#stdio.initialize()
    const { tools } = await this.#stdio.request('tools/list')
    return { instructions, tools }
  }

  /** @param {string} tool @param {object} args */
  async call(tool, args) {
    return textOf(await this.#stdio.call(tool, args))
  }

  close() {
    return this.#stdio.close()
  }
}

/** A POSIX shell. @implements {Client} */
export class ShellClient {
  #options
  #end

  /**
   * @param {{ cwd: string, env: Record<string, string> }} options
   * @param {string} end the command that ends the program
   */
  constructor({ cwd, env }, end) {
    this.#options = { cwd, env: { ...process.env, ...env }, timeout: DEADLINE }
    this.#end = end
  }

  /** @param {string} _tool @param {{ command: string }} args */
  async call(_tool, { command }) {
    // As in the shell of an agent, errors are read too.
    const child = spawn('/bin/sh', ['-c', command], { ...this.#options, stdio: 'pipe' })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text))
    child.stdin.end()
    const code = await new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', resolve)
    })
    if (code !== 0) throw new Error(`${command}: ${code}\n${output}`)
    return output
  }

  close() {
    return this.call('', { command: this.#end })
  }
}
