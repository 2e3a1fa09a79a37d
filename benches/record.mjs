// `npm run bench:record`: what the record costs. The same calls, in turns, on a server that records into a file and on one
// that does not; and how many recorded calls a second go into one file.
//   --addon PATH    another addon than the release build's
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT, bold, green, red } from '../scripts/run.mjs'
import { releaseAddon, runScript, setup } from '../scripts/setup.mjs'
import { StdioClient } from './stdio-client.mjs'

const CALLS = 1000
const AT_ONCE = 64
const STREAM = 10_000
/** What the project has set itself: milliseconds more at the median and the 99th percentile, calls a second. */
const LIMITS = { median: 1, late: 3, rate: 2000 }

await runScript(async () => {
  const { values } = parseArgs({ options: { addon: { type: 'string' } } })
  if (!values.addon) await setup()
  const addon = values.addon ?? (await releaseAddon())
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-record-'))
  try {
    const fine = [await added(addon, folder), await rate(addon, folder)]
    return fine.every(Boolean) ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** @param {string} addon @param {string} store */
async function start(addon, store) {
  const flags = ['--headless', '--store', store, ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])]
  const client = new StdioClient([process.execPath, join(ROOT, 'bin/troupe.js'), ...flags], { NAPI_RS_NATIVE_LIBRARY_PATH: addon })
  await client.initialize()
  await client.call('navigate', { url: 'data:text/html,<title>Page</title><button>Go</button>' })
  return client
}

/** @param {string} addon @param {string} folder */
async function added(addon, folder) {
  const clients = [await start(addon, 'none'), await start(addon, join(folder, 'calls.db'))]
  /** @type {number[][]} */
  const times = [[], []]
  for (let call = -100; call < CALLS; call++) {
    for (const which of call % 2 ? [0, 1] : [1, 0]) {
      const begun = performance.now()
      await clients[which].call('evaluate', { script: 'document.title' })
      if (call >= 0) times[which].push(performance.now() - begun)
    }
  }
  await Promise.all(clients.map((client) => client.close()))
  const at = (share) => times.map((list) => list.toSorted((a, b) => a - b)[Math.floor(list.length * share)])
  const [median, late] = [at(0.5), at(0.99)].map(([without, recorded]) => ({ without, recorded, more: recorded - without }))
  tell('recording adds, median', `${median.more.toFixed(2)} ms (${median.without.toFixed(2)} → ${median.recorded.toFixed(2)})`, median.more < LIMITS.median)
  tell('recording adds, 99th percentile', `${late.more.toFixed(2)} ms (${late.without.toFixed(2)} → ${late.recorded.toFixed(2)})`, late.more < LIMITS.late)
  return median.more < LIMITS.median && late.more < LIMITS.late
}

/** @param {string} addon @param {string} folder */
async function rate(addon, folder) {
  const client = await start(addon, join(folder, 'stream.db'))
  let left = STREAM
  const begun = performance.now()
  const worker = async () => {
    while (left-- > 0) await client.call('list_sessions', {})
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const second = Math.round(STREAM / ((performance.now() - begun) / 1000))
  await client.close()
  tell('recorded calls a second into one file', `${second}`, second >= LIMITS.rate)
  return second >= LIMITS.rate
}

/** @param {string} what @param {string} value @param {boolean} fine */
function tell(what, value, fine) {
  console.log(`${fine ? green('✓') : red('✗')} ${what}: ${bold(value)}`)
}
