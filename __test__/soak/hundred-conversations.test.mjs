// Seed 003, T-3: a hundred conversations at once on one server. None sees another's cookies, memory stays within a limit,
// and no process is left. Prints what it measured.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { allEnded, descendants } from '../support/processes.mjs'
import { startSite } from '../support/site.mjs'

const CONVERSATIONS = 100
/** The server's own process, Node and all, in MiB. */
const MEMORY_LIMIT = 143

/** Proportional set size in MiB. @param {number} pid */
const memory = (pid) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024

test(`${CONVERSATIONS} conversations at once`, { timeout: 300_000 }, async (t) => {
  const site = await startSite(t)
  const server = await startHttpServer(t, ['--max-sessions', String(CONVERSATIONS)])
  const pid = server.child.pid ?? 0
  const begun = performance.now()
  const clients = await Promise.all(
    Array.from({ length: CONVERSATIONS }, async (_, number) => {
      const client = await server.connect()
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
  const took = (performance.now() - begun) / 1000
  const used = memory(pid)
  const below = descendants(pid)
  t.diagnostic(`${took.toFixed(1)} s, ${used.toFixed(0)} MiB, ${below.length} browser processes`)
  assert.equal(new Set(clients.map(({ sessionId }) => sessionId)).size, CONVERSATIONS)
  assert.ok(used < MEMORY_LIMIT, `${used} MiB`)
  // One more finds no place.
  const { json } = await (await server.connect()).call('navigate', { url: site.url('/') })
  assert.equal(json.errorCode, 'MAX_SESSIONS_REACHED')
  assert.deepEqual(await Promise.all(clients.map((client) => client.delete())), clients.map(() => 204))
  assert.equal((await (await fetch(server.at('/health'))).json()).sessions, 0)
  assert.equal((await server.end()).code, 0)
  await allEnded(below)
})
