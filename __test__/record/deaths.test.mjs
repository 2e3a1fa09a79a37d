// The record after crashes of the server or the browser. `__test__/soak`
// repeats them more often.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { dieDuringCalls } from '../support/deaths.mjs'
import { browsers } from '../support/processes.mjs'
import { randomNumbers } from '../support/random.mjs'
import { NO_SQLITE, kill, query, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { until } from '../support/wait.mjs'

/**
 * Starts a server, reads a page by its session, and changes the page. `refId` is the id of its
 * navigation.
 * @param {import('node:test').TestContext} t
 */
async function changeReadPage(t) {
  const file = recordFile(t)
  const site = await startSite(t, {
    '/grows': '<title>Grows</title><h1>Grows</h1>' + '<p>A line of text</p>'.repeat(30)
  })
  const first = await startServer(t, ['--store', file])
  const sessionId = await first.createSession()
  const { meta } = await first.call('navigate', { sessionId, url: site.url('/grows') })
  await first.ok('get_content', { session_id: sessionId })
  const script =
    "document.body.append(Object.assign(document.createElement('h2'), { textContent: 'New' }))"
  await first.ok('evaluate', { sessionId, script })
  await first.ok('hover', { sessionId, selector: 'h1' })
  return { file, first, sessionId, refId: meta.refId }
}

describe('the record', { timeout: 180_000, skip: NO_SQLITE }, () => {
  test('after a kill at a random moment, the file is intact and has every result that the client got, byte for byte', async (t) => {
    const file = recordFile(t)
    const random = randomNumbers(t)
    let answered = 0
    for (let death = 0; death < 8; death++)
      answered += (await dieDuringCalls(t, file, random() * 400)).answered
    assert.ok(answered > 8, `only ${answered} results to compare`)
  })

  test('after a kill during a session, the data is intact, old sessions are reported as recoverable, and content can be read', async (t) => {
    const file = recordFile(t)
    const site = await startSite(t, { '/a': '<title>A</title><h1>Before the crash</h1>' })
    const first = await startServer(t, ['--store', file])
    const sessionId = await first.createSession()
    const { meta } = await first.call('navigate', { sessionId, url: site.url('/a') })
    await awaitDurableState()
    await kill(first)
    assert.deepEqual(query(file, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }])

    // The client connects to a new server and creates a new session.
    const second = await startServer(t, ['--store', file])
    assert.ok(await second.createSession())
    const { sessions } = await second.ok('list_sessions')
    assert.ok(
      sessions.some(
        (session) => session.sessionId === sessionId && session.state === 'recoverable'
      ),
      JSON.stringify(sessions)
    )
    assert.match(await second.ok('get_content', { ref_id: meta.refId }), /Before the crash/)
    assert.deepEqual(
      (await second.ok('list_requests', { sessionId })).requests.map(({ tool }) => tool),
      ['navigate', 'create_session']
    )
    const { json } = await second.call('snapshot', { sessionId })
    assert.deepEqual([json.errorCode, json.details.reason], ['SESSION_NOT_FOUND', 'recoverable'])
    assert.match(json.suggestion, /session_resume/)
  })

  test('diff cursors survive the restart, and resumed reads return the correct delta', async (t) => {
    const { file, first, sessionId, refId } = await changeReadPage(t)
    await first.ok('get_content', { ref_id: refId })
    await kill(first)
    const second = await startServer(t, ['--store', file])
    assert.equal(await second.ok('get_content', { ref_id: refId }), '')
    const delta = await second.ok('get_content', { session_id: sessionId })
    assert.match(delta, /^@@ .* @@\n\+- heading "New"/)
    assert.equal(await second.ok('get_content', { session_id: sessionId }), '')
  })

  test('after session_resume, get_content by session returns the unread change', async (t) => {
    const { file, first, sessionId } = await changeReadPage(t)
    await awaitDurableState()
    await kill(first)
    const second = await startServer(t, ['--store', file])
    await second.ok('session_resume', { sessionId })
    assert.match(
      await second.ok('get_content', { session_id: sessionId }),
      /^@@ .* @@\n\+- heading "New"/
    )
    assert.equal(await second.ok('get_content', { session_id: sessionId }), '')
  })

  test(
    'the states recoverable and stale are stored in the table',
    { skip: NO_SQLITE },
    async (t) => {
      const file = recordFile(t)
      const site = await startSite(t)
      const stateOf = (id) =>
        query(file, `SELECT state FROM sessions WHERE session_id = '${id}'`)[0]?.state
      const first = await startServer(t, ['--store', file])
      const [recent, old, unsaved] = [
        await first.createSession(),
        await first.createSession(),
        await first.createSession()
      ]
      for (const sessionId of [recent, old, unsaved])
        await first.ok('navigate', { sessionId, url: site.url('/') })
      await awaitDurableState()
      await kill(first)
      assert.equal(stateOf(recent), 'active', 'its end was not detected yet')
      query(
        file,
        `UPDATE session_snapshots SET saved_at = saved_at - 25 * 3600000 WHERE session_id = '${old}'`
      )
      query(file, `DELETE FROM session_snapshots WHERE session_id = '${unsaved}'`)
      const second = await startServer(t, ['--store', file])
      await second.ok('list_sessions')
      assert.deepEqual([recent, old, unsaved].map(stateOf), ['recoverable', 'stale', 'closed'])
      await second.ok('session_resume', { sessionId: recent })
      await second.ok('list_sessions')
      assert.equal(stateOf(recent), 'active')
      assert.equal((await second.end()).code, 0)
      assert.equal(
        stateOf(recent),
        'recoverable',
        'a server that shuts down normally stores the state itself'
      )
    }
  )

  test('calls during a restart of the browser get results, and are recorded with them', async (t) => {
    const file = recordFile(t)
    const site = await startSite(t, { '/a': '<title>A</title><h1>Back again</h1>' })
    const server = await startServer(t, ['--store', file])
    const sessions = await Promise.all([server.createSession(), server.createSession()])
    await awaitDurableState()
    // The URL needs no second wait: the server knows it without a query to the page.
    await Promise.all(
      sessions.map((sessionId) => server.ok('navigate', { sessionId, url: site.url('/a') }))
    )
    const [browser] = browsers(/** @type {number} */ (server.child.pid))
    process.kill(browser.pid, 'SIGKILL')
    const meanwhile = await Promise.all(
      Array.from({ length: 10 }, (_, number) =>
        server.call('evaluate', {
          sessionId: sessions[number % 2],
          script: `document.title + ${number}`
        })
      )
    )
    for (const [number, { isError, json }] of meanwhile.entries()) {
      if (isError) assert.deepEqual([json.errorCode, json.retryable], ['BROWSER_CRASHED', true])
      else assert.equal(json.value, `A${number}`)
    }
    // The calls that got an error are retried.
    for (const sessionId of sessions) {
      await until(
        async () =>
          (await server.call('evaluate', { sessionId, script: 'document.title' })).json?.value ===
          'A',
        'the session'
      )
    }
    await server.end()
    const rows = query(
      file,
      "SELECT ref_id, status FROM requests JOIN responses USING (ref_id) WHERE tool_name = 'evaluate'"
    )
    const recorded = new Map(rows.map(({ ref_id, status }) => [ref_id, status]))
    for (const { meta, isError } of meanwhile)
      assert.equal(recorded.get(meta.refId), isError ? 'error' : 'success')
  })

  test('when the server shuts down, running calls are recorded as failed', async (t) => {
    const file = recordFile(t)
    const site = await startSite(t)
    const server = await startServer(t, ['--store', file])
    const hold = site.hold('/hang')
    const hanging = server.call('navigate', { url: site.url('/hang') })
    await hold.requested
    server.child.kill('SIGTERM')
    assert.deepEqual(await server.exit, { code: 0, signal: null })
    await hanging
    const [row] = query(
      file,
      "SELECT status, error_message FROM requests JOIN responses USING (ref_id) WHERE tool_name = 'navigate'"
    )
    assert.equal(row.status, 'error')
    assert.deepEqual(query(file, 'SELECT * FROM servers'), [])
  })
})
