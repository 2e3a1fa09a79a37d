// Other browser servers for agents: Google's chrome-devtools-mcp, and Vercel's agent-browser, a
// command-line program with a daemon that keeps the browser.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../scripts/run.mjs'
import { setup } from '../scripts/setup.mjs'
import { StdioClient, textOf } from './stdio-client.mjs'
import { agentBrowserProgram } from './tokens/programs.mjs'

/** @typedef {import('./servers.mjs').Server} Server */

const isRoot = process.getuid?.() === 0

/** @param {string} browser @returns {Promise<Server[]>} */
export async function others(browser) {
  return [devtools(browser), await agentBrowser(browser)]
}

/** @param {string} browser @returns {Server} */
function devtools(browser) {
  const program = join(
    ROOT,
    'node_modules/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'
  )
  const flags = [
    '--headless',
    '--isolated',
    '--no-usage-statistics',
    '--viewport',
    '1280x720',
    '--executablePath',
    browser,
    ...(isRoot ? ['--chromeArg=--no-sandbox'] : [])
  ]
  const pageId = 1
  /** Its snapshots assign ids to elements. */
  const uids = { count: '', name: '' }
  return {
    name: 'devtools',
    title: 'chrome-devtools-mcp',
    start: () => new StdioClient([process.execPath, program, ...flags]),
    createSession: async () => {},
    prepare: async (client) => {
      const snapshot = textOf(await client.call('take_snapshot', { pageId }))
      uids.count = /uid=(\S+) button "Count"/.exec(snapshot)?.[1] ?? ''
      uids.name = /uid=(\S+) textbox "Name/.exec(snapshot)?.[1] ?? ''
    },
    reportsChanges: false,
    tools: {
      navigate: (url) => ['navigate_page', { pageId, type: 'url', url }],
      click: () => ['click', { pageId, uid: uids.count }],
      evaluate: () => ['evaluate_script', { pageId, function: '() => document.title' }],
      fill: (value) => ['fill', { pageId, uid: uids.name, value }],
      // It types into the focused element, which would need another click.
      typeByKeys: () => ['', {}],
      snapshot: () => ['take_snapshot', { pageId }],
      snapshotUncut: () => ['take_snapshot', { pageId }],
      screenshot: () => ['take_screenshot', { pageId }]
    }
  }
}

/** @param {string} browser @returns {Promise<Server>} */
async function agentBrowser(browser) {
  await setup(['tokens'])
  const program = agentBrowserProgram()
  let started = 0
  const command = (...words) => /** @type {[string, object]} */ ([words[0], { words }])
  return {
    name: 'agentBrowser',
    title: 'agent-browser',
    start: () =>
      /** @type {any} */ (
        new CommandClient(program, browser, `troupe-bench-${process.pid}-${started++}`)
      ),
    createSession: async () => {},
    reportsChanges: false,
    tools: {
      navigate: (url) => command('open', url),
      click: () => command('click', '#count'),
      evaluate: () => command('eval', 'document.title'),
      fill: (text) => command('fill', '#name', text),
      typeByKeys: (text) => command('type', '#name', text),
      snapshot: () => command('snapshot'),
      snapshotUncut: () => command('snapshot'),
      screenshot: () => command('screenshot')
    }
  }
}

/** A client that runs a program for each call. */
class CommandClient {
  /** @param {string} program @param {string} browser @param {string} session */
  constructor(program, browser, session) {
    this.program = program
    this.session = session
    this.env = {
      ...process.env,
      AGENT_BROWSER_EXECUTABLE_PATH: browser,
      ...(isRoot ? { AGENT_BROWSER_ARGS: '--no-sandbox' } : {})
    }
    this.spawned = performance.now()
  }

  /** Each call has another process. */
  get pid() {
    return 0
  }

  async initialize() {
    await this.#run(['--version'])
  }

  async request() {
    return {
      tools: ['open', 'click', 'eval', 'fill', 'type', 'snapshot', 'screenshot'].map((name) => ({
        name
      }))
    }
  }

  /**
   * @param {string} _
   * @param {{ words: string[] }} args
   * @returns {Promise<import('./stdio-client.mjs').ToolResult>}
   */
  async call(_, { words }) {
    const { stdout } = await this.#run(words)
    return { content: [{ type: 'text', text: stdout }] }
  }

  async close() {
    await this.#run(['close'])
  }

  /** @param {string[]} words */
  #run(words) {
    return promisify(execFile)(this.program, ['--session', this.session, ...words], {
      env: this.env,
      timeout: 30_000,
      maxBuffer: 1 << 26
    })
  }
}
