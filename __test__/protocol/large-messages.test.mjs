// Messages of several megabytes, both ways: pipes are full long before.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'

const MIB = 1 << 20

describe('large messages', { timeout: 60_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startServer>>} */
  let server
  before(async () => {
    server = await startServer(scope)
    await server.ok('navigate', { url: 'data:text/html,<title>Large</title>' })
  })

  test('a call of 8 MiB arrives whole', async () => {
    const text = 'aé€😀'.repeat((8 * MIB) / 10)
    const script = '(text) => [text.length, text.slice(0, 4), text.slice(-5)]'
    const { value } = await server.ok('evaluate', { script, args: [text] })
    assert.deepEqual(value, [text.length, text.slice(0, 4), text.slice(-5)])
  })

  test('an answer of 8 MiB arrives whole', async () => {
    const { result } = await server.call('evaluate', { script: `'0123456789abcdef'.repeat(${(8 * MIB) / 16})` })
    const expected = '0123456789abcdef'.repeat((8 * MIB) / 16)
    const digest = (text) => createHash('sha256').update(text).digest('hex')
    assert.equal(digest(result.structuredContent.value), digest(expected))
  })

  test('several large ones at once, both ways, are answered in order', async () => {
    const sizes = [3, 1, 4, 1, 5].map((size) => size * MIB)
    const answers = await Promise.all(
      sizes.map((size) => server.ok('evaluate', { script: '(text) => text', args: ['x'.repeat(size)] }))
    )
    assert.deepEqual(answers.map(({ value }) => value.length), sizes)
  })

  test('a client that reads nothing for a while loses nothing', async () => {
    server.child.stdout.pause()
    const calls = Array.from({ length: 8 }, (_, index) => server.ok('evaluate', { script: `${index} + 'y'.repeat(${MIB})` }))
    // The server is held up by its full pipe; when it has read on, it has not given up.
    await server.child.stdin.writableNeedDrain
    server.child.stdout.resume()
    const answers = await Promise.all(calls)
    assert.deepEqual(answers.map(({ value }) => [value[0], value.length]), calls.map((_, index) => [String(index), MIB + 1]))
  })
})
