// Makes many calls in short sessions. Afterwards, the server must have the same resources as
// before.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { descendants } from './processes.mjs'
import { startHttpServer } from './http.mjs'
import { temporaryFolder } from './record.mjs'
import { startSite } from './site.mjs'
import { until } from './wait.mjs'

/** Calls in each session, besides those that create and close it. */
const CALLS_PER_SESSION = 20
/** Timeout in ms. On a small machine, a browser takes long to open many pages concurrently. */
const TIMEOUT = 120_000

/**
 * @param {import('node:test').TestContext} t
 * @param {{ calls: number, sessions: number, growth: number }} limits the number of calls, the
 *   number of concurrent sessions, and by how many MiB the server's memory may grow between a third
 *   of the calls and the last one
 */
export async function churn(t, { calls, sessions, growth }) {
  const site = await startSite(t)
  const timeouts = ['--timeout-action', '60000', '--timeout-navigation', String(TIMEOUT)]
  const folder = temporaryFolder(t)
  const server = await startHttpServer(
    t,
    ['--max-sessions', String(sessions), '--store', 'none', ...timeouts],
    { env: { TMPDIR: folder } }
  )
  const pid = server.child.pid ?? 0
  const connect = async () => Object.assign(await server.connect(), { requestTimeout: TIMEOUT })
  const client = await connect()
  let made = 0
  /** Uses a session, then ends it: alternately by `close_session` and by the end of its client. */
  const useSession = async (/** @type {number} */ number) => {
    const hasOwnClient = number % 2 === 0
    const user = hasOwnClient ? await connect() : client
    const session = hasOwnClient ? {} : { sessionId: (await client.ok('create_session')).sessionId }
    await user.ok('navigate', { ...session, url: site.url(`/set-cookie?whose=${number}`) })
    await user.ok('navigate', { ...session, url: site.url('/form') })
    for (let call = 0; call < CALLS_PER_SESSION - 4; call += 4) {
      await user.ok('fill', { ...session, selector: '#name', value: `Number ${number}` })
      await user.ok('snapshot', session)
      await user.ok('click', { ...session, selector: '#name' })
      assert.equal(
        (
          await user.ok('evaluate', {
            ...session,
            script: 'document.querySelector("#name").value'
          })
        ).value,
        `Number ${number}`
      )
    }
    await user.ok('navigate', { ...session, url: site.url('/cookies') })
    assert.equal(
      (await user.ok('get_text', { ...session, selector: '#out' })).text,
      `whose=${number}`
    )
    if (hasOwnClient) await user.delete()
    else await client.ok('close_session', session)
    made += CALLS_PER_SESSION
  }
  /** Uses sessions until this number of calls is made, and returns the server's resources. */
  const resourcesAfter = async (/** @type {number} */ callCount) => {
    let number = made / CALLS_PER_SESSION
    const worker = async () => {
      while (number * CALLS_PER_SESSION < callCount) await useSession(number++)
    }
    await Promise.all(Array.from({ length: sessions }, worker))
    // All sessions have ended, so the browser has only the resources that it needs without
    // sessions.
    return stableResources(pid, folder)
  }
  const started = performance.now()
  const before = await resourcesAfter(calls / 3)
  const after = await resourcesAfter(calls)
  t.diagnostic(
    `${made} calls in ${((performance.now() - started) / 1000).toFixed(0)} s; ${JSON.stringify({ before, after })}`
  )
  // The numbers of client connections and idle threads vary with the load. A leak in each session
  // would be many times that.
  const tolerance = { threads: sessions, files: sessions, processes: 2, folders: 1 }
  for (const what of /** @type {const} */ (['threads', 'files', 'processes', 'folders'])) {
    assert.ok(
      after[what] <= before[what] + tolerance[what],
      `${what}: ${before[what]}, then ${after[what]}`
    )
  }
  assert.ok(after.memory - before.memory < growth, `${before.memory} MiB, then ${after.memory} MiB`)
}

/**
 * Returns the resources of the server when they have not changed for half a second.
 * @param {number} pid
 * @param {string} folder
 */
async function stableResources(pid, folder) {
  let last = ''
  let since = performance.now()
  await until(
    () => {
      const now = JSON.stringify({ ...resourcesOf(pid, folder), memory: 0 })
      if (now !== last) [last, since] = [now, performance.now()]
      return performance.now() - since > 500
    },
    'stable numbers of threads, files, processes and folders',
    20_000
  )
  return resourcesOf(pid, folder)
}

/** @param {number} pid @param {string} folder for all temporary files */
function resourcesOf(pid, folder) {
  return {
    threads: readdirSync(`/proc/${pid}/task`).length,
    files: readdirSync(`/proc/${pid}/fd`).length,
    processes: descendants(pid).length,
    folders: readdirSync(folder).length,
    memory: Math.round(
      Number(/Pss_Anon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) /
        1024
    )
  }
}
