// Long tests of the record (`npm run test:soak`): a hundred crashes, ten thousand calls.
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { describe, test } from 'node:test'
import { dieDuringCalls } from '../support/deaths.mjs'
import { randomNumbers } from '../support/random.mjs'
import { NO_SQLITE, query, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'

describe('the record, for long', { timeout: 3_600_000 }, () => {
  test(
    'after a hundred kills at random moments, the file is valid and has every answer',
    { skip: NO_SQLITE },
    async (t) => {
      const file = recordFile(t)
      const random = randomNumbers(t)
      let answered = 0
      for (let death = 0; death < 100; death++)
        answered += (await dieDuringCalls(t, file, random() * 600)).answered
      t.diagnostic(`${answered} answers were received`)
      assert.ok(answered > 100)
    }
  )

  test(
    'ten thousand calls: the file grows with its content, and memory does not grow with their number',
    { skip: NO_SQLITE || !readable('/proc/self/smaps_rollup') },
    async (t) => {
      const file = recordFile(t)
      const server = await startServer(t, ['--store', file])
      await server.ok('navigate', { url: 'data:text/html,<title>Page</title><p>Text</p>' })
      const calls = async (count) => {
        for (let number = 0; number < count; number++)
          await server.ok('get_text', { selector: 'p' })
      }
      await calls(2000)
      const before = { memory: memory(server.child.pid), size: statSync(file).size }
      await calls(8000)
      const after = { memory: memory(server.child.pid), size: statSync(file).size }
      t.diagnostic(JSON.stringify({ before, after }))
      assert.equal(query(file, 'SELECT count(*) AS count FROM responses')[0].count, 10_001)
      assert.ok(after.memory - before.memory < 10_000, `${after.memory - before.memory} KiB more`)
      // A small answer is some hundred bytes, in two rows with their indexes.
      assert.ok(
        (after.size - before.size) / 8000 < 1500,
        `${(after.size - before.size) / 8000} bytes a call`
      )
    }
  )
})

/** Returns the private memory of a process in KiB. @param {number | undefined} pid */
function memory(pid) {
  return Number(/Pss_Anon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
}

/** @param {string} path */
function readable(path) {
  try {
    return readFileSync(path).length > 0
  } catch {
    return false
  }
}
