// The servers that are compared, and how each is asked for the same thing.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../scripts/run.mjs'
import { floor } from './floor.mjs'
import { StdioClient } from './stdio-client.mjs'

/**
 * One server: how it is started, and the tool and arguments that an action is there.
 * `prepare` looks at a page before it is worked on. `tellsChanges` where an action's answer shows what it changed, `isBare` where it is no server at all.
 * @typedef {{ name: string, title: string, start: () => StdioClient, createSession: (client: StdioClient) => Promise<unknown>,
 *   prepare?: (client: StdioClient) => Promise<unknown>, tellsChanges: boolean, isBare?: boolean, tools: Record<Action, (argument?: string) => [string, object]> }} Server
 * @typedef {'navigate' | 'click' | 'evaluate' | 'fill' | 'typeByKeys' | 'snapshot' | 'snapshotUncut' | 'screenshot'} Action
 */

/** What is gone with this process. @type {string[]} */
const folders = []

/** A file to record into, as Troupe does by itself, but not into the user's own; gone with this process. */
function record() {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-'))
  if (folders.push(folder) === 1)
    process.on('exit', () =>
      folders.forEach((made) => rmSync(made, { recursive: true, force: true }))
    )
  return join(folder, 'record.db')
}

/** Chromium refuses to run sandboxed as root. @param {string} browser */
function browserFlags(browser) {
  return [
    '--headless',
    '--executable-path',
    browser,
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])
  ]
}

/** Troupe alone, recording where it is told to. @param {{ browser: string, addon: string }} options @returns {import('./in-turns.mjs').Start} */
export function recording({ browser, addon }) {
  const program = [process.execPath, join(ROOT, 'bin/troupe.js'), ...browserFlags(browser)]
  return (store, ...flags) =>
    new StdioClient([...program, '--store', store, ...flags], {
      NAPI_RS_NATIVE_LIBRARY_PATH: addon
    })
}

/** The peer itself, and the same behind Troupe, which records what is called. @param {{ browser: string, addon: string }} options */
export function passing({ browser, addon }) {
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

/** @param {{ browser: string, addon: string, withFloor?: boolean }} options @returns {Server[]} */
export function servers({ browser, addon, withFloor }) {
  const same = browserFlags(browser)
  const peer = [process.execPath, join(ROOT, 'node_modules/@playwright/mcp/cli.js'), ...same]
  // The one with its defaults has its profile on disk; a second beside it would fight over that.
  const peerFast = [...peer, '--isolated', '--timeout-settle', '0', '--snapshot-mode', 'none']
  return [
    {
      name: 'troupe',
      title: 'Troupe',
      // The loader takes the release addon from there and leaves the quick one of the tests alone. A run takes longer than a
      // session lives by itself.
      start: () =>
        new StdioClient(
          [process.execPath, join(ROOT, 'bin/troupe.js'), ...same, '--session-timeout', '3600000'],
          {
            NAPI_RS_NATIVE_LIBRARY_PATH: addon,
            TROUPE_STORE: record()
          }
        ),
      createSession: (client) => client.call('create_session', {}),
      tellsChanges: true,
      tools: {
        navigate: (url) => ['navigate', { url }],
        click: () => ['click', { selector: '#count' }],
        evaluate: () => ['evaluate', { script: 'document.title' }],
        fill: (value) => ['fill', { selector: '#name', value }],
        typeByKeys: (text) => ['type', { selector: '#name', text }],
        snapshot: () => ['snapshot', {}],
        // By itself Troupe shows the first rows of a long table and how to see the rest; the peer shows all.
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
 * A server on a port: how it is started there, and how its clients ask for the same thing.
 * @typedef {{ name: string, title: string, command: (port: number) => string[], env: Record<string, string>, idle: [string, object],
 *   tools: { navigate: (url: string) => [string, object], click: () => [string, object], count: () => [string, object] } }} HttpSide
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
      // Of what lives here it need ask nobody.
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
    tellsChanges: false,
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

/** The headless shell if there is one, else what `TROUPE_BENCH_BROWSER` or the PATH names. */
export function findBrowser() {
  const given = process.env.TROUPE_BENCH_BROWSER
  const folders = (process.env.PATH ?? '').split(':')
  const found = ['chromium-headless-shell', 'chromium', 'google-chrome'].flatMap((name) =>
    folders.map((folder) => join(folder, name)).filter(existsSync)
  )
  return given ?? found[0]
}
