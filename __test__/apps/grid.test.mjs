// --browser-endpoint with a real Selenium Grid: a hub and two nodes, the first with Chrome, the
// second with Chrome and Firefox.
import assert from 'node:assert/strict'
import { readFileSync, realpathSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { recordFile, temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { Site } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
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
    const { download } = await server.ok('navigate', { url: site.url('/download') })
    assert.equal(download.state, 'failed')
    assert.match(download.failure, /the file stays on the node .* --enable-managed-downloads true/)
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
    await awaitDurableState()
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

const FILES = `<!doctype html><title>Files</title><input id="one" type="file" multiple>
  <button id="choose" onclick="one.click()">Choose</button>
  <a id="blob" download="Übersicht 1.txt">Blob</a> <a id="file" href="/download">File</a>
  <script>blob.href = URL.createObjectURL(new Blob(['from memory']))</script>`

describe(
  'a Selenium Grid with managed downloads',
  { skip: missingGrid(), timeout: 300_000 },
  () => {
    const scope = shared()
    const site = new Site({ '/files': FILES })
    /** @type {Awaited<ReturnType<typeof startSeleniumGrid>>} */
    let grid
    before(async () => {
      await site.start(scope)
      const options = { sessionTimeout: 60, queueTimeout: 60, managedDownloads: true }
      grid = await startSeleniumGrid(
        scope,
        [['chrome', ...(GECKODRIVER ? ['firefox'] : [])]],
        options
      )
    })

    for (const [browser, capability] of [
      ['chrome', `goog:chromeOptions=${JSON.stringify(CHROME)}`],
      ['firefox', `moz:firefoxOptions=${JSON.stringify(FIREFOX)}`]
    ])
      describe(
        browser,
        { skip: browser === 'firefox' && !GECKODRIVER && 'geckodriver is not installed' },
        () => {
          const folder = realpathSync(temporaryFolder(scope))
          const [a, b] = ['a.txt', 'b.txt'].map((name) => join(folder, name))
          for (const path of [a, b]) writeFileSync(path, `of ${path}`)
          /** @type {Awaited<ReturnType<typeof startServer>>} */
          let server
          before(async () => {
            const args = [
              ...['--browser-endpoint', grid.endpoint, '--browser', browser],
              ...['--grid-capability', capability, '--output-dir', join(folder, 'output')],
              ...['--store', 'none', '--timeout-settle', '20000']
            ]
            server = await startServer(scope, args, { browser: false, cwd: folder })
            await server.ok('navigate', { url: site.url('/files') })
          })
          after(() => server.end())

          /** Returns the contents of the selected files, as the page reads them. */
          const selected = async () => {
            const script = 'Promise.all([...one.files].map((file) => file.text()))'
            return (await server.ok('evaluate', { script })).value
          }

          test('gets the files of upload_file, also by a file chooser', async () => {
            await server.ok('upload_file', { selector: '#one', files: [a, b] })
            assert.deepEqual(await selected(), [`of ${a}`, `of ${b}`])
            await server.ok('upload_file', { selector: '#choose', files: [b] })
            assert.deepEqual(await selected(), [`of ${b}`])
            const { value } = await server.ok('evaluate', { script: 'one.files[0].name' })
            assert.equal(value, 'b.txt')
            await server.ok('upload_file', { selector: '#one', files: [] })
            assert.deepEqual(await selected(), [])
          })

          test('rejects a file that is too large', async () => {
            const large = join(folder, 'large')
            writeFileSync(large, '')
            truncateSync(large, 101 << 20)
            const { json } = await server.call('upload_file', { selector: '#one', files: [large] })
            assert.match(json.message, /large` was not uploaded .* has 105906176 bytes/)
          })

          test('returns downloads, and keeps few of them on the node', async () => {
            const { download } = await server.ok('click', { selector: '#blob' })
            assert.equal(download.state, 'completed', JSON.stringify(download))
            assert.equal(download.path, join(folder, 'output', 'Übersicht 1.txt'))
            assert.equal(readFileSync(download.path, 'utf8'), 'from memory')
            const one = await server.ok('click', { selector: '#file' })
            assert.equal(readFileSync(one.download.path, 'utf8'), 'the report')
            assert.equal((await grid.downloads()).length, 2)
            for (let at = 2; at < 16; at++) {
              const { download } = await server.ok('click', { selector: '#file' })
              assert.equal(download.state, 'completed', JSON.stringify(download))
            }
            assert.deepEqual(await grid.downloads(), [])
            const last = await server.ok('click', { selector: '#file' })
            assert.equal(readFileSync(last.download.path, 'utf8'), 'the report')
          })
        }
      )
  }
)
