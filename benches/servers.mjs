// The compared servers, and the calls that do the same work on each. `peer` is @playwright/mcp.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../scripts/run.mjs'
import { floor } from './floor.mjs'
import { StdioClient } from './stdio-client.mjs'

/**
 * A server: how it is started, and the tool and arguments of each action. `prepare` takes a
 * snapshot before a page is used.
 * `reportsChanges`: whether results of actions list the changes of the page. `isBare`: whether it
 * is a bare browser client.
 * @typedef {{ name: string, title: string, start: () => StdioClient, createSession: (client:
 *   StdioClient) => Promise<unknown>,
 * prepare?: (client: StdioClient) => Promise<unknown>, reportsChanges: boolean, isBare?: boolean,
 * tools: Record<Action, (argument?: string) => [string, object]> }} Server
 * @typedef {'navigate' | 'click' | 'evaluate' | 'fill' | 'typeByKeys' | 'snapshot' |
 *   'snapshotUncut' | 'screenshot'} Action
 */

/** Folders that are removed when this process exits. @type {string[]} */
const folders = []

/** Returns the path of a new record, which is removed when this process exits. */
function record() {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  if (folders.push(folder) === 1)
    process.on('exit', () =>
      folders.forEach((made) => rmSync(made, { recursive: true, force: true }))
    )
  return join(folder, 'record.db')
}

/** As root, Chromium's sandbox is not available. @param {string} browser */
function browserFlags(browser) {
  return [
    '--headless',
    '--executable-path',
    browser,
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])
  ]
}

/**
 * Starts Troupe with a store.
 * @param {{ browser: string, addon: string }} options
 * @returns {import('./alternating.mjs').Start}
 */
export function recording({ browser, addon }) {
  const program = [process.execPath, join(ROOT, 'bin/troupe.js'), ...browserFlags(browser)]
  return (store, ...flags) =>
    new StdioClient([...program, '--store', store, ...flags], {
      NAPI_RS_NATIVE_LIBRARY_PATH: addon
    })
}

/**
 * Starts the peer directly, or behind Troupe (`--upstream`).
 * @param {{ browser: string, addon: string }} options
 */
export function upstreamSides({ browser, addon }) {
  const peer = [
    process.execPath,
    join(ROOT, 'node_modules/@playwright/mcp/cli.js'),
    ...browserFlags(browser),
    '--isolated'
  ]
  const through = [
    process.execPath,
    join(ROOT, 'bin/troupe.js'),
    '--upstream',
    peer.map((word) => `'${word}'`).join(' ')
  ]
  const folder = record().replace(/record\.db$/, '')
  const env = {
    NAPI_RS_NATIVE_LIBRARY_PATH: addon,
    TROUPE_STORE: join(folder, 'record.db'),
    TROUPE_OUTPUT_DIR: folder
  }
  return {
    direct: () => new StdioClient([...peer, '--output-dir', join(folder, 'direct')]),
    through: () => new StdioClient(through, env)
  }
}

/**
 * Troupe with a browser of the Selenium Grid at `endpoint`, and with the same browser on its own.
 * @param {{ browser: string, addon: string, endpoint: string }} options
 */
export function gridSides({ browser, addon, endpoint }) {
  const flags = browserFlags(browser)
  const args = ['--headless=new', ...flags.filter((flag) => flag === '--no-sandbox')]
  const chrome = `goog:chromeOptions=${JSON.stringify({ args })}`
  /** @param {string[]} own */
  const start = (own) => () =>
    new StdioClient([process.execPath, join(ROOT, 'bin/troupe.js'), '--store', 'none', ...own], {
      NAPI_RS_NATIVE_LIBRARY_PATH: addon
    })
  return {
    grid: start(['--browser-endpoint', endpoint, '--grid-capability', chrome]),
    local: start(flags)
  }
}

/** Troupe on Firefox. @param {string} addon */
export function onFirefox(addon) {
  const program = [
    process.execPath,
    join(ROOT, 'bin/troupe.js'),
    '--browser',
    'firefox',
    '--headless',
    '--store',
    record()
  ]
  return new StdioClient(program, { NAPI_RS_NATIVE_LIBRARY_PATH: addon })
}

/**
 * Troupe with the Playwright set, and @playwright/mcp.
 * @param {{ browser: string, addon: string }} options
 * @returns {Server[]}
 */
export function playwrightSets({ browser, addon }) {
  const same = [...browserFlags(browser), '--isolated']
  const folder = record().replace(/record\.db$/, '')
  const own = ['--tools', 'playwright', '--output-dir', join(folder, 'troupe')]
  const env = { NAPI_RS_NATIVE_LIBRARY_PATH: addon, TROUPE_STORE: join(folder, 'record.db') }
  const troupe = [process.execPath, join(ROOT, 'bin/troupe.js'), ...same, ...own]
  const peer = [process.execPath, join(ROOT, 'node_modules/@playwright/mcp/cli.js'), ...same]
  return [
    { ...playwright('troupe', 'Troupe', troupe), start: () => new StdioClient(troupe, env) },
    playwright('peer', `@playwright/mcp ${peerVersion()}`, [
      ...peer,
      '--output-dir',
      join(folder, 'peer')
    ])
  ]
}

/** @param {{ browser: string, addon: string, withFloor?: boolean }} options @returns {Server[]} */
export function servers({ browser, addon, withFloor }) {
  const same = browserFlags(browser)
  const peer = [process.execPath, join(ROOT, 'node_modules/@playwright/mcp/cli.js'), ...same]
  // Isolated, because the other one uses the default profile on disk.
  const peerFast = [...peer, '--isolated', '--timeout-settle', '0', '--snapshot-mode', 'none']
  return [
    {
      name: 'troupe',
      title: 'Troupe',
      // The loader takes the release addon from this path. A run takes longer than the default
      // session timeout.
      start: () =>
        new StdioClient(
          [process.execPath, join(ROOT, 'bin/troupe.js'), ...same, '--session-timeout', '3600000'],
          {
            NAPI_RS_NATIVE_LIBRARY_PATH: addon,
            TROUPE_STORE: record()
          }
        ),
      createSession: (client) => client.call('create_session', {}),
      reportsChanges: true,
      tools: {
        navigate: (url) => ['navigate', { url }],
        click: () => ['click', { selector: '#count' }],
        evaluate: () => ['evaluate', { script: 'document.title' }],
        fill: (value) => ['fill', { selector: '#name', value }],
        typeByKeys: (text) => ['type', { selector: '#name', text }],
        snapshot: () => ['snapshot', {}],
        // By default, Troupe shows the first rows of a long table, and the peer shows all.
        snapshotUncut: () => ['snapshot', { selector: 'table', budget: 1_000_000 }],
        screenshot: () => ['screenshot', {}]
      }
    },
    playwright('peer', `@playwright/mcp ${peerVersion()}`, peer),
    playwright('peerFast', '… settle 0, no snapshots', peerFast),
    ...(withFloor ? [floor(browser)] : [])
  ]
}

/**
 * A server on a port: how it is started, and the calls of its clients.
 * @typedef {{ name: string, title: string, command: (port: number) => string[], env: Record<string,
 *   string>, idle: [string, object],
 * tools: { navigate: (url: string) => [string, object], click: () => [string, object], count: () =>
 * [string, object] } }} HttpSide
 */

/** @param {{ browser: string, addon: string }} options @returns {HttpSide[]} */
export function httpSides({ browser, addon }) {
  const same = browserFlags(browser)
  return [
    {
      name: 'troupe',
      title: 'Troupe',
      command: (port) => [
        process.execPath,
        join(ROOT, 'bin/troupe.js'),
        ...same,
        ...[
          '--transport',
          'http',
          '--port',
          String(port),
          '--max-sessions',
          '100',
          '--store',
          'none'
        ]
      ],
      env: { NAPI_RS_NATIVE_LIBRARY_PATH: addon, TROUPE_AUTH_TOKEN: randomUUID() },
      // Open sessions are listed without a request to the browser.
      idle: ['list_sessions', { state: 'active' }],
      tools: {
        navigate: (url) => ['navigate', { url }],
        click: () => ['click', { selector: '#count' }],
        count: () => ['get_text', { selector: 'output' }]
      }
    },
    {
      name: 'peer',
      title: `@playwright/mcp ${peerVersion()}`,
      command: (port) => [
        process.execPath,
        join(ROOT, 'node_modules/@playwright/mcp/cli.js'),
        ...same,
        ...['--isolated', '--port', String(port)]
      ],
      env: {},
      idle: ['browser_tabs', { action: 'list' }],
      tools: {
        navigate: (url) => ['browser_navigate', { url }],
        click: () => ['browser_click', { element: 'Count', target: '#count' }],
        count: () => [
          'browser_evaluate',
          { function: '() => document.querySelector("output").textContent' }
        ]
      }
    }
  ]
}

/** @param {string} name @param {string} title @param {string[]} command @returns {Server} */
function playwright(name, title, command) {
  return {
    name,
    title,
    start: () => new StdioClient(command),
    createSession: async () => {},
    reportsChanges: false,
    tools: {
      navigate: (url) => ['browser_navigate', { url }],
      click: () => ['browser_click', { element: 'Count', target: '#count' }],
      evaluate: () => ['browser_evaluate', { function: '() => document.title' }],
      fill: (text) => ['browser_type', { element: 'Name', target: '#name', text }],
      typeByKeys: (text) => [
        'browser_type',
        { element: 'Name', target: '#name', text, slowly: true }
      ],
      snapshot: () => ['browser_snapshot', {}],
      snapshotUncut: () => ['browser_snapshot', {}],
      screenshot: () => ['browser_take_screenshot', { scale: 'css' }]
    }
  }
}

function peerVersion() {
  return JSON.parse(readFileSync(join(ROOT, 'node_modules/@playwright/mcp/package.json'), 'utf8'))
    .version
}

/**
 * Returns the path of the browser: `TROUPE_BENCH_BROWSER`, the headless shell, or another Chromium
 * on the PATH.
 */
export function findBrowser() {
  const given = process.env.TROUPE_BENCH_BROWSER
  const folders = (process.env.PATH ?? '').split(':')
  const found = ['chromium-headless-shell', 'chromium', 'google-chrome'].flatMap((name) =>
    folders.map((folder) => join(folder, name)).filter(existsSync)
  )
  return given ?? found[0]
}
