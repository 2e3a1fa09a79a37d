// --user-data-dir: the sessions are tabs of one profile.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { kill, recordFile, temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { until } from '../support/wait.mjs'

/** Starts a server. The test ends it, because the browser writes to its profile until it exits. */
const start = (t, profile, options = []) => startServer(t, ['--user-data-dir', profile, ...options])

const pagesOf = async (server, sessionId) =>
  (await server.ok('pages', { sessionId, action: 'list' })).pages.map(({ url }) => url)

describe('the sessions of a profile', { timeout: 90_000 }, () => {
  test('share cookies and storage, and each has only its own pages', async (t) => {
    const [site, profile] = [await startSite(t), temporaryFolder(t)]
    const server = await start(t, profile)
    const { json } = await server.call('create_session')
    assert.match(json.message, /not isolated: its pages are tabs of the profile/)
    const one = json.sessionId
    const others = await Promise.all(Array.from({ length: 4 }, () => server.createSession()))
    await server.ok('navigate', { sessionId: one, url: site.url('/set-cookie?who=one') })
    await Promise.all(
      others.map((sessionId, at) =>
        server.ok('navigate', { sessionId, url: site.url(`/cookies?${at}`) })
      )
    )
    for (const [at, sessionId] of others.entries()) {
      assert.deepEqual(await pagesOf(server, sessionId), [site.url(`/cookies?${at}`)])
      const { value } = await server.ok('evaluate', { sessionId, script: 'out.textContent' })
      assert.match(value, /who=one/)
    }
    await server.ok('close_session', { sessionId: others[0] })
    assert.deepEqual(await pagesOf(server, one), [site.url('/set-cookie?who=one')])
    await server.end()
  })

  test('own the pages that their pages open', async (t) => {
    const [site, profile] = [await startSite(t), temporaryFolder(t)]
    const server = await start(t, profile)
    const [one, two] = [await server.createSession(), await server.createSession()]
    const link = (rel) =>
      `data:text/html,<a target=_blank rel="${rel}" href="${site.url('/form')}">Open</a>`
    await server.ok('navigate', { sessionId: one, url: link('opener') })
    await server.ok('navigate', { sessionId: two, url: link('noopener') })
    for (const sessionId of [one, two]) {
      await server.ok('click', { sessionId, selector: 'a' })
      await until(
        async () => (await pagesOf(server, sessionId)).includes(site.url('/form')),
        'the new page',
        5000
      )
      assert.equal((await pagesOf(server, sessionId)).length, 2)
    }
    await server.end()
  })

  test('are resumed after the server was killed, without each other’s pages', async (t) => {
    const [site, profile] = [await startSite(t), temporaryFolder(t)]
    const options = ['--store', recordFile(t)]
    const first = await start(t, profile, options)
    const [one, two] = [await first.createSession(), await first.createSession()]
    await first.ok('navigate', { sessionId: one, url: site.url('/form') })
    await first.ok('navigate', { sessionId: two, url: site.url('/cookies') })
    await awaitDurableState()
    await kill(first)
    const second = await start(t, profile, options)
    for (const sessionId of [one, two]) await second.ok('session_resume', { sessionId })
    assert.deepEqual(await pagesOf(second, one), [site.url('/form')])
    assert.deepEqual(await pagesOf(second, two), [site.url('/cookies')])
    await second.end()
  })

  test('follow the network policy', async (t) => {
    const [site, profile] = [await startSite(t), temporaryFolder(t)]
    const server = await start(t, profile, ['--blocked-domains', 'localhost'])
    const [one, two] = [await server.createSession(), await server.createSession()]
    for (const sessionId of [one, two, one]) {
      await server.ok('navigate', { sessionId, url: site.url('/form') })
      const blocked = { sessionId, url: site.url('/form').replace('127.0.0.1', 'localhost') }
      assert.equal((await server.call('navigate', blocked)).json.errorCode, 'BLOCKED_BY_POLICY')
      const script = `fetch('http://localhost:${site.port}/form').then(() => 'loaded', () => 'failed')`
      assert.equal((await server.ok('evaluate', { sessionId, script })).value, 'failed')
    }
    await server.end()
  })

  test('have their own settings, also in popups', async (t) => {
    const [site, profile] = [await startSite(t), temporaryFolder(t)]
    const server = await start(t, profile)
    const settings = [
      { viewport: { width: 500, height: 400 }, timezone: 'Pacific/Auckland', userAgent: 'one' },
      { viewport: { width: 600, height: 300 }, timezone: 'Asia/Tokyo', userAgent: 'two' }
    ]
    const script =
      '[innerWidth, innerHeight, Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent]'
    for (const options of settings) {
      const { sessionId } = await server.ok('create_session', options)
      const { viewport, timezone, userAgent } = options
      const expected = [viewport.width, viewport.height, timezone, userAgent]
      await server.ok('navigate', { sessionId, url: site.url('/form') })
      assert.deepEqual((await server.ok('evaluate', { sessionId, script })).value, expected)
      for (const rel of ['opener', 'noopener']) {
        const link = `<a target=_blank rel=${rel} href="/cookies">Open</a>`
        await server.ok('evaluate', {
          sessionId,
          script: `document.body.innerHTML = ${JSON.stringify(link)}`
        })
        await server.ok('click', { sessionId, selector: 'a' })
        const { pages } = await server.ok('pages', { sessionId, action: 'list' })
        const popup = pages.at(-1).pageId
        await server.ok('pages', { sessionId, action: 'select', pageId: popup })
        await server.ok('wait_for', { sessionId, url: site.url('/cookies') })
        assert.deepEqual((await server.ok('evaluate', { sessionId, script })).value, expected, rel)
        await server.ok('pages', { sessionId, action: 'close', pageId: popup })
      }
    }
    await server.end()
  })

  test('have their own network rules, also in later pages', async (t) => {
    const [site, profile] = [await startSite(t), temporaryFolder(t)]
    const server = await start(t, profile)
    const [one, two] = [await server.createSession(), await server.createSession()]
    for (const sessionId of [one, two])
      await server.ok('navigate', { sessionId, url: site.url('/form') })
    const script =
      "fetch('/form', { cache: 'no-store' }).then(({ status }) => status, () => 'failed')"
    const results = async () => {
      const values = []
      for (const sessionId of [one, two])
        values.push((await server.ok('evaluate', { sessionId, script })).value)
      return values
    }
    await server.ok('mock_response', { sessionId: one, url: '**/form', response: { status: 418 } })
    assert.deepEqual(await results(), [418, 200])
    await server.ok('mock_response', { sessionId: one, url: '**/form' })
    await server.ok('set_offline', { sessionId: one, offline: true })
    assert.deepEqual(await results(), ['failed', 200])
    const { json } = await server.call('pages', {
      sessionId: one,
      action: 'new',
      url: site.url('/form')
    })
    assert.equal(json.errorCode, 'NAVIGATION_FAILED', 'a later page is offline, too')
    await server.ok('set_offline', { sessionId: one, offline: false })
    await server.ok('navigate', { sessionId: one, url: site.url('/form') })
    assert.deepEqual(await results(), [200, 200])
    await server.ok('set_throttling', { sessionId: one, latency: 400 })
    // Firefox delays the data of a response, but not its headers.
    const timed =
      "(() => { const begin = performance.now(); return fetch('/form', { cache: 'no-store' }).then((response) => response.text()).then(() => performance.now() - begin) })()"
    const delays = []
    await server.ok('pages', { sessionId: one, action: 'new', url: site.url('/form') })
    for (const sessionId of [one, two])
      delays.push((await server.ok('evaluate', { sessionId, script: timed })).value)
    assert.ok(delays[0] >= 400 && delays[1] < 400, delays.join())
    await server.end()
  })

  test('do not replace its cookies and storage', async (t) => {
    const server = await start(t, temporaryFolder(t))
    const state = { cookies: [], origins: [] }
    for (const [tool, parameters] of /** @type {const} */ ([
      ['create_session', { storageState: state }],
      ['restore_state', { state }]
    ])) {
      const { json } = await server.call(tool, parameters)
      assert.equal(json.errorCode, 'INVALID_PARAMETERS', tool)
      assert.match(json.message, /shares the browser's profile/)
    }
    await server.end()
  })
})
