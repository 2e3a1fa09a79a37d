// `--store postgres://…`: sessions move between servers, and outages of the database lose no call.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cleanEnvironment } from '../support/browser.mjs'
import { startHttpServer } from '../support/http.mjs'
import {
  AUTHORITY,
  NO_POSTGRES,
  OTHER_AUTHORITY,
  PASSWORD,
  startPostgres
} from '../support/postgres.mjs'
import { kill, recordFile, temporaryFolder } from '../support/record.mjs'
import { run, troupe } from '../support/scripts.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { until } from '../support/wait.mjs'

const PAGE = '<title>Form</title><h1>Form</h1><input aria-label="Name">'
const VALUE = { script: 'document.querySelector("input").value' }

/**
 * Resumes a session. Repeats that until the lease of its former server has expired, after 3 s.
 * @param {import('../support/server.mjs').Server} server @param {string} sessionId
 */
const resumeAfterLease = (server, sessionId) =>
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
    await awaitDurableState()
    await kill(first)

    await resumeAfterLease(second, sessionId)
    const typed = await second.ok('evaluate', { sessionId, ...VALUE })
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
    await awaitDurableState()
    frozen.child.kill('SIGSTOP')
    await resumeAfterLease(next, sessionId)
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
    assert.equal(await server.metric('record_available'), 1)
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
    assert.equal(await server.metric('record_available'), 0)
    assert.ok((await server.metric('record_queue')) > 0)

    await database.start()
    const title = await until(async () => {
      const { json } = await client.call('evaluate', { script: 'document.title' })
      return !json?.errorCode && { json }
    }, 'a recorded call')
    assert.ok(!JSON.stringify(title).includes('not run'), JSON.stringify(title))
    assert.equal((await fetch(server.at('/health'))).status, 200)
    const { requests } = await client.ok('list_requests')
    assert.ok(requests.length >= 3, JSON.stringify(requests))
    assert.equal(await server.metric('record_lost_entries_total'), 0)
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
    // A call does not wait for the entries that were queued during the outage.
    await until(
      async () => (await client.ok('list_requests')).requests.length === 2,
      'the entries of both calls'
    )
    await until(
      async () => (await (await fetch(server.at('/health'))).json()).status === 'ok',
      'the recovery of the record'
    )
    assert.equal(await server.metric('record_lost_entries_total'), 0)
  })

  test('gets the record of a file with troupe store migrate, and resumes its sessions', async (t) => {
    const database = await startPostgres(t)
    const site = await startSite(t, { '/form': PAGE })
    const file = recordFile(t)
    const first = await startServer(t, ['--store', file])
    const sessionId = await first.createSession()
    const { meta } = await first.call('navigate', { sessionId, url: site.url('/form') })
    await first.ok('type', { sessionId, selector: 'label=Name', text: 'Ada' })
    await awaitDurableState()
    const used = await troupe('store', 'migrate', file, database.url).catch((error) => error)
    assert.match(used.stderr, /running servers use 1 session of .*; stop these servers/)
    await kill(first)

    const { stdout } = await troupe('store', 'migrate', `sqlite://${file}`, database.url)
    assert.match(stdout, /^Copied 1 session and 3 calls from .* to postgres:/)
    const { stdout: again } = await troupe('store', 'migrate', file, database.url)
    assert.match(again, /^Copied 0 sessions and 0 calls .*; 4 were there already/)
    const itself = await troupe('store', 'migrate', file, file).catch((error) => error)
    assert.match(itself.stderr, /cannot be copied into itself/)
    const missing = `${file}.missing`
    const none = await troupe('store', 'migrate', missing, file).catch((error) => error)
    assert.match(none.stderr, /there is no record at/)
    assert.equal(existsSync(missing), false)

    const next = await startServer(t, ['--store', database.url])
    await next.ok('session_resume', { sessionId })
    const { value } = await next.ok('evaluate', { sessionId, ...VALUE })
    assert.equal(value, 'Ada')
    assert.match(await next.ok('get_content', { ref_id: meta.refId }), /heading "Form"/)
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

  test('is reached over TCP with TLS, a certificate of a private authority, and a password', async (t) => {
    const database = await startPostgres(t, { tls: true })
    const site = await startSite(t, { '/form': PAGE })
    const url = database.tcpUrl('127.0.0.1', 'sslmode=require')
    const env = { TROUPE_STORE: url, SSL_CERT_FILE: AUTHORITY }
    const server = await startServer(t, [], { env })
    const sessionId = await server.createSession()
    const { meta } = await server.call('navigate', { sessionId, url: site.url('/form') })
    assert.match(await server.ok('get_content', { ref_id: meta.refId }), /heading "Form"/)
    await server.end()
    const { stdout, status } = await run(process.execPath, [BIN, 'sessions'], {
      env: cleanEnvironment({
        ...env,
        TROUPE_STORE: database.tcpUrl('127.0.0.1', 'sslmode=verify-full')
      })
    })
    assert.deepEqual([status, stdout.includes(sessionId)], [0, true], stdout)
    for (const text of [stdout, server.stderr()]) assert.ok(!text.includes(PASSWORD), text)
  })

  const tls = {
    ...{ host: '127.0.0.1', query: 'sslmode=require', authority: AUTHORITY },
    password: PASSWORD
  }
  const mistakes = [
    {
      ...tls,
      name: 'a certificate of another authority',
      authority: OTHER_AUTHORITY,
      message: /certificate is not trusted: .*UnknownIssuer.*set SSL_CERT_FILE/s
    },
    {
      ...tls,
      name: 'a certificate for another host',
      host: 'database.test',
      query: 'hostaddr=127.0.0.1&sslmode=require',
      message: /certificate is not trusted: .*database\.test/
    },
    { ...tls, name: 'a wrong password', password: 'hidden', message: /password authentication/ },
    { ...tls, name: 'a connection without TLS', query: 'sslmode=disable', message: /no encryption/ }
  ]
  test('is rejected at the start with a wrong certificate, password or mode', async (t) => {
    const database = await startPostgres(t, { tls: true })
    for (const { name, host, query, authority, message, password } of mistakes) {
      const url = database.tcpUrl(host, query, password)
      const env = cleanEnvironment({ TROUPE_STORE: url, SSL_CERT_FILE: authority })
      const { status, stdout, stderr } = await run(process.execPath, [BIN, 'sessions'], { env })
      assert.deepEqual([status, stdout], [1, ''], name)
      assert.match(stderr, message, name)
      assert.match(stderr, /cannot be used/, name)
      assert.doesNotMatch(stderr, /p@ss|hidden/, name)
    }
  })
})
