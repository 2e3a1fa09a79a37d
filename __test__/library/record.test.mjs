// The Node library's record: nothing on disk unless `store` is set, and enough in memory for a
// browser crash.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { BRIEF, BROWSER_CONFIG, cleanEnvironment } from '../support/browser.mjs'
import { SessionManager, failure } from '../support/managers.mjs'
import { awaitProcessesEnded, browsers } from '../support/processes.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'
import { profileFolders } from '../life/profiles.mjs'

const run = promisify(execFile)
const UNSTORED = { ...BROWSER_CONFIG, store: undefined }

describe('the library', { timeout: 120_000 }, () => {
  /**
   * Runs a program with the library, whose state folder is empty.
   * @returns the files that it left there
   */
  async function filesLeftBy(t, program) {
    const state = temporaryFolder(t)
    const env = cleanEnvironment({ XDG_STATE_HOME: state, HOME: state, LOCALAPPDATA: state })
    const library = pathToFileURL(join(import.meta.dirname, '../../index.js')).href
    const source = `import { SessionManager, serve } from '${library}'; const config = ${JSON.stringify(UNSTORED)}; ${program}`
    await run(process.execPath, ['--input-type=module', '-e', source], { env })
    const left = readdirSync(state, { recursive: true, withFileTypes: true })
    return left
      .filter((entry) => entry.isFile() && /record/.test(entry.name))
      .map(({ name }) => name)
  }

  const SESSION =
    "const manager = new SessionManager(config); const session = await manager.createSession(); await session.navigate('data:text/html,<p>Page'); await manager.shutdown()"

  test('records nothing unless `store` is set', async (t) => {
    assert.deepEqual(await filesLeftBy(t, SESSION), [])
    assert.deepEqual(
      await filesLeftBy(
        t,
        "const server = await serve({ ...config, transport: 'http', port: 0, authToken: 'correct-horse' }); await server.close()"
      ),
      []
    )
    const store = join(mkdtempSync(join(tmpdir(), 'troupe-store-')), 'record.db')
    t.after(() => rmSync(store, { force: true }))
    await filesLeftBy(t, `config.store = ${JSON.stringify(store)}; ${SESSION}`)
    assert.ok(existsSync(store))
  })

  test('reports which methods need a record', async (t) => {
    const manager = new SessionManager(UNSTORED)
    t.after(() => manager.shutdown())
    const session = await manager.createSession()
    assert.equal((await failure(session.getContent('none'))).code, 'RECORD_NOT_FOUND')
    assert.throws(() => new SessionManager({ ...UNSTORED, responses: 'ref' }), /responses.*store/)
  })

  test('a recorded screenshot can be read with its image', async (t) => {
    const manager = new SessionManager({ ...UNSTORED, store: 'memory' })
    t.after(() => manager.shutdown())
    const session = await manager.createSession()
    const taken = await session.screenshot()
    const { requests } = await session.listRequests({ limit: 1 })
    assert.deepEqual(await session.getContent(requests[0].refId), { text: '', images: [taken] })
  })

  test('resumes a session that has expired, also without a record', async (t) => {
    const site = await startSite(t, { '/first': '<title>First</title>' })
    const manager = new SessionManager({ ...UNSTORED, sessionTimeout: BRIEF })
    t.after(() => manager.shutdown())
    await manager.initialize()
    const session = await manager.createSession()
    const closed = once(session, 'close')
    await session.navigate(site.url('/first'))
    assert.deepEqual(await closed, [{ reason: 'expired' }])
    const again = await manager.resumeSession(session.sessionId)
    assert.equal((await again.evaluate('location.href')).value, site.url('/first'))
  })

  for (const [what, options] of Object.entries({
    'a session': {},
    'a session with a storage state': {
      storageState: {
        cookies: [{ name: 'sid', value: '42', domain: '127.0.0.1', path: '/' }],
        origins: []
      }
    }
  })) {
    test(
      `${what} whose browser is killed right after its first call is resumed at its URL`,
      { skip: process.platform !== 'linux' },
      async (t) => {
        const site = await startSite(t, { '/first': '<title>First</title>' })
        const manager = new SessionManager(UNSTORED)
        t.after(() => manager.shutdown())
        await manager.initialize()
        const session = await manager.createSession(options)
        await session.navigate(site.url('/first'))
        const before = browsers(process.pid)
        const folders = profileFolders(before)
        for (const { pid } of before) process.kill(pid, 'SIGKILL')
        await awaitProcessesEnded(before)
        // The server removes the profiles when it notices the death. A call before that would
        // report it.
        await until(() => !folders.some((folder) => existsSync(folder)), 'the end of the profiles')
        assert.equal((await session.evaluate('location.href')).value, site.url('/first'))
        const { cookies } = await session.getCookies()
        assert.deepEqual(
          cookies.map(({ name, value }) => [name, value]),
          options.storageState ? [['sid', '42']] : []
        )
      }
    )
  }
})
