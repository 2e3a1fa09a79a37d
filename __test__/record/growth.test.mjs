// Memory and the size of the record after many calls. `__test__/soak` makes more of them.
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'
import { NO_SQLITE, query, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'

const SKIP =
  NO_SQLITE || (process.platform !== 'linux' && 'the memory of a process is read on Linux only')

test(
  'memory does not grow with the number of recorded calls',
  { timeout: 180_000, skip: SKIP },
  async (t) => {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    const calls = (count) =>
      Promise.all(
        Array.from({ length: 20 }, async () => {
          for (let number = 0; number < count / 20; number++) await server.ok('list_sessions')
        })
      )
    await calls(1000)
    const before = memory(server.child.pid)
    await calls(2000)
    const more = memory(server.child.pid) - before
    assert.ok(more < 8000, `${more} KiB more after 2000 calls`)
    assert.equal(query(file, 'SELECT count(*) AS count FROM responses')[0].count, 3000)
  }
)

test('a record in memory stays small', { timeout: 180_000, skip: SKIP }, async (t) => {
  const server = await startServer(t, ['--store', 'memory'])
  const call = (number) => server.ok('evaluate', { script: `'${number} '.repeat(3e5)` })
  await call(0)
  const before = memory(server.child.pid)
  for (let number = 1; number < 250; number++) await call(number)
  const more = memory(server.child.pid) - before
  // The record's own limit is 64 MiB. Without a limit the calls take more than 250 MB.
  assert.ok(more < 160_000, `${more} KiB more after 250 calls of a megabyte each`)
})

test(
  'a record larger than its --retention loses its oldest calls',
  { timeout: 180_000, skip: SKIP },
  async (t) => {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file, '--retention', '1h,1MiB'])
    const refs = []
    for (let number = 0; number < 60; number++) {
      const script = `Array.from({ length: 5000 }, () => Math.random().toString(36)).join('')`
      refs.push((await server.call('evaluate', { script })).meta.refId)
    }
    await server.end()
    const kept = query(file, 'SELECT ref_id FROM requests').map(({ ref_id }) => ref_id)
    assert.ok(kept.includes(refs.at(-1)), 'the newest call is kept')
    assert.ok(!kept.includes(refs[0]), 'the oldest call is deleted')
    assert.ok(statSync(file).size < 2 << 20, `${statSync(file).size} bytes`)
  }
)

/** Returns the private memory of a process in KiB. @param {number | undefined} pid */
function memory(pid) {
  return Number(/Pss_Anon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
}
