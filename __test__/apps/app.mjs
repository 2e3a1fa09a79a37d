// Runs third-party apps on this machine, and a scripted agent that reads results, finds refs in
// them, and acts.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { awaitProcessesEnded, descendants, isAlive } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { refIn } from '../support/snapshots.mjs'
import { until } from '../support/wait.mjs'

/** Where `npm run setup` put the packages. */
export const PACKAGES = fileURLToPath(new URL('node_modules', import.meta.url))

/** Requests of an app to the internet (fonts, news) are refused at once. */
export const OFFLINE = ['--allowed-domains', '127.0.0.1,localhost']

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.gif': 'image/gif'
}

/**
 * Serves the files below `folder`, and before them `pages` (HTML by path); ends with the test.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {{ folder?: string, pages?: Record<string, string> }} [options]
 * @returns {Promise<string>} its origin
 */
export async function serveFiles(t, { folder = PACKAGES, pages = {} } = {}) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname)
    const body = pages[path] ?? (await readFile(join(folder, normalize(path))).catch(() => null))
    const type = path in pages ? TYPES['.html'] : TYPES[extname(path)]
    response
      .writeHead(body === null ? 404 : 200, { 'content-type': type ?? 'application/octet-stream' })
      .end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

/**
 * Running programs. They are killed when this process exits.
 * @type {Set<import('node:child_process').ChildProcess>}
 */
const running = new Set()
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')))

/**
 * Starts a program, which ends with the test; `output` returns its output so far.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {string} program
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} [options]
 */
export function startProgram(t, program, args, options = {}) {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  // Not `close`: its child processes may outlive it and hold its output open.
  const ended = new Promise((resolve) => child.on('exit', resolve).on('error', resolve))
  let output = ''
  child.on('error', (error) => (output += error.message))
  child.stdout?.on('data', (data) => (output += data))
  child.stderr?.on('data', (data) => (output += data))
  t.after(async () => {
    const below = process.platform === 'linux' && child.pid ? descendants(child.pid) : []
    child.kill()
    const late = setTimeout(() => child.kill('SIGKILL'), 5000)
    await ended
    clearTimeout(late)
    running.delete(child)
    for (const left of below.filter(isAlive)) process.kill(left.pid, 'SIGKILL')
    child.stdout?.destroy()
    child.stderr?.destroy()
    if (below.length > 0) await awaitProcessesEnded(below)
  })
  return { child, output: () => output }
}

/**
 * An agent with a server of its own, on the page at `url`.
 * @param {{ after: (end: () => unknown) => void }} t @param {string} url
 */
export async function startAgent(t, url) {
  const agent = new Agent(await startServer(t, OFFLINE))
  await agent.act('navigate', { url })
  return agent
}

export class Agent {
  /** @param {import('../support/server.mjs').Server} server */
  constructor(server) {
    this.server = server
  }

  /**
   * Makes a call and returns its result. Fails if it is an error.
   * @param {string} tool
   * @param {object} [args]
   * @returns {Promise<any>}
   */
  act(tool, args) {
    return this.server.ok(tool, args)
  }

  /** The page as text. @param {object} [args] @returns {Promise<string>} */
  see(args) {
    return this.act('snapshot', args)
  }

  /**
   * Returns a snapshot of the page when it matches `pattern`: apps may render the effect of an
   * action later.
   * @param {RegExp} pattern @param {object} [args]
   */
  async awaitSnapshot(pattern, args) {
    let text = ''
    const seen = async () => pattern.test((text = await this.see(args)))
    await until(seen, String(pattern)).catch((error) => {
      throw new Error(`${error.message}; the page is\n${text}`)
    })
    return text
  }

  /**
   * Waits for a line with `pattern` and returns its ref.
   * @param {RegExp} pattern
   * @param {object} [args]
   */
  async ref(pattern, args) {
    return refIn(await this.awaitSnapshot(pattern, args), pattern)
  }

  /** @param {RegExp} pattern @param {object} [args] more for `click` */
  async click(pattern, args) {
    return this.act('click', { selector: await this.ref(pattern), ...args })
  }
}
