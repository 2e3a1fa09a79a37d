// `--store postgres://…`: sessions move between servers, and outages of the database lose no call.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { NO_POSTGRES, startPostgres } from '../support/postgres.mjs'
import { kill, temporaryFolder } from '../support/record.mjs'
import { troupe } from '../support/scripts.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { lossLimit } from '../support/state.mjs'
import { until } from '../support/wait.mjs'

const PAGE = '<title>Form</title><h1>Form</h1><input aria-label="Name">'

/** @param {import('../support/http.mjs').HttpServer} server @param {string} name */
async function metric(server, name) {
  const text = await (await server.fetch('/metrics')).text()
  return Number(new RegExp(`^troupe_${name} (.+)$`, 'm').exec(text)?.[1])
}

/**
 * Resumes a session. Repeats that until the lease of its former server has expired, after 3 s.
 * @param {import('../support/server.mjs').Server} server @param {string} sessionId
 */
const resumed = (server, sessionId) =>
  until(
    async () => !(await server.call('session_resume', { sessionId })).json.errorCode,
    'the end of the lease',
    30_000,
    250
  )

describe('--store postgres://', { timeout: 120_000, skip: NO_POSTGRES }, () => {
  test('lets another server resume a session after kill -9, once, with its calls and cursors', async (t) => {
    const database = await startPostgres(t)
    const site = await startSite(t, { '/form': PAGE })
    const first = await startServer(t, ['--store', database.url])
    const second = await startServer(t, ['--store', database.url])
    const sessionId = await first.createSession()
    const { meta } = await first.call('navigate', { sessionId, url: site.url('/form') })
    await first.ok('type', { sessionId, selector: 'label=Name', text: 'Ada' })
    assert.match(await first.ok('get_content', { ref_id: meta.refId }), /heading "Form"/)
    const used = await second.call('session_resume', { sessionId })
    assert.equal(used.json.details.reason, 'inUse', JSON.stringify(used.json))
    await lossLimit()
    await kill(first)

    await resumed(second, sessionId)
    const typed = await second.ok('evaluate', {
      sessionId,
      script: 'document.querySelector("input").value'
    })
    assert.equal(JSON.stringify(typed).includes('Ada'), true, JSON.stringify(typed))
    assert.equal(await second.ok('get_content', { ref_id: meta.refId }), '')
    const { requests } = await second.ok('list_requests', { sessionId, limit: 100 })
    const tools = requests.map((/** @type {any} */ call) => call.tool)
    assert.deepEqual(
      tools.filter((/** @type {string} */ tool) => ['navigate', 'type'].includes(tool)),
      ['type', 'navigate']
    )
    const third = await startServer(t, ['--store', database.url])
    const late = await third.call('session_resume', { sessionId })
    assert.equal(late.json.details.reason, 'inUse', JSON.stringify(late.json))
  })

  test('rejects the calls of a frozen server to a session that another server has resumed', async (t) => {
    const database = await startPostgres(t)
    const site = await startSite(t, { '/form': PAGE })
    const frozen = await startServer(t, ['--store', database.url])
    const next = await startServer(t, ['--store', database.url])
    const sessionId = await frozen.createSession()
    await frozen.ok('navigate', { sessionId, url: site.url('/form') })
    await lossLimit()
    frozen.child.kill('SIGSTOP')
    await resumed(next, sessionId)
    frozen.child.kill('SIGCONT')
    const { json } = await frozen.call('evaluate', { sessionId, script: '1' })
    assert.deepEqual(
      [json.errorCode, json.retryable, json.details.reason],
      ['SERVER_UNAVAILABLE', true, 'sessionTakenOver']
    )
    await next.ok('evaluate', { sessionId, script: '1' })
    const again = await frozen.call('evaluate', { sessionId, script: '1' })
    assert.ok(again.json.errorCode, JSON.stringify(again.json))
  })

  test('with --store-failure refuse, calls fail during an outage, can be retried, and are all recorded', async (t) => {
    const database = await startPostgres(t)
    const server = await startHttpServer(t, [
      ...['--store', database.url, '--store-timeout', '500', '--store-failure', 'refuse']
    ])
    const client = await server.connect()
    await client.ok('evaluate', { script: '1' })
    assert.equal(await metric(server, 'record_available'), 1)
    await database.stop()
    const { json } = await client.call('evaluate', { script: 'document.title = "not run"' })
    assert.deepEqual(
      [json.errorCode, json.retryable, json.details.reason],
      ['RESOURCE_EXHAUSTED', true, 'storeUnavailable']
    )
    assert.match(json.message, /the call was not run/)
    const health = await fetch(server.at('/health'))
    assert.equal(health.status, 503)
    const { reason, record } = await health.json()
    assert.match(reason, /the record cannot be written/)
    assert.equal(record.status, 'unavailable')
    assert.equal((await fetch(server.at('/ready'))).status, 200)
    assert.equal(await metric(server, 'record_available'), 0)
    assert.ok((await metric(server, 'record_queue')) > 0)

    await database.start()
    const title = await until(async () => {
      const { json } = await client.call('evaluate', { script: 'document.title' })
      return !json?.errorCode && { json }
    }, 'a recorded call')
    assert.ok(!JSON.stringify(title).includes('not run'), JSON.stringify(title))
    assert.equal((await fetch(server.at('/health'))).status, 200)
    const { requests } = await client.ok('list_requests')
    assert.ok(requests.length >= 3, JSON.stringify(requests))
    assert.equal(await metric(server, 'record_lost_entries_total'), 0)
  })

  test('with --store-failure continue, calls go on during an outage, and /health is degraded', async (t) => {
    const database = await startPostgres(t)
    const server = await startHttpServer(t, [
      ...['--store', database.url, '--store-timeout', '300', '--store-failure', 'continue']
    ])
    const client = await server.connect()
    await client.ok('evaluate', { script: '1' })
    await database.stop('SIGQUIT')
    await client.ok('evaluate', { script: '2' })
    const health = await fetch(server.at('/health'))
    assert.deepEqual([health.status, (await health.json()).status], [200, 'degraded'])
    await database.start()
    await until(
      async () => (await (await fetch(server.at('/health'))).json()).status === 'ok',
      'it'
    )
    const { requests } = await client.ok('list_requests')
    assert.equal(requests.length, 2, JSON.stringify(requests))
  })

  test('is used by troupe sessions and doctor, which do not print the password', async (t) => {
    const database = await startPostgres(t)
    const site = await startSite(t, { '/form': PAGE })
    const store = database.url.replace('postgres@', 'postgres:hidden@')
    const server = await startServer(t, ['--store', store])
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    await server.ok('screenshot', { sessionId })
    await server.end()
    const { stdout: list } = await troupe('sessions', '--store', store)
    assert.match(list, new RegExp(`${sessionId} +(closed|recoverable) .* 3\n`))
    assert.match(list, /1 session in postgres:/)
    const folder = join(temporaryFolder(t), 'export')
    await troupe('sessions', 'export', sessionId, folder, '--store', store)
    assert.ok(readdirSync(folder).some((name) => name.endsWith('.png')))
    assert.match(readFileSync(join(folder, 'report.md'), 'utf8'), /navigate/)
    const { stdout: deleted } = await troupe(
      'sessions',
      'purge',
      '--all',
      '--yes',
      '--store',
      store
    )
    assert.match(deleted, /^Deleted 1 session and 3 calls in postgres:/)
    const { stdout: checked } = await troupe('doctor', '--store', store)
    assert.match(checked, /record: postgres:.* can be used/)
    for (const text of [list, deleted, checked, server.stderr()])
      assert.doesNotMatch(text, /hidden/)
  })
})
