// What the record costs: the same calls, in turns, on a server that records into a file and on one that does not; the same
// with sessions saved and not; and how long it takes to record two thousand calls into one file.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */
/** @typedef {(store: string, ...flags: string[]) => StdioClient} Start */

const CALLS = 1000
const AT_ONCE = 64
const STREAM = 10_000

/** @param {Start} start @param {string} page @returns {Promise<Record<'recordMedian' | 'recordLate' | 'recordSaving' | 'recordStream', number>>} */
export async function recordCosts(start, page) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-record-'))
  try {
    const evaluate = /** @type {const} */ (['evaluate', { script: 'document.title' }])
    const recorded = await inTurns(start('none'), start(join(folder, 'calls.db')), page, () => evaluate)
    const file = join(folder, 'saved.db')
    // Each changes what is saved of the session.
    const changes = (call) => /** @type {const} */ (['evaluate', { script: `localStorage.count = ${call}` }])
    const saved = await inTurns(start(file, '--persistent-sessions=false'), start(file), page, changes)
    return {
      recordMedian: recorded.more(0.5),
      recordLate: recorded.more(0.99),
      recordSaving: saved.more(0.5),
      recordStream: await stream(start(join(folder, 'stream.db')))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Milliseconds more of the second. @param {StdioClient} one @param {StdioClient} other @param {string} page
 * @param {(call: number) => readonly [string, object]} make */
async function inTurns(one, other, page, make) {
  const clients = [one, other]
  for (const client of clients) {
    await client.initialize()
    await client.call('create_session', {})
    await client.call('navigate', { url: page })
  }
  /** @type {number[][]} */
  const times = [[], []]
  for (let call = -100; call < CALLS; call++) {
    for (const which of call % 2 ? [0, 1] : [1, 0]) {
      const begun = performance.now()
      await clients[which].call(...make(call))
      if (call >= 0) times[which].push(performance.now() - begun)
    }
  }
  await Promise.all(clients.map((client) => client.close()))
  return {
    /** @param {number} share */
    more: (share) => {
      const [without, with_] = times.map((list) => list.toSorted((a, b) => a - b)[Math.floor(list.length * share)])
      return with_ - without
    }
  }
}

/** Seconds that two thousand calls take. @param {StdioClient} client */
async function stream(client) {
  await client.initialize()
  let left = STREAM
  const begun = performance.now()
  const worker = async () => {
    while (left-- > 0) await client.call('list_sessions', {})
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  const seconds = (performance.now() - begun) / 1000
  await client.close()
  return (seconds * 2000) / STREAM
}
