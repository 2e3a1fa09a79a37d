// Resumed sessions: after their server was killed, after they expired, and at the start of the next
// server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { kill, NO_SQLITE, query, recordFile, temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import {
  logInAsMember,
  DESCRIBE_STORAGE,
  FILL_STORAGE,
  formOf,
  HALF_FILLED,
  awaitDurableState,
  memberSite,
  startOn
} from '../support/state.mjs'
import { refIn } from '../support/snapshots.mjs'
import { until } from '../support/wait.mjs'

const isWebkit = BROWSER === 'webkit'

/** WebKit's viewport cannot be chosen. */
const LOCALE = isWebkit ? {} : { locale: 'de-DE' }
/** A session timeout in ms. It includes the start of the browser. */
const BRIEF = { chromium: '2500', firefox: '12000', webkit: '15000' }[BROWSER]

/** Returns a condition: whether `list_sessions` shows the session in this state. */
const isIn = (server, sessionId, state) => async () =>
  (await server.ok('list_sessions', { state })).sessions.some(
    (session) => session.sessionId === sessionId
  )

/**
 * Maximum ms until a large database was read again. The pause between two reads is a multiple of
 * the duration of a read, so it is long on a busy machine.
 */
const SEVERAL_READS = 60_000

describe('session_resume', { timeout: 120_000 }, () => {
  test('after kill -9 of the server restores the log-in, the form, scroll positions, pages, storage and refs', async (t) => {
    const site = await memberSite(t)
    const other = await memberSite(t)
    const record = recordFile(t)
    const dying = await startOn(t, record)
    const sessionId = await dying.createSession({
      ...LOCALE,
      viewport: { width: 700, height: 500 }
    })
    await dying.ok('navigate', { sessionId, url: other.url('/plain') })
    await dying.ok('evaluate', { sessionId, script: 'localStorage.elsewhere = 1' })
    await dying.ok('navigate', { sessionId, url: site.url('/plain') })
    await dying.ok('evaluate', { sessionId, script: FILL_STORAGE })
    const described = (await dying.ok('evaluate', { sessionId, script: DESCRIBE_STORAGE })).value
    await logInAsMember(dying, site, sessionId)
    await dying.ok('type', { sessionId, selector: '#password', text: 'secret' })
    await dying.ok('evaluate', {
      sessionId,
      script: "scrollTo(0, 700); document.querySelector('#box').scrollTop = 300"
    })
    await dying.ok('set_viewport', { sessionId, width: 720, height: 510 })
    await dying.ok('pages', { sessionId, action: 'new', url: other.url('/plain') })
    await dying.ok('pages', { sessionId, action: 'select', pageId: 'page-1' })
    const snapshot = await dying.ok('snapshot', { sessionId })
    const [save, press] = [/button "Save"/, /button "Press"/].map((name) => refIn(snapshot, name))
    assert.match(press, /^f\d+e\d+$/)
    await awaitDurableState()
    await kill(dying)

    const server = await startOn(t, record)
    await until(isIn(server, sessionId, 'recoverable'), 'the session in the list')
    const back = await server.ok('session_resume', { sessionId })
    assert.deepEqual(
      back.pages.map(({ pageId, url }) => [pageId, url]),
      [
        ['page-1', site.url('/members')],
        ['page-2', other.url('/plain')]
      ]
    )
    assert.equal(back.sessionId, sessionId)
    // Calls without a sessionId now use this session.
    assert.deepEqual(await formOf(server), HALF_FILLED)
    const facts = (
      await server.ok('evaluate', {
        script:
          "[scrollY, document.querySelector('#box').scrollTop, innerWidth, navigator.language, history.length]"
      })
    ).value
    assert.deepEqual(facts.slice(0, 4), [700, 300, 720, LOCALE.locale ?? 'en-US'])
    const again = (await server.ok('evaluate', { script: DESCRIBE_STORAGE })).value
    assert.deepEqual(again, described)
    assert.equal(
      (await server.ok('evaluate', { pageId: 'page-2', script: 'localStorage.elsewhere' })).value,
      '1'
    )
    assert.equal(
      (await server.ok('get_cookies')).cookies.find(({ name }) => name === 'sid')?.httpOnly,
      true
    )
    // The refs refer to the same elements, also in frames. New refs have other numbers.
    assert.match((await server.ok('click', { selector: save })).message, /Save/)
    assert.equal((await server.ok('evaluate', { script: 'document.title' })).value, 'Saved Ann')
    assert.match((await server.ok('click', { selector: press })).message, /Press/)
    const { json } = await server.call('click', { selector: 'e9999', timeout: 200 })
    assert.equal(json.errorCode, 'ELEMENT_NOT_FOUND')
    assert.equal(json.details.reason, 'stale')
  })

  test('never assigns a ref to another element', async (t) => {
    let changed = false
    const site = await memberSite(t, {
      '/list': (_request, response) => {
        response.setHeader('content-type', 'text/html')
        response.end(
          changed
            ? '<button>New</button><button>Two</button>'
            : '<button>One</button><button>Two</button>'
        )
      }
    })
    const record = recordFile(t)
    const dying = await startOn(t, record)
    const sessionId = await dying.createSession()
    await dying.ok('navigate', { sessionId, url: site.url('/list') })
    const refs = [
      ...(await dying.ok('snapshot', { sessionId })).matchAll(/"(\w+)".*? \[ref=(e\d+)\]/g)
    ].map(([, name, ref]) => [name, ref])
    assert.deepEqual(
      refs.map(([name]) => name),
      ['One', 'Two']
    )
    await awaitDurableState()
    await kill(dying)
    changed = true
    const server = await startOn(t, record)
    await server.ok('session_resume', { sessionId })
    const { json } = await server.call('click', { sessionId, selector: refs[0][1] })
    assert.equal(json?.errorCode, 'ELEMENT_NOT_FOUND')
    assert.equal(json.details.reason, 'stale')
    assert.match((await server.ok('click', { sessionId, selector: refs[1][1] })).message, /Two/)
    const now = [
      ...(await server.ok('snapshot', { sessionId })).matchAll(/"(\w+)".*? \[ref=(e\d+)\]/g)
    ]
    assert.equal(now.find(([, name]) => name === 'Two')?.[2], refs[1][1])
    assert.ok(!refs.some(([, ref]) => ref === now.find(([, name]) => name === 'New')?.[2]))
  })

  test('after expiry restores a session, with and without a record', async (t) => {
    const site = await memberSite(t)
    const comesBack = async (store) => {
      const server = await startOn(t, store, [
        '--session-timeout',
        BRIEF,
        '--session-expiry',
        'fixed'
      ])
      const sessionId = await server.createSession()
      await logInAsMember(server, site, sessionId)
      await until(
        async () =>
          (await server.call('get_text', { sessionId, selector: 'h1' })).json?.errorCode ===
          'SESSION_EXPIRED',
        'the expiry',
        25_000
      )
      await until(isIn(server, sessionId, 'expired'), 'the session in the list')
      const { expiresAt } = await server.ok('session_resume', { sessionId })
      assert.ok(expiresAt > Date.now())
      assert.deepEqual(await formOf(server, sessionId), HALF_FILLED)
      await server.end()
    }
    await Promise.all([recordFile(t), 'none'].map(comesBack))
  })

  test('right at the expiry waits until the state of the session is saved', async (t) => {
    const site = await startSite(t, { '/late': '<title>Late</title><input>' })
    const server = await startOn(t, recordFile(t), [
      '--session-timeout',
      BRIEF,
      '--session-expiry',
      'fixed'
    ])
    await server.awaitBrowserReady()
    const { sessionId, expiresAt } = await server.ok('create_session')
    await server.ok('navigate', { sessionId, url: site.url('/late') })
    const awaited = 'the last 500 ms of the session'
    await until(() => Date.now() >= expiresAt - 500, awaited, Number(BRIEF))
    // Only the last save contains this, and it takes as long as the page is busy.
    const script = `document.querySelector('input').value = 'typed late'; while (Date.now() < ${expiresAt + 250});`
    const { json } = await server.call('evaluate', { sessionId, script })
    assert.equal(json?.errorCode, 'SESSION_EXPIRED')
    await server.ok('session_resume', { sessionId })
    assert.equal(
      (await server.ok('evaluate', { sessionId, script: "document.querySelector('input').value" }))
        .value,
      'typed late'
    )
    assert.equal(await isIn(server, sessionId, 'expired')(), false)
  })

  test('restores a session after a normal end of its server, unless that is disabled or the session was closed', async (t) => {
    const site = await memberSite(t)
    const record = recordFile(t)
    const first = await startOn(t, record)
    await logInAsMember(first, site)
    const [{ sessionId: own }] = (await first.ok('list_sessions')).sessions
    const closed = await first.createSession()
    await first.ok('navigate', { sessionId: closed, url: site.url('/plain') })
    await first.ok('close_session', { sessionId: closed })
    await first.end()

    const second = await startOn(t, record, ['--persistent-sessions', 'false'])
    const { sessions } = await second.ok('list_sessions')
    assert.deepEqual(
      sessions.map(({ sessionId, state }) => [sessionId, state]),
      [[own, 'recoverable']]
    )
    assert.equal(sessions[0].pages[0].url, site.url('/members'))
    await second.ok('session_resume', { sessionId: own })
    assert.deepEqual(await formOf(second), HALF_FILLED)
    const { json } = await second.call('session_resume', { sessionId: closed })
    assert.equal(json.errorCode, 'SESSION_NOT_FOUND')
    assert.equal(json.details.reason, 'closed')
    await second.end()

    const third = await startOn(t, record)
    assert.deepEqual((await third.ok('list_sessions')).sessions, [])
    assert.equal(
      (await third.call('session_resume', { sessionId: own })).json.errorCode,
      'SESSION_NOT_FOUND'
    )
  })

  test('does not take a session that another server uses', async (t) => {
    const site = await memberSite(t)
    const record = recordFile(t)
    const [one, other] = [await startOn(t, record), await startOn(t, record)]
    const sessionId = await one.createSession()
    await logInAsMember(one, site, sessionId)
    // The first call is rejected even if no state was saved yet.
    for (const [tool, args] of /** @type {const} */ ([
      ['session_resume', {}],
      ['click', { selector: '#x' }]
    ])) {
      const { json } = await other.call(tool, { sessionId, ...args })
      assert.equal(json.errorCode, 'SESSION_NOT_FOUND')
      assert.equal(
        json.message,
        `session \`${sessionId}\` is in use by another server (process ${one.child.pid}) in this working directory`
      )
      assert.deepEqual(json.details, { reason: 'inUse', workingDirectory: process.cwd() })
    }
    assert.equal((await one.ok('session_resume', { sessionId })).sessionId, sessionId)
    assert.deepEqual(await formOf(one, sessionId), HALF_FILLED)
    await awaitDurableState()
    await kill(one)
    // With two concurrent calls, the session is resumed once.
    const both = await Promise.all([
      other.ok('session_resume', { sessionId }),
      other.ok('session_resume', { sessionId })
    ])
    assert.deepEqual(
      both.map((each) => each.sessionId),
      [sessionId, sessionId]
    )
    assert.equal((await other.ok('list_sessions', { state: 'active' })).sessions.length, 1)
    assert.deepEqual(await formOf(other, sessionId), HALF_FILLED)
  })

  test(
    'restores changes that a busy page could not report after its last call',
    { skip: NO_SQLITE },
    async (t) => {
      const site = await memberSite(t, { '/begun': (_request, response) => response.end() })
      const record = recordFile(t)
      const dying = await startOn(t, record)
      const sessionId = await dying.createSession()
      await logInAsMember(dying, site, sessionId)
      const late =
        "localStorage.late = 1; field.value = 'Late'; field.dispatchEvent(new Event('input', { bubbles: true }))"
      const busy =
        "const begun = new XMLHttpRequest(); begun.open('GET', '/begun', false); begun.send(); for (const end = Date.now() + 2500; Date.now() < end; );"
      await dying.ok('evaluate', {
        sessionId,
        script: `const field = document.querySelector('#name'); setTimeout(() => { ${busy} ${late} }, 100)`
      })
      await until(() => site.requests.some(({ path }) => path === '/begun'), 'the busy script')
      // The page is busy during the save that follows this call.
      await dying.ok('pages', { sessionId, action: 'list' })
      // No further call comes: the state is saved again automatically.
      await until(
        () => query(record, "SELECT 1 FROM session_snapshots WHERE state LIKE '%Late%'").length > 0,
        'the state after the busy script',
        20_000
      )
      await kill(dying)
      const server = await startOn(t, record)
      await server.ok('session_resume', { sessionId })
      assert.deepEqual(await formOf(server, sessionId), HALF_FILLED.with(1, 'Late'))
      assert.equal(
        (await server.ok('evaluate', { sessionId, script: 'localStorage.late' })).value,
        '1'
      )
    }
  )

  test(
    'writes the storage of an origin only when it has changed, and restores large databases',
    { skip: NO_SQLITE || isWebkit },
    async (t) => {
      const site = await memberSite(t)
      const record = recordFile(t)
      const dying = await startOn(t, record)
      const sessionId = await dying.createSession()
      const put = (text) => `new Promise((resolve, reject) => {
      const request = indexedDB.open('large', 1)
      request.onupgradeneeded = () => request.result.createObjectStore('texts')
      request.onerror = () => reject(request.error)
      request.onsuccess = () => {
        const transaction = request.result.transaction('texts', 'readwrite')
        transaction.objectStore('texts').put(${text}, 'key')
        transaction.oncomplete = () => { request.result.close(); resolve(true) }
      }
    })`
      await dying.ok('navigate', { sessionId, url: site.url('/plain') })
      await dying.evaluate(put("'first ' + '\\ud83d \\u{1f600}\"'.repeat(200000)"), { sessionId })
      const origin = () =>
        query(record, 'SELECT rowid, hash, length(storage) AS length FROM session_origins')[0]
      const first = await until(
        () => (origin()?.length > 1e6 ? origin() : null),
        'the large database in the record',
        SEVERAL_READS
      )
      const scrolled = await dying.evaluate(
        "document.body.style.height = '9000px'; scrollTo(0, 777); scrollY",
        { sessionId }
      )
      await until(
        () =>
          query(record, `SELECT 1 FROM session_snapshots WHERE state LIKE '%"y":${scrolled}%'`)
            .length > 0,
        'the scroll position in the record'
      )
      assert.deepEqual(origin(), first, 'only the scroll position is written')
      await dying.evaluate(put("'second'"), { sessionId })
      await until(
        () => origin().hash !== first.hash,
        'the changed database in the record',
        SEVERAL_READS
      )
      await dying.evaluate(put("'third ' + 'x'.repeat(2000000)"), { sessionId })
      await until(() => origin().length > 2e6, 'the large database in the record', SEVERAL_READS)
      await kill(dying)

      const server = await startOn(t, record)
      await server.ok('session_resume', { sessionId })
      const read = `new Promise((resolve) => {
      const request = indexedDB.open('large')
      request.onsuccess = () => {
        const found = request.result.transaction('texts').objectStore('texts').get('key')
        found.onsuccess = () => resolve([found.result.slice(0, 8), found.result.length])
      }
    })`
      assert.deepEqual(await server.evaluate(read, { sessionId }), ['third xx', 2000006])
    }
  )

  test('a session of another working directory is not listed, but can be resumed by its id', async (t) => {
    const site = await memberSite(t)
    const record = recordFile(t)
    const folder = temporaryFolder(t)
    const elsewhere = () => startServer(t, ['--store', record], { cwd: folder })
    const first = await elsewhere()
    const sessionId = await first.createSession()
    await first.ok('navigate', { sessionId, url: site.url('/plain') })
    const here = await startOn(t, record)
    const { json } = await here.call('session_resume', { sessionId })
    assert.equal(
      json.message,
      `session \`${sessionId}\` is in use by another server (process ${first.child.pid}) in another working directory, \`${folder}\``
    )
    await first.end()
    assert.deepEqual((await here.ok('list_sessions')).sessions, [])
    assert.equal((await here.ok('session_resume', { sessionId })).pages[0].url, site.url('/plain'))
  })

  test('the list has the ten most recent sessions that have left about:blank', async (t) => {
    const site = await startSite(t)
    const record = recordFile(t)
    const first = await startOn(t, record, ['--max-sessions', '20'])
    const ids = []
    for (let number = 0; number < 12; number++) ids.push(await first.createSession())
    for (const sessionId of ids) await first.ok('navigate', { sessionId, url: site.url('/') })
    // The first is used last. The record updates the time of use once a second.
    const nextSecond = Date.now() + 1000
    await until(() => Date.now() > nextSecond, 'the next second')
    await first.ok('evaluate', { sessionId: ids[0], script: '1' })
    const blank = await first.createSession()
    await first.ok('evaluate', { sessionId: blank, script: '1' })
    const withCookie = await first.createSession()
    await first.ok('set_cookies', {
      sessionId: withCookie,
      cookies: [{ name: 'a', value: 'b', url: site.url('/'), expires: Date.now() / 1000 + 3600 }]
    })
    await first.end()
    const dying = await startOn(t, record)
    const killed = await dying.createSession()
    await dying.ok('evaluate', { sessionId: killed, script: '1' })
    await awaitDurableState()
    await kill(dying)

    const server = await startOn(t, record)
    const { sessions } = await server.ok('list_sessions')
    const listed = sessions.map(({ sessionId }) => sessionId)
    assert.equal(listed.length, 10)
    assert.ok(!listed.includes(blank) && !listed.includes(killed), 'a blank session is listed')
    assert.ok(listed.includes(withCookie) && listed.includes(ids[0]), 'a recent session is missing')
    assert.equal(
      (await server.ok('list_sessions', { state: 'recoverable' })).sessions.filter(
        ({ sessionId }) => ids.includes(sessionId)
      ).length,
      12
    )
    assert.deepEqual((await server.call('session_resume', { sessionId: blank })).json.details, {
      reason: 'closed'
    })
  })

  test('canceled while it runs, leaves its slot free and the session resumable', async (t) => {
    /** @type {(() => void)[]} */
    const held = []
    let isHeld = false
    const site = await startSite(t, {
      '/page': (_request, response) => {
        const answer = () =>
          response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Page</title>')
        if (isHeld) held.push(answer)
        else answer()
      }
    })
    const record = recordFile(t)
    const first = await startOn(t, record)
    const sessionId = await first.createSession()
    await first.ok('navigate', { sessionId, url: site.url('/page') })
    await first.end()

    isHeld = true
    const server = await startOn(t, record, ['--max-sessions', '1', '--queue-timeout', '10000'])
    server.call('session_resume', { sessionId }, { id: 'canceled' }).catch(() => null)
    await until(() => held.length > 0, 'the page to be loaded again')
    server.notify('notifications/cancelled', { requestId: 'canceled', reason: 'no longer wanted' })
    const other = await server.createSession()
    const answer = server.received.find((message) => message.id === 'canceled')
    assert.ok(!answer?.result, JSON.stringify(answer))
    isHeld = false
    for (const answer of held) answer()
    await server.ok('close_session', { sessionId: other })
    const { pages } = await server.ok('session_resume', { sessionId })
    assert.deepEqual(
      pages.map(({ url }) => url),
      [site.url('/page')]
    )
    assert.equal(
      (await server.ok('evaluate', { sessionId, script: 'document.title' })).value,
      'Page'
    )
  })

  test('of an unknown id reports that there is no such session', async (t) => {
    const server = await startOn(t, 'memory')
    const { json } = await server.call('session_resume', {
      sessionId: '00000000-0000-4000-8000-000000000000'
    })
    assert.equal(json.errorCode, 'SESSION_NOT_FOUND')
  })
})

describe('--auto-resume', { timeout: 60_000 }, () => {
  test('resumes the sessions of a killed server at startup, with the same ids', async (t) => {
    const site = await memberSite(t)
    const record = recordFile(t)
    const dying = await startOn(t, record)
    await logInAsMember(dying, site)
    const created = await dying.createSession()
    await dying.ok('navigate', { sessionId: created, url: site.url('/plain') })
    const before = (await dying.ok('list_sessions')).sessions
      .map(({ sessionId }) => sessionId)
      .sort()
    await awaitDurableState()
    await kill(dying)
    const server = await startOn(t, record, ['--auto-resume'])
    const after = (await server.ok('list_sessions')).sessions
    assert.deepEqual(
      after.map(({ sessionId, state }) => [sessionId, state]).sort(),
      before.map((id) => [id, 'active'])
    )
    const own = after.find(({ sessionId }) => sessionId !== created)
    assert.equal(own.expiresAt, undefined)
    assert.deepEqual(await formOf(server, own.sessionId), HALF_FILLED)
    assert.equal(
      (await server.ok('evaluate', { sessionId: created, script: 'document.title' })).value,
      'Plain'
    )
  })
})
