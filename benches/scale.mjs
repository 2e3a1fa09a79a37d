// `npm run bench:scale` measures throughput, the slowest calls and the server's memory by the
// number of busy sessions, the cost of a snapshot by the size of its page, the cost of a call by
// the size of the record, and the cost of calls of servers that share a PostgreSQL database.
//   --addon FILE   measures this addon instead of a release build
//   --check        exits with 1 if a bound is missed
//   --only NAMES   measures only these: sessions, page, record, postgres, neighbor, servers, idle
//                  (comma-separated)
//   --quick        measures only servers and idle, for a short time, if --only is not given
import { parseArgs } from 'node:util'
import { resolve } from 'node:path'
import { quantile } from 'simple-statistics'
import { NO_POSTGRES } from '../__test__/support/postgres.mjs'
import { StepError } from '../scripts/run.mjs'
import { FloorClient, work as bareWork } from './floor.mjs'
import { releaseAddon, runScript, setup } from '../scripts/setup.mjs'
import { serverMemory } from './memory.mjs'
import { NEIGHBOR_BOUND, neighborTimes } from './neighbor.mjs'
import { untilIdle } from './idle.mjs'
import { postgresCosts } from './record.mjs'
import { findBrowser, httpSides, recording } from './servers.mjs'
import { besideIdleSessions, callsOfServers, withPostgres } from './several-servers.mjs'
import { serveSite } from './site.mjs'
import { atLeast, exitCodeOf, judged } from './table.mjs'

const SESSIONS = [1, 5, 10, 25, 50, 100]
/**
 * The number and length (ms) of the rounds for each number of sessions. Several rounds average the
 * machine's speed.
 */
const ROUNDS = 4
const WORK = 1500
/**
 * The calls of each kind of work, by index, made in rotation. A click is painted, a read is not.
 */
const WORKS = { acting: [0, 1, 2], reading: [2] }
/** The maximum that a record in PostgreSQL adds to the median of a call (ms). */
const POSTGRES_BOUND = 2
const RECORDS = [0, 5000, 20_000]
/** What is measured with a PostgreSQL database: in full, and with --quick. */
const SHARED = {
  full: { duration: 10_000, calls: 1000, idle: 1000 },
  quick: { duration: 2000, calls: 200, idle: 50 }
}
const CLIENTS_OF_SERVER = 8
/** The maximum ratio of a call beside idle sessions to one without them. */
const IDLE_BOUND = 1.1
/** The minimum ratio of the calls of three servers to three times those of one. */
const LINEAR = 0.9
/**
 * The minimum throughput of actions with the most sessions, relative to ten sessions and to the
 * bare client.
 */
const TARGETS = { ofTen: 0.85, ofBare: 0.65 }

await runScript(async () => {
  const { values } = parseArgs({
    options: {
      addon: { type: 'string' },
      only: { type: 'string' },
      check: { type: 'boolean' },
      quick: { type: 'boolean', default: false }
    }
  })
  const { quick } = values
  const only = values.only ?? (quick ? 'servers,idle' : undefined)
  const isSelected = (/** @type {string} */ name) => !only || only.split(',').includes(name)
  const browser = findBrowser()
  if (!browser) throw new StepError('no browser: install chromium-headless-shell')
  const site = await serveSite()
  if (!values.addon) await setup()
  const addon = values.addon ? resolve(values.addon) : await releaseAddon()
  const start = recording({ browser, addon })
  try {
    if (isSelected('neighbor')) await byNeighbor(start, site.url)
    if (isSelected('sessions')) await bySessions(start, browser, site.url)
    if (isSelected('page')) await byPage(start, site.url)
    if (isSelected('record')) await byRecord(start, site.url)
    if (isSelected('postgres')) await byPostgres(start, site.url)
    const [side] = httpSides({ browser, addon })
    if (isSelected('servers')) await byServers(side, quick)
    if (isSelected('idle')) await byIdleSessions(side, start, site.url, quick)
  } finally {
    site.close()
  }
  return exitCodeOf(values.check)
})

/**
 * Each worker makes the calls of `work` in rotation, without pauses. Returns the duration of each
 * call (ms).
 * @template Worker
 * @param {Worker[]} workers
 * @param {(worker: Worker, call: number) => Promise<unknown>} make
 * @param {number[]} work
 */
async function atWork(workers, make, work) {
  for (const first of [...work, ...work])
    await Promise.all(workers.map((worker) => make(worker, first)))
  await untilIdle()
  const until = performance.now() + WORK
  /** @type {number[]} */
  const times = []
  await Promise.all(
    workers.map(async (worker) => {
      for (let call = 0; performance.now() < until; call++) {
        const begun = performance.now()
        await make(worker, work[call % work.length])
        times.push(performance.now() - begun)
      }
    })
  )
  return times
}

/**
 * Returns the throughput of all rounds in calls per second, the median and the 99th percentile
 * (ms).
 * @param {number[][]} rounds
 * @returns {[number, string, string]}
 */
function throughput(rounds) {
  const times = rounds.flat()
  return [
    Math.round(
      quantile(
        rounds.map((round) => round.length),
        0.5
      ) /
        (WORK / 1000)
    ),
    quantile(times, 0.5).toFixed(1),
    quantile(times, 0.99).toFixed(1)
  ]
}

/** @param {number[]} widths @param {(number | string)[]} cells */
function printRow(widths, cells) {
  console.log(cells.map((cell, column) => String(cell).padStart(widths[column])).join(' '))
}

/**
 * Some of a hundred sessions click, read and evaluate without pauses, or only evaluate, alternately
 * with as many pages of a bare client that does the same work. The first call of each kind in a
 * page is not counted.
 * @param {import('./alternating.mjs').Start} start @param {string} browser @param {string} url
 */
async function bySessions(start, browser, url) {
  const client = start(
    'none',
    '--max-sessions',
    '100',
    '--timeout-action',
    '60000',
    '--timeout-navigation',
    '120000'
  )
  const bare = new FloorClient(browser)
  await Promise.all([client.initialize(), bare.initialize()])
  const empty = serverMemory(client.pid)
  /** @type {string[]} */
  const sessions = []
  /** @type {import('./floor.mjs').FloorPage[]} */
  const pages = []
  const calls = /** @type {[string, object][]} */ ([
    ['click', { selector: '#count' }],
    ['get_text', { selector: 'form' }],
    ['evaluate', { script: 'document.title' }]
  ])
  const call = (/** @type {string} */ sessionId, /** @type {number} */ number) => {
    const [name, args] = calls[number]
    return client.call(name, { sessionId, ...args })
  }
  const bareCall = (
    /** @type {import('./floor.mjs').FloorPage} */ page,
    /** @type {number} */ number
  ) => bareWork(page, ['click', 'evaluate', 'evaluate'][number])
  console.log('sessions  server MiB  MiB a session')
  for (const count of SESSIONS) {
    while (sessions.length < count) {
      const { structuredContent } = await client.call('create_session', {})
      await client.call('navigate', { sessionId: structuredContent.sessionId, url: `${url}/form` })
      sessions.push(structuredContent.sessionId)
    }
    await atWork(sessions, call, WORKS.acting)
    const memory = serverMemory(client.pid)
    printRow([8, 11, 14], [count, memory.toFixed(1), ((memory - empty) / count).toFixed(2)])
  }
  while (pages.length < sessions.length) {
    const { page } = await bare.open()
    await bareWork(page, 'navigate', `${url}/form`)
    pages.push(page)
  }
  const each = Object.entries(WORKS).flatMap(([work, kinds]) =>
    SESSIONS.map((count) => ({
      work,
      kinds,
      count,
      troupeRuns: /** @type {number[][]} */ ([]),
      bareRuns: /** @type {number[][]} */ ([])
    }))
  )
  for (let round = 0; round < ROUNDS; round++) {
    for (const { kinds, count, troupeRuns, bareRuns } of each) {
      troupeRuns.push(await atWork(sessions.slice(0, count), call, kinds))
      bareRuns.push(await atWork(pages.slice(0, count), bareCall, kinds))
    }
  }
  const widths = [8, 8, 8, 10, 10, 9, 10, 10, 11]
  const measured = ['calls/s', 'median ms', 'p99']
  console.log(`\n                  Troupe${' '.repeat(25)}bare`)
  printRow(widths, ['', 'sessions', ...measured, ...measured, 'of the bare'])
  for (const { work, count, troupeRuns, bareRuns } of each) {
    const [ourCells, theirCells] = [throughput(troupeRuns), throughput(bareRuns)]
    printRow(widths, [
      work,
      count,
      ...ourCells,
      ...theirCells,
      (ourCells[0] / theirCells[0]).toFixed(2)
    ])
  }
  const acting = (/** @type {number} */ count) =>
    each.find((one) => one.work === 'acting' && one.count === count)
  const callsOf = (/** @type {number} */ count) => throughput(acting(count)?.troupeRuns ?? [])[0]
  const most = SESSIONS.length - 1
  console.log(
    `\nacting, ${SESSIONS[most]} sessions: of 10 ${atLeast(callsOf(SESSIONS[most]) / callsOf(10), TARGETS.ofTen)}, of the bare client ${atLeast(callsOf(SESSIONS[most]) / throughput(acting(SESSIONS[most])?.bareRuns ?? [])[0], TARGETS.ofBare)}`
  )
  await Promise.all([client.close(), bare.close()])
}

/**
 * Measures what another session with 14 MB in IndexedDB adds to an evaluate.
 * @param {import('./alternating.mjs').Start} start
 * @param {string} url
 */
async function byNeighbor(start, url) {
  const [alone, ...others] = await neighborTimes(start, url)
  console.log(
    'evaluate beside a session with 14 MB in IndexedDB\n  the other session   median ms      p99 ms'
  )
  for (const { name, median, p99 } of [alone, ...others]) {
    // The bound is for usual sessions, not for one that writes megabytes all the time.
    const bound = name === 'acts' ? NEIGHBOR_BOUND : undefined
    console.log(
      `  ${name.padEnd(20)}${median.toFixed(2).padStart(9)}${p99.toFixed(2).padStart(12)}   ${name === 'alone' ? '' : judged((p99 / alone.p99).toFixed(2), p99 / alone.p99, bound)}`
    )
  }
}

/** @param {import('./alternating.mjs').Start} start @param {string} url */
async function byPage(start, url) {
  const client = start('none')
  await client.initialize()
  console.log('\npage                  1st snapshot ms  2nd snapshot ms  click ms')
  for (const [path, title] of [
    ['/', 'small'],
    ['/rows', '400 rows'],
    ['/links', '3,000 links']
  ]) {
    /** @type {Record<string, number[]>} */
    const times = { first: [], again: [], click: [] }
    const time = async (/** @type {string} */ id, /** @type {[string, object]} */ [name, args]) => {
      const begun = performance.now()
      await client.call(name, args)
      times[id].push(performance.now() - begun)
    }
    for (let round = 0; round < 8; round++) {
      await client.call('navigate', { url: url + path })
      await time('first', ['snapshot', {}])
      await time('again', ['snapshot', {}])
      await time('click', ['click', { selector: '#count' }])
    }
    console.log(
      title.padEnd(20),
      ...['first', 'again', 'click'].map((id) => quantile(times[id], 0.5).toFixed(1).padStart(13))
    )
  }
  await client.close()
}

/** @param {import('./alternating.mjs').Start} start @param {string} url */
async function byRecord(start, url) {
  const client = start('memory')
  await client.initialize()
  await client.call('navigate', { url: `${url}/form` })
  console.log('\ncalls in the record   a call ms   get_content ms')
  let recorded = 1
  for (const records of RECORDS) {
    for (; recorded < records; recorded++) await client.call('get_text', { selector: 'button' })
    /** @type {Record<string, number[]>} */
    const times = { get_text: [], get_content: [] }
    for (let round = 0; round < 100; round++) {
      for (const [name, args] of /** @type {[string, object][]} */ ([
        ['get_text', { selector: 'button' }],
        ['get_content', {}]
      ])) {
        const begun = performance.now()
        await client.call(name, args)
        times[name].push(performance.now() - begun)
      }
    }
    console.log(
      String(records).padStart(19),
      quantile(times.get_text, 0.5).toFixed(2).padStart(11),
      quantile(times.get_content, 0.5).toFixed(2).padStart(16)
    )
  }
  await client.close()
}

/** @param {import('./alternating.mjs').Start} start @param {string} url */
async function byPostgres(start, url) {
  if (NO_POSTGRES) return console.log(`\n${NO_POSTGRES}`)
  const { median, p99 } = await withPostgres((database) =>
    postgresCosts(start, `${url}/form`, database)
  )
  console.log(
    `\na call recorded in PostgreSQL, on top of an unrecorded one: median ${judged(`${median.toFixed(2)} ms`, median, POSTGRES_BOUND)}, p99 ${p99.toFixed(2)} ms`
  )
}

/**
 * Measures recorded calls that need no browser. The servers share the processors of this machine.
 * The rate with one machine per server is calculated from the processor time of a call.
 * @param {import('./servers.mjs').HttpSide} side @param {boolean} quick
 */
async function byServers(side, quick) {
  const { duration } = SHARED[quick ? 'quick' : 'full']
  const widths = [7, 8, 9, 7, 10, 12, 10]
  console.log(`\n${' '.repeat(34)}processor time of a call, ms`)
  printRow(widths, ['servers', 'calls/s', 'median ms', 'p99', 'server', 'PostgreSQL', 'client'])
  /** @type {number[]} */
  const costs = []
  for (const count of [1, 2, 3]) {
    const { rate, median, p99, processor } = await withPostgres((database) =>
      callsOfServers(side, database, count, CLIENTS_OF_SERVER, duration)
    )
    const { server, database, client } = processor
    costs.push(server)
    const times = [server, database, client].map((time) => time.toFixed(3))
    printRow(widths, [count, Math.round(rate), median.toFixed(2), p99.toFixed(2), ...times])
  }
  console.log(
    `calculated, a machine for each server: three serve ${atLeast(costs[0] / costs[2], LINEAR)} times the calls of linear growth`
  )
}

/**
 * @param {import('./servers.mjs').HttpSide} side @param {import('./alternating.mjs').Start} start
 * @param {string} url @param {boolean} quick
 */
async function byIdleSessions(side, start, url, quick) {
  const { calls, idle } = SHARED[quick ? 'quick' : 'full']
  const { median, p99 } = await withPostgres((database) =>
    besideIdleSessions(side, start, `${url}/form`, database, idle, calls)
  )
  console.log(
    `\na call beside ${idle} idle sessions: ${judged(`${median.ratio.toFixed(2)} times the median`, median.ratio, IDLE_BOUND)}, ${p99.ratio.toFixed(2)} times the 99th percentile`
  )
}
