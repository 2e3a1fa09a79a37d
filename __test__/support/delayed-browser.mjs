// A browser whose start the test controls: a script that first waits for a file.
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathOf } from './browser.mjs'

/** The executable itself, without the distribution's wrapper script. */
export const HEADLESS_SHELL = findHeadlessShell()

/**
 * @param {{ after: (end: () => unknown) => void }} t
 * @returns `path` for --executable-path. `isStarting` returns whether the server has started the
 *   script, and `letStart` lets the browser start
 */
export function delayedBrowser(t) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-delayed-'))
  const started = join(folder, 'started')
  const go = join(folder, 'go')
  const path = join(folder, 'chromium-headless-shell')
  const wait = `while [ ! -e "${go}" ]; do [ -e "${path}" ] || exit 1; sleep 0.02; done`
  writeFileSync(path, `#!/bin/sh\necho $$ > "${started}"\n${wait}\nexec "${HEADLESS_SHELL}" "$@"\n`)
  chmodSync(path, 0o755)
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return { path, isStarting: () => existsSync(started), letStart: () => writeFileSync(go, '') }
}

function findHeadlessShell() {
  const path = [
    pathOf('chromium-headless-shell', ['/usr/lib/chromium']),
    ...['chrome-headless-shell', 'headless_shell', 'chromium'].map((name) => pathOf(name))
  ].find(Boolean)
  if (!path) throw new Error('no chromium-headless-shell is installed: run `npm run setup`')
  return path
}
