// The two servers of the differential test, each with its own working directory.
import { realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../scripts/run.mjs'
import { pathOf } from '../support/browser.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'

/** The package whose server is compared. `TROUPE_ROOT` selects another checkout. */
export const TROUPE_ROOT = process.env.TROUPE_ROOT ?? ROOT

/** The command of @playwright/mcp. */
export const PLAYWRIGHT_COMMAND = [
  process.execPath,
  join(ROOT, 'node_modules/@playwright/mcp/cli.js')
]

/** All capabilities of `--caps`. */
export const CAPABILITIES = 'config,devtools,network,pdf,storage,testing,tracing,vision'

/** The options of both servers. */
const OPTIONS = ['--isolated']

/** When a failing action ends (ms). */
const TIMEOUT = { troupe: '2500', playwright: '1000' }

/** How long @playwright/mcp waits after each action (ms). The default is 500. */
const SETTLE = '250'

/** Files that scenarios upload or restore, in each working directory. */
const FILES = {
  'upload.txt': 'the first file\n',
  'second.txt': 'the second file\n',
  'state.json': JSON.stringify({ cookies: [], origins: [] }),
  'stored.json': JSON.stringify({
    cookies: [
      {
        ...{ name: 'stored', value: '1', domain: '127.0.0.1', path: '/', expires: -1 },
        ...{ httpOnly: false, secure: false, sameSite: 'Lax' }
      }
    ],
    origins: []
  }),
  'secrets.env': 'PASSWORD=hunter2\nTOKEN="abc def"\n',
  'init.js': 'window.initialized = 7',
  'config.json': JSON.stringify({
    browser: { contextOptions: { viewport: { width: 640, height: 480 }, locale: 'de-DE' } },
    snapshot: { mode: 'none' },
    timeouts: { action: 900 }
  })
}

/** Returns the path of the browser that tests use, so that both servers run the same. */
export function browserExecutable() {
  return pathOf('chromium-headless-shell') ?? pathOf('chromium') ?? ''
}

/**
 * @typedef {import('../support/server.mjs').Server} Server
 * @typedef {{ after: (end: () => unknown) => void }} Scope
 * @typedef {{ server: Server, directory: string }} Started
 */

/**
 * Starts Troupe with the Playwright tool set.
 * @param {Scope} t
 * @param {{ caps?: string, options?: string[] }} [settings]
 * @returns {Promise<Started>}
 */
export async function startTroupe(t, { caps = CAPABILITIES, options = [] } = {}) {
  const directory = workingDirectory(t)
  const server = await startServer(
    t,
    [
      ...['--tools', 'playwright', '--timeout-action', TIMEOUT.troupe],
      ...[...capsOption(caps), ...OPTIONS, ...options]
    ],
    {
      cwd: directory,
      command: [process.execPath, join(TROUPE_ROOT, 'bin/troupe.js')]
    }
  )
  return { server, directory }
}

/**
 * Starts @playwright/mcp.
 * @param {Scope} t
 * @param {{ caps?: string, options?: string[] }} [settings]
 * @returns {Promise<Started>}
 */
export async function startPlaywright(t, { caps = CAPABILITIES, options = [] } = {}) {
  const directory = workingDirectory(t)
  const server = await startServer(
    t,
    [
      ...['--headless', '--no-sandbox', '--executable-path', browserExecutable()],
      ...['--timeout-settle', SETTLE, '--timeout-action', TIMEOUT.playwright],
      ...[...capsOption(caps), ...OPTIONS, ...options]
    ],
    {
      cwd: directory,
      browser: false,
      command: PLAYWRIGHT_COMMAND,
      // Call logs are dim only if the terminal seems to support colors.
      env: { FORCE_COLOR: '1' }
    }
  )
  return { server, directory }
}

/** @param {string} caps */
const capsOption = (caps) => (caps === '' ? [] : ['--caps', caps])

/** @param {Scope} t */
function workingDirectory(t) {
  const directory = emptyFolder(t)
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text)
  return directory
}

/** Creates an empty folder that ends with the test. @param {Scope} t */
export const emptyFolder = (t) => realpathSync(temporaryFolder(t))

/**
 * Starts Troupe with the set in `cwd`, with the default output directory and capabilities.
 * @param {Scope} t @param {string} cwd @param {string[]} [args]
 * @param {Record<string, string>} [env]
 */
export const startIn = (t, cwd, args = [], env = {}) =>
  startServer(t, ['--tools', 'playwright', ...args], { cwd, env })
