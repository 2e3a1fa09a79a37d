// `npm run bench` compares Troupe (release build) with @playwright/mcp from npm, alternately, on
// the same browser binary and the same local pages. Prints a table of medians and ratios with the
// project's bounds. A run of all rows also writes docs/benchmarks.md, with the raw values in
// docs/benchmarks/results.json and a plot in results.svg.
//   --rounds N           number of rounds (10)
//   --all                also measures chrome-devtools-mcp and agent-browser (downloaded from npm)
//   --floor              also measures a bare client of the browser, the lower bound
//   --only click,type    measures only these rows
//   --addon FILE         measures this addon instead of a release build
//   --check              exits with 1 if a bound is missed
import { mkdirSync, writeFileSync } from 'node:fs'
import { arch, cpus, loadavg, platform } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ROOT, StepError, dim, red, since } from '../scripts/run.mjs'
import { benchmarkDocument } from '../scripts/docs/benchmarks.mjs'
import { releaseAddon, runScript, setup } from '../scripts/setup.mjs'
import { missingGrid, startSeleniumGrid } from '../__test__/apps/grid-programs.mjs'
import { FloorClient } from './floor.mjs'
import { firefoxTimes } from './firefox.mjs'
import { clientsAtOnce, idleCalls } from './http.mjs'
import { chromeTimes, findChrome } from './chrome.mjs'
import { changesCost, proxyCost } from './alternating.mjs'
import { nodeMemory, serverMemory } from './memory.mjs'
import { gridTimes } from './grid.mjs'
import { jobCosts } from './jobs.mjs'
import { pageTimes } from './page-time.mjs'
import { bytesRead } from './reading.mjs'
import { recordCosts } from './record.mjs'
import { untilIdle } from './idle.mjs'
import { playwrightSetTimes } from './playwright-set.mjs'
import {
  findBrowser,
  gridSides,
  httpSides,
  onFirefox,
  upstreamSides,
  playwrightSets,
  recording,
  servers
} from './servers.mjs'
import { others } from './others.mjs'
import { plot } from './plot.mjs'
import { sessionTimes } from './sessions.mjs'
import { ROWS } from './rows.mjs'
import { serveSite } from './site.mjs'
import { textOf } from './stdio-client.mjs'
import { Samples, medianInterval } from './samples.mjs'
import { exitCodeOf, table } from './table.mjs'
import { structureCosts } from './structure.mjs'
import { passingCosts } from './upstream.mjs'

/** @typedef {import('./servers.mjs').Server} Server */
/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */
/** @typedef {import('./rows.mjs').Row} Row */

/** A call is repeated in its round until one of these limits is reached. */
const REPEAT = { times: 5, milliseconds: 250 }
/** The servers whose result texts are counted. */
const COUNTED = ['troupe', 'peer', 'peerFast']

await runScript(async () => {
  const { rounds, only, addon: given, withFloor, withOthers, check } = options()
  if (!given) await setup()
  const addon = given ?? (await releaseAddon())
  const browser = findBrowser()
  if (!browser) throw new StepError('no browser for both sides: install chromium-headless-shell')
  const site = await serveSite()
  const compared = [
    ...servers({ browser, addon, withFloor }),
    ...(withOthers ? await others(browser) : [])
  ]
  const samples = new Samples()
  const rows = ROWS.filter((row) => only.length === 0 || only.includes(row.id))
  console.log(`${rounds} rounds on ${browser}, ${cpus().length} × ${cpus()[0].model}`)
  if (loadavg()[0] > cpus().length / 2) {
    console.log(
      red(
        `! the machine is busy (load ${loadavg()[0].toFixed(1)}): the ratios are more reliable than the times`
      )
    )
  }
  const started = performance.now()
  try {
    await measureStarts(rows, compared, rounds, samples, site.url)
    await measureCalls(rows, compared, rounds, samples, site.url)
    if (rows.some(({ id }) => id.startsWith('session'))) {
      progress('new sessions')
      const start = (...flags) => recording({ browser, addon })('none', ...flags)
      const times = await sessionTimes(
        start,
        withFloor ? new FloorClient(browser) : undefined,
        rounds
      )
      for (const id of /** @type {const} */ (['session', 'sessionWarm'])) {
        times[id].forEach((time) => samples.add(id, compared[0].name, time))
        times.floor.forEach((time) => samples.add(id, 'floor', time))
      }
    }
    if (rows.some(({ id }) => id === 'links')) {
      progress('walks of 3,000 links')
      for (const time of await pageTimes(browser, `${site.url}/links`, rounds))
        samples.add('links', compared[0].name, time)
    }
    if (rows.some(({ id }) => id === 'changes')) {
      progress('clicks with and without changes')
      samples.add(
        'changes',
        compared[0].name,
        await changesCost(recording({ browser, addon }), `${site.url}/rows`)
      )
    }
    if (rows.some(({ id }) => id.startsWith('structure'))) {
      progress('pages with frames, shadow hosts and blank elements')
      const costs = await structureCosts(recording({ browser, addon }), site.url, rounds)
      for (const [id, cost] of Object.entries(costs)) samples.add(id, compared[0].name, cost)
    }
    if (rows.some(({ id }) => id === 'proxy')) {
      progress('navigations with and without the egress proxy')
      samples.add(
        'proxy',
        compared[0].name,
        await proxyCost(recording({ browser, addon }), `${site.url}/`)
      )
    }
    if (rows.some(({ id }) => id.startsWith('record'))) {
      progress('calls with and without a record')
      const costs = await recordCosts(recording({ browser, addon }), `${site.url}/form`)
      for (const [id, cost] of Object.entries(costs)) samples.add(id, compared[0].name, cost)
    }
    if (rows.some(({ id }) => id.startsWith('job'))) {
      progress("an agent's jobs")
      await jobCosts(compared, (row, server, value) => samples.add(row, server, value))
    }
    if (rows.some(({ id }) => id.startsWith('upstream'))) {
      progress('calls to @playwright/mcp, and through Troupe')
      const costs = await passingCosts(upstreamSides({ browser, addon }), `${site.url}/form`)
      for (const [id, cost] of Object.entries(costs)) samples.add(id, compared[0].name, cost)
    }
    if (rows.some(({ id }) => id.startsWith('set'))) {
      progress('calls of the Playwright set')
      const sides = playwrightSets({ browser, addon })
      await playwrightSetTimes(sides, site.url, rounds, (row, server, value) =>
        samples.add(row, server, value)
      )
    }
    if (rows.some(({ id }) => id.startsWith('firefox'))) {
      progress('calls on Firefox')
      const times = await firefoxTimes(onFirefox(addon), site.url, rounds)
      for (const [id, taken] of Object.entries(times))
        for (const time of taken) samples.add(id, compared[0].name, time)
    }
    const chrome = findChrome()
    if (rows.some(({ id }) => id.startsWith('chrome')) && chrome) {
      progress(`calls on ${chrome} --headless`)
      const options = { browser: chrome, addon }
      const only = new Set(['troupe', 'peer'])
      const sides = {
        stdio: servers(options).filter(({ name }) => only.has(name)),
        http: httpSides(options)
      }
      await chromeTimes(sides, site.url, rounds, (row, server, value) =>
        samples.add(row, server, value)
      )
    }
    if (rows.some(({ id }) => /^(grid|local)/.test(id)) && chrome && !missingGrid()) {
      progress('calls in a Selenium Grid')
      await measureGrid({ browser: chrome, addon }, site.url, rounds, (row, value) =>
        samples.add(row, compared[0].name, value)
      )
    }
    await measureHttp(rows, httpSides({ browser, addon }), samples, site.url)
  } finally {
    site.close()
  }
  console.log(`\n${table(rows, compared, samples)}\n${dim(`measured in ${since(started)}`)}`)
  await save(rows, compared, samples, { rounds, browser })
  return exitCodeOf(check)
})

function options() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string' },
      only: { type: 'string' },
      addon: { type: 'string' },
      floor: { type: 'boolean' },
      all: { type: 'boolean' },
      check: { type: 'boolean' }
    }
  })
  const rounds = Number(values.rounds ?? 10)
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new StepError(`--rounds is a number, not \`${values.rounds}\``)
  const only = values.only?.split(',') ?? []
  const unknown = only.filter((id) => !ROWS.some((row) => row.id === id))
  if (unknown.length > 0) {
    throw new StepError(
      `the rows are ${ROWS.map((row) => row.id).join(', ')}, not \`${unknown.join(', ')}\``
    )
  }
  return {
    rounds,
    only,
    addon: values.addon && resolve(values.addon),
    withFloor: values.floor,
    withOthers: values.all,
    check: values.check
  }
}

/** Rotates the list, so that each round begins with another server.
 * @template T @param {T[]} list @param {number} round @returns {T[]} */
function rotated(list, round) {
  return list.map((_, index) => list[(index + round) % list.length])
}

/**
 * @param {Row[]} rows
 * @param {Server[]} compared
 * @param {number} rounds
 * @param {Samples} samples
 * @param {string} url
 */
async function measureStarts(rows, compared, rounds, samples, url) {
  const has = (id) => rows.some((row) => row.id === id)
  for (let round = 0; round < rounds; round++) {
    progress(`starts, round ${round + 1} of ${rounds}`)
    for (const server of rotated(compared, round)) {
      if (has('start') || has('list')) {
        await untilIdle()
        const client = server.start()
        await client.initialize()
        samples.add('start', server.name, performance.now() - client.spawned)
        const listed = await client.request('tools/list')
        if (client.pid) {
          samples.add('list', server.name, performance.now() - client.spawned)
          samples.bytes.set(`list ${server.name}`, Buffer.byteLength(JSON.stringify(listed)))
        }
        await client.close()
      }
      if (has('first')) {
        await untilIdle()
        const client = server.start()
        await client.initialize()
        await server.createSession(client)
        await client.call(...server.tools.navigate(`${url}/`))
        samples.add('first', server.name, performance.now() - client.spawned)
        await client.close()
      }
    }
  }
}

/**
 * @param {Row[]} rows
 * @param {Server[]} compared
 * @param {number} rounds
 * @param {Samples} samples
 * @param {string} url
 */
async function measureCalls(rows, compared, rounds, samples, url) {
  const measured = rows.filter((row) => row.page || row.id.startsWith('memory'))
  if (measured.length === 0) return
  const running = await Promise.all(
    compared.map(async (server) => {
      const client = server.start()
      await client.initialize()
      const { tools } = await client.request('tools/list')
      await server.createSession(client)
      await client.call(...server.tools.navigate(`${url}/`))
      return { server, client, names: new Set(tools.map((tool) => tool.name)) }
    })
  )
  try {
    // The first round is not counted: a server's first calls load and compile code.
    for (let round = 0; round <= rounds; round++) {
      progress(round === 0 ? 'calls, warming up' : `calls, round ${round} of ${rounds}`)
      for (const row of measured.filter(({ page }) => page)) {
        for (const { server, client, names } of rotated(running, round)) {
          if (row.read) {
            // The number of bytes is the same in each round.
            const bytes =
              round === 1 &&
              COUNTED.includes(server.name) &&
              (await bytesRead(row.read, server, client, url + row.page, row.argument))
            if (bytes) samples.add(row.id, server.name, bytes)
          } else if (names.has(server.tools[row.action]()[0])) {
            await measureRow(row, server, client, round > 0, samples, url)
          }
        }
      }
    }
    const alone = await nodeMemory()
    for (const { server, client } of running.filter(({ client }) => client.pid)) {
      const memory = serverMemory(client.pid)
      samples.add('memory', server.name, memory)
      samples.add('memoryOwn', server.name, memory - alone)
    }
  } finally {
    await Promise.all(running.map(({ client }) => client.close()))
  }
}

/**
 * Starts a Selenium Grid with one slot for Chrome, and measures a session in it.
 * @param {{ browser: string, addon: string }} options
 * @param {string} url
 * @param {number} rounds
 * @param {(row: string, value: number) => void} add
 */
async function measureGrid(options, url, rounds, add) {
  /** @type {(() => unknown)[]} */
  const ends = []
  try {
    const owner = { after: (/** @type {() => unknown} */ end) => void ends.unshift(end) }
    const times = { sessionTimeout: 60, queueTimeout: 60 }
    const { endpoint } = await startSeleniumGrid(owner, [['chrome']], times)
    await gridTimes(gridSides({ ...options, endpoint }), url, rounds, add)
  } finally {
    for (const end of ends) await end()
  }
}

/**
 * Measures each server once: a hundred clients are enough samples.
 * @param {Row[]} rows
 * @param {import('./servers.mjs').HttpSide[]} sides
 * @param {Samples} samples
 * @param {string} url
 */
async function measureHttp(rows, sides, samples, url) {
  const has = (id) => rows.some((row) => row.id.startsWith(id))
  for (const side of sides) {
    if (has('http') && side.name === 'troupe') {
      progress('calls over HTTP')
      for (const taken of await idleCalls(side, 1000, `${url}/`))
        samples.add('http', side.name, taken)
    }
    if (has('hundred')) {
      progress(`a hundred clients on ${side.title}`)
      const { seconds, wrong, memory } = await clientsAtOnce(side, `${url}/`)
      samples.add('hundred', side.name, seconds)
      samples.add('hundredWrong', side.name, wrong)
      samples.add('hundredMemory', side.name, memory)
    }
  }
}

/** @param {Row} row @param {Server} server @param {StdioClient} client @param {boolean} keep
 * @param {Samples} samples @param {string} url */
async function measureRow(row, server, client, keep, samples, url) {
  await client.call(...server.tools.navigate(url + row.page))
  await server.prepare?.(client)
  await untilIdle()
  const times = row.times ?? REPEAT.times
  const until = performance.now() + (REPEAT.milliseconds * times) / REPEAT.times
  for (let time = 0; time < times && performance.now() < until; time++) {
    // Alternates between two pages: a navigation to the current page is a reload.
    const argument =
      row.action === 'navigate' ? url + (time % 2 ? row.page : '/other') : row.argument
    if (row.pause) await sleep(row.pause[0] + Math.random() * (row.pause[1] - row.pause[0]))
    const started = performance.now()
    const result = await client.call(...server.tools[row.action](argument))
    if (keep) samples.add(row.id, server.name, performance.now() - started)
    if (row.bytes) samples.bytes.set(`${row.id} ${server.name}`, Buffer.byteLength(textOf(result)))
  }
}

/**
 * @param {Row[]} rows
 * @param {Server[]} compared
 * @param {Samples} samples
 * @param {{ rounds: number, browser: string }} run
 */
async function save(rows, compared, samples, run) {
  // A run of a few rows would replace the results of all.
  if (rows.length < ROWS.length) return
  const machine = {
    platform: platform(),
    arch: arch(),
    cpu: cpus()[0].model,
    cores: cpus().length,
    node: process.version
  }
  const results = {
    ...{ ...run, browser: basename(run.browser), date: new Date().toISOString().slice(0, 10) },
    machine,
    servers: compared.map(({ name, title, isBare }) => ({ name, title, isBare })),
    rows: rows.map((row) => resultOf(row, compared, samples))
  }
  const folder = join(ROOT, 'docs/benchmarks')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'results.json'), `${JSON.stringify(results)}\n`)
  const caption = `${run.rounds} rounds on ${machine.cores} × ${machine.cpu}, ${results.browser}. Point: median; line: 10th to 90th percentile; left is faster`
  const servers = results.servers.filter(({ isBare }) => !isBare)
  writeFileSync(join(folder, 'results.svg'), await plot({ ...results, servers }, caption))
  writeFileSync(`${folder}.md`, benchmarkDocument(results))
  console.log(dim(`written to ${folder}.md and ${folder}`))
}

/**
 * The statistics of a row and its raw values, in the row's unit.
 * @param {Row} row
 * @param {Server[]} compared
 * @param {Samples} samples
 */
function resultOf({ id, title, unit, bounds, byteBounds, limit }, compared, samples) {
  const of = (/** @type {(name: string) => unknown} */ value) =>
    Object.fromEntries(
      compared.map(({ name }) => [name, value(name)]).filter(([, value]) => value !== undefined)
    )
  const measured = (/** @type {string} */ name) => samples.values(id, name).length > 0
  return {
    ...{ id, title, unit, bounds, byteBounds, limit },
    medians: of((name) => rounded(samples.quantile(id, name, 0.5))),
    intervals: of((name) =>
      measured(name) ? medianInterval(samples.values(id, name)).map(rounded) : undefined
    ),
    late: of((name) => rounded(samples.quantile(id, name, 0.95))),
    bytes: of((name) => samples.bytes.get(`${id} ${name}`)),
    samples: of((name) => (measured(name) ? samples.values(id, name).map(rounded) : undefined))
  }
}

/** @param {number | undefined} value */
function rounded(value) {
  return value === undefined ? undefined : Number(value.toPrecision(4))
}

/** @param {string} text */
function progress(text) {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${dim(text)}`)
  else console.log(text)
}
