// Several servers with one PostgreSQL database, as behind a load balancer without sticky sessions:
// any server serves any client and any session, and the others continue when one ends.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { events, startHttpServer } from '../support/http.mjs'
import { NO_POSTGRES, startPostgres } from '../support/postgres.mjs'
import { freePort } from '../support/ports.mjs'
import { kill } from '../support/record.mjs'
import { startSite } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { until } from '../support/wait.mjs'

const PAGE = '<title>Form</title><h1>Form</h1><input aria-label="Name">'
const VALUE = { script: 'document.querySelector("input").value' }

/**
 * Starts servers that share a database and a token.
 * @param {import('node:test').TestContext} t @param {number} count
 */
async function startServers(t, count) {
  const database = await startPostgres(t)
  const site = await startSite(t, { '/form': PAGE })
  const env = { TROUPE_AUTH_TOKEN: 'a-token-of-all-servers-0123456789' }
  const start = (/** @type {string[]} */ ...args) =>
    startHttpServer(t, ['--store', database.url, ...args], { env })
  // The others register their address.
  const port = await freePort()
  const servers = [
    await start('--port', String(port), '--advertise-url', `http://localhost:${port}/`)
  ]
  while (servers.length < count) servers.push(await start())
  return { servers, form: site.url('/form'), start, database }
}

/**
 * Sends the requests of a client to each of the servers in turn.
 * @param {import('../support/http.mjs').HttpClient} client
 * @param {import('../support/http.mjs').HttpServer[]} servers
 */
function balance(client, servers) {
  let next = 0
  Object.defineProperty(client, 'url', { get: () => servers[next++ % servers.length].url })
  return client
}

/** Sends the requests of a client to another server. */
function move(
  /** @type {import('../support/http.mjs').HttpClient} */ client,
  /** @type {import('../support/http.mjs').HttpServer} */ server
) {
  client.url = server.url
  return client
}

describe(
  'several servers with --store postgres://',
  { timeout: 120_000, skip: NO_POSTGRES },
  () => {
    test('serve a client whose requests reach a different server each time', async (t) => {
      const { servers, form } = await startServers(t, 2)
      const client = balance(await servers[0].connect(), servers)
      await client.ok('navigate', { url: form })
      await client.ok('type', { selector: 'label=Name', text: 'Ada' })
      for (let round = 0; round < 4; round++) {
        assert.match(JSON.stringify(await client.ok('evaluate', VALUE)), /Ada/)
      }
      assert.deepEqual([await servers[0].sessionCount(), await servers[1].sessionCount()], [1, 0])
      assert.equal((await client.fetch('DELETE')).status, 204)
      assert.equal((await client.request('ping')).error.status, 404)
      await until(async () => (await servers[0].sessionCount()) === 0, 'the end of the session')
    })

    test('make a call in the server that holds its session, and resume the session when that server is killed', async (t) => {
      const { servers, form } = await startServers(t, 2)
      const [first, second] = [await servers[0].connect(), await servers[1].connect()]
      const { sessionId } = await first.ok('create_session')
      await first.ok('navigate', { sessionId, url: form })
      await second.ok('type', { sessionId, selector: 'label=Name', text: 'Grace' })
      assert.match(JSON.stringify(await first.ok('evaluate', { sessionId, ...VALUE })), /Grace/)
      assert.deepEqual([await servers[0].sessionCount(), await servers[1].sessionCount()], [1, 0])
      const missing = await second.call('click', { sessionId, selector: 'e999', timeout: 100 })
      assert.equal(missing.json.errorCode, 'ELEMENT_NOT_FOUND', JSON.stringify(missing.json))
      const program = servers[1].program()
      const called = await program('POST', '/requests', {
        tool: 'evaluate',
        params: { sessionId, ...VALUE }
      })
      assert.match(called.text, /Grace/)

      await awaitDurableState()
      await kill(servers[0])
      const after = await second.ok('evaluate', { sessionId, ...VALUE })
      assert.match(JSON.stringify(after), /Grace/)
      assert.match(JSON.stringify(after), /resumed for this call/)
      assert.equal(await servers[1].sessionCount(), 1)
      const { requests } = await second.ok('list_requests', { sessionId, limit: 100 })
      assert.equal(requests.length, 7, JSON.stringify(requests))
    })

    test('run a call to a session of another server while an earlier call of the client waits there', async (t) => {
      const { servers, form } = await startServers(t, 2)
      const [first, second] = [await servers[0].connect(), await servers[1].connect()]
      const { sessionId } = await first.ok('create_session')
      await first.ok('navigate', { sessionId, url: form })
      const [waited] = await Promise.all([
        second.ok('wait_for', { sessionId, text: 'Saved' }),
        second.ok('evaluate', { sessionId, script: 'document.body.append("Saved")' })
      ])
      assert.equal(waited.success, true, JSON.stringify(waited))
    })

    test('report the progress of a call that another server makes', async (t) => {
      const { servers } = await startServers(t, 2)
      const [first, second] = [await servers[0].connect(), await servers[1].connect()]
      const { sessionId } = await first.ok('create_session')
      const script = 'new Promise((resolve) => setTimeout(resolve, 200))'
      const steps = [1, 2, 3].map(() => ({ tool: 'evaluate', arguments: { script } }))
      const params = {
        name: 'batch',
        arguments: { sessionId, steps },
        _meta: { progressToken: 'p' }
      }
      const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params }
      const messages = events(await (await second.fetch('POST', { body })).text())
      const progress = messages.filter(({ method }) => method === 'notifications/progress')
      assert.ok(progress.length >= 2, JSON.stringify(messages))
      for (const { params } of progress)
        assert.deepEqual(
          [params.progressToken, params.total, params.message],
          ['p', 3, 'evaluate'],
          JSON.stringify(progress)
        )
      assert.equal(messages.at(-1).result.structuredContent.success, true)
    })

    test('continue to serve a client when its server is killed, with its session, log level and subscriptions', async (t) => {
      const { servers, form } = await startServers(t, 2)
      const client = await servers[0].connect()
      const { meta } = await client.call('navigate', { url: form })
      await client.ok('type', { selector: 'label=Name', text: 'Ada' })
      await client.request('logging/setLevel', { level: 'info' })
      const uri = `playwright:///session/${meta.sessionId}`
      const subscribed = await client.request('resources/subscribe', { uri })
      assert.ok(!subscribed.error, JSON.stringify(subscribed))
      await awaitDurableState()
      await kill(servers[0])

      move(client, servers[1])
      const after = await client.call('evaluate', VALUE)
      assert.match(JSON.stringify(after), /Ada/)
      assert.equal(after.meta.sessionId, meta.sessionId)
      assert.equal(await servers[1].sessionCount(), 1)
      assert.match(JSON.stringify(await client.ok('evaluate', VALUE)), /Ada/)
      const { requests } = await client.ok('list_requests', { limit: 100 })
      assert.equal(requests.length, 4, JSON.stringify(requests))

      const stream = await client.fetch('GET')
      await client.ok('navigate', { url: form })
      const expected = ['notifications/message', 'notifications/resources/updated']
      const decoder = new TextDecoder()
      let received = ''
      for await (const chunk of /** @type {any} */ (stream.body)) {
        received += decoder.decode(chunk, { stream: true })
        if (expected.every((method) => received.includes(method))) break
      }
      assert.ok(received.includes(uri), received)
    })

    test('pass a client on when its server is frozen, and take it from that server permanently', async (t) => {
      const { servers, form } = await startServers(t, 2)
      const client = await servers[0].connect()
      await client.ok('navigate', { url: form })
      await client.ok('type', { selector: 'label=Name', text: 'Ada' })
      await awaitDurableState()
      servers[0].child.kill('SIGSTOP')
      move(client, servers[1])
      const value = await until(
        async () => {
          const { json, text } = await client.call('evaluate', VALUE)
          assert.ok(!json?.errorCode || json.retryable, text)
          return !json?.errorCode && text
        },
        'the end of the lease',
        30_000
      )
      assert.match(value, /Ada/)
      servers[0].child.kill('SIGCONT')
      move(client, servers[0])
      await until(async () => {
        const { json, text } = await client.call('evaluate', VALUE)
        assert.ok(!json?.errorCode || json.retryable, text)
        return !json?.errorCode
      }, 'a call through the former server')
      assert.equal(await servers[1].sessionCount(), 1)
      await until(
        async () => (await servers[0].sessionCount()) === 0,
        'the end of the former session'
      )
    })

    test('lose no client in a rolling restart', async (t) => {
      const { servers, form, start } = await startServers(t, 2)
      const client = await servers[0].connect()
      await client.ok('navigate', { url: form })
      await client.ok('type', { selector: 'label=Name', text: 'Ada' })
      const ids = new Set()
      for (let round = 0; round < 3; round++) {
        const [old, next] = servers
        old.child.kill('SIGTERM')
        await old.exit
        move(client, next)
        const { json, text, meta } = await client.call('evaluate', VALUE)
        assert.ok(!json?.errorCode, text)
        assert.match(text, /Ada/)
        ids.add(meta.sessionId)
        servers.shift()
        servers.push(await start())
      }
      assert.equal(ids.size, 1)
    })

    test('reject requests to their own paths that lack the secret', async (t) => {
      const { servers } = await startServers(t, 1)
      for (const path of ['/servers/calls', '/servers/mcp']) {
        const options = { method: 'POST', headers: { 'troupe-server-secret': 'guess' }, body: '{}' }
        assert.equal((await servers[0].fetch(path, options)).status, 401, path)
      }
    })
  }
)
