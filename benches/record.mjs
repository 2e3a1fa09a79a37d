// Measures the cost of the record: calls on servers with and without a record, alternately, calls
// with and without saved sessions, the time to record two thousand calls in one file, and calls
// whose record is in PostgreSQL.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { alternate } from './alternating.mjs'

/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */
/** @typedef {import('./alternating.mjs').Start} Start */

const CALLS = 1000
const AT_ONCE = 64
const STREAM = 10_000

/**
 * @param {Start} start
 * @param {string} page
 * @returns {Promise<Record<'recordMedian' | 'recordLate' | 'recordSaving' | 'recordStream',
 *   number>>}
 */
export async function recordCosts(start, page) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-record-'))
  try {
    const evaluate = /** @type {const} */ (['evaluate', { script: 'document.title' }])
    const recorded = await alternate(
      start('none'),
      start(join(folder, 'calls.db')),
      page,
      CALLS,
      () => evaluate
    )
    const file = join(folder, 'saved.db')
    // Each call changes the state that is saved.
    const changes = (call) =>
      /** @type {const} */ (['evaluate', { script: `localStorage.count = ${call}` }])
    const saved = await alternate(
      start(file, '--persistent-sessions=false'),
      start(file),
      page,
      CALLS,
      changes
    )
    return {
      recordMedian: recorded.at(0.5).difference,
      recordLate: recorded.at(0.99).difference,
      recordSaving: saved.at(0.5).difference,
      recordStream: await stream(start(join(folder, 'stream.db')))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the seconds that two thousand calls take. @param {StdioClient} client */
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

/**
 * Compares calls that a server records in a PostgreSQL database with calls that it does not record.
 * Returns the difference of the medians and of the 99th percentiles (ms).
 * @param {Start} start
 * @param {string} page
 * @param {{ url: string }} database
 */
export async function postgresCosts(start, page, database) {
  const evaluate = /** @type {const} */ (['evaluate', { script: 'document.title' }])
  const { at } = await alternate(start('none'), start(database.url), page, CALLS, () => evaluate)
  return { median: at(0.5).difference, p99: at(0.99).difference }
}
