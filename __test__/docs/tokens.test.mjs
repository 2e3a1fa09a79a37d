// The scripted agent of `npm run bench:tokens` does the jobs with Troupe. Bytes stand for tokens,
// so that the test does not need the tokenizer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JOBS } from '../../benches/tokens/jobs.mjs'
import { measure } from '../../benches/tokens/measure.mjs'
import { TROUPE } from '../../benches/tokens/programs.mjs'
import { NO_NATIVE_CLIENT } from '../support/command-line.mjs'

describe('the jobs whose tokens are counted', { timeout: 60_000 }, () => {
  for (const program of TROUPE) {
    const skip = program.name === 'troupeCli' && NO_NATIVE_CLIENT
    test(`are done with ${program.title}`, { skip }, async () => {
      const { fixed, jobs } = await measure(program, Buffer.byteLength)
      assert.ok(fixed.schemas + fixed.skill > 4000, JSON.stringify(fixed))
      assert.deepEqual(
        Object.keys(jobs),
        JOBS.map(({ name }) => name)
      )
      // A page is read once, and the rest is one turn.
      for (const [name, { turns, read }] of Object.entries(jobs)) {
        assert.equal(turns, 2, name)
        assert.ok(read < 5000, `${name}: ${read}`)
      }
    })
  }
})
