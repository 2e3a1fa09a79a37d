// How much one session with large databases delays the calls of another.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from 'simple-statistics'
import { untilIdle } from './idle.mjs'

/** Megabytes in IndexedDB, below the limit of 16 that Troupe saves for an origin. */
const SIZE = 14
const ROUNDS = 6
/** Milliseconds of calls in each round. */
const WORK = 4000
/** Pause between two calls of the neighbor (ms). */
const PAUSE = 250
/** The maximum ratio of the 99th percentiles. */
export const NEIGHBOR_BOUND = 1.5

const fill = `(async () => {
  const database = await new Promise((resolve, reject) => {
    const request = indexedDB.open('large', 1)
    request.onupgradeneeded = () => request.result.createObjectStore('records', { keyPath: 'id' })
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const transaction = database.transaction('records', 'readwrite')
  for (let id = 0; id < ${SIZE * 1000}; id++) transaction.objectStore('records').put({ id, text: String(id).padEnd(960, 'x') })
  await new Promise((resolve) => { transaction.oncomplete = resolve })
  database.close()
})()`

/** What the neighbor does. Only the second script changes its databases. */
const NEIGHBORS = {
  acts: (/** @type {number} */ call) => `document.body.dataset.call = ${call}`,
  'writes its databases': (/** @type {number} */ call) => `new Promise((resolve) => {
    const request = indexedDB.open('large')
    request.onsuccess = () => {
      const transaction = request.result.transaction('records', 'readwrite')
      transaction.objectStore('records').put({ id: 0, text: 'call ${call}' })
      transaction.oncomplete = () => { request.result.close(); resolve() }
    }
  })`
}

/**
 * Measures `evaluate` in one session, alternately alone and beside each neighbor. Returns quantiles
 * in milliseconds.
 * @param {import('./alternating.mjs').Start} start @param {string} url
 * @returns {Promise<{ name: string, median: number, p99: number }[]>}
 */
export async function neighborTimes(start, url) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-neighbor-'))
  const client = start(join(folder, 'record.db'), '--timeout-action', '60000')
  try {
    await client.initialize()
    const [quiet, large] = [
      await session(client, url),
      await session(client, url.replace('127.0.0.1', 'localhost'))
    ]
    await client.call('evaluate', { sessionId: large, script: fill })
    const evaluate = () => client.call('evaluate', { sessionId: quiet, script: 'document.title' })
    /** @type {Map<string, number[]>} */
    const times = new Map([
      ['alone', []],
      ...Object.keys(NEIGHBORS).map((name) => /** @type {[string, number[]]} */ ([name, []]))
    ])
    for (let call = 0; call < 500; call++) await evaluate()
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, taken] of times) {
        await untilIdle()
        const until = performance.now() + WORK
        const neighbor = acting(client, large, NEIGHBORS[name], until)
        while (performance.now() < until) {
          const begun = performance.now()
          await evaluate()
          taken.push(performance.now() - begun)
        }
        await neighbor
      }
    }
    return Array.from(times, ([name, taken]) => ({
      name,
      median: quantile(taken, 0.5),
      p99: quantile(taken, 0.99)
    }))
  } finally {
    await client.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {import('./stdio-client.mjs').StdioClient} client
 * @param {string} url
 * @returns {Promise<string>}
 */
async function session(client, url) {
  const { structuredContent } = await client.call('create_session', {})
  await client.call('navigate', { sessionId: structuredContent.sessionId, url: `${url}/form` })
  return structuredContent.sessionId
}

/**
 * @param {import('./stdio-client.mjs').StdioClient} client @param {string} sessionId
 * @param {((call: number) => string) | undefined} script @param {number} until
 */
async function acting(client, sessionId, script, until) {
  for (let call = 0; script && performance.now() < until; call++) {
    await client.call('evaluate', { sessionId, script: script(call) })
    await sleep(PAUSE)
  }
}
