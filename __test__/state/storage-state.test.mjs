// Cookies and storage as a file that Playwright and Troupe exchange.
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startBrowser } from '../page/world.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { html, startSite } from '../support/site.mjs'
import { DESCRIBE_STORAGE, FILL_STORAGE, memberSite } from '../support/state.mjs'

describe('the storage state', { timeout: 120_000 }, () => {
  const t = shared()
  const folder = mkdtempSync(join(tmpdir(), 'troupe-state-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const begun = Promise.all([memberSite(t), startServer(t, ['--store', 'none', '--output-dir', folder]), startBrowser(t)])

  /** Without the values that Playwright does not write: what is falsy, numbers that JSON has no word for; and the tab's. */
  const without = (described) =>
    JSON.parse(JSON.stringify(described), (key, value) => {
      if (key === 'session') return []
      return key === 'records' ? value.filter((line) => !/^string (nothing|nan|infinity|minusZero|zero|missing)/.test(line)) : value
    })

  test('that Troupe saves is read by Playwright, with its databases', async () => {
    const [site, server, browser] = await begun
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/log-in') })
    await server.ok('evaluate', { sessionId, script: FILL_STORAGE })
    const before = (await server.ok('evaluate', { sessionId, script: DESCRIBE_STORAGE })).value
    assert.ok(before.databases[0].stores.find(({ each }) => each === 'values').records.length > 20)
    const { path } = await server.ok('save_state', { sessionId, path: 'for-playwright.json' })
    assert.equal(statSync(path).mode & 0o777, 0o600)

    const context = await browser.newContext({ storageState: path })
    const page = await context.newPage()
    await page.goto(site.url('/members'))
    assert.equal(await page.title(), 'Members')
    const after = await page.evaluate(`(${DESCRIBE_STORAGE})()`)
    assert.deepEqual({ ...after, session: [] }, { ...before, session: [] })
    await context.close()
  })

  test('that Playwright saves is read by Troupe, with its databases', async () => {
    const [site, server, browser] = await begun
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(site.url('/log-in'))
    await page.evaluate(`(${FILL_STORAGE})()`)
    const before = await page.evaluate(`(${DESCRIBE_STORAGE})()`)
    const path = join(folder, 'from-playwright.json')
    writeFileSync(path, JSON.stringify(await context.storageState({ indexedDB: true })))
    await context.close()

    for (const way of ['restore_state', 'create_session']) {
      const storageState = JSON.parse(readFileSync(path, 'utf8'))
      const sessionId = await server.createSession(way === 'create_session' ? { storageState } : {})
      if (way === 'restore_state') await server.ok('restore_state', { sessionId, state: 'from-playwright.json' })
      assert.equal((await server.ok('navigate', { sessionId, url: site.url('/members') })).title, 'Members')
      const after = (await server.ok('evaluate', { sessionId, script: DESCRIBE_STORAGE })).value
      assert.deepEqual(without(after), without(before), way)
      await server.ok('close_session', { sessionId })
    }
  })

  test('goes from one session to another, session storage and every value included', async () => {
    const [site, server] = await begun
    const [one, other] = [await server.createSession(), await server.createSession()]
    await server.ok('navigate', { sessionId: one, url: site.url('/log-in') })
    await server.ok('evaluate', { sessionId: one, script: FILL_STORAGE })
    const { state } = await server.ok('save_state', { sessionId: one })
    await server.ok('navigate', { sessionId: other, url: site.url('/members') })
    // What is there and not in the state goes away.
    await server.ok('evaluate', {
      sessionId: other,
      script: "async () => { localStorage.old = '1'; document.cookie = 'old=1'; await new Promise((done) => { const open = indexedDB.open('old'); open.onsuccess = () => { open.result.close(); done() } }) }"
    })
    await server.ok('restore_state', { sessionId: other, state })
    const described = await Promise.all([one, other].map(async (sessionId) => (await server.ok('evaluate', { sessionId, script: DESCRIBE_STORAGE })).value))
    assert.deepEqual(described[1], described[0])
    assert.equal((await server.ok('evaluate', { sessionId: other, script: 'document.title + document.cookie' })).value, 'Members')
  })

  test('holds the cookies that a frame of another site has inside a page', async () => {
    const [, server] = await begun
    const framed = await startSite(t, {
      '/top': (request, response) => html(response, `<title>Top</title><iframe src="http://localhost:${request.socket.localPort}/framed"></iframe>`),
      '/framed': '<p></p><script>document.querySelector("p").textContent = document.cookie || "no cookies"</script>'
    })
    const [one, other] = [await server.createSession(), await server.createSession()]
    await server.ok('navigate', { sessionId: one, url: framed.url('/top') })
    const setByFrame = `http://localhost:${new URL(framed.url('/')).port}/`
    const cookie = { name: 'inside', value: '1', url: setByFrame, secure: true, sameSite: 'None', partitionKey: new URL(framed.url('/')).origin.replace(/:\d+$/, '') }
    await server.ok('set_cookies', { sessionId: one, cookies: [cookie] })
    // What is read can be set again as it is.
    const { cookies } = await server.ok('get_cookies', { sessionId: one })
    const inside = cookies.find(({ name }) => name === 'inside')
    assert.deepEqual([inside.partitionKey, inside._crHasCrossSiteAncestor], [cookie.partitionKey, true])
    await server.ok('set_cookies', { sessionId: one, cookies: [inside] })
    const { state } = await server.ok('save_state', { sessionId: one })
    assert.equal(state.cookies.find(({ name }) => name === 'inside').partitionKey, cookie.partitionKey)
    await server.ok('restore_state', { sessionId: other, state })
    await server.ok('navigate', { sessionId: other, url: framed.url('/top') })
    assert.match(await server.ok('snapshot', { sessionId: other }), /inside=1/)
    await server.ok('navigate', { sessionId: other, url: `${setByFrame}framed` })
    assert.match(await server.ok('snapshot', { sessionId: other }), /no cookies/)
  })

  test('holds what a page has stored that was left by a click at once', async () => {
    const [site, server] = await begun
    const leaving = await memberSite(t, { '/leave': `<a id="away" href="${site.url('/plain')}" onclick="localStorage.left = 'yes'">Away</a>` })
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: leaving.url('/leave') })
    await server.ok('click', { sessionId, selector: '#away' })
    const { state } = await server.ok('save_state', { sessionId })
    const origin = new URL(leaving.url('/')).origin
    assert.deepEqual(state.origins.find((state) => state.origin === origin)?.localStorage, [{ name: 'left', value: 'yes' }])
    const { sessions } = await server.ok('list_sessions')
    assert.deepEqual(sessions.find((session) => session.sessionId === sessionId).pages.map(({ pageId }) => pageId), ['page-1'])
  })

  test('a file out of reach, one that is none and one that does not fit are told so', async () => {
    const [, server] = await begun
    const sessionId = await server.createSession()
    writeFileSync(join(folder, 'junk.json'), '{"cookies": 5}')
    for (const [state, code] of [['/etc/passwd', 'BLOCKED_BY_POLICY'], ['nothing.json', 'INVALID_PARAMETERS'], ['junk.json', 'INVALID_PARAMETERS'], [{ origins: [{ origin: 'nowhere' }] }, 'INVALID_PARAMETERS'], [7, 'INVALID_PARAMETERS']]) {
      const { json, text } = await server.call('restore_state', { sessionId, state })
      assert.equal(json?.errorCode, code, text)
    }
  })
})
