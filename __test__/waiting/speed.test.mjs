// No fixed sleep anywhere: on a page where nothing happens, an action costs next to nothing.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'

/** Of the slow addon that tests build, on a machine that does other things too. */
const LIMIT = 60

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]

describe('on a page where nothing happens', { timeout: 60_000 }, () => {
  const { server, site } = startShared()
  before(() => server.ok('navigate', { url: site.url('/form') }))

  for (const [tool, args] of /** @type {const} */ ([
    ['click', { selector: '#name' }],
    ['type', { selector: '#name', text: 'x' }],
    ['evaluate', { script: '1' }],
    ['snapshot', {}]
  ])) {
    test(`the median of 20 times ${tool} is under ${LIMIT} ms`, async () => {
      const times = []
      for (let round = 0; round < 20; round++) {
        const { ms, isError, text } = await server.call(tool, args)
        assert.ok(!isError, text)
        times.push(ms)
      }
      assert.ok(median(times) < LIMIT, `median ${median(times).toFixed(1)} ms of ${times.map((ms) => ms.toFixed(0)).join(' ')}`)
    })
  }
})
