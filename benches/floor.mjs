// The floor: a bare client over the browser's pipe. It sends only the CDP commands that the work
// needs, without actionability checks, settling or reports. Its start is that of Node (`node -e 0`)
// followed by the browser's.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle } from '../__test__/page/world.mjs'

/** @typedef {import('./stdio-client.mjs').ToolResult} ToolResult */

/** @param {string} browser @returns {import('./servers.mjs').Server} */
export function floor(browser) {
  const same = (name) => (argument) => /** @type {[string, object]} */ ([name, { argument }])
  return {
    name: 'floor',
    title: 'floor: bare DevTools',
    start: () => /** @type {any} */ (new FloorClient(browser)),
    createSession: (client) => /** @type {any} */ (client).createSession(),
    reportsChanges: false,
    isBare: true,
    tools: {
      navigate: same('navigate'),
      click: same('click'),
      evaluate: same('evaluate'),
      fill: same('fill'),
      typeByKeys: same('type'),
      snapshot: same('snapshot'),
      snapshotUncut: same('snapshotUncut'),
      screenshot: same('screenshot')
    }
  }
}

const VIEWPORT = { width: 1280, height: 720 }

/** Has the methods of a server's client, without a server. */
export class FloorClient {
  #browser
  /** @type {Pipe | undefined} */
  #pipe
  /** The page of the last session. @type {FloorPage | undefined} */
  #page

  /** @param {string} browser */
  constructor(browser) {
    this.#browser = browser
    this.spawned = performance.now()
    const node = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' })
    this.started = new Promise((resolve) => node.on('close', resolve))
  }

  get pid() {
    return 0
  }

  async initialize() {
    await this.started
  }

  async request() {
    return { tools: Object.keys(TOOLS).map((name) => ({ name })) }
  }

  /**
   * Creates a browser context with a page. The first call starts the browser. Returns the function
   * that closes it.
   */
  async createSession() {
    const { page, close } = await this.open()
    this.#page = page
    return close
  }

  /** Creates a browser context with a page for `work(page, name, argument)`. */
  async open() {
    this.#pipe ??= new Pipe(this.#browser)
    const pipe = this.#pipe
    const { browserContextId } = await pipe.send('Target.createBrowserContext')
    const { targetId } = await pipe.send('Target.createTarget', {
      url: 'about:blank',
      browserContextId,
      ...VIEWPORT
    })
    const { sessionId } = await pipe.send('Target.attachToTarget', { targetId, flatten: true })
    await Promise.all(
      ['Page.enable', 'Runtime.enable', 'Network.enable'].map((method) =>
        pipe.send(method, {}, sessionId)
      )
    )
    /** @type {FloorPage} */
    const page = {
      shown: {},
      send: (method, params = {}) => pipe.send(method, params, sessionId),
      next: (method) => pipe.next(method, sessionId)
    }
    return { page, close: () => pipe.send('Target.disposeBrowserContext', { browserContextId }) }
  }

  /** @param {string} name @param {{ argument?: string }} args @returns {Promise<ToolResult>} */
  async call(name, { argument = '' }) {
    const text = await work(/** @type {FloorPage} */ (this.#page), name, argument)
    return { content: [{ type: 'text', text: String(text ?? '') }] }
  }

  async close() {
    await this.#pipe?.close()
  }
}

/** @param {FloorPage} page @param {string} name @param {string} [argument] */
export function work(page, name, argument = '') {
  return TOOLS[name](page, argument)
}

/**
 * @typedef {{ shown: { world?: number }, send: (method: string, params?: object) => Promise<any>,
 *   next: (method: string) => Promise<any> }} FloorPage
 */

/** @param {FloorPage} page @param {string} expression */
const evaluate = async (page, expression) =>
  (await page.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true }))
    .result.value

/** Takes a snapshot, by default with collapsed lists as agents see it. */
const snapshotWith = (/** @type {object} */ options) => async (/** @type {FloorPage} */ page) => {
  page.shown.world ??= await makeWorld(page)
  const expression = `__troupe.snapshot(${JSON.stringify({ refs: { prefix: 'e', next: 1 }, ...options })})`
  const { result } = await page.send('Runtime.evaluate', {
    expression,
    contextId: page.shown.world,
    returnByValue: true
  })
  return JSON.parse(result.value).text
}

/**
 * Creates an isolated world in the page, once for each document.
 * @param {FloorPage} page
 * @returns {Promise<number>}
 */
async function makeWorld(page) {
  const { frameTree } = await page.send('Page.getFrameTree')
  const { executionContextId } = await page.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
    worldName: 'floor'
  })
  await page.send('Runtime.evaluate', {
    expression: `${(source ??= bundle())};0`,
    contextId: executionContextId
  })
  return executionContextId
}
/** @type {string | undefined} */
let source

/** @type {Record<string, (page: FloorPage, argument: string) => Promise<unknown>>} */
const TOOLS = {
  navigate: async (page, url) => {
    page.shown.world = undefined
    const loaded = page.next('Page.loadEventFired')
    await page.send('Page.navigate', { url })
    await loaded
  },
  click: async (page) => {
    const center = await evaluate(
      page,
      `(({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 }))(document.querySelector('#count').getBoundingClientRect())`
    )
    const button = { ...center, button: 'left', clickCount: 1 }
    await Promise.all([
      page.send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...center }),
      page.send('Input.dispatchMouseEvent', { type: 'mousePressed', ...button }),
      page.send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...button })
    ])
  },
  evaluate: (page) => evaluate(page, 'document.title'),
  fill: (page, text) =>
    evaluate(
      page,
      `(input => { input.focus(); input.value = ${JSON.stringify(text)}; input.dispatchEvent(new Event('input')) })(document.querySelector('#name'))`
    ),
  type: async (page, text) => {
    await evaluate(page, `document.querySelector('#name').focus()`)
    const keys = [...text].flatMap((key) => [
      { type: 'keyDown', key, text: key },
      { type: 'keyUp', key }
    ])
    await Promise.all(keys.map((key) => page.send('Input.dispatchKeyEvent', key)))
  },
  snapshot: snapshotWith({}),
  snapshotUncut: snapshotWith({ fold: 0 }),
  screenshot: async (page) =>
    (await page.send('Page.captureScreenshot', { format: 'png', optimizeForSpeed: true })).data
}

/** A browser and its two pipes. */
class Pipe {
  #next = 1
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  #pending = new Map()
  /** @type {{ method: string, session: string, resolve: (params: any) => void }[]} */
  #awaited = []
  #folder = mkdtempSync(join(tmpdir(), 'troupe-floor-'))

  /** @param {string} browser */
  constructor(browser) {
    const flags = [
      '--headless',
      '--remote-debugging-pipe',
      `--user-data-dir=${this.#folder}`,
      '--no-first-run',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])
    ]
    this.child = spawn(browser, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
    this.exited = new Promise((resolve) => this.child.on('close', resolve))
    this.to = /** @type {import('node:stream').Writable} */ (this.child.stdio[3])
    /** @type {Buffer[]} */
    let chunks = []
    const from = /** @type {import('node:stream').Readable} */ (
      /** @type {unknown} */ (this.child.stdio[4])
    )
    from.on('data', (/** @type {Buffer} */ data) => {
      for (let end = data.indexOf(0); end >= 0; end = data.indexOf(0)) {
        this.#receive(JSON.parse(Buffer.concat([...chunks, data.subarray(0, end)]).toString()))
        chunks = []
        data = data.subarray(end + 1)
      }
      chunks.push(data)
    })
    this.exited.then(() =>
      this.#pending.forEach(({ reject }) => reject(new Error('the browser has ended')))
    )
  }

  /**
   * @param {string} method
   * @param {object} [params]
   * @param {string} [sessionId]
   * @returns {Promise<any>}
   */
  send(method, params = {}, sessionId) {
    const id = this.#next++
    this.to.write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }))
  }

  /**
   * Resolves with the next event of that name.
   * @param {string} method
   * @param {string} session
   * @returns {Promise<any>}
   */
  next(method, session) {
    return new Promise((resolve) => this.#awaited.push({ method, session, resolve }))
  }

  async close() {
    this.send('Browser.close').catch(() => {})
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5000)
    await this.exited
    clearTimeout(timer)
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  /** @param {any} message */
  #receive({ id, result, error, method, params, sessionId }) {
    if (id !== undefined) {
      const { resolve, reject } = this.#pending.get(id) ?? {}
      this.#pending.delete(id)
      return error ? reject?.(new Error(`${error.message}`)) : resolve?.(result)
    }
    const met = this.#awaited.filter((one) => one.method === method && one.session === sessionId)
    this.#awaited = this.#awaited.filter((one) => !met.includes(one))
    met.forEach(({ resolve }) => resolve(params))
  }
}
