// The options with which tests start the browser: without a window, and as root without the
// sandbox, which is not available to root.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const isRoot = process.getuid?.() === 0

/** Replaces the user's state folder. */
const STATE = fileURLToPath(new URL('../../.cache/state', import.meta.url))

/** The row of the table in `browsers.mjs` that these tests are for. */
export const ROW = process.env.TEST_BROWSER ?? 'chromium'

/** The engine of that row: the value of `--browser`. */
export const BROWSER = ROW === 'chrome' ? 'chromium' : ROW

/**
 * Returns the path of a program in `folders` or on the PATH, or `undefined`.
 * @param {string} program @param {string[]} [folders]
 */
export function pathOf(program, folders = []) {
  return [...folders, ...(process.env.PATH ?? '').split(delimiter)]
    .map((folder) => join(folder, program))
    .find(existsSync)
}

/** Full Chrome instead of the headless shell, which Troupe prefers. */
const EXECUTABLE = ROW === 'chrome' ? (pathOf('chromium') ?? 'chromium') : undefined

/** This browser's error for a connection that was reset without a response. */
export const NO_ANSWER =
  BROWSER === 'firefox' ? 'net::ERR_CONNECTION_RESET' : 'net::ERR_EMPTY_RESPONSE'

/**
 * The timeout of a session that should expire soon (ms). It begins with the call that creates the
 * session. If each session has its own browser, it includes the start of the browser.
 */
export const BRIEF = { chromium: 1500, firefox: 4000, webkit: 8000 }[BROWSER]

/**
 * Options of the command line. They disable browsers that are started in advance, which tests would
 * count.
 */
export const BROWSER_ARGUMENTS = [
  ...['--browser', BROWSER, '--headless', '--warm-browsers', '0'],
  ...(EXECUTABLE ? ['--executable-path', EXECUTABLE] : []),
  ...(isRoot ? ['--no-sandbox'] : [])
]

/** The same for `new SessionManager(…)`. */
export const BROWSER_CONFIG = {
  ...{ browser: BROWSER, headless: true, warmBrowsers: 0, store: 'memory' },
  ...(EXECUTABLE ? { executablePath: EXECUTABLE } : {}),
  ...(isRoot ? { sandbox: false } : {})
}

/**
 * Returns the environment of this process without variables that configure Troupe. Each server has
 * its own record unless a test overrides it.
 */
export function cleanEnvironment(more = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('TROUPE_'))
  return {
    ...Object.fromEntries(inherited),
    TROUPE_STORE: 'memory',
    XDG_STATE_HOME: STATE,
    ...more
  }
}
