// The Node library: the events of a session, `evaluate`, and when a manager opens files.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { SessionManager, failure, inMemoryManager, startManager } from '../support/managers.mjs'
import { BROWSER_CONFIG } from '../support/browser.mjs'
import { startSite } from '../support/site.mjs'

const PAGE = `<title>Events</title><button onclick="console.warn('Careful', 7)">Log</button>
  <button onclick="fetch('/data')">Fetch</button><button onclick="setTimeout(() => alert('Hello'))">Ask</button>
  <a href="/file" download="notes.txt">Download</a><button onclick="window.open('/other')">Open</button>`

describe('the events of a session', { timeout: 60_000 }, () => {
  test('are console, request, response, dialog, download, page and close', async (t) => {
    const site = await startSite(t, { '/events': PAGE, '/data': '{}', '/file': 'Notes' })
    const manager = await startManager(t)
    const session = await manager.createSession()
    const nextEvent = (name, matches = (/** @type {any} */ _event) => true) =>
      new Promise((resolve) => session.on(name, (event) => matches(event) && resolve(event)))
    const answered = nextEvent('response', ({ url }) => url.endsWith('/events'))
    await session.navigate(site.url('/events'))
    assert.deepEqual(await answered, { pageId: 'page-1', url: site.url('/events'), status: 200 })

    const logged = nextEvent('console')
    await session.click('text=Log')
    const { level, text, pageId } = await logged
    assert.deepEqual(
      { level, text, pageId },
      { level: 'warn', text: 'Careful 7', pageId: 'page-1' }
    )

    const requested = nextEvent('request', ({ url }) => url.endsWith('/data'))
    await session.click('text=Fetch')
    const expected = {
      pageId: 'page-1',
      url: site.url('/data'),
      method: 'GET',
      resourceType: 'fetch'
    }
    assert.deepEqual(await requested, expected)

    const asked = nextEvent('dialog')
    await session.click('text=Ask')
    assert.deepEqual(await asked, { pageId: 'page-1', kind: 'alert', message: 'Hello' })
    await session.handleDialog(true)

    const downloaded = nextEvent('download', ({ state }) => state === 'completed')
    await session.click('text=Download')
    const download = await downloaded
    assert.equal(download.suggestedFilename, 'notes.txt')
    assert.ok(existsSync(download.path))

    const popup = nextEvent('page', ({ pageId }) => pageId === 'page-2')
    await session.click('text=Open')
    await popup

    const closed = once(session, 'close')
    await session.close()
    assert.deepEqual(await closed, [{ reason: 'closed' }])
  })

  test('the end of an expired session is reported with its reason', async (t) => {
    // Listeners do not keep the process running.
    const running = setInterval(() => {}, 1000)
    t.after(() => clearInterval(running))
    const { manager, advance } = inMemoryManager({ sessionTimeout: 1000 })
    const session = await manager.createSession()
    const closed = once(session, 'close')
    advance(1000)
    assert.deepEqual(await closed, [{ reason: 'expired' }])
    await manager.shutdown()
  })
})

test(
  'evaluate takes a function and its argument as in Playwright, or a list of arguments in `args`',
  { timeout: 60_000 },
  async (t) => {
    const manager = await startManager(t)
    const session = await manager.createSession()
    const value = async (...given) => (await session.evaluate(...given)).value
    assert.deepEqual(await value((given) => [given, given.length], [1]), [[1], 1])
    assert.equal(await value('([first]) => first', [1]), 1)
    assert.equal(await value('({ name }) => name', { name: 'Ada' }), 'Ada')
    assert.equal(await value('(given) => given', 0), 0)
    assert.equal(await value('(given) => given', null), null)
    assert.equal(await value('(a, b) => a + b', { args: [1, 2] }), 3)
    assert.equal(await value({ script: '1 + 1' }), 2)
  }
)

test(
  'a manager opens no file before it is initialized or called',
  { timeout: 60_000 },
  async (t) => {
    const store = join(mkdtempSync(join(tmpdir(), 'troupe-store-')), 'record.db')
    const manager = new SessionManager({ ...BROWSER_CONFIG, store })
    t.after(() => manager.shutdown())
    assert.equal(existsSync(store), false)
    assert.deepEqual(manager.listSessions(), [])
    assert.equal(manager.getSession('none'), null)
    assert.equal(manager.validateSession('none').error.errorCode, 'SESSION_NOT_FOUND')
    await manager.initialize()
    assert.equal(existsSync(store), true)
  }
)

test('a manager that was shut down before its first call opens nothing', async () => {
  const store = join(mkdtempSync(join(tmpdir(), 'troupe-store-')), 'record.db')
  const manager = new SessionManager({ ...BROWSER_CONFIG, store })
  await manager.shutdown()
  assert.match((await failure(manager.createSession())).message, /shut down/)
  assert.equal(existsSync(store), false)
})
