// Measures servers that share a PostgreSQL database: calls with one, two and three servers, and the
// cost of a call beside idle sessions in the same database.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { quantile } from 'simple-statistics'
import { startPostgres } from '../__test__/support/postgres.mjs'
import { descendants } from '../__test__/support/processes.mjs'
import { until } from '../__test__/support/wait.mjs'
import { alternate } from './alternating.mjs'
import { Client, connectFor, start as startHttp } from './http.mjs'
import { untilIdle } from './idle.mjs'

/** @typedef {Awaited<ReturnType<typeof startPostgres>>} Postgres */
/** @typedef {import('./alternating.mjs').Start} Start */

/** The unit of processor times in /proc (USER_HZ), in ms. */
const TICK = 10
const EVALUATE = /** @type {const} */ (['evaluate', { script: 'document.title' }])

/**
 * Runs `work` with a PostgreSQL server that writes each transaction to the disk before it responds.
 * @template T @param {(database: Postgres) => Promise<T>} work
 */
export async function withPostgres(work) {
  /** @type {(() => unknown)[]} */
  const ends = []
  try {
    return await work(await startPostgres({ after: (end) => ends.push(end) }, { durable: true }))
  } finally {
    for (const end of ends) await end()
  }
}

/** Returns the processor time of a process, and that of its ended children (ms). */
function processorTime(/** @type {number} */ pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // "pid (name, which may contain any character) state parent …"
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [own, system, ended, endedSystem] = fields
    .slice(11, 15)
    .map((ticks) => Number(ticks) * TICK)
  return { own: own + system, children: ended + endedSystem }
}

/** Returns the processor time of a database (ms). A process that ends now counts for its parent. */
function databaseTime(/** @type {number} */ pid) {
  const { own, children } = processorTime(pid)
  return descendants(pid).reduce((sum, child) => {
    try {
      return sum + processorTime(child.pid).own
    } catch {
      return sum
    }
  }, own + children)
}

const sum = (/** @type {number[]} */ values) => values.reduce((total, value) => total + value, 0)

/**
 * Makes recorded calls that need no browser, in several clients of each server, for `duration` ms.
 * Returns the durations of the calls, and the processor times for one call (ms).
 * @param {import('./servers.mjs').HttpSide} side @param {Postgres} database
 * @param {number} count of servers @param {number} clients of each @param {number} duration
 */
export async function callsOfServers(side, database, count, clients, duration) {
  const env = { ...side.env, TROUPE_STORE: database.url }
  const command = (/** @type {number} */ port) => {
    const words = side.command(port)
    return words.filter((word, index) => word !== '--store' && words[index - 1] !== '--store')
  }
  const servers = await Promise.all(
    Array.from({ length: count }, () => startHttp({ command, env }))
  )
  try {
    const connections = await Promise.all(
      servers.flatMap((server) =>
        Array.from({ length: clients }, async () =>
          connectFor(server, await new Client(server).initialize(), side.idle)
        )
      )
    )
    /** @type {number[]} */
    let times = []
    const work = async (/** @type {number} */ milliseconds) => {
      const end = performance.now() + milliseconds
      const one = async (/** @type {typeof connections[0]} */ connection) => {
        while (performance.now() < end) times.push(await connection.call())
      }
      await Promise.all(connections.map(one))
    }
    await work(duration / 4)
    await untilIdle()
    times = []
    const processes = () => ({
      servers: sum(servers.map(({ pid }) => processorTime(pid).own)),
      database: databaseTime(database.pid),
      clients: process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000
    })
    const [before, begun] = [processes(), performance.now()]
    await work(duration)
    const [after, seconds] = [processes(), (performance.now() - begun) / 1000]
    for (const connection of connections) connection.close()
    const each = (/** @type {keyof typeof before} */ name) =>
      (after[name] - before[name]) / times.length
    return {
      rate: times.length / seconds,
      median: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      processor: { server: each('servers'), database: each('database'), client: each('clients') }
    }
  } finally {
    await Promise.all(servers.map((server) => server.end()))
  }
}

/**
 * Creates idle sessions in a new database, and compares calls with those in another new database
 * without them. An idle session is saved, and has no page in a browser.
 * @param {import('./servers.mjs').HttpSide} side @param {Start} start @param {string} page
 * @param {Postgres} database @param {number} count of sessions @param {number} calls
 */
export async function besideIdleSessions(side, start, page, database, count, calls) {
  const query = (/** @type {string} */ name, /** @type {string} */ sql) =>
    execFileSync('psql', ['-h', database.folder, '-U', 'postgres', '-At', '-c', sql, name], {
      encoding: 'utf8'
    }).trim()
  for (const name of ['crowded', 'empty']) query('postgres', `CREATE DATABASE ${name}`)
  const url = (/** @type {string} */ name) => database.url.replace(/\/postgres$/, `/${name}`)
  const command = (/** @type {number} */ port) =>
    side.command(port).map((word) => (word === 'none' ? url('crowded') : word))
  const server = await startHttp({ command, env: side.env })
  try {
    const saved = () =>
      query('crowded', "SELECT count(*) FROM sessions WHERE state = 'recoverable'")
    for (let created = 0; created < count;) {
      const client = new Client(server)
      await client.initialize()
      const more = Math.min(10, count - created)
      for (let session = 0; session < more; session++) {
        const text = await client.call('create_session', {})
        const [, sessionId] = /"sessionId":"([^"]+)"/.exec(text.replaceAll('\\', '')) ?? []
        await client.call('navigate', { sessionId, url: page })
      }
      await client.close()
      created += more
      await until(() => Number(saved()) === created, 'the idle sessions', 60_000, 50)
    }
  } finally {
    await server.end()
  }
  const { at } = await alternate(
    start(url('empty')),
    start(url('crowded')),
    page,
    calls,
    () => EVALUATE
  )
  return { median: at(0.5), p99: at(0.99) }
}
