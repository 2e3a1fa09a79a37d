// Many concurrent conversations on one server. No conversation sees the cookies of
// another, memory stays within a limit, and no process remains.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { startHttpServer } from './http.mjs'
import { awaitProcessesEnded, descendants } from './processes.mjs'
import { startSite } from './site.mjs'

/** Timeout in ms. On a small machine, browsers take long to open a hundred pages concurrently. */
const TIMEOUT = 120_000
const TIMEOUT_OPTIONS = ['--timeout-action', '60000', '--timeout-navigation', String(TIMEOUT)]

/** Proportional set size of a process in MiB. @param {number} pid */
const memory = (pid) =>
  Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024

/**
 * @param {import('node:test').TestContext} t @param {number} count
 * @param {number} limit of the memory of the server's process, in MiB
 */
export async function conversations(t, count, limit) {
  const site = await startSite(t)
  const server = await startHttpServer(t, ['--max-sessions', String(count), ...TIMEOUT_OPTIONS])
  const pid = server.child.pid ?? 0
  const started = performance.now()
  const clients = await Promise.all(
    Array.from({ length: count }, async (_, number) => {
      const client = await server.connect()
      client.requestTimeout = TIMEOUT
      await client.ok('navigate', { url: site.url(`/set-cookie?whose=${number}`) })
      await client.ok('navigate', { url: site.url('/form') })
      await client.ok('type', { selector: '#name', text: `Number ${number}` })
      await client.ok('click', { selector: '#send' })
      await client.ok('navigate', { url: site.url('/cookies') })
      const seen = JSON.stringify(await client.ok('get_text', { selector: '#out' }))
      assert.equal(/whose=(\d+)/.exec(seen)?.[1], String(number))
      return client
    })
  )
  const took = (performance.now() - started) / 1000
  const used = memory(pid)
  const below = descendants(pid)
  t.diagnostic(`${took.toFixed(1)} s, ${used.toFixed(0)} MiB, ${below.length} browser processes`)
  assert.equal(new Set(clients.map(({ sessionId }) => sessionId)).size, count)
  assert.ok(used < limit, `${used} MiB`)
  // One more session exceeds the limit.
  const { json } = await (await server.connect()).call('navigate', { url: site.url('/') })
  assert.equal(json.errorCode, 'MAX_SESSIONS_REACHED')
  assert.deepEqual(
    await Promise.all(clients.map((client) => client.delete())),
    clients.map(() => 204)
  )
  assert.equal(await server.sessionCount(), 0)
  assert.equal((await server.end()).code, 0)
  await awaitProcessesEnded(below)
}
