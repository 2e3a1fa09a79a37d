// Starts a browser that the server does not own.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HEADLESS_SHELL } from './delayed-browser.mjs'
import { awaitProcessesEnded, descendants, readProcess } from './processes.mjs'
import { closeTogether, joinSockets, startForwarder } from './sockets.mjs'
import { until } from './wait.mjs'
import { takeFrames } from './websocket.mjs'

/**
 * Ends a browser with the test, and removes its profile.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {import('node:child_process').ChildProcess} child @param {string} profile
 */
function endWithTest(t, child, profile) {
  const ended = new Promise((resolve) => child.on('close', resolve))
  t.after(async () => {
    const below = descendants(/** @type {number} */ (child.pid))
    child.kill('SIGKILL')
    await ended
    if (below.length > 0) await awaitProcessesEnded(below)
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  })
}

/**
 * Starts a browser that ends with the test.
 * @param {any} t
 * @param {{ executable?: string, args?: string[] }} [options] the last arguments are its first URLs
 */
export async function startBrowser(t, { executable = HEADLESS_SHELL, args: own } = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'troupe-attach-'))
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const quiet = [
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync'
  ]
  const args = [
    '--remote-debugging-port=0',
    `--user-data-dir=${profile}`,
    ...sandbox,
    ...quiet,
    ...(own ?? ['about:blank'])
  ]
  const child = spawn(executable, args, { stdio: 'ignore' })
  endWithTest(t, child, profile)
  const file = join(profile, 'DevToolsActivePort')
  const [port, path] = await until(
    () => existsSync(file) && /^(\d+)\n(\/\S+)/.exec(readFileSync(file, 'utf8'))?.slice(1),
    'the port of the browser'
  )
  const origin = `http://127.0.0.1:${port}`
  /**
   * Returns the pages that the browser lists.
   * @returns {Promise<{ id: string, url: string, title: string }[]>}
   */
  const pages = async () =>
    (await (await fetch(`${origin}/json/list`)).json()).filter(({ type }) => type === 'page')
  return {
    child,
    profile,
    pages,
    http: origin,
    ws: `ws://127.0.0.1:${port}${path}`,
    process: readProcess(/** @type {number} */ (child.pid))
  }
}

/**
 * Starts a Firefox that ends with the test. It does not allow privileged scripts: that needs
 * `--remote-allow-system-access`.
 * @param {{ after: (end: () => unknown) => void }} t @param {string} executable
 */
export async function startFirefox(t, executable) {
  const profile = mkdtempSync(join(tmpdir(), 'troupe-attach-'))
  const args = ['--headless', '--no-remote', '--remote-debugging-port=0', '--profile', profile]
  const child = spawn(executable, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (data) => (output += data))
  endWithTest(t, child, profile)
  const port = await until(
    () => /BiDi listening on ws:\/\/[\d.]+:(\d+)/.exec(output)?.[1],
    'the port of Firefox',
    60_000
  )
  return { child, ws: `ws://127.0.0.1:${port}` }
}

/**
 * Records the commands that a server sends to a browser, on a port between the two. Withholds the
 * responses to commands whose text matches `withheld`.
 * @param {{ after: (end: () => unknown) => void }} t @param {{ ws: string }} browser
 * @param {RegExp} [withheld]
 */
export async function recordCommands(t, browser, withheld) {
  /** @type {string[]} */
  const methods = []
  /** @type {Set<number>} */
  const withheldIds = new Set()
  const target = Number(new URL(browser.ws).port)
  const { port } = await startForwarder(t, target, (near, far) => {
    if (withheld) {
      closeTogether(near, far)
      near.pipe(far)
      passResponses(far, near, withheldIds)
    } else joinSockets(near, far)
    /** @type {Buffer} */
    let bytes = Buffer.alloc(0)
    near.on('data', (data) => {
      bytes = Buffer.concat([bytes, data])
      const [, sent] = splitHead(bytes, 'GET ')
      if (!sent) return
      const { frames, rest } = takeFrames(sent)
      bytes = rest
      for (const { payload } of frames) {
        const text = payload.toString()
        for (const [, method] of text.matchAll(/"method":"(\w+\.\w+)"/g)) methods.push(method)
        if (withheld?.test(text)) withheldIds.add(JSON.parse(text).id)
      }
    })
  })
  return { methods: () => methods, ws: browser.ws.replace(/:\d+\//, `:${port}/`) }
}

/**
 * Returns the head of an upgrade that begins with `first`, if there is one, and the rest. The rest
 * is null while the head is incomplete.
 * @param {Buffer} bytes @param {string} first @returns {[Buffer, Buffer | null]}
 */
function splitHead(bytes, first) {
  if (bytes.subarray(0, first.length).toString() !== first) return [Buffer.alloc(0), bytes]
  const end = bytes.indexOf('\r\n\r\n') + 4
  return end < 4 ? [bytes, null] : [bytes.subarray(0, end), bytes.subarray(end)]
}

/**
 * Forwards the messages of a browser, except the responses to the commands in `withheld`.
 * @param {import('node:net').Socket} far @param {import('node:net').Socket} near
 * @param {Set<number>} withheld
 */
function passResponses(far, near, withheld) {
  /** @type {Buffer} */
  let bytes = Buffer.alloc(0)
  far.on('data', (data) => {
    bytes = Buffer.concat([bytes, data])
    const [head, sent] = splitHead(bytes, 'HTTP')
    if (!sent) return
    near.write(head)
    const { frames, rest } = takeFrames(sent)
    let at = 0
    for (const { payload, size } of frames) {
      const id = Number(/^\{"id":(\d+)/.exec(payload.toString())?.[1])
      if (!withheld.has(id)) near.write(sent.subarray(at, at + size))
      at += size
    }
    bytes = rest
  })
  far.on('end', () => near.end())
}
