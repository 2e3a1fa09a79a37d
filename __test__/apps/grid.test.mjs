// --browser-endpoint with a real Selenium Grid: a hub and two nodes, the first with Chrome, the
// second with Chrome and Firefox.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { recordFile } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { Site } from '../support/site.mjs'
import { lossLimit } from '../support/state.mjs'
import { until } from '../support/wait.mjs'
import { GECKODRIVER, missingGrid, startSeleniumGrid } from './grid-programs.mjs'

const isRoot = process.getuid?.() === 0
const CHROME = { args: ['--headless=new', ...(isRoot ? ['--no-sandbox'] : [])] }
const FIREFOX = { args: ['-headless'] }
/** Seconds after which the Grid ends an idle session. */
const SESSION_TIMEOUT = 10
/** Seconds after which the Grid refuses a request. */
const QUEUE_TIMEOUT = 20
/** How long a node may take to start or to end a browser (ms). */
const SLOW = 60_000

describe('a real Selenium Grid', { skip: missingGrid(), timeout: 300_000 }, () => {
  const scope = shared()
  const site = new Site()
  /** @type {Awaited<ReturnType<typeof startSeleniumGrid>>} */
  let grid
  before(async () => {
    await site.start(scope)
    const nodes = [['chrome'], ['chrome', ...(GECKODRIVER ? ['firefox'] : [])]]
    const times = { sessionTimeout: SESSION_TIMEOUT, queueTimeout: QUEUE_TIMEOUT }
    grid = await startSeleniumGrid(scope, nodes, times)
  })

  /** @param {any} t @param {string} record @param {string[]} [args] */
  const start = (t, record, args = []) => {
    const endpoint = ['--browser-endpoint', grid.endpoint, '--store', record]
    const options = [
      ...['--grid-capability', `goog:chromeOptions=${JSON.stringify(CHROME)}`],
      ...['--grid-capability', 'se:name="Troupe"']
    ]
    return startServer(t, [...endpoint, ...(args.includes('firefox') ? [] : options), ...args], {
      browser: false
    })
  }
  /** @param {number} count */
  const awaitOccupied = (count) =>
    until(
      async () => (await grid.occupied()).length === count,
      `${count} occupied slots of the Grid`,
      SLOW,
      100
    )

  /** Fills in a form and sends it. @param {import('../support/server.mjs').Server} server */
  const useForm = async (server) => {
    await server.ok('navigate', { url: site.url('/form') })
    await server.ok('type', { selector: '#name', text: 'Ada' })
    assert.equal((await server.ok('click', { selector: '#send' })).page.title, 'Echo')
  }

  test('runs Chrome, and its slots are free at the end', async (t) => {
    const server = await start(t, recordFile(t))
    await useForm(server)
    assert.equal((await grid.occupied()).length, 1)
    assert.deepEqual(await server.end(), { code: 0, signal: null })
    await awaitOccupied(0)
  })

  test(
    'runs Firefox, and its slots are free at the end',
    { skip: GECKODRIVER ? false : 'geckodriver is not installed: run `npm run setup`' },
    async (t) => {
      const options = ['--grid-capability', `moz:firefoxOptions=${JSON.stringify(FIREFOX)}`]
      const server = await start(t, recordFile(t), ['--browser', 'firefox', ...options])
      await useForm(server)
      const { json } = await server.call('upload_file', {
        selector: 'body',
        files: [import.meta.filename]
      })
      assert.match(json.message, /Selenium Grid is not supported/)
      assert.deepEqual(await server.end(), { code: 0, signal: null })
      await awaitOccupied(0)
    }
  )

  test('frees the slots of a server that was killed at the next start', async (t) => {
    const record = recordFile(t)
    const killed = await start(t, record)
    await killed.ok('navigate', { url: site.url('/form') })
    killed.child.kill('SIGKILL')
    await killed.exit
    assert.equal((await grid.occupied()).length, 1)
    await start(t, record)
    await awaitOccupied(0)
  })

  test('does not end idle sessions, and refuses one that has no slot', async (t) => {
    const args = ['--pool-max-browsers', '2']
    const server = await start(t, recordFile(t), args)
    const [one, two] = [await server.createSession(), await server.createSession()]
    for (const sessionId of [one, two])
      await server.ok('navigate', { sessionId, url: 'data:text/html,<title>Kept</title>' })
    assert.equal(new Set(await grid.occupied()).size, 2, 'each session is on its own node')
    const other = await start(t, recordFile(t))
    // The queue's time is longer than the timeout of idle sessions.
    const { json, text } = await other.call('navigate', { url: 'about:blank' })
    assert.equal(json.errorCode, 'RESOURCE_EXHAUSTED', text)
    assert.equal(json.retryable, true)
    for (const sessionId of [one, two]) {
      const { value } = await server.ok('evaluate', { sessionId, script: 'document.title' })
      assert.equal(value, 'Kept')
    }
    assert.ok(!server.stderr().includes('ended a session'), server.stderr())
    await server.end()
    await awaitOccupied(0)
    await other.ok('navigate', { url: 'about:blank' })
    await other.end()
    await awaitOccupied(0)
  })

  // The last test: it ends a node.
  test('that loses a node resumes its sessions in another one', async (t) => {
    const server = await start(t, recordFile(t))
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/set-cookie?who=ann') })
    await server.ok('navigate', { sessionId, url: site.url('/cookies') })
    await lossLimit()
    const [uri] = await grid.occupied()
    grid.nodes.find((node) => node.uri === uri)?.kill()
    const isElsewhere = async () => (await grid.occupied()).some((other) => other !== uri)
    const resumed = async () => {
      await server.call('evaluate', { sessionId, script: '1' })
      return isElsewhere()
    }
    await until(resumed, 'a session on the other node', SLOW, 500)
    const { value } = await server.ok('evaluate', { sessionId, script: 'out.textContent' })
    assert.equal(value, 'who=ann')
    await server.end()
    const isFree = async () => !(await isElsewhere())
    await until(isFree, 'free slots of the other node', SLOW, 100)
  })
})
