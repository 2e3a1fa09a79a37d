// Requirement 7: all sessions share one browser.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { awaitProcessesEnded, browsers, descendants } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { openEnded, startSite } from '../support/site.mjs'
import { until, within } from '../support/wait.mjs'

const browsersOf = (server) =>
  browsers(server.child.pid).map(({ pid, started }) => ({ pid, started }))

describe('requirement 7: one shared browser', { timeout: 60_000 }, () => {
  test('7.1 the server starts one browser automatically', async (t) => {
    const server = await startServer(t)
    await until(() => browsersOf(server).length === 1, 'the browser')
    await server.awaitBrowserReady()
    assert.equal(browsersOf(server).length, 1)
  })

  test('7.2 each new session is created in that browser', async (t) => {
    const server = await startServer(t)
    await server.awaitBrowserReady()
    const before = browsersOf(server)
    await Promise.all(Array.from({ length: 4 }, () => server.createSession()))
    assert.deepEqual(browsersOf(server), before)
  })

  test('7.3 the browser keeps running when all sessions are closed', async (t) => {
    const server = await startServer(t)
    const ids = [await server.createSession(), await server.createSession()]
    const before = browsersOf(server)
    for (const sessionId of ids) await server.ok('close_session', { sessionId })
    assert.deepEqual((await server.ok('list_sessions')).sessions, [])
    assert.deepEqual(browsersOf(server), before)
    await server.ok('navigate', {
      sessionId: await server.createSession(),
      url: 'data:text/html,<title>Again</title>'
    })
    assert.deepEqual(browsersOf(server), before)
  })

  test('7.4 the sessions and the browser end with the server', async (t) => {
    const page = openEnded()
    const site = await startSite(t, { '/open': page.route })
    const server = await startServer(t)
    await server.ok('navigate', { sessionId: await server.createSession(), url: site.url('/open') })
    await within(page.opened, 'the page')
    const processes = descendants(server.child.pid)
    assert.ok(processes.length > 1)
    server.child.stdin.end()
    assert.deepEqual(await within(server.exit, 'the end of the server', 2000), {
      code: 0,
      signal: null
    })
    await within(page.closed, 'the end of the page', 1000)
    await awaitProcessesEnded(processes, 1000)
  })

  test('7.4 the server ends as quickly if the browser could not be started', async (t) => {
    const server = await startServer(t, ['--headless', '--executable-path', '/bin/false'], {
      browser: false
    })
    assert.equal((await server.call('create_session')).json.errorCode, 'BROWSER_ERROR')
    server.child.stdin.end()
    assert.deepEqual(await within(server.exit, 'the end of the server', 2000), {
      code: 0,
      signal: null
    })
  })

  test('7.5 sessions share no cookies, no localStorage and no sessionStorage', async (t) => {
    const server = await startServer(t)
    const site = await startSite(t)
    const [one, two] = [await server.createSession(), await server.createSession()]
    for (const sessionId of [one, two])
      await server.ok('navigate', { sessionId, url: site.url('/storage') })
    const read =
      '({ cookie: document.cookie, local: { ...localStorage }, session: { ...sessionStorage } })'
    await server.evaluate(
      "document.cookie = 'key=one'; localStorage.kept = 'one'; sessionStorage.kept = 'one'",
      { sessionId: one }
    )
    assert.deepEqual(await server.evaluate(read, { sessionId: one }), {
      cookie: 'key=one',
      local: { kept: 'one' },
      session: { kept: 'one' }
    })
    assert.deepEqual(await server.evaluate(read, { sessionId: two }), {
      cookie: '',
      local: {},
      session: {}
    })
    // A later session starts empty, too.
    const three = await server.createSession()
    await server.ok('navigate', { sessionId: three, url: site.url('/storage') })
    assert.deepEqual(await server.evaluate(read, { sessionId: three }), {
      cookie: '',
      local: {},
      session: {}
    })
  })
})
