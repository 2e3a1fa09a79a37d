// Crashes of the server, its browser, or one of its pages.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { delayedBrowser } from '../support/delayed-browser.mjs'
import { awaitProcessesEnded, browsers, descendants, threads } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import {
  logInAsMember,
  formOf,
  HALF_FILLED,
  awaitDurableState,
  memberSite
} from '../support/state.mjs'
import { until, within } from '../support/wait.mjs'
import { profileFolders } from './profiles.mjs'

describe('after kill -9 of the server', { skip: process.platform !== 'linux' }, () => {
  for (const [moment, prepare] of /** @type {const} */ ([
    ['when nothing runs', () => {}],
    ['while a page is busy', keepBusy]
  ])) {
    test(
      `${moment}, no browser is left after 1 s and no profile after the next start`,
      { timeout: 30_000 },
      async (t) => {
        const server = await startServer(t)
        const [sessionId] = await Promise.all([server.createSession(), server.createSession()])
        await prepare(server, sessionId)
        await server.request('ping')
        const pid = /** @type {number} */ (server.child.pid)
        const below = descendants(pid)
        const folders = profileFolders(browsers(pid))
        // WebKit alone has a browser for each session.
        assert.equal(folders.length, BROWSER === 'webkit' ? 2 : 1)
        for (const folder of folders) {
          assert.match(folder, /troupe-browsers-/)
          assert.ok(existsSync(folder))
        }
        server.child.kill('SIGKILL')
        await server.exit
        await awaitProcessesEnded(below, 1000)

        const next = await startServer(t)
        await next.ok('navigate', { url: 'about:blank' })
        await until(
          () => !folders.some((folder) => existsSync(folder)),
          'the sweep of the profile',
          5000
        )
        // The profile of the running browser is not swept.
        assert.deepEqual(
          profileFolders(browsers(/** @type {number} */ (next.child.pid))).map(existsSync),
          [true]
        )
      }
    )
  }

  test('while the browser starts, the browser ends too', { timeout: 30_000 }, async (t) => {
    const browser = delayedBrowser(t)
    const server = await startServer(t, ['--executable-path', browser.path])
    await until(browser.isStarting, 'the start of the browser')
    const below = descendants(/** @type {number} */ (server.child.pid)).filter(
      ({ command }) => command[0] !== 'sleep'
    )
    assert.ok(below.length > 0)
    server.child.kill('SIGKILL')
    await server.exit
    await awaitProcessesEnded(below, 1000)
  })

  test('other servers and their profiles are not affected', { timeout: 30_000 }, async (t) => {
    const [dying, other] = [await startServer(t), await startServer(t)]
    await Promise.all([
      dying.createSession(),
      other.ok('navigate', { url: 'data:text/html,<title>On</title>' })
    ])
    const [folder] = profileFolders(browsers(/** @type {number} */ (other.child.pid)))
    dying.child.kill('SIGKILL')
    await dying.exit
    await (await startServer(t)).ok('navigate', { url: 'about:blank' })
    assert.ok(existsSync(folder))
    assert.equal((await other.ok('evaluate', { script: 'document.title' })).value, 'On')
  })
})

test(
  'the browser outlives the threads that ran when it started, which end after a large result',
  { skip: process.platform !== 'linux', timeout: 60_000 },
  async (t) => {
    const server = await startServer(t)
    const pid = /** @type {number} */ (server.child.pid)
    await server.ok('evaluate', { script: 'void (globalThis.kept = 1)' })
    const [started, first] = [browsers(pid), threads(pid, 'troupe')]
    assert.ok(started.length > 0 && first.length > 0)
    const haveEnded = () => !threads(pid, 'troupe').some((thread) => first.includes(thread))
    // A large result moves the work of a thread to another one, unless it is read too soon for
    // that.
    const end = async () => {
      await server.ok('evaluate', { script: "'x'.repeat(1_000_000)" })
      return until(haveEnded, 'the end of the threads', 1000).catch(() => false)
    }
    await until(end, 'the end of the first threads', 30_000)
    assert.equal((await server.ok('evaluate', { script: 'kept' })).value, 1)
    // A process that was busy is idle now, so only its identity is compared.
    const identity = (/** @type {import('../support/processes.mjs').Process} */ browser) => [
      browser.pid,
      browser.started
    ]
    assert.deepEqual(browsers(pid).map(identity), started.map(identity))
  }
)

describe('when the browser is killed', { skip: process.platform !== 'linux' }, () => {
  const CALLS = /** @type {const} */ ({
    'a click that waits': ['click', { selector: '#never', timeout: 60_000 }],
    'a script that runs': ['evaluate', { script: 'new Promise(() => {})' }],
    'a busy script': ['evaluate', { script: 'for (;;) ;' }],
    'a navigation': ['navigate', { url: '/hang', timeout: 60_000 }],
    'a slow typing': ['type', { selector: '#name', text: 'abc', delay: 30_000 }]
  })
  for (const [what, [tool, args]] of Object.entries(CALLS)) {
    test(
      `${what} gets BROWSER_CRASHED, and the session continues in a new browser`,
      { timeout: 30_000 },
      async (t) => {
        const site = await startSite(t)
        const server = await startServer(t)
        const sessionId = await server.createSession()
        await server.ok('navigate', { sessionId, url: site.url('/form') })
        await awaitDurableState()
        const [browser] = browsers(/** @type {number} */ (server.child.pid))
        const url = 'url' in args ? { url: site.url(args.url) } : {}
        const call = server.call(tool, { sessionId, ...args, ...url })
        if ('url' in args)
          await until(() => site.requests.some(({ path }) => path === '/hang'), 'the request')
        for (let round = 0; round < 10; round++) await server.request('ping')

        const begun = performance.now()
        process.kill(browser.pid, 'SIGKILL')
        const { json, text } = await within(call, 'the answer to the call', 5000)
        assert.equal(json?.errorCode, 'BROWSER_CRASHED', text)
        assert.equal(json.retryable, true)
        assert.equal(json.sessionId, sessionId)
        assert.match(json.suggestion, /repeat the call/)
        assert.ok(performance.now() - begun < 1500, `it took ${performance.now() - begun} ms`)

        // The next call waits for the session, which is where it was.
        const { value } = await server.ok('evaluate', { sessionId, script: 'document.title' })
        assert.equal(value, 'Form')
        assert.deepEqual(
          (await server.ok('list_sessions')).sessions.map((session) => session.sessionId),
          [sessionId]
        )
      }
    )
  }

  test(
    'between two calls, the next one has the log-in, the form and the refs',
    { timeout: 30_000 },
    async (t) => {
      const site = await memberSite(t)
      const server = await startServer(t)
      await logInAsMember(server, site)
      const [, ref] = /button "Save" \[ref=(e\d+)\]/.exec(await server.ok('snapshot')) ?? []
      await server.ok('mock_response', { url: '**/mocked', response: { body: 'kept' } })
      await awaitDurableState()
      const [browser] = browsers(/** @type {number} */ (server.child.pid))
      const folders = profileFolders([browser])
      process.kill(browser.pid, 'SIGKILL')
      await awaitProcessesEnded([browser])
      await until(() => !existsSync(folders[0]), 'the end of its profile')
      assert.deepEqual(await formOf(server), HALF_FILLED)
      await server.ok('click', { selector: ref })
      assert.equal(
        (
          await server.ok('evaluate', {
            script: "fetch('/mocked').then((answer) => answer.text())"
          })
        ).value,
        'kept'
      )
      assert.equal((await server.ok('list_sessions')).sessions.length, 1)
    }
  )

  test(
    'it is restarted at once, without a call, and its sessions still count toward the limit',
    { timeout: 30_000 },
    async (t) => {
      const server = await startServer(t, ['--max-sessions', '2'])
      await Promise.all([server.createSession(), server.createSession()])
      const [browser] = browsers(/** @type {number} */ (server.child.pid))
      process.kill(browser.pid, 'SIGKILL')
      await until(
        () =>
          browsers(/** @type {number} */ (server.child.pid)).some(({ pid }) => pid !== browser.pid),
        'the next browser',
        5000
      )
      assert.equal((await server.call('create_session')).json.errorCode, 'MAX_SESSIONS_REACHED')
    }
  )

  test(
    'three times within a minute, its sessions report that, and new ones can be created',
    { timeout: 60_000 },
    async (t) => {
      // Otherwise a browser that was started in advance could be killed instead of the session's.
      const server = await startServer(t, ['--warm-browsers', '0'])
      const first = await server.createSession()
      /** Repeats a call until `wanted` accepts its answer: the server may notice the crash late. */
      const asked = (/** @type {(answer: any) => boolean} */ wanted, what) =>
        until(async () => {
          const answer = await server.call('evaluate', { sessionId: first, script: '1' })
          return wanted(answer) ? answer : null
        }, what)
      for (let round = 0; round < 3; round++) {
        await asked(({ json }) => json?.value === 1, 'the session')
        // This is the only session: with WebKit, another one would have its own browser.
        const [browser] = browsers(/** @type {number} */ (server.child.pid))
        process.kill(browser.pid, 'SIGKILL')
        await awaitProcessesEnded([browser])
      }
      const { json, text } = await asked(({ json }) => json?.details?.reason, 'the refusal')
      assert.equal(json.errorCode, 'BROWSER_CRASHED', text)
      assert.equal(json.details.reason, 'crash loop')
      assert.equal(json.retryable, true)
      assert.ok(json.details.retryAt > Date.now() && json.details.retryAt < Date.now() + 60_000)
      const next = await server.createSession()
      assert.equal((await server.ok('evaluate', { sessionId: next, script: '1' })).value, 1)
    }
  )
})

/**
 * Chromium's child processes have all arguments in one string.
 * @param {import('../support/processes.mjs').Process} process
 */
const isRenderer = ({ command }) =>
  /--type=renderer| -isForBrowser|WebKitWebProcess/.test(command.join(' '))

describe('when a page crashes', { skip: process.platform !== 'linux' }, () => {
  test(
    'its call gets BROWSER_CRASHED, other sessions continue, and its own is usable after a navigation',
    { timeout: 30_000 },
    async (t) => {
      const site = await startSite(t)
      const server = await startServer(t)
      const [crashing, other] = [await server.createSession(), await server.createSession()]
      for (const sessionId of [crashing, other])
        await server.ok('navigate', { sessionId, url: site.url('/form') })
      await server.ok('evaluate', { sessionId: other, script: '1' })
      const call = server.call('evaluate', { sessionId: crashing, script: 'for (;;) ;' })
      await server.request('ping')
      // The one whose renderer uses the processor is the busy one.
      const busy = await busyRenderer(server)
      process.kill(busy.pid, 'SIGKILL')
      const { json, text } = await within(call, 'the answer to the call', 5000)
      assert.equal(json?.errorCode, 'BROWSER_CRASHED', text)
      assert.match(json.message, /crashed/)
      assert.equal(
        (await server.ok('evaluate', { sessionId: other, script: 'document.title' })).value,
        'Form'
      )
      assert.equal(
        (await server.ok('navigate', { sessionId: crashing, url: site.url('/') })).title,
        'Home'
      )
      assert.equal(
        (await server.ok('evaluate', { sessionId: crashing, script: 'document.title' })).value,
        'Home'
      )
    }
  )

  /**
   * Pages that block their main thread forever, and pages that open them, without and with an
   * opener.
   */
  const BUSY = {
    '/busy': '<title>Busy</title><script>for (;;) ;</script>',
    '/button': '<title>Button</title><button onclick="for (;;) ;">Go</button>',
    '/apart': `<title>Apart</title><button onclick="window.open('/busy', '_blank', 'noopener'); fetch('/data')">Go</button>`,
    '/opener': `<title>Opener</title><button onclick="window.open('/busy')">Go</button>`,
    '/data': (_request, response) => response.end()
  }
  const crash = async (server) => {
    const busy = await busyRenderer(server)
    process.kill(busy.pid, 'SIGKILL')
    await awaitProcessesEnded([busy])
  }
  /** Returns the crashed pages of the session. */
  const crashed = async (server) =>
    (await server.ok('pages', { action: 'list' })).pages
      .filter((page) => page.crashed)
      .map(({ pageId }) => pageId)

  test(
    'by an action, the action reports that, and so does the list until the page navigates',
    { timeout: 30_000 },
    async (t) => {
      const [site, server] = [
        await startSite(t, BUSY),
        await startServer(t, ['--timeout-settle', '20000'])
      ]
      await server.ok('navigate', { url: site.url('/button') })
      const call = server.call('click', { selector: 'button' })
      await crash(server)
      const { json, text } = await within(call, 'the answer to the click', 5000)
      assert.equal(json.errorCode, 'BROWSER_CRASHED', text)
      assert.match(json.message, /page `page-1` has crashed at/)
      assert.equal(json.retryable, false, 'the same call fails until the page is navigated')
      assert.match(json.suggestion, /navigate/)
      assert.deepEqual(await crashed(server), ['page-1'])
      await server.ok('pages', { action: 'select', pageId: 'page-1' })
      await server.ok('navigate', { url: site.url('/') })
      assert.deepEqual(await crashed(server), [])
    }
  )

  test(
    'that an action has opened, the action reports that, and its own page keeps working',
    { timeout: 30_000 },
    async (t) => {
      const [site, server] = [
        await startSite(t, BUSY),
        await startServer(t, ['--timeout-settle', '20000'])
      ]
      const { meta } = await server.call('navigate', { url: site.url('/apart') })
      const held = site.hold('/data')
      const call = server.call('click', { selector: 'button' })
      await within(held.requested, 'the request of the click')
      await crash(server)
      const events = async () =>
        (await server.request('resources/read', { uri: `playwright:///session/${meta.sessionId}` }))
          .result.contents[0].text
      await until(
        async () => (await events()).includes('"crashed":true'),
        'the report of the crash'
      )
      held.release()
      const { newPage } = (await within(call, 'the answer to the click', 5000)).json
      assert.deepEqual([newPage?.pageId, newPage?.crashed], ['page-2', true])
      const { json } = await server.call('snapshot', { pageId: 'page-2' })
      assert.deepEqual([json?.errorCode, json?.retryable], ['BROWSER_CRASHED', false])
      assert.match(json.message, /page `page-2` has crashed/)
      assert.equal((await server.ok('evaluate', { script: 'document.title' })).value, 'Apart')
      assert.deepEqual(await crashed(server), ['page-2'])
      assert.equal(
        (await server.ok('navigate', { pageId: 'page-2', url: site.url('/') })).title,
        'Home'
      )
    }
  )

  test(
    'together with its opener, the call in the opener reports that',
    { timeout: 30_000 },
    async (t) => {
      const [site, server] = [
        await startSite(t, BUSY),
        await startServer(t, ['--timeout-settle', '200'])
      ]
      await server.ok('navigate', { url: site.url('/opener') })
      assert.equal((await server.ok('click', { selector: 'button' })).newPage?.pageId, 'page-2')
      const call = server.call('evaluate', { script: 'new Promise(() => {})' })
      await crash(server)
      const { json, text } = await within(call, 'the answer to the call', 5000)
      assert.equal(json.errorCode, 'BROWSER_CRASHED', text)
      await until(
        async () => (await crashed(server)).join() === 'page-1,page-2',
        'the word of both'
      )
      assert.equal((await server.ok('navigate', { url: site.url('/') })).title, 'Home')
    }
  )
})

/** @type {Map<number, number>} */
const earlier = new Map()

/**
 * The one that has used most of a look's time, if there is one; to be asked again and again.
 * @param {import('../support/processes.mjs').Process[]} processes
 */
function busiest(processes) {
  for (const process of processes) {
    const fields = readFileSync(`/proc/${process.pid}/stat`, 'utf8').split(') ')[1].split(' ')
    const ticks = Number(fields[11]) + Number(fields[12])
    const before = earlier.get(process.pid) ?? ticks
    if (!earlier.has(process.pid)) earlier.set(process.pid, ticks)
    // A third of a second more than at the first measurement: an idle page does not use that much.
    if (ticks - before > 30) return process
  }
}

/**
 * Waits for the renderer process of a page that blocks its main thread, and returns it.
 * @param {import('../support/server.mjs').Server} server
 */
function busyRenderer(server) {
  return until(
    () => busiest(descendants(/** @type {number} */ (server.child.pid)).filter(isRenderer)),
    'the busy renderer'
  )
}

/**
 * Returns when a page of the session runs a script that never ends.
 * @param {import('../support/server.mjs').Server} server
 * @param {string} sessionId
 */
async function keepBusy(server, sessionId) {
  server.call('evaluate', { sessionId, script: 'while (true) {}' }).catch(() => null)
  await busyRenderer(server)
}
