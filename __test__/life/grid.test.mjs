// --browser-endpoint webdriver+http://… with a Selenium Grid. Here the Grid is a program of the
// tests; `__test__/apps/grid.test.mjs` uses the real one.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { startGrid } from '../support/mock-grid.mjs'
import { recordFile } from '../support/record.mjs'
import { assertRejectedAtStartup, troupe } from '../support/scripts.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { TRUST } from '../support/tls.mjs'
import { pause, until } from '../support/wait.mjs'

const SECRET = 'correct-horse-battery'

/** @param {any} t @param {{ url: string }} grid @param {string[]} [args] @param {object} [env] */
const start = (t, grid, args = [], env = {}) =>
  startServer(t, ['--browser-endpoint', grid.url, '--store', recordFile(t), ...args], {
    browser: false,
    env: { ...env }
  })

/** The notes about the sessions of a server. @param {string} record */
const notes = (record) => readdirSync(join(dirname(record), 'grid-sessions'))

describe('a Selenium Grid', { skip: process.platform !== 'linux', timeout: 60_000 }, () => {
  test('starts a browser when a session needs one, which ends with the server', async (t) => {
    const [grid, site] = [await startGrid(t), await startSite(t)]
    const record = recordFile(t)
    const capabilities = [
      ...['--grid-capability', 'se:name="nightly run"'],
      ...['--grid-capability', 'goog:chromeOptions={"args":["--lang=de"]}']
    ]
    const server = await start(t, grid, ['--store', record, ...capabilities])
    assert.equal(grid.requests.length, 0, 'no session is requested at startup')
    const [one, two] = [await server.createSession(), await server.createSession()]
    await server.ok('navigate', { sessionId: one, url: site.url('/set-cookie?who=one') })
    await server.ok('navigate', { sessionId: two, url: site.url('/cookies') })
    const { value } = await server.ok('evaluate', { sessionId: two, script: 'out.textContent' })
    assert.equal(value, '', 'each session has its own context')
    assert.equal(grid.requests.length, 1)
    const { browserName, 'se:name': name, 'goog:chromeOptions': options } = grid.requests[0]
    assert.deepEqual(
      { browserName, name, options },
      { browserName: 'chrome', name: 'nightly run', options: { args: ['--lang=de'] } }
    )
    assert.equal(notes(record).length, 1)
    assert.deepEqual(await server.end(), { code: 0, signal: null })
    assert.equal(grid.sessions.size, 0)
    assert.deepEqual(notes(record), [])
  })

  test('behind TLS gets the credentials of the URL, which no output shows', async (t) => {
    const basic = `Basic ${Buffer.from(`ann:${SECRET}`).toString('base64')}`
    const allows = ({ headers }) => headers.authorization === basic && headers['x-team'] === 'qa'
    const grid = await startGrid(t, { tls: true, allows })
    const url = grid.url.replace('://', `://ann:${SECRET}@`)
    const headers = ['--browser-header', 'X-Team=qa', '--log-level', 'trace']
    const server = await start(t, { url }, headers, TRUST)
    const page = await server.ok('navigate', { url: 'data:text/html,<title>In</title>' })
    assert.equal(page.title, 'In')
    await server.end()
    assert.equal(grid.sessions.size, 0)
    const rejected = await start(t, { url: grid.url }, headers, TRUST)
    const { json, text } = await rejected.call('navigate', { url: 'about:blank' })
    assert.equal(json.errorCode, 'BROWSER_ERROR', text)
    assert.match(json.message, /401 Unauthorized/)
    const doctor = await troupe('doctor', '--browser-endpoint', url)
    assert.match(doctor.stdout, /Selenium Grid webdriver\+https:\/\/127\.0\.0\.1/)
    const output = server.stderr() + rejected.stderr() + text + doctor.stdout + doctor.stderr
    assert.ok(!output.includes(SECRET), output)
  })

  test('without a free slot is a retryable RESOURCE_EXHAUSTED', async (t) => {
    const grid = await startGrid(t, { queueTimeout: 300 })
    const first = await start(t, grid)
    await first.ok('navigate', { url: 'about:blank' })
    const second = await start(t, grid)
    const { json, text } = await second.call('navigate', { url: 'about:blank' })
    assert.equal(json.errorCode, 'RESOURCE_EXHAUSTED', text)
    assert.equal(json.retryable, true)
    assert.match(json.message, /New session request timed out/)
    await first.end()
    await second.ok('navigate', { url: 'about:blank' })
  })

  test('keeps the session of a canceled call for the next one', async (t) => {
    const grid = await startGrid(t)
    const first = await start(t, grid)
    await first.ok('navigate', { url: 'about:blank' })
    const second = await start(t, grid)
    const params = { name: 'create_session', arguments: {} }
    second.send({ id: 'canceled', method: 'tools/call', params })
    await until(() => grid.waiting() === 1, 'the request in the queue')
    second.notify('notifications/cancelled', { requestId: 'canceled' })
    await second.ok('list_sessions')
    await first.end()
    await until(() => grid.sessions.size === 1, 'the session of the canceled call')
    await second.ok('navigate', { url: 'about:blank' })
    assert.equal(grid.requests.length, 2, 'no further session was requested')
    await second.end()
    assert.equal(grid.sessions.size, 0)
  })

  test('has no session left after kill -9 and the next start', async (t) => {
    const grid = await startGrid(t, { slots: 2 })
    const record = recordFile(t)
    const killed = await start(t, grid, ['--store', record])
    await killed.ok('navigate', { url: 'about:blank' })
    const other = await start(t, grid, ['--store', record])
    await other.ok('navigate', { url: 'about:blank' })
    killed.child.kill('SIGKILL')
    await killed.exit
    assert.equal(grid.sessions.size, 2)
    await start(t, grid, ['--store', record])
    await until(() => grid.sessions.size === 1, 'the end of the leftover session')
    await until(() => notes(record).length === 1, 'the end of its note')
    await other.ok('navigate', { url: 'about:blank' })
  })

  test('has no session left if the server was killed while its request was in the queue', async (t) => {
    const grid = await startGrid(t)
    const record = recordFile(t)
    const first = await start(t, grid)
    await first.ok('navigate', { url: 'about:blank' })
    const killed = await start(t, grid, ['--store', record])
    killed.call('navigate', { url: 'about:blank' }).catch(() => {})
    await until(() => grid.waiting() === 1, 'the request in the queue')
    killed.child.kill('SIGKILL')
    await killed.exit
    await first.end()
    await until(() => grid.sessions.size === 1, 'the session of the killed server')
    await start(t, grid, ['--store', record])
    await until(() => grid.sessions.size === 0, 'the end of the session', 20_000)
  })

  test('does not end the session of an idle browser', async (t) => {
    const grid = await startGrid(t, { sessionTimeout: 2500 })
    const server = await start(t, grid)
    await server.ok('navigate', { url: 'data:text/html,<title>Kept</title>' })
    await pause(4000, 'the idle time is the subject')
    const { value } = await server.ok('evaluate', { script: 'document.title' })
    assert.equal(value, 'Kept')
    assert.equal(grid.requests.length, 1)
  })

  test('that ends a session gives another, in which the session resumes', async (t) => {
    const [grid, site] = [await startGrid(t), await startSite(t)]
    const server = await start(t, grid)
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/set-cookie?who=ann') })
    await server.ok('navigate', { sessionId, url: site.url('/cookies') })
    await awaitDurableState()
    grid.remove('session-1')
    await until(() => grid.sessions.has('session-2'), 'the next session')
    const { value } = await server.ok('evaluate', { sessionId, script: 'out.textContent' })
    assert.equal(value, 'who=ann')
  })

  test('gets at most --pool-max-browsers sessions', async (t) => {
    const grid = await startGrid(t, { slots: 3 })
    const idle = ['--pool-idle-timeout', '500']
    const server = await start(t, grid, ['--pool-max-browsers', '2', ...idle])
    const sessions = []
    for (let at = 0; at < 3; at++) sessions.push(await server.createSession())
    assert.equal(grid.sessions.size, 2)
    for (const sessionId of sessions) await server.ok('close_session', { sessionId })
    await until(() => grid.sessions.size === 0, 'the end of the idle browsers')
  })

  test('and options that contradict it are rejected at startup', async () => {
    const grid = ['--browser-endpoint', 'webdriver+http://grid']
    await assertRejectedAtStartup([
      [['--grid-capability', 'se:name="x"'], /needs.*browser-endpoint/],
      [[...grid, '--grid-capability', 'se:name=x'], /capabilities, such as/],
      [[...grid, '--remote-close', 'disconnect'], /occupy a slot/],
      [[...grid, '--browser', 'webkit'], /WebKit has no protocol/],
      [[...grid, '--allowed-domains', 'a.test'], /cannot be enforced/]
    ])
  })
})
