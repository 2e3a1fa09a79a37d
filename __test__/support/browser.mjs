// How tests start the browser: without a window, and as root without the sandbox, which root cannot have.
import { fileURLToPath } from 'node:url'

const isRoot = process.getuid?.() === 0

/** In place of the user's own folder for what is kept between runs. */
const STATE = fileURLToPath(new URL('../../.cache/state', import.meta.url))

/** The browser that these tests are for; see `browsers.mjs`. */
export const BROWSER = process.env.TEST_BROWSER ?? 'chromium'

/** A connection that is broken off without an answer, in the words of this browser. */
export const NO_ANSWER = BROWSER === 'firefox' ? 'net::ERR_CONNECTION_RESET' : 'net::ERR_EMPTY_RESPONSE'

/**
 * Milliseconds of a session that is to expire soon. They begin with the call that makes it: where it has a browser of its
 * own, that starts meanwhile.
 */
export const BRIEF = { chromium: 1500, firefox: 4000, webkit: 8000 }[BROWSER]

/** For the command line. What is started ahead would be counted with what is tested. */
export const BROWSER_ARGUMENTS = ['--browser', BROWSER, '--headless', '--warm-browsers', '0', ...(isRoot ? ['--no-sandbox'] : [])]

/** The same for `new SessionManager(…)`. */
export const BROWSER_CONFIG = { browser: BROWSER, headless: true, warmBrowsers: 0, store: 'memory', ...(isRoot ? { sandbox: false } : {}) }

/**
 * The environment of this process without what would configure Troupe behind a test's back. What is recorded is each
 * server's own, unless a test says otherwise.
 */
export function cleanEnvironment(more = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('TROUPE_'))
  return { ...Object.fromEntries(inherited), TROUPE_STORE: 'memory', XDG_STATE_HOME: STATE, ...more }
}
