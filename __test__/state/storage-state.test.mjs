// Cookies and storage as a file that Playwright and Troupe exchange.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { launchChromium } from '../page/world.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { sendHtml, startSite } from '../support/site.mjs'
import { DESCRIBE_STORAGE, FILL_STORAGE, memberSite } from '../support/state.mjs'

describe('the storage state', { timeout: 120_000 }, () => {
  const t = shared()
  const folder = temporaryFolder(t)
  const begun = Promise.all([
    memberSite(t),
    startServer(t, ['--store', 'none', '--output-dir', folder, '--max-sessions', '40']),
    launchChromium(t)
  ])

  /**
   * Removes the values that Playwright does not write: falsy values, numbers that JSON does not
   * have, and sessionStorage.
   */
  const without = (described) =>
    JSON.parse(JSON.stringify(described), (key, value) => {
      if (key === 'session') return []
      return key === 'records'
        ? value.filter(
            (line) => !/^string (nothing|nan|infinity|minusZero|zero|missing)/.test(line)
          )
        : value
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
      if (way === 'restore_state')
        await server.ok('restore_state', { sessionId, state: 'from-playwright.json' })
      assert.equal(
        (await server.ok('navigate', { sessionId, url: site.url('/members') })).title,
        'Members'
      )
      const after = (await server.ok('evaluate', { sessionId, script: DESCRIBE_STORAGE })).value
      assert.deepEqual(without(after), without(before), way)
      await server.ok('close_session', { sessionId })
    }
  })

  test('can be restored in another session, with session storage and every type of value', async () => {
    const [site, server] = await begun
    const [one, other] = [await server.createSession(), await server.createSession()]
    await server.ok('navigate', { sessionId: one, url: site.url('/log-in') })
    await server.ok('evaluate', { sessionId: one, script: FILL_STORAGE })
    const { state } = await server.ok('save_state', { sessionId: one })
    await server.ok('navigate', { sessionId: other, url: site.url('/members') })
    // Data that is not in the state is removed.
    await server.ok('evaluate', {
      sessionId: other,
      script:
        "async () => { localStorage.old = '1'; document.cookie = 'old=1'; await new Promise((done) => { const open = indexedDB.open('old'); open.onsuccess = () => { open.result.close(); done() } }) }"
    })
    await server.ok('restore_state', { sessionId: other, state })
    const described = await Promise.all(
      [one, other].map(
        async (sessionId) =>
          (await server.ok('evaluate', { sessionId, script: DESCRIBE_STORAGE })).value
      )
    )
    assert.deepEqual(described[1], described[0])
    assert.equal(
      (
        await server.ok('evaluate', {
          sessionId: other,
          script: 'document.title + document.cookie'
        })
      ).value,
      'Members'
    )
  })

  test('contains the partitioned cookies of a cross-site frame', async () => {
    const [, server] = await begun
    const framed = await startSite(t, {
      '/top': (request, response) =>
        sendHtml(
          response,
          `<title>Top</title><iframe src="http://localhost:${request.socket.localPort}/framed"></iframe>`
        ),
      '/framed':
        '<p></p><script>document.querySelector("p").textContent = document.cookie || "no cookies"</script>'
    })
    const [one, other] = [await server.createSession(), await server.createSession()]
    await server.ok('navigate', { sessionId: one, url: framed.url('/top') })
    const setByFrame = `http://localhost:${new URL(framed.url('/')).port}/`
    const cookie = {
      name: 'inside',
      value: '1',
      url: setByFrame,
      secure: true,
      sameSite: 'None',
      partitionKey: new URL(framed.url('/')).origin.replace(/:\d+$/, '')
    }
    await server.ok('set_cookies', { sessionId: one, cookies: [cookie] })
    // A state that was read can be set again unchanged.
    const { cookies } = await server.ok('get_cookies', { sessionId: one })
    const inside = cookies.find(({ name }) => name === 'inside')
    assert.deepEqual(
      [inside.partitionKey, inside._crHasCrossSiteAncestor],
      [cookie.partitionKey, true]
    )
    await server.ok('set_cookies', { sessionId: one, cookies: [inside] })
    const { state } = await server.ok('save_state', { sessionId: one })
    assert.equal(
      state.cookies.find(({ name }) => name === 'inside').partitionKey,
      cookie.partitionKey
    )
    await server.ok('restore_state', { sessionId: other, state })
    await server.ok('navigate', { sessionId: other, url: framed.url('/top') })
    assert.match(await server.ok('snapshot', { sessionId: other }), /inside=1/)
    await server.ok('navigate', { sessionId: other, url: `${setByFrame}framed` })
    assert.match(await server.ok('snapshot', { sessionId: other }), /no cookies/)
  })

  test('contains the storage that a page wrote just before a click navigated away', async () => {
    const [site, server] = await begun
    const leaving = await memberSite(t, {
      '/leave': `<a id="away" href="${site.url('/plain')}" onclick="localStorage.left = 'yes'">Away</a>`
    })
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: leaving.url('/leave') })
    await server.ok('click', { sessionId, selector: '#away' })
    const { state } = await server.ok('save_state', { sessionId })
    const origin = new URL(leaving.url('/')).origin
    assert.deepEqual(state.origins.find((state) => state.origin === origin)?.localStorage, [
      { name: 'left', value: 'yes' }
    ])
    const { sessions } = await server.ok('list_sessions')
    assert.deepEqual(
      sessions.find((session) => session.sessionId === sessionId).pages.map(({ pageId }) => pageId),
      ['page-1']
    )
  })

  test('unreadable, missing and invalid files are reported as such', async () => {
    const [, server] = await begun
    const sessionId = await server.createSession()
    writeFileSync(join(folder, 'junk.json'), '{"cookies": 5}')
    for (const [state, code] of [
      ['/etc/passwd', 'BLOCKED_BY_POLICY'],
      ['nothing.json', 'INVALID_PARAMETERS'],
      ['junk.json', 'INVALID_PARAMETERS'],
      [{ origins: [{ origin: 'nowhere' }] }, 'INVALID_PARAMETERS'],
      [7, 'INVALID_PARAMETERS']
    ]) {
      const { json, text } = await server.call('restore_state', { sessionId, state })
      assert.equal(json?.errorCode, code, text)
    }
  })

  /**
   * Creates a session that is logged in and has an item in localStorage.
   * @param {any} server
   * @param {any} site
   */
  const member = async (server, site) => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/log-in') })
    await server.ok('evaluate', { sessionId, script: "() => { localStorage.cart = 'full' }" })
    return sessionId
  }
  /**
   * Reloads the page, and returns its title and its item in localStorage.
   * @param {any} server
   * @param {any} sessionId
   */
  const standing = async (server, sessionId) => {
    await server.ok('reload', { sessionId })
    return (
      await server.ok('evaluate', {
        sessionId,
        script: '[document.title, localStorage.cart ?? null]'
      })
    ).value
  }

  test('input that is no storage state is an error and changes nothing', async () => {
    const [site, server] = await begun
    const sessionId = await member(server, site)
    const cookie = { name: 'a', value: '1', domain: '127.0.0.1', path: '/' }
    const large = join(folder, 'large.json')
    // More than localStorage holds: the browser rejects it when the cookies are already replaced.
    writeFileSync(
      large,
      JSON.stringify({
        cookies: [],
        origins: [
          {
            origin: new URL(site.url('/')).origin,
            localStorage: [{ name: 'large', value: 'x'.repeat(12_000_000) }]
          }
        ]
      })
    )
    const wrong = [
      {},
      [],
      7,
      true,
      { success: true, message: 'Saved.' },
      { success: true, state: {} },
      { state: { cookies: [], origins: [] } },
      { cookies: [], origins: [], extra: 1 },
      { cookies: 5 },
      { cookies: [{ ...cookie, domain: undefined }] },
      { cookies: [{ ...cookie, path: 'x' }], origins: [] },
      { cookies: [{ value: '1' }] },
      { cookies: [cookie], origins: [{ origin: 'nowhere' }] },
      { cookies: [], origins: [{ origin: site.url('/'), local_storage: [] }] },
      { cookies: [], origins: [{ origin: site.url('/'), localStorage: [{ name: 'a' }] }] },
      { cookies: [], origins: {} },
      JSON.stringify({ cookies: [], origins: [] }),
      'large.json'
    ]
    for (const state of wrong) {
      const { json, text } = await server.call('restore_state', { sessionId, state })
      assert.equal(json?.errorCode, 'INVALID_PARAMETERS', `${JSON.stringify(state)}: ${text}`)
      assert.deepEqual(
        await standing(server, sessionId),
        ['Members', 'full'],
        JSON.stringify(state)
      )
    }
    for (const storageState of wrong.slice(0, -1)) {
      const { json, text } = await server.call('create_session', { storageState })
      assert.equal(
        json?.errorCode,
        'INVALID_PARAMETERS',
        `${JSON.stringify(storageState)}: ${text}`
      )
    }
  })

  test('the unchanged result of save_state can be restored, with the state and with a path', async () => {
    const [site, server] = await begun
    const sessionId = await member(server, site)
    for (const path of [undefined, 'result.json']) {
      const result = await server.ok('save_state', { sessionId, path })
      await server.ok('restore_state', { sessionId, state: { cookies: [], origins: [] } })
      assert.deepEqual(await standing(server, sessionId), ['Log in', null])
      await server.ok('restore_state', { sessionId, state: result })
      assert.deepEqual(await standing(server, sessionId), ['Members', 'full'])
      const created = await server.createSession({ storageState: result })
      await server.ok('navigate', { sessionId: created, url: site.url('/members') })
      assert.deepEqual(await standing(server, created), ['Members', 'full'])
    }
    const byPath = await server.createSession({ storageState: 'result.json' })
    await server.ok('navigate', { sessionId: byPath, url: site.url('/members') })
    assert.deepEqual(await standing(server, byPath), ['Members', 'full'])
  })

  test('without origins clears the storage of every visited origin, even storage that was just written', async () => {
    const [site, server] = await begun
    const other = await memberSite(t)
    const sessionId = await member(server, other)
    await server.ok('navigate', { sessionId, url: site.url('/members') })
    await server.ok('evaluate', {
      sessionId,
      script: "() => { localStorage.cart = 'full'; sessionStorage.tab = 'full' }"
    })
    await server.ok('restore_state', { sessionId, state: { cookies: [], origins: [] } })
    assert.equal(
      (
        await server.ok('evaluate', {
          sessionId,
          script: 'localStorage.length + sessionStorage.length'
        })
      ).value,
      0
    )
    await server.ok('navigate', { sessionId, url: other.url('/members') })
    assert.deepEqual(await standing(server, sessionId), ['Log in', null])
  })

  test('is not saved to a file that exists: that is an error, and the file is unchanged', async () => {
    const [site, server] = await begun
    const sessionId = await member(server, site)
    writeFileSync(join(folder, 'taken.json'), 'mine')
    const { json } = await server.call('save_state', { sessionId, path: 'taken.json' })
    assert.deepEqual(
      [json.errorCode, json.details.path],
      ['INVALID_PARAMETERS', join(folder, 'taken.json')]
    )
    assert.equal(readFileSync(join(folder, 'taken.json'), 'utf8'), 'mine')
    assert.equal(existsSync(join(folder, 'taken-2.json')), false)
  })

  test('has every field of a cookie and of an origin', async () => {
    const [site, server] = await begun
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/log-in') })
    await server.ok('evaluate', { sessionId, script: FILL_STORAGE })
    const cookies = ['Strict', 'Lax', 'None'].map((sameSite) => ({
      name: sameSite,
      value: '1',
      url: 'https://example.test/',
      sameSite,
      secure: true
    }))
    await server.ok('set_cookies', { sessionId, cookies })
    const { state } = await server.ok('save_state', { sessionId })
    const expected = {
      domain: 'example.test',
      path: '/',
      expires: -1,
      httpOnly: false,
      secure: true,
      value: '1'
    }
    for (const { name } of cookies) {
      assert.deepEqual(
        state.cookies.find((cookie) => cookie.name === name),
        { ...expected, name, sameSite: name }
      )
    }
    const [{ origin, localStorage, sessionStorage, indexedDB }] = state.origins
    assert.equal(origin, new URL(site.url('/')).origin)
    assert.ok(localStorage.some(({ name, value }) => name === 'plain' && value === 'one'))
    assert.deepEqual(sessionStorage, [{ name: 'tab', value: 'two' }])
    assert.equal(indexedDB[0].name, 'everything')
  })
})
