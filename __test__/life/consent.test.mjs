// --attach: the user's own running browser, which asks for consent to each connection. The commands
// that reach the browser are counted: the server touches only tabs of its sessions.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startUserBrowser } from '../support/consent.mjs'
import { openDashboard } from '../support/dashboard.mjs'
import { startHttpServer } from '../support/http.mjs'
import { freePort } from '../support/ports.mjs'
import { isAlive } from '../support/processes.mjs'
import { NO_SQLITE, query, recordFile, temporaryFolder } from '../support/record.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until, within } from '../support/wait.mjs'

const PROGRESS = 'notifications/progress'
/** A script that returns the number of animation frames within 300 ms. */
const FRAMES = `new Promise((resolve) => { let frames = 0
  const next = () => { frames++; requestAnimationFrame(next) }
  next(); setTimeout(() => resolve(frames), 300) })`
/** How long the simulated user takes to decide in the test of ten clients (ms). */
const DECISION = Number(process.env.CONSENT_DELAY ?? 2500)

/** A page of the user, whose title contains how often it was shown or hidden. */
const page = (title) =>
  `data:text/html,<title>${title}</title><p>${title}</p><script>document.addEventListener(` +
  '"visibilitychange", () => { document.title += " " + document.visibilityState })</script>'

const attach = (t, browser, args = [], options = {}) =>
  startServer(t, ['--attach', browser.profile, ...args], { browser: false, ...options })

/** Starts a server, and allows its connection at the first call. */
async function attached(t, browser, args = [], options = {}) {
  const server = await attach(t, browser, args, options)
  const created = server.createSession()
  await until(() => browser.dialogs() > 0, 'the dialog')
  browser.decide(true)
  return { server, sessionId: await created }
}

const userTitles = async (browser) =>
  (await browser.pages())
    .filter(({ url }) => url.includes('addEventListener'))
    .map(({ title }) => title)

/**
 * The commands that could disturb the user, and those that name a tab which no session opened.
 * @param {{ commands: any[], opened: string[] }} browser
 * @param {(string | undefined)[]} [adopted] the ids of adopted tabs
 */
function disturbing({ commands, opened }, adopted = []) {
  const activating = ['Page.bringToFront', 'Target.activateTarget', 'Browser.setWindowBounds']
  const own = [...opened, ...adopted]
  return commands.filter(
    ({ method, sessionId, params = {} }) =>
      activating.includes(method) ||
      params.newWindow ||
      (method === 'Target.createTarget' && params.background !== true) ||
      (!sessionId && /setAutoAttach|Browser\.close|disposeBrowserContext/.test(method)) ||
      (params.targetId && !own.includes(params.targetId))
  )
}

const isSupported = process.platform === 'linux'

describe("the user's own browser", { skip: !isSupported, timeout: 300_000 + DECISION }, () => {
  test(
    'is shared by ten clients after one consent, and none of its tabs is touched',
    { timeout: 180_000 + DECISION },
    async (t) => {
      const browser = await startUserBrowser(t, [page('Mail'), page('Bank')])
      const site = await startSite(t)
      const before = await userTitles(browser)
      const server = await startHttpServer(
        t,
        ['--attach', browser.profile, '--attach-timeout', `${DECISION + 30_000}`, '--no-auth'],
        { browser: false }
      )
      const overHttp = await Promise.all(Array.from({ length: 8 }, () => server.connect()))
      const proxies = await Promise.all(
        [1, 2].map(() => startServer(t, ['--connect', server.url], { browser: false }))
      )
      const clients = [...overHttp, ...proxies]
      assert.equal(browser.dialogs(), 0, 'no dialog before the first call')
      const calls = clients.map((client, index) =>
        client.request(
          'tools/call',
          { name: 'create_session', arguments: {}, _meta: { progressToken: index } },
          { timeout: DECISION + 30_000 }
        )
      )
      const decided = new Promise((resolve) => setTimeout(resolve, DECISION))
      await until(() => browser.dialogs() > 0, 'the dialog')
      const waits = (client) =>
        client.received.some(
          ({ method, params }) => method === PROGRESS && /consent/.test(params.message)
        )
      await until(() => proxies.every(waits), 'progress notifications', 10_000)
      await decided
      browser.decide(true)
      const sessions = (await Promise.all(calls)).map(({ result }) => {
        const created = JSON.parse(result.content[0].text)
        assert.match(created.message, /share cookies, logins/)
        return created.sessionId
      })
      await Promise.all(
        clients.map(async (client, index) => {
          const sessionId = sessions[index]
          await client.ok('navigate', { sessionId, url: site.url('/form') })
          await client.ok('type', { sessionId, selector: '#name', text: `Ada ${index}` })
          const sent = await client.ok('click', { sessionId, selector: '#send' })
          assert.equal(sent.page.title, 'Echo')
          assert.ok((await client.call('screenshot', { sessionId })).result.content.length > 0)
        })
      )
      assert.equal(browser.opened.length, 10)
      const [first, ...others] = clients.map((client, index) => [client, sessions[index]])
      await first[0].ok('close_session', { sessionId: first[1] })
      await until(async () => (await browser.pages()).length === 2 + others.length, 'its tab', 5000)
      assert.deepEqual(await server.end(), { code: 0, signal: null })
      await until(async () => (await browser.pages()).length === 2, 'the end of the tabs', 5000)

      assert.deepEqual(await userTitles(browser), before, 'the order and the titles of the tabs')
      assert.deepEqual(disturbing(browser), [])
      assert.deepEqual(browser.requests, [], 'no request to /json/version')
      assert.deepEqual([browser.connections(), browser.mostDialogs()], [1, 1])
      assert.ok(browser.process && isAlive(browser.process))
    }
  )

  test('that has not decided is an error with the next step, and no second dialog', async (t) => {
    const browser = await startUserBrowser(t, [page('Mail')])
    const server = await attach(t, browser, ['--attach-timeout', '300'])
    for (let call = 0; call < 3; call++) {
      const { json, text } = await server.call('navigate', { url: 'about:blank' })
      assert.equal(json.errorCode, 'TIMEOUT', text)
      assert.equal(json.retryable, true)
      assert.match(json.suggestion, /choose Allow/)
    }
    browser.decide(true)
    await server.ok('navigate', { url: 'about:blank' })
    assert.deepEqual([browser.connections(), browser.mostDialogs()], [1, 1])
  })

  test('that rejects the connection is an error, and the next call asks again', async (t) => {
    const browser = await startUserBrowser(t, [page('Mail')])
    const server = await attach(t, browser)
    const call = server.call('navigate', { url: 'about:blank' })
    await until(() => browser.dialogs() > 0, 'the dialog')
    browser.decide(false)
    const { json, text } = await call
    assert.equal(json.errorCode, 'BROWSER_ERROR', text)
    assert.match(json.message, /not allowed the connection/)
    assert.match(json.suggestion, /choose Allow/)
    const next = server.ok('navigate', { url: 'about:blank' })
    await until(() => browser.dialogs() > 0, 'the second dialog')
    browser.decide(true)
    await next
    assert.deepEqual([browser.connections(), browser.mostDialogs()], [1, 1])
  })

  test('that closes the connection is asked again at the next call, and not before', async (t) => {
    const [browser, site] = [await startUserBrowser(t, [page('Mail')]), await startSite(t)]
    const { server, sessionId } = await attached(t, browser)
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    browser.drop()
    await server.awaitLog(/connection to the browser is closed/)
    assert.equal(browser.dialogs(), 0)
    const next = server.ok('evaluate', { sessionId, script: 'location.pathname' })
    await until(() => browser.dialogs() > 0, 'the second dialog')
    browser.decide(true)
    assert.equal((await next).value, '/form')
    assert.deepEqual(disturbing(browser), [])
  })

  test('has tabs that a session adopts, and releases as they are', async (t) => {
    const site = await startSite(t)
    const browser = await startUserBrowser(t, [
      ...[page('Mail of Ann'), page('Mail of Bob')],
      ...['chrome://version', site.url('/form')]
    ])
    const [tabs, before] = [await browser.pages(), (await userTitles(browser)).sort()]
    const { server, sessionId } = await attached(t, browser, ['--viewport-size', '400x300'])
    const adopt = (tab, session = sessionId) =>
      server.call('pages', { sessionId: session, action: 'adopt', tab })

    const several = await adopt('mail of')
    assert.equal(several.json.errorCode, 'INVALID_PARAMETERS', several.text)
    assert.deepEqual(several.json.details.matches.map(({ title }) => title.slice(0, 11)).sort(), [
      'Mail of Ann',
      'Mail of Bob'
    ])
    for (const tab of ['Calendar', 'chrome://version']) {
      const { json, text } = await adopt(tab)
      assert.equal(json.errorCode, 'PAGE_NOT_FOUND', text)
      assert.ok(!text.includes('Mail of Ann'), 'it shows no other tab')
    }
    const missing = await server.call('pages', { sessionId, action: 'adopt' })
    assert.equal(missing.json.errorCode, 'INVALID_PARAMETERS')

    const { json, text } = await adopt(site.url('/form'))
    assert.equal(json.current, 'page-2', text)
    assert.equal(json.pages[1].url, site.url('/form'))
    await server.ok('type', { sessionId, selector: '#name', text: 'Ada' })
    const width = await server.ok('evaluate', { sessionId, script: 'innerWidth' })
    assert.notEqual(width.value, 400, 'the tab of the user keeps its size')
    const other = await server.createSession()
    assert.equal((await adopt(site.url('/form'), other)).json.errorCode, 'PAGE_NOT_FOUND')
    // A tab that it opens is the user's, too.
    await server.ok('evaluate', { sessionId, script: `window.open('/echo?from=adopted') && 1` })
    await until(
      async () => (await server.ok('pages', { sessionId, action: 'list' })).pages.length === 3,
      'the new tab'
    )

    const ofBob = await adopt('Mail of Bob')
    assert.equal(ofBob.json.current, 'page-4', ofBob.text)
    await server.ok('pages', { sessionId, action: 'close', pageId: 'page-4' })
    await server.ok('close_session', { sessionId })
    await server.ok('close_session', { sessionId: other })
    await until(async () => (await browser.pages()).length === 5, 'the end of the tabs', 5000)
    const after = await browser.pages()
    for (const { id } of tabs) assert.ok(after.some((tab) => tab.id === id))
    const names = (titles) => titles.map((title) => title.slice(0, 11))
    assert.deepEqual(names((await userTitles(browser)).sort()), names(before))
    const adopted = tabs.filter(({ url }) => /form$|Bob/.test(url))
    const popup = after.find(({ url }) => url.includes('from=adopted'))
    assert.deepEqual(
      disturbing(
        browser,
        [...adopted, popup].map((tab) => tab?.id)
      ),
      []
    )
    // What was typed is still there.
    const again = await server.createSession()
    await adopt(site.url('/form'), again)
    const script = `document.querySelector('#name').value`
    assert.equal((await server.ok('evaluate', { sessionId: again, script })).value, 'Ada')
  })

  test('shows a popup of an owned tab to its session, which closes it', async (t) => {
    const [browser, site] = [await startUserBrowser(t, [page('Mail')]), await startSite(t)]
    const { server, sessionId } = await attached(t, browser)
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    await server.ok('evaluate', { sessionId, script: `window.open('/echo?a=1') && 1` })
    const list = async () => (await server.ok('pages', { sessionId, action: 'list' })).pages
    await until(async () => (await list())[1]?.url === site.url('/echo?a=1'), 'the popup')
    const popup = { sessionId, pageId: 'page-2' }
    // The URL is known before the document has been parsed.
    await server.ok('wait_for_selector', { ...popup, selector: '#out' })
    assert.equal(
      (await server.ok('evaluate', { ...popup, script: 'out.textContent' })).value,
      '?a=1'
    )
    await server.ok('close_session', { sessionId })
    await until(async () => (await browser.pages()).length === 1, 'the end of the tabs', 5000)
  })

  test('paints and moves in background tabs', async (t) => {
    const browser = await startUserBrowser(t, [page('Mail')])
    const before = await userTitles(browser)
    const { server, sessionId } = await attached(t, browser)
    // Chromium starts an animation late if its keyframes follow the element.
    const body =
      '<style>@keyframes move { from { left: 400px } to { left: 0 } }</style>' +
      '<button id=b style="position:relative;animation:move .4s" onclick="this.textContent=1">0' +
      '</button>'
    await server.ok('navigate', { sessionId, url: `data:text/html,${encodeURIComponent(body)}` })
    await server.ok('click', { sessionId, selector: '#b' })
    const text = await server.ok('get_text', { sessionId, selector: '#b' })
    assert.match(JSON.stringify(text), /1/)
    const { value } = await server.ok('evaluate', { sessionId, script: FRAMES })
    assert.ok(value > 3, `${value} frames in 300 ms`)
    for (const fullPage of [false, true]) {
      const shot = await server.call('screenshot', { sessionId, fullPage })
      assert.ok(!shot.isError && shot.ms < 10_000, `${shot.text} ${shot.ms}`)
    }
    assert.deepEqual(await userTitles(browser), before)
  })

  test('still paints a background tab after a viewer of the dashboard has left', async (t) => {
    const browser = await startUserBrowser(t, [page('Mail')])
    const server = await startHttpServer(t, ['--attach', browser.profile], { browser: false })
    const client = await server.connect()
    const created = client.createSession()
    await until(() => browser.dialogs() > 0, 'the dialog')
    browser.decide(true)
    const sessionId = await created
    await client.ok('navigate', { sessionId, url: page('Agent') })
    const live = await (await openDashboard(server)).live(t)
    live.watch(sessionId)
    await live.frame()
    const stops = () => browser.commands.filter(({ method }) => method === 'Page.stopScreencast')
    const before = stops().length
    live.watch()
    await until(() => stops().length > before, 'the end of the live images')
    const { value } = await client.ok('evaluate', { sessionId, script: FRAMES })
    assert.ok(value > 3, `${value} frames in 300 ms`)
    assert.deepEqual(disturbing(browser), [])
  })

  const kept = 'keeps its cookies and storage, and they are not in the record'
  test(kept, { skip: NO_SQLITE }, async (t) => {
    const browser = await startUserBrowser(t, [page('Mail')])
    const [site, bank] = [await startSite(t), await startSite(t)]
    const env = { TROUPE_STORE: recordFile(t) }
    const { server, sessionId } = await attached(t, browser, [], { env })
    const other = bank.url('/set-cookie?bank=secret-of-the-bank').replace('127.0.0.1', 'localhost')
    await server.ok('navigate', { sessionId, url: other })
    await server.ok('navigate', { sessionId, url: site.url('/set-cookie?login=secret-login') })
    await server.ok('evaluate', { sessionId, script: `localStorage.setItem('a', 'secret-item')` })
    await server.ok('navigate', { sessionId, url: site.url('/cookies') })
    const { cookies } = await server.ok('get_cookies', { sessionId })
    assert.deepEqual(
      cookies.map(({ name }) => name),
      ['login'],
      'only of its pages'
    )

    const refused = [
      await server.call('restore_state', { sessionId, state: { cookies: [], origins: [] } }),
      await server.call('create_session', { storageState: { cookies: [], origins: [] } })
    ]
    for (const { json, text } of refused) {
      assert.equal(json.errorCode, 'INVALID_PARAMETERS', text)
      assert.match(json.message, /shares the browser's profile/)
    }
    const adopted = await server.ok('pages', { sessionId, action: 'adopt', tab: 'Mail' })
    assert.equal(adopted.pages.length, 2)
    await server.end()
    const [{ state }] = query(
      env.TROUPE_STORE,
      `SELECT state FROM session_snapshots WHERE session_id = '${sessionId}'`
    )
    const { cookies: saved, pages } = JSON.parse(state)
    assert.deepEqual([saved, pages.map(({ url }) => url)], [[], [site.url('/cookies')]])
    assert.deepEqual(query(env.TROUPE_STORE, 'SELECT * FROM session_origins'), [])

    const next = await attach(t, browser, [], { env })
    const resumed = next.ok('session_resume', { sessionId })
    await until(() => browser.dialogs() > 0, 'the dialog')
    browser.decide(true)
    assert.deepEqual(
      (await resumed).pages.map(({ url }) => url),
      [site.url('/cookies')]
    )
    const script = '[out.textContent, localStorage.a]'
    const { value } = await next.ok('evaluate', { sessionId, script })
    assert.deepEqual(value, ['login=secret-login', 'secret-item'], 'those of the profile')
  })

  test('keeps the file of a download, and the session has a copy', async (t) => {
    const [browser, site] = [await startUserBrowser(t, [page('Mail')]), await startSite(t)]
    const folder = temporaryFolder(t)
    const { server, sessionId } = await attached(t, browser, ['--output-dir', folder])
    const { download } = await server.ok('navigate', { sessionId, url: site.url('/download') })
    assert.equal(download.state, 'completed', JSON.stringify(download))
    assert.equal(readFileSync(download.path, 'utf8'), 'the report')
    assert.ok(download.path.startsWith(folder))
  })

  test('is found in its profile folder, and an error says what is missing', async (t) => {
    const folder = temporaryFolder(t)
    const options = { browser: false, env: { XDG_CONFIG_HOME: folder } }
    const failure = async (...args) => {
      const server = await startServer(t, args, options)
      const { json } = await server.call('navigate', { url: 'about:blank' })
      assert.equal(json.errorCode, 'BROWSER_ERROR')
      assert.match(json.suggestion, /chrome:\/\/inspect\/#remote-debugging/)
      return json.message
    }
    assert.match(await failure('--attach'), /no profile of chrome, .* has a `DevToolsActivePort`/)
    assert.match(
      await failure('--attach', 'chrome-beta'),
      /remote debugging is off: there is no `.*google-chrome-beta.DevToolsActivePort`/
    )
    const ended = join(folder, 'google-chrome')
    mkdirSync(ended)
    writeFileSync(join(ended, 'DevToolsActivePort'), `${await freePort()}\n/devtools/browser/1`)
    assert.match(await failure('--attach'), /the browser of `.*` is not running/)

    const browser = await startUserBrowser(t, [page('Mail')])
    mkdirSync(join(folder, 'chromium'))
    const file = readFileSync(join(browser.profile, 'DevToolsActivePort'))
    writeFileSync(join(folder, 'chromium', 'DevToolsActivePort'), file)
    for (const value of [[], ['chromium'], [`${browser.port}`]]) {
      const server = await startServer(t, ['--attach', ...value], options)
      const call = server.ok('navigate', { url: 'about:blank' })
      await until(() => browser.dialogs() > 0, `the dialog with ${value}`)
      browser.decide(true)
      await call
      await server.end()
    }
    // `doctor` finds it without a dialog, and does not show the secret path of its WebSocket.
    const args = [BIN, 'doctor', '--attach', browser.profile]
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    assert.match(
      stdout,
      new RegExp(`attaches to .* at 127\\.0\\.0\\.1:${browser.port} \\(asks`),
      stderr
    )
    assert.ok(!stdout.includes(new URL(browser.ws).pathname))
    assert.equal(browser.dialogs(), 0)

    // A browser with --remote-debugging-port, which asks for no consent.
    const server = await startServer(t, ['--attach', new URL(browser.http).port], options)
    await within(server.ok('navigate', { url: 'about:blank' }), 'the call', 10_000)
  })
})
