// Many calls. Ten thousand of them are in __test__/soak.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { NO_SQLITE, query, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'

const SKIP = NO_SQLITE || (process.platform !== 'linux' && 'only Linux tells what memory is whose')

test('memory does not grow with the number of recorded calls', { timeout: 60_000, skip: SKIP }, async (t) => {
  const file = recordFile(t)
  const server = await startServer(t, ['--store', file])
  const calls = (count) => Promise.all(Array.from({ length: 20 }, async () => {
    for (let number = 0; number < count / 20; number++) await server.ok('list_sessions')
  }))
  await calls(1000)
  const before = memory(server.child.pid)
  await calls(2000)
  const more = memory(server.child.pid) - before
  assert.ok(more < 8000, `${more} KiB more after 2000 calls`)
  assert.equal(query(file, 'SELECT count(*) AS count FROM responses')[0].count, 3000)
})

/** KiB that are the process's own. @param {number | undefined} pid */
function memory(pid) {
  return Number(/Pss_Anon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
}
