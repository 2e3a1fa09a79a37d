// --user-data-dir: the sessions are tabs of one profile.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { kill, recordFile, temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { lossLimit } from '../support/state.mjs'
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
    await lossLimit()
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
