// `npm run bench:dashboard` measures the dashboard of a server over HTTP:
// - the calls of agents in 20 sessions, with and without ten viewers of all sessions;
// - the time until a click of a person reaches the page after a burst of mouse moves;
// - the memory of the server while it streams.
//   --minutes N    how long to stream for the memory [2]
//   --sessions N   the number of sessions [20]
//   --viewers N    the number of viewers [10]
//   --check        exits with 1 if a bound is missed
// Uses the addon in the current folder. The viewers run on the same machine, in another thread.
import { createServer } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from 'simple-statistics'
import { openDashboard } from '../__test__/support/dashboard.mjs'
import { startHttpServer } from '../__test__/support/http.mjs'
import { seededNumbers } from '../__test__/support/random.mjs'
import { serverMemory } from './memory.mjs'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    sessions: { type: 'string', default: '20' },
    viewers: { type: 'string', default: '10' },
    check: { type: 'boolean', default: false }
  }
})
const [minutes, sessions, viewers] = [values.minutes, values.sessions, values.viewers].map(Number)

/** The length of a round (ms), and the number of rounds with and without viewers. */
const ROUND = 8000
const ROUNDS = 6
/**
 * The mean pause of an agent between two calls (ms): a model thinks for longer. A pause is between
 * half and one and a half of it, because the calls of real agents are not evenly spaced.
 */
const PAUSE = 500
/** The number of bursts, and of mouse moves in a burst. */
const BURSTS = 200
const MOVES = 100
/** The maximum ratio of the 99th percentiles, with and without viewers. */
const RATIO_BOUND = 1.2
/** The maximum 99th percentile of the time of a click after a burst (ms). */
const CLICK_BOUND = 20
/** The maximum growth of the memory between the second quarter and the last one (MiB). */
const GROWTH_BOUND = 10
/** Time for the first images and the start of caches (ms). */
const WARM_UP = 3000
/** The time between two measurements of the memory (ms). */
const SAMPLE = 2000

const PAGE = `<!doctype html><title>Watched</title><h1 id="time"></h1><button id="count">Count</button>
<script>
setInterval(() => { time.textContent = new Date().toISOString() }, 500)
addEventListener('click', (event) => navigator.sendBeacon('/clicked?' + event.clientX))
addEventListener('mousemove', () => {})
</script>`

/** @type {(number: number) => void} */
let clicked = () => {}
const site = createServer((request, response) => {
  const click = /^\/clicked\?(\d+)/.exec(request.url ?? '')
  if (click) clicked(Number(click[1]))
  response.writeHead(200, { 'content-type': 'text/html' }).end(click ? '' : PAGE)
}).listen(0, '127.0.0.1')
await once(site, 'listening')
const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (site.address()).port}/`

/** @type {(() => unknown)[]} */
const ends = []
const scope = { after: (/** @type {() => unknown} */ end) => void ends.push(end) }
let isMissed = false
/** @param {string} line @param {boolean} isMet */
function report(line, isMet) {
  console.log(`${line}: ${isMet ? 'met' : 'missed'}`)
  isMissed ||= !isMet
}

try {
  // A record in memory, as in the tests, would fill up during the measurement.
  const folder = mkdtempSync(join(tmpdir(), 'troupe-dashboard-'))
  scope.after(() => rmSync(folder, { recursive: true }))
  const store = ['--store', join(folder, 'record.db')]
  const server = await startHttpServer(scope, ['--max-sessions', String(sessions + 1), ...store])
  const client = await server.connect()
  const ids = []
  for (let at = 0; at < sessions; at++) {
    const sessionId = (await client.call('create_session')).json.sessionId
    await client.call('navigate', { sessionId, url })
    ids.push(sessionId)
  }
  const viewer = await openDashboard(server)
  await measureCalls(server, client, viewer, ids)
  await measureClicks(viewer, ids[0])
  await measureMemory(server, client, viewer, ids)
} finally {
  for (const end of ends.reverse()) await end()
  site.close()
  site.closeAllConnections()
}
process.exitCode = values.check && isMissed ? 1 : 0

/**
 * Opens viewers that watch all sessions, in their own thread.
 * @returns {Promise<{ end: () => Promise<number> }>} `end` returns the number of images.
 */
async function watchAll(server, viewer, ids) {
  const url = server.at('/dashboard/api/live')
  const workerData = { url, headers: viewer.headers, count: viewers, ids }
  const worker = new Worker(new URL('dashboard-viewers.mjs', import.meta.url), { workerData })
  await once(worker, 'message')
  const end = async () => {
    worker.postMessage('end')
    const [frames] = await once(worker, 'message')
    await worker.terminate()
    return frames
  }
  return { end }
}

/**
 * Makes calls in all sessions for `time` ms. Returns the time of each call. The pauses are the same
 * in each round.
 */
async function work(client, ids, time) {
  const end = performance.now() + time
  const times = []
  await Promise.all(
    ids.map(async (sessionId, at) => {
      const random = seededNumbers(at)
      await sleep(PAUSE * random())
      for (let call = 0; performance.now() < end; call++) {
        const begun = performance.now()
        if (call % 2 === 0) await client.call('click', { sessionId, selector: '#count' })
        else await client.call('get_text', { sessionId, selector: '#count' })
        times.push(performance.now() - begun)
        await sleep(PAUSE * (0.5 + random()))
      }
    })
  )
  return times
}

async function measureCalls(server, client, viewer, ids) {
  await work(client, ids, WARM_UP)
  const [alone, watched] = [[], []]
  let frames = 0
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(...(await work(client, ids, ROUND)))
    const all = await watchAll(server, viewer, ids)
    await sleep(WARM_UP)
    watched.push(...(await work(client, ids, ROUND)))
    frames += await all.end()
  }
  const p99 = [alone, watched].map((times) => quantile(times, 0.99))
  const median = [alone, watched].map((times) => quantile(times, 0.5))
  const ratio = p99[1] / p99[0]
  report(
    `calls in ${ids.length} sessions: p99 ${p99[0].toFixed(1)} ms alone (median ${median[0].toFixed(1)}, ${alone.length} calls), ${p99[1].toFixed(1)} ms with ${viewers} viewers (median ${median[1].toFixed(1)}, ${watched.length} calls, ${frames} images); ratio ${ratio.toFixed(2)}, at most ${RATIO_BOUND}`,
    ratio <= RATIO_BOUND
  )
}

async function measureClicks(viewer, id) {
  /** @type {(() => unknown)[]} */
  const closes = []
  const live = await viewer.live({ after: (close) => void closes.push(close) })
  live.watch(id)
  live.say({ type: 'hold', id })
  await live.message('held', ({ by }) => by === 'you')
  const times = []
  for (let burst = 0; burst < BURSTS; burst++) {
    const x = 200 + (burst % 100)
    const at = { kind: 'mouse', x, y: 200, button: 'left', clicks: 1, modifiers: 0 }
    const moves = Array.from({ length: MOVES }, (_, move) => ({ ...at, action: 'move', x: move }))
    const arrived = new Promise((resolve) => (clicked = resolve))
    // As the page of the dashboard does: moves in several messages, and then the click.
    for (let from = 0; from < MOVES; from += 10)
      live.say({ type: 'input', id, events: moves.slice(from, from + 10) })
    const begun = performance.now()
    const click = [
      { ...at, action: 'down' },
      { ...at, action: 'up' }
    ]
    live.say({ type: 'input', id, events: click })
    await arrived
    times.push(performance.now() - begun)
    live.frames.length = 0
    live.messages.length = 0
  }
  live.say({ type: 'release', id })
  closes.forEach((close) => close())
  const p99 = quantile(times, 0.99)
  report(
    `a click after ${MOVES} mouse moves, until the page's request arrives: median ${quantile(times, 0.5).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms of ${times.length}, at most ${CLICK_BOUND} ms`,
    p99 <= CLICK_BOUND
  )
}

async function measureMemory(server, client, viewer, ids) {
  const all = await watchAll(server, viewer, ids)
  await sleep(WARM_UP)
  const end = performance.now() + minutes * 60_000
  const samples = []
  const working = work(client, ids, minutes * 60_000)
  while (performance.now() < end) {
    samples.push(serverMemory(server.child.pid))
    await sleep(SAMPLE)
  }
  await working
  const frames = await all.end()
  const mean = (from, to) => {
    const part = samples.slice(samples.length * from, samples.length * to)
    return part.reduce((sum, value) => sum + value, 0) / part.length
  }
  const [before, after] = [mean(0.25, 0.5), mean(0.75, 1)]
  report(
    `memory of the server while ${viewers} viewers watch ${ids.length} sessions for ${minutes} min (${frames} images): ${before.toFixed(1)} MiB in the second quarter, ${after.toFixed(1)} MiB in the last; growth at most ${GROWTH_BOUND} MiB`,
    after - before <= GROWTH_BOUND
  )
}
