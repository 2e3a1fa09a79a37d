// Three servers with one database behind a load balancer, and clients that call continuously in
// their sessions. Counts what faults must not cause: lost or duplicated sessions, lost responses,
// and failures that are not retryable.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { median } from 'simple-statistics'
import { HttpClient, startHttpServer } from './http.mjs'
import { startLoadBalancer } from './load-balancers.mjs'
import { freePort } from './ports.mjs'
import { startPostgres } from './postgres.mjs'
import { startSite } from './site.mjs'
import { awaitDurableState } from './state.mjs'
import { pause, until } from './wait.mjs'

const TOKEN = 'a-token-of-all-servers-0123456789'
const [CLIENTS, SESSIONS_EACH] = [20, 3]
/** The pause of a client between two calls (ms), so that the servers are busy, not overloaded. */
const PAUSE = 200

/**
 * Starts three servers. `stores` are their values of --store; by default all connect directly.
 * @param {import('node:test').TestContext} t
 * @param {{ database?: Awaited<ReturnType<typeof startPostgres>>, stores?: string[] }} [options]
 */
export async function startServers(t, options = {}) {
  const database = options.database ?? (await startPostgres(t))
  const { stores = Array(3).fill(database.url) } = options
  const ports = [await freePort(), await freePort(), await freePort()]
  const env = { TROUPE_AUTH_TOKEN: TOKEN }
  /** Starts the server with this index at its port. */
  const start = (/** @type {number} */ index) =>
    startHttpServer(t, ['--store', stores[index], '--port', String(ports[index])], { env })
  const servers = await Promise.all([0, 1, 2].map(start))
  return { database, ports, servers, start }
}

/** A client of the load balancer at `port`. */
export function clientOf(/** @type {number} */ port) {
  return new HttpClient(`http://127.0.0.1:${port}/mcp`, { authorization: `Bearer ${TOKEN}` })
}

/** Returns the rows of a query, a list of texts each. */
function query(/** @type {{ folder: string }} */ { folder }, /** @type {string} */ sql) {
  const args = ['-h', folder, '-U', 'postgres', '-t', '-A', '-c', sql]
  const rows = execFileSync('psql', args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  return rows.split('\n').filter(Boolean)
}

/** The reasons in errors that say that the response is not in the record. */
const NOT_RECORDED = ['storeUnavailable', 'sessionTakenOver']

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

  /**
   * Makes one call. Returns the `refId` of its response, and the reason of its error.
   * `undefined` if the server did not respond.
   */
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
    const refId = result._meta?.refId
    if (result.isError) {
      const { retryable, errorCode, details } = JSON.parse(text)
      assert.ok(retryable, `a call failed and is not retryable: ${text}`)
      return { refId, failure: details?.reason ?? errorCode }
    }
    assert.ok(text.includes(this.url), `${this.id} shows ${text}, not ${this.url}`)
    this.respondedAt ||= Date.now()
    return { refId }
  }
}

/** Clients that call continuously until `stop`. */
export class Load {
  /** @type {CalledSession[]} */
  sessions = []
  /**
   * The `refId` of each response that a client received, and why its call failed.
   * @type {Map<string, string | undefined>}
   */
  received = new Map()
  #running = true

  /**
   * Opens the sessions of all clients behind a load balancer, and starts to call in them.
   * @param {import('node:test').TestContext} t @param {number[]} ports of the servers
   */
  static async start(t, ports) {
    const site = await startSite(t, { '/': '<title>Page</title>' })
    const port = await startLoadBalancer(t, 'haproxy', ports, { sticky: false })
    const load = new Load(t)
    const numbers = Array.from({ length: CLIENTS }, (_, number) => number)
    const clients = await Promise.all(numbers.map((number) => load.#open(port, site, number)))
    await awaitDurableState()
    load.calling = clients.map((client) => load.#call(client))
    load.failed = Promise.race(load.calling).then(() => {
      assert.ok(!load.#running, 'a client has stopped')
    })
    t.after(() => (load.#running = false))
    return load
  }

  /** @type {Promise<void>[]} */
  calling = []
  failed = Promise.resolve()

  /** @param {import('node:test').TestContext} t */
  constructor(t) {
    this.t = t
  }

  /** @param {number} port @param {{ url: (path: string) => string }} site @param {number} number */
  async #open(port, site, number) {
    const client = clientOf(port)
    await client.initialize()
    for (let each = 0; each < SESSIONS_EACH; each++) {
      const { sessionId } = await client.ok('create_session')
      const url = site.url(`/?session=${number}-${each}`)
      await client.ok('navigate', { sessionId, url })
      this.sessions.push(new CalledSession(client, sessionId, url))
    }
    return client
  }

  /** @param {HttpClient} client */
  async #call(client) {
    const own = this.sessions.filter((session) => session.client === client)
    for (let number = 0; this.#running; number++) {
      const response = await own[number % own.length].call()
      if (response?.refId) this.received.set(response.refId, response.failure)
      await pause(PAUSE, 'clients make the calls at this rate')
    }
  }

  /** Causes a fault, and waits until each session has responded after it. */
  async causeFaultAndAwaitRecovery(
    /** @type {string} */ what,
    /** @type {() => unknown} */ cause = () => {}
  ) {
    await cause()
    const fault = Date.now()
    for (const session of this.sessions) session.respondedAt = 0
    const all = () => this.sessions.every((session) => session.respondedAt)
    const missing = () => {
      const silent = this.sessions.filter((session) => !session.respondedAt)
      return `${silent.map(({ id }) => id)} after: ${what}`
    }
    await Promise.race([until(all, missing, 60_000, 100), this.failed])
    const times = this.sessions.map((session) => session.respondedAt - fault)
    this.t.diagnostic(`${what}: ${median(times)} ms until a session responds (median)`)
    this.t.diagnostic(`${what}: at most ${Math.max(...times)} ms`)
  }

  /**
   * Ends the calls. Then checks that the record has each response, and that each session is open
   * once.
   * @param {{ folder: string }} database
   * @param {import('./http.mjs').HttpServer[]} servers
   */
  async stop(database, servers) {
    this.#running = false
    await Promise.all(this.calling)
    const recorded = new Set(query(database, 'SELECT ref_id FROM responses'))
    const missing = [...this.received].filter(
      ([refId, failure]) => !recorded.has(refId) && !NOT_RECORDED.includes(failure ?? '')
    )
    const failed = [...this.received.values()].filter(Boolean)
    this.t.diagnostic(
      `${this.received.size} responses received, of which ${failed.length} failures`
    )
    assert.deepEqual(missing, [], 'responses that the record lacks')
    const active = query(database, "SELECT session_id FROM sessions WHERE state = 'active'")
    assert.deepEqual(active.sort(), this.sessions.map(({ id }) => id).sort())
    const counts = await Promise.all(servers.map((server) => server.sessionCount()))
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      this.sessions.length,
      `open sessions: ${counts}`
    )
  }
}
