// Invalid calls: rejected with the error codes of JSON-RPC and MCP.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'

describe('an invalid request', { timeout: 60_000 }, () => {
  const { server } = startShared()

  /** The error, after the next request has succeeded. */
  async function refused(method, params) {
    const { error, result } = await server.request(method, params, { timeout: 5000 })
    assert.ok(error, `${method} was answered with ${JSON.stringify(result)?.slice(0, 100)}`)
    assert.deepEqual((await server.request('ping')).result, {})
    return error
  }

  test('an unknown tool is -32602, and the most similar tool is named', async () => {
    const error = await refused('tools/call', { name: 'clik', arguments: {} })
    assert.equal(error.code, -32602)
    assert.match(error.message, /unknown tool `clik`/)
    assert.match(error.message, /did you mean `click`/)
  })

  test('an unknown method is -32601', async () => {
    const error = await refused('tools/fly', {})
    assert.equal(error.code, -32601)
    assert.match(error.message, /tools\/fly/)
  })

  for (const [what, params] of [
    ['no parameters', undefined],
    ['no tool', {}],
    ['a tool that is a number', { name: 5 }],
    ['arguments that are a list', { name: 'click', arguments: [1] }],
    ['arguments that are a text', { name: 'click', arguments: '{"selector":"a"}' }]
  ]) {
    test(`a call with ${what} is -32602`, async () => {
      const error = await refused('tools/call', params)
      assert.equal(error.code, -32602)
      assert.match(error.message, /tools\/call/)
    })
  }

  test('parameters that are not an object are rejected, with the id of the request', async () => {
    for (const params of [[1], 5, 'x']) {
      const error = await refused('tools/call', params)
      assert.ok([-32600, -32602].includes(error.code), JSON.stringify(error))
    }
  })

  test('an `initialize` with nothing in it is -32602', async () => {
    assert.equal((await refused('initialize', {})).code, -32602)
  })

  test('before the handshake, a call is rejected and the handshake still works', async (t) => {
    const fresh = await startServer(t, [], { handshake: false })
    const { error } = await fresh.request(
      'tools/call',
      { name: 'navigate', arguments: {} },
      { timeout: 5000 }
    )
    assert.ok([-32600, -32602, -32002].includes(error?.code), JSON.stringify(error))
    assert.equal((await fresh.initialize()).serverInfo.name, 'troupe')
  })
})
