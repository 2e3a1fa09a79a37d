// Every way to stop the server: it exits with 0 within two seconds and leaves no process or file
// behind. After a signal, running calls have two more seconds.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { delayedBrowser } from '../support/delayed-browser.mjs'
import { awaitProcessesEnded, browsers, descendants } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until, within } from '../support/wait.mjs'
import { profileFolders } from './profiles.mjs'

const LIMIT = 2000
/** After a signal, running calls have this time to finish (`--drain-timeout`). */
const DRAIN = 2000

/** @typedef {import('../support/server.mjs').Server} Server */

/** @type {Record<string, (server: Server) => void>} */
const ENDS = {
  'the end of stdin': (server) => server.child.stdin.end(),
  SIGTERM: (server) => server.child.kill('SIGTERM'),
  SIGINT: (server) => server.child.kill('SIGINT')
}

/**
 * @type {Record<string, (server: Server, site: Awaited<ReturnType<typeof startSite>>) =>
 *   Promise<unknown>>}
 */
const MOMENTS = {
  'when nothing runs': (server) => server.ok('navigate', { url: 'about:blank' }),
  'while a click waits for its element': async (server, site) => {
    await server.ok('navigate', { url: site.url('/') })
    run(server, 'click', { selector: '#never', timeout: 60_000 })
  },
  'while a navigation waits for its answer': async (server, site) => {
    run(server, 'navigate', { url: site.url('/hang'), timeout: 60_000 })
    await until(() => site.requests.length > 0, 'the request')
  },
  'while a script keeps its page busy': async (server) => {
    await server.ok('navigate', { url: 'about:blank' })
    run(server, 'evaluate', { script: 'for (;;) ;' })
  },
  'while a dialog is open': async (server, site) => {
    await server.ok('navigate', { url: site.url('/alert-on-load') })
  },
  'with several sessions': async (server) => {
    await Promise.all([1, 2, 3].map(() => server.createSession()))
  }
}

/**
 * Starts a call that is still running when the server stops.
 * @param {Server} server
 * @param {string} tool
 * @param {object} args
 */
function run(server, tool, args) {
  server.call(tool, args).catch(() => null)
}

describe(
  'the server ends with 0 in time',
  { skip: process.platform !== 'linux', concurrency: 2 },
  () => {
    for (const [index, [moment, prepare]] of Object.entries(MOMENTS).entries()) {
      // The first two moments end in each way, the others in one.
      const ends = Object.entries(ENDS).filter((_, way) => index < 2 || way === index % 3)
      for (const [name, end] of ends) {
        test(`at ${name}, ${moment}`, { timeout: 30_000 }, async (t) => {
          const site = await startSite(t)
          const server = await startServer(t)
          await prepare(server, site)
          await server.request('ping')
          const pid = /** @type {number} */ (server.child.pid)
          const below = descendants(pid)
          const folders = profileFolders(browsers(pid))
          // WebKit has one for its display, and one for each session.
          assert.ok(below.length > 0 && (folders.length === 1 || BROWSER === 'webkit'))
          const begun = performance.now()
          end(server)
          const exit = await within(server.exit, 'the end of the server', 10_000)
          const took = performance.now() - begun
          assert.deepEqual(exit, { code: 0, signal: null }, server.stderr())
          const drains = name !== 'the end of stdin' && moment.startsWith('while')
          assert.ok(took < LIMIT + (drains ? DRAIN : 0), `it took ${took} ms`)
          await awaitProcessesEnded(below, 500)
          for (const folder of folders) assert.throws(() => readdirSync(folder), { code: 'ENOENT' })
          assert.doesNotMatch(server.stderr(), /ERROR|panicked/)
        })
      }
    }

    for (const [name, end] of Object.entries(ENDS)) {
      test(`at ${name}, while the browser starts`, { timeout: 30_000 }, async (t) => {
        const browser = delayedBrowser(t)
        const server = await startServer(t, ['--executable-path', browser.path])
        await until(browser.isStarting, 'the start of the browser')
        run(server, 'navigate', { url: 'about:blank' })
        const below = descendants(/** @type {number} */ (server.child.pid))
        assert.ok(below.length > 0)
        const begun = performance.now()
        end(server)
        const exit = await within(server.exit, 'the end of the server', 10_000)
        assert.deepEqual(exit, { code: 0, signal: null }, server.stderr())
        assert.ok(
          performance.now() - begun < LIMIT + (name === 'the end of stdin' ? 0 : DRAIN),
          `it took ${performance.now() - begun} ms`
        )
        await awaitProcessesEnded(below, 500)
      })
    }

    test('at the end of stdin, before any message', { timeout: 30_000 }, async (t) => {
      const server = await startServer(t, [], { handshake: false })
      server.child.stdin.end()
      assert.deepEqual(
        await within(server.exit, 'the end of the server', 3000),
        { code: 0, signal: null },
        server.stderr()
      )
    })

    test('when its client dies with stdout open', { timeout: 30_000 }, async (t) => {
      const server = await startServer(t)
      await server.createSession()
      const below = descendants(/** @type {number} */ (server.child.pid))
      server.child.stdout.destroy()
      server.child.stdin.destroy()
      assert.deepEqual(
        await within(server.exit, 'the end of the server', 3000),
        { code: 0, signal: null },
        server.stderr()
      )
      await awaitProcessesEnded(below, 500)
    })

    test('or at once with 143 at a second SIGTERM, while a call still runs', async (t) => {
      const server = await startServer(t, ['--drain-timeout', '60000'])
      await server.ok('navigate', { url: 'about:blank' })
      server.request('tools/call', {
        name: 'evaluate',
        arguments: { script: 'new Promise(() => {})' }
      })
      await server.request('ping')
      server.child.kill('SIGTERM')
      // The handler of a second signal is installed when the first one has been handled.
      const again = setInterval(() => server.child.kill('SIGTERM'), 100)
      const ended = within(server.exit, 'the end of the server', 10_000)
      const { code } = await ended.finally(() => clearInterval(again))
      assert.equal(code, 143)
    })
  }
)
