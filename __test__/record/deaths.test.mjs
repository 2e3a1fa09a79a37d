// Seed 002, resiliency: what is in the record after a death, and how work goes on. A hundred deaths are in __test__/soak.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { dieDuringCalls } from '../support/deaths.mjs'
import { NO_SQLITE, kill, query, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

describe('deaths', { timeout: 180_000, skip: NO_SQLITE }, () => {
  test('killed at a random moment, the file is whole and holds every answer that the client has, byte for byte', async (t) => {
    const file = recordFile(t)
    for (let death = 0; death < 8; death++) await dieDuringCalls(t, file, Math.random() * 400)
  })

  test('the server is killed in mid-session: the data is intact, old sessions are told as over, content is read after it', async (t) => {
    const file = recordFile(t)
    const site = await startSite(t, { '/a': '<title>A</title><h1>Before the crash</h1>' })
    const first = await startServer(t, ['--store', file])
    const sessionId = await first.createSession()
    const { meta } = await first.call('navigate', { sessionId, url: site.url('/a') })
    await kill(first)
    assert.deepEqual(query(file, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }])

    // The client comes back, to a new server, with a new session.
    const second = await startServer(t, ['--store', file])
    assert.ok(await second.createSession())
    assert.match(await second.ok('get_content', { ref_id: meta.refId }), /Before the crash/)
    assert.deepEqual((await second.ok('list_requests', { sessionId })).requests.map(({ tool }) => tool), ['navigate', 'create_session'])
  })

  test('diff cursors survive the restart, and resumed reads return the correct delta', async (t) => {
    const file = recordFile(t)
    const site = await startSite(t, { '/grows': '<title>Grows</title><h1>Grows</h1>' + '<p>A line of text</p>'.repeat(30) })
    const first = await startServer(t, ['--store', file])
    const sessionId = await first.createSession()
    const { meta } = await first.call('navigate', { sessionId, url: site.url('/grows') })
    await first.ok('get_content', { session_id: sessionId })
    await first.ok('get_content', { ref_id: meta.refId })
    await first.ok('evaluate', { sessionId, script: "document.body.append(Object.assign(document.createElement('h2'), { textContent: 'New' }))" })
    await first.ok('hover', { sessionId, selector: 'h1' })
    await kill(first)
    const second = await startServer(t, ['--store', file])
    assert.equal(await second.ok('get_content', { ref_id: meta.refId }), '')
    const delta = await second.ok('get_content', { session_id: sessionId })
    assert.match(delta, /^@@ .* @@\n\+- heading "New"/)
    assert.equal(await second.ok('get_content', { session_id: sessionId }), '')
  })

  test('the server shuts down while the client is attached: what ran is in the record as cut short', async (t) => {
    const file = recordFile(t)
    const site = await startSite(t)
    const server = await startServer(t, ['--store', file])
    const hold = site.hold('/hang')
    const hanging = server.call('navigate', { url: site.url('/hang') })
    await hold.requested
    server.child.kill('SIGTERM')
    assert.deepEqual(await server.exit, { code: 0, signal: null })
    await hanging
    const [row] = query(file, "SELECT status, error_message FROM requests JOIN responses USING (ref_id) WHERE tool_name = 'navigate'")
    assert.equal(row.status, 'error')
    assert.deepEqual(query(file, 'SELECT * FROM servers'), [])
  })
})
