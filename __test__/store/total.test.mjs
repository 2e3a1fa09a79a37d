// The limit of open sessions for all servers that share a record: `--max-sessions-total`.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { NO_POSTGRES, startPostgres } from '../support/postgres.mjs'
import { kill, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { until } from '../support/wait.mjs'

const LIMIT = /the limit of all servers is 1 \(set by `--max-sessions-total`\)/

describe('--max-sessions-total', { timeout: 120_000 }, () => {
  test('limits the sessions of all servers that share a file, also those that are resumed', async (t) => {
    const args = ['--store', recordFile(t), '--max-sessions-total', '1']
    const [first, second] = [await startServer(t, args), await startServer(t, args)]
    const site = await startSite(t)
    const { sessionId } = await first.ok('create_session')
    await first.ok('navigate', { sessionId, url: site.url('/form') })
    for (const [tool, parameters] of /** @type {const} */ ([
      ['create_session', {}],
      ['navigate', { url: site.url('/form') }]
    ])) {
      const { json } = await second.call(tool, parameters)
      assert.equal(json.errorCode, 'MAX_SESSIONS_REACHED', JSON.stringify(json))
      assert.match(json.message, LIMIT)
      assert.deepEqual([json.details.maxSessionsTotal, json.retryable], [1, true])
      assert.match(json.suggestion, /raise --max-sessions-total/)
    }

    await awaitDurableState()
    await kill(first)
    const other = await second.ok('create_session')
    const { json } = await second.call('session_resume', { sessionId })
    assert.equal(json.errorCode, 'MAX_SESSIONS_REACHED', JSON.stringify(json))
    assert.match(json.message, LIMIT)
    await second.ok('close_session', { sessionId: other.sessionId })
    const resumed = await second.ok('session_resume', { sessionId })
    assert.equal(resumed.pages[0].url, site.url('/form'))
    assert.equal((await second.call('create_session')).json.errorCode, 'MAX_SESSIONS_REACHED')
  })

  test(
    'lets a call wait until a session of any server ends, or its server dies',
    { skip: NO_POSTGRES },
    async (t) => {
      const database = await startPostgres(t)
      const start = () =>
        startHttpServer(
          t,
          ['--store', database.url, '--max-sessions-total', '2', '--queue-timeout', '60000'],
          { env: { TROUPE_AUTH_TOKEN: 'a-token-of-all-servers-0123456789' } }
        )
      const servers = [await start(), await start()]
      const [first, second] = [await servers[0].connect(), await servers[1].connect()]
      const sessionId = await first.createSession()
      await second.createSession()
      for (const server of servers) {
        const names = ['sessions', 'all_sessions', 'all_session_limit', 'session_queue']
        const values = await Promise.all(names.map((name) => server.metric(name)))
        assert.deepEqual(values, [1, 2, 2, 0])
      }

      const ofSecond = second.createSession()
      await until(async () => (await servers[1].metric('session_queue')) === 1, 'the call')
      await first.ok('close_session', { sessionId })
      await ofSecond
      const ofFirst = first.createSession()
      await until(async () => (await servers[0].metric('session_queue')) === 1, 'the call')
      await kill(servers[1])
      await ofFirst
      assert.deepEqual(
        [await servers[0].metric('all_sessions'), await servers[0].metric('session_queue')],
        [1, 0]
      )
    }
  )
})
