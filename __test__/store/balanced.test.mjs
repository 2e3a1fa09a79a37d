// Three servers with one database behind a load balancer, while clients call continuously: faults
// and restarts lose no session and no recorded response. docs/scaling.md has the configurations.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { HttpClient, startHttpServer } from '../support/http.mjs'
import { missing, startLoadBalancer } from '../support/load-balancers.mjs'
import { freePort } from '../support/ports.mjs'
import { NO_POSTGRES, startPostgres } from '../support/postgres.mjs'
import { kill } from '../support/record.mjs'
import { startSite } from '../support/site.mjs'
import { lossLimit } from '../support/state.mjs'
import { pause, until } from '../support/wait.mjs'

const TOKEN = 'a-token-of-all-servers-0123456789'
const [CLIENTS, SESSIONS_EACH] = [20, 3]
/** The pause of a client between two calls (ms), so that the servers are busy, not overloaded. */
const PAUSE = 200

/** @param {import('node:test').TestContext} t */
async function startServers(t) {
  const database = await startPostgres(t)
  const ports = [await freePort(), await freePort(), await freePort()]
  const env = { TROUPE_AUTH_TOKEN: TOKEN }
  const start = (/** @type {number} */ port) =>
    startHttpServer(t, ['--store', database.url, '--port', String(port)], { env })
  const servers = await Promise.all(ports.map(start))
  return { database, ports, servers, start }
}

/** A client of the load balancer at `port`. */
function clientOf(/** @type {number} */ port) {
  return new HttpClient(`http://127.0.0.1:${port}/mcp`, { authorization: `Bearer ${TOKEN}` })
}

/** Returns the rows of a query, a list of texts each. */
function query(/** @type {{ folder: string }} */ { folder }, /** @type {string} */ sql) {
  const args = ['-h', folder, '-U', 'postgres', '-t', '-A', '-c', sql]
  const rows = execFileSync('psql', args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  return rows.split('\n').filter(Boolean)
}

const median = (/** @type {number[]} */ values) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]

/** One session, and the calls that a client makes in it. */
class CalledSession {
  /** When it first responded after the last fault; 0 if it has not yet. */
  respondedAt = 0

  /** @param {HttpClient} client @param {string} id @param {string} url */
  constructor(client, id, url) {
    this.client = client
    this.id = id
    this.url = url
  }

  /** Makes one call. Returns the `refId` of its response; undefined if it failed. */
  async call() {
    const params = {
      name: 'evaluate',
      arguments: { sessionId: this.id, script: 'location.href' }
    }
    /** @type {any} */
    let response
    try {
      response = await this.client.request('tools/call', params)
    } catch {
      // The connection broke: a client may repeat the call.
      return undefined
    }
    const { error, result } = response
    if (error) {
      const isRetryable = [500, 502, 503, 504].includes(error.status) || error.code === 'NONE'
      assert.ok(isRetryable, `a call failed and is not retryable: ${JSON.stringify(error)}`)
      return undefined
    }
    const text = result.content[0].text
    if (result.isError) {
      assert.ok(JSON.parse(text).retryable, `a call failed and is not retryable: ${text}`)
    } else {
      assert.ok(text.includes(this.url), `${this.id} shows ${text}, not ${this.url}`)
      this.respondedAt ||= Date.now()
    }
    return result._meta?.refId
  }
}

describe(
  'three servers behind a load balancer',
  { timeout: 240_000, skip: NO_POSTGRES || missing('haproxy') },
  () => {
    test('lose no session and no response while servers die, freeze and restart', async (t) => {
      const { database, ports, servers, start } = await startServers(t)
      const site = await startSite(t, { '/': '<title>Page</title>' })
      const port = await startLoadBalancer(t, 'haproxy', ports, { sticky: false })
      /** @type {CalledSession[]} */
      const sessions = []
      const open = async (/** @type {number} */ number) => {
        const client = clientOf(port)
        await client.initialize()
        for (let each = 0; each < SESSIONS_EACH; each++) {
          const { sessionId } = await client.ok('create_session')
          const url = site.url(`/?session=${number}-${each}`)
          await client.ok('navigate', { sessionId, url })
          sessions.push(new CalledSession(client, sessionId, url))
        }
      }
      await Promise.all(Array.from({ length: CLIENTS }, (_, number) => open(number)))
      await lossLimit()

      /** @type {Set<string>} */
      const received = new Set()
      let running = true
      const calling = sessions
        .map((session) => session.client)
        .filter((client, index, all) => all.indexOf(client) === index)
        .map(async (client) => {
          const own = sessions.filter((session) => session.client === client)
          for (let number = 0; running; number++) {
            const refId = await own[number % own.length].call()
            if (refId) received.add(refId)
            await pause(PAUSE, 'clients make the calls at this rate')
          }
        })
      const failed = Promise.race(calling).then(() => {
        assert.ok(!running, 'a client has stopped')
      })

      /** Causes a fault, and waits until each session has responded after it. */
      const recovers = async (
        /** @type {string} */ what,
        /** @type {() => unknown} */ cause = () => {}
      ) => {
        await cause()
        const fault = Date.now()
        for (const session of sessions) session.respondedAt = 0
        const all = () => sessions.every((session) => session.respondedAt)
        await Promise.race([until(all, `all sessions after: ${what}`, 60_000, 100), failed])
        const times = sessions.map((session) => session.respondedAt - fault)
        t.diagnostic(`${what}: ${median(times)} ms until a session responds (median)`)
        t.diagnostic(`${what}: at most ${Math.max(...times)} ms`)
      }

      await recovers('no fault')
      await recovers('kill -9', () => kill(servers[0]))
      servers[0] = await start(ports[0])

      await recovers('a frozen server', () => servers[1].child.kill('SIGSTOP'))
      await recovers('its return', () => servers[1].child.kill('SIGCONT'))

      await recovers('a restart of the database', async () => {
        await database.stop()
        await database.start()
      })

      for (const [index, server] of servers.entries()) {
        await recovers(`the restart of server ${index + 1}`, async () => {
          server.child.kill('SIGTERM')
          await server.exit
        })
        servers[index] = await start(ports[index])
      }
      running = false
      await Promise.all(calling)

      const recorded = new Set(query(database, 'SELECT ref_id FROM responses'))
      const missingRefs = [...received].filter((refId) => !recorded.has(refId))
      t.diagnostic(`${received.size} responses received`)
      assert.deepEqual(missingRefs, [], 'responses that the record lacks')
      const active = query(database, "SELECT session_id FROM sessions WHERE state = 'active'")
      assert.deepEqual(active.sort(), sessions.map(({ id }) => id).sort())
      const counts = await Promise.all(
        servers.map(async (server) => (await (await fetch(server.at('/health'))).json()).sessions)
      )
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        sessions.length,
        `open sessions: ${counts}`
      )
    })

    for (const name of ['haproxy', 'nginx']) {
      test(`are balanced by ${name} as documented`, { skip: missing(name) }, async (t) => {
        const { ports, servers } = await startServers(t)
        const site = await startSite(t, { '/': '<title>Page</title>' })
        const port = await startLoadBalancer(t, name, ports, { sticky: true })
        const clients = []
        for (let number = 0; number < 6; number++) {
          const client = clientOf(port)
          await client.initialize()
          await client.ok('navigate', { url: site.url('/') })
          clients.push(client)
        }
        await lossLimit()
        await kill(servers[0])
        for (const client of clients) {
          const text = await until(async () => {
            const call = client.call('evaluate', { script: 'document.title' })
            // The connection may break.
            const { json, text } = await call.catch(() => ({ json: undefined, text: '' }))
            return !json?.errorCode && text
          }, 'a response')
          assert.match(text, /Page/)
        }
      })
    }
  }
)
