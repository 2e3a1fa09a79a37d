// Upstream servers: the record after Troupe was killed, and how its clients continue.
// supervision.test.mjs covers crashes of the upstream server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { freePort } from '../support/ports.mjs'
import { NO_SQLITE, kill, query, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { isPending, within } from '../support/wait.mjs'
import { QUICK, scripted } from './upstream.mjs'

const LINES = Array.from({ length: 30 }, (_, line) => `- text: line ${line}`).join('\n')

/**
 * Returns a function that starts a server on the same record after each crash.
 * @param {any} t
 * @param {string[]} [options] of the scripted server
 */
function onRecord(t, options) {
  const file = recordFile(t)
  const args = [...scripted(options).args, ...QUICK, '--store', file]
  return { file, args, start: () => startServer(t, args, { browser: false }) }
}

describe('the death of a server in upstream mode', { timeout: 120_000, skip: NO_SQLITE }, () => {
  test('leaves the data intact: old sessions are listed, and their content can be read', async (t) => {
    const { file, start } = onRecord(t)
    const first = await start()
    const sessionId = await first.createSession()
    const closed = await first.createSession()
    const { meta } = await first.call('browser_navigate', { sessionId, url: 'http://a/before' })
    const { meta: late } = await first.call('browser_navigate', {
      sessionId: closed,
      url: 'http://a/closed'
    })
    await first.ok('close_session', { sessionId: closed })
    await awaitDurableState()
    await kill(first)
    assert.deepEqual(query(file, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }])

    const second = await start()
    assert.ok(await second.createSession())
    const inState = async (state) =>
      (await second.ok('list_sessions', { state })).sessions.map((session) => session.sessionId)
    assert.deepEqual(
      [await inState('recoverable'), await inState('closed')],
      [[sessionId], [closed]]
    )
    assert.match(
      await second.ok('get_content', { ref_id: meta.refId }),
      /heading "http:\/\/a\/before"/
    )
    assert.match(
      await second.ok('get_content', { ref_id: late.refId }),
      /heading "http:\/\/a\/closed"/
    )
    assert.deepEqual(
      (await second.ok('list_requests', { sessionId })).requests.map(({ tool }) => tool),
      ['browser_navigate', 'create_session']
    )
    const { json } = await second.call('echo', { sessionId })
    assert.deepEqual([json.errorCode, json.details.reason], ['SESSION_NOT_FOUND', 'recoverable'])
  })

  test('marks a running call as failed', async (t) => {
    const { start } = onRecord(t)
    const first = await start()
    const sessionId = await first.createSession()
    await first.ok('echo', { sessionId })
    first.send({
      id: 'running',
      method: 'tools/call',
      params: { name: 'wait', arguments: { sessionId } }
    })
    await first.request('ping')
    await first.ok('list_requests', { sessionId })
    await kill(first)
    const second = await start()
    const { requests } = await second.ok('list_requests', { sessionId })
    assert.deepEqual(
      requests.map(({ tool, status }) => [tool, status]),
      [
        ['wait', 'error'],
        ['echo', 'success'],
        ['create_session', 'success']
      ]
    )
  })

  test('keeps the cursors: the next read returns the correct delta', async (t) => {
    const { start } = onRecord(t)
    const first = await start()
    const sessionId = await first.createSession()
    const { meta } = await first.call('show', { sessionId, text: LINES })
    assert.match(await first.ok('get_content', { session_id: sessionId }), /line 29/)
    await first.ok('get_content', { ref_id: meta.refId })
    await first.ok('show', { sessionId, text: `${LINES}\n- heading "New"` })
    await kill(first)
    const second = await start()
    assert.equal(await second.ok('get_content', { ref_id: meta.refId }), '')
    assert.match(
      await second.ok('get_content', { session_id: sessionId }),
      /^@@ .* @@\n\+- heading "New"\n$/
    )
    assert.equal(await second.ok('get_content', { session_id: sessionId }), '')
  })

  test('does not end a connected client, which can create and resume sessions and read the record', async (t) => {
    const { args } = onRecord(t, ['--storage'])
    const port = String(await freePort())
    const serve = () => startHttpServer(t, [...args, '--port', port], { browser: false })
    const first = await serve()
    const client = await startServer(t, ['--connect', `http://127.0.0.1:${port}`], {
      browser: false
    })
    const sessionId = await client.createSession()
    await client.ok('log_in', { sessionId })
    const { meta } = await client.call('browser_navigate', { sessionId, url: 'http://a/page' })
    await awaitDurableState()
    const running = client.call('wait', { sessionId })
    await client.request('ping')
    await kill(first)
    const broken = await within(running, 'the end of the call', 5000)
    assert.deepEqual([broken.json.errorCode, broken.json.retryable], ['SERVER_UNAVAILABLE', true])
    const meanwhile = client.call('echo', { sessionId, n: 1 })
    assert.ok(await isPending(meanwhile))
    await serve()
    const { json, text } = await within(meanwhile, 'the answer', 20_000)
    assert.equal(json.n, 1, text)
    assert.notEqual(await client.createSession(), sessionId)
    assert.match(await client.ok('get_content', { ref_id: meta.refId }), /http:\/\/a\/page/)
  })

  test('by a signal ends running calls with a retryable error', async (t) => {
    const { args } = onRecord(t)
    const port = String(await freePort())
    const server = await startHttpServer(t, [...args, '--port', port], { browser: false })
    const client = await startServer(t, ['--connect', `http://127.0.0.1:${port}`], {
      browser: false
    })
    const running = client.call('wait')
    await client.request('ping')
    server.child.kill('SIGTERM')
    const answer = await within(running, 'the end of the call', 20_000)
    assert.deepEqual([answer.isError, answer.json?.retryable], [true, true], JSON.stringify(answer))
    assert.equal((await server.exit).code, 0)
  })
})
