// Invalid lines: each gets an error response, and the next line is read.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { until } from '../support/wait.mjs'

describe('a line', { timeout: 60_000 }, () => {
  const { server } = startShared()
  before(async () => {
    await server.ok('navigate', { url: 'data:text/html,<title>Lines</title>' })
  })

  /** The responses to the lines that `write` has sent. Checks that a tool works afterwards. */
  async function answerTo(write, timeout = 5000) {
    const before = server.received.length
    write()
    const answer = await until(
      () => server.received.slice(before).find(({ error }) => error),
      'an answer',
      timeout
    )
    assert.equal((await server.ok('evaluate', { script: 'document.title' })).value, 'Lines')
    assert.equal(answer.jsonrpc, '2.0')
    return answer
  }

  for (const [what, line, code] of /** @type {const} */ ([
    ['that is cut off', '{"jsonrpc":"2.0","id":1,"method":', -32700],
    ['that is text', 'Hello, server!', -32700],
    ['with single quotes', "{'jsonrpc':'2.0','id':1,'method':'ping'}", -32700],
    [
      'of two messages',
      '{"jsonrpc":"2.0","id":"x1","method":"ping"}{"jsonrpc":"2.0","id":"x2","method":"ping"}',
      -32700
    ],
    ['that is a number', '17', -32600],
    ['that is null', 'null', -32600],
    ['that is an empty list', '[]', -32600],
    ['that is an empty object', '{}', -32600],
    ['with an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600]
  ])) {
    test(`${what} is ${code}, with id null`, async () => {
      const { id, error } = await answerTo(() => server.sendRaw(line))
      assert.deepEqual({ id, code: error.code }, { id: null, code })
      assert.ok(error.message.length > 10, error.message)
    })
  }

  for (const [what, line, code] of /** @type {const} */ ([
    [
      'with half a character (a lone \\ud800)',
      '{"jsonrpc":"2.0","id":"s1","method":"tools/call","params":{"name":"evaluate","arguments":{"script":"\'\\ud800\'"}}}',
      -32700
    ],
    ['of another JSON-RPC', '{"jsonrpc":"1.0","id":"s1","method":"ping"}', -32600],
    ['whose method is a number', '{"jsonrpc":"2.0","id":"s1","method":5}', -32600]
  ])) {
    test(`${what} is ${code}, with its id`, async () => {
      const { id, error } = await answerTo(() => server.sendRaw(line))
      assert.deepEqual({ id, code: error.code }, { id: 's1', code })
    })
  }

  test('that is not UTF-8 is -32700', async () => {
    const { error } = await answerTo(() =>
      server.child.stdin.write(Buffer.from([0xff, 0xfe, 0x7b, 0x0a]))
    )
    assert.equal(error.code, -32700)
  })

  test('of 20 MiB is rejected with its id, at any position of the id, and does not affect the next message', async () => {
    const text = 'x'.repeat(20 << 20)
    for (const line of [
      `{"jsonrpc":"2.0","id":"front","method":"tools/call","params":{"name":"evaluate","arguments":{"script":"'${text}'"}}}`,
      `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"evaluate","arguments":{"script":"'${text}'"}},"id":"back"}`
    ]) {
      const { id, error } = await answerTo(() => server.sendRaw(line), 20_000)
      assert.equal(id, /"id":"(\w+)"/.exec(line)?.[1])
      assert.equal(error.code, -32600)
      assert.match(error.message, /limit is \d+/)
    }
  })

  test('that is empty, ends with a carriage return, or begins with a byte order mark is accepted', async () => {
    const before = server.received.length
    server.sendRaw('')
    server.sendRaw('   ')
    server.sendRaw('\ufeff{"jsonrpc":"2.0","id":"marked","method":"ping"}')
    server.sendRaw('{"jsonrpc":"2.0","id":"returned","method":"ping"}\r')
    for (const wanted of ['marked', 'returned']) {
      const { result } = await until(
        () => server.received.find(({ id }) => id === wanted),
        `the answer to ${wanted}`,
        5000
      )
      assert.deepEqual(result, {})
    }
    assert.ok(server.received.slice(before).every(({ error }) => !error))
  })

  test('that arrives in chunks is joined, also within multibyte characters', async () => {
    const message = {
      jsonrpc: '2.0',
      id: 'pieces',
      method: 'tools/call',
      params: { name: 'evaluate', arguments: { script: '"né€😀"' } }
    }
    const answer = until(() => server.received.find(({ id }) => id === 'pieces'), 'the answer')
    for (const byte of Buffer.from(`${JSON.stringify(message)}\n`)) {
      await new Promise((resolve) => server.child.stdin.write(Buffer.from([byte]), resolve))
    }
    assert.equal((await answer).result.structuredContent.value, 'né€😀')
  })

  test('that is an unexpected response or notification is ignored', async () => {
    const before = server.received.length
    server.sendRaw('{"jsonrpc":"2.0","id":999,"result":{}}')
    server.sendRaw('{"jsonrpc":"2.0","id":998,"error":{"code":1,"message":"no"}}')
    server.sendRaw('{"jsonrpc":"2.0","method":"notifications/nonsense","params":{"a":1}}')
    assert.deepEqual((await server.request('ping')).result, {})
    assert.equal(server.received.length, before + 1)
  })
})

describe('a page', { timeout: 60_000 }, () => {
  const { server } = startShared()

  // UTF-8 cannot encode it. U+FFFD replaces it, as in other programs.
  const page = `data:text/html,<title>x</title><button onclick="alert('half: \\ud800')">Go</button><script>
    document.title = 'half: \\ud800'; document.body.append('half: \\ud800')</script>`

  test('with an unpaired surrogate in its texts can be read', async () => {
    const { title } = await server.ok('navigate', { url: page })
    assert.match(title, /^half: /)
    assert.match((await server.ok('evaluate', { script: 'document.title' })).value, /^half: /)
    assert.match(await server.ok('snapshot'), /half: /)
  })

  test('with an unpaired surrogate in a dialog reports the dialog', async () => {
    await server.ok('navigate', { url: page })
    const { dialog } = await server.ok('click', { selector: 'button', timeout: 1000 })
    assert.match(dialog.message, /^half: /)
    await server.ok('handle_dialog', { accept: true })
  })
})
