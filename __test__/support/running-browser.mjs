// A browser that another program has started.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HEADLESS_SHELL } from './delayed-browser.mjs'
import { allEnded, descendants, readProcess } from './processes.mjs'
import { until } from './wait.mjs'

/** Starts a browser that ends with the test. */
export async function startBrowser(t) {
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
    'about:blank'
  ]
  const child = spawn(HEADLESS_SHELL, args, { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.on('close', resolve))
  t.after(async () => {
    const below = descendants(/** @type {number} */ (child.pid))
    child.kill('SIGKILL')
    await ended
    await allEnded(below)
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  })
  const file = join(profile, 'DevToolsActivePort')
  const [port, path] = await until(
    () => existsSync(file) && /^(\d+)\n(\/\S+)/.exec(readFileSync(file, 'utf8'))?.slice(1),
    'the port of the browser'
  )
  const origin = `http://127.0.0.1:${port}`
  /** Returns the pages that the browser lists. @returns {Promise<{ url: string }[]>} */
  const pages = async () =>
    (await (await fetch(`${origin}/json/list`)).json()).filter(({ type }) => type === 'page')
  return {
    child,
    pages,
    http: origin,
    ws: `ws://127.0.0.1:${port}${path}`,
    process: readProcess(/** @type {number} */ (child.pid))
  }
}
