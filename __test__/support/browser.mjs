// How tests start the browser: without a window, and as root without the sandbox, which root cannot have.
const isRoot = process.getuid?.() === 0

/** For the command line. */
export const BROWSER_ARGUMENTS = ['--headless', ...(isRoot ? ['--no-sandbox'] : [])]

/** The same for `new SessionManager(…)`. */
export const BROWSER_CONFIG = { headless: true, store: 'memory', ...(isRoot ? { sandbox: false } : {}) }

/**
 * The environment of this process without what would configure Troupe behind a test's back. What is recorded is each
 * server's own, unless a test says otherwise.
 */
export function cleanEnvironment(more = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('TROUPE_'))
  return { ...Object.fromEntries(inherited), TROUPE_STORE: 'memory', ...more }
}
