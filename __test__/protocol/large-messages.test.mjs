// Messages of several megabytes in both directions, more than the buffers of pipes.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { until } from '../support/wait.mjs'

const MIB = 1 << 20

/**
 * Waits until the server uses no processor time any more.
 * @param {import('../support/server.mjs').Server} server
 */
async function awaitServerIdle({ child }) {
  const used = () =>
    readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).join()
  let [last, since] = [used(), performance.now()]
  await until(
    () => {
      const now = used()
      if (now !== last) [last, since] = [now, performance.now()]
      return performance.now() - since > 200
    },
    'an idle server',
    20_000
  )
}

describe('large messages', { timeout: 60_000 }, () => {
  // Results for agents are cut to the budget; this tests the transport.
  const { server } = startShared({ args: ['--result-budget', '100000000'] })
  before(async () => {
    await server.ok('navigate', { url: 'data:text/html,<title>Large</title>' })
  })

  const digest = (text) => createHash('sha256').update(text).digest('hex')

  test('a call of 4 MiB arrives completely', async () => {
    const text = 'aé€😀'.repeat((4 * MIB) / 10)
    const script =
      '(text) => [text.length, text.slice(0, 5), text === "aé€😀".repeat(text.length / 5)]'
    const { value } = await server.ok('evaluate', { script, args: [text] })
    assert.deepEqual(value, [text.length, 'aé€😀', true])
  })

  test('a result of 3 MiB arrives completely, as structured content and as text', async () => {
    const { result, json } = await server.call('evaluate', {
      script: `'0123456789abcdé€'.repeat(${(3 * MIB) / 16})`
    })
    const expected = digest('0123456789abcdé€'.repeat((3 * MIB) / 16))
    assert.equal(digest(result.structuredContent.value), expected)
    assert.equal(digest(json.value), expected)
  })

  test('several large messages at once, in both directions, are answered in order', async () => {
    const sizes = [1, 2].map((size) => size * MIB)
    const answers = await Promise.all(
      sizes.map((size) =>
        server.ok('evaluate', { script: '(text) => text', args: ['x'.repeat(size)] })
      )
    )
    assert.deepEqual(
      answers.map(({ value }) => value.length),
      sizes
    )
  })

  test(
    'a client that does not read for some time loses no messages',
    { skip: process.platform !== 'linux' },
    async () => {
      server.child.stdout.pause()
      const before = server.received.length
      const calls = Array.from({ length: 4 }, (_, index) =>
        server.ok('evaluate', { script: `${index} + 'y'.repeat(${MIB})` })
      )
      // The server cannot write: its pipe is full.
      await awaitServerIdle(server)
      assert.ok(server.received.length < before + calls.length, 'the client has read all the same')
      server.child.stdout.resume()
      const answers = await Promise.all(calls)
      assert.deepEqual(
        answers.map(({ value }) => [value[0], value.length]),
        calls.map((_, index) => [String(index), MIB + 1])
      )
    }
  )
})
