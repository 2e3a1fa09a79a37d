// Notifications and requests during a call: progress, log messages, and questions to the user.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { META, MODERN, modernRequest } from '../support/modern.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

const PROGRESS = 'notifications/progress'
const MESSAGE = 'notifications/message'

describe('progress', { timeout: 60_000 }, () => {
  test('of a batch is reported step by step', async (t) => {
    const server = await startServer(t)
    const steps = ['1', '2', '3'].map((script) => ({ tool: 'evaluate', arguments: { script } }))
    const params = { name: 'batch', arguments: { steps }, _meta: { progressToken: 'b' } }
    assert.ok((await server.request('tools/call', params)).result.structuredContent.success)
    const progress = server.notifications(PROGRESS)
    assert.ok(progress.length > 0, 'there is progress')
    for (const { progressToken, total, message } of progress)
      assert.deepEqual([progressToken, total, message], ['b', 3, 'evaluate'])
    const steps_ = progress.map(({ progress }) => progress)
    assert.deepEqual(steps_, [...new Set(steps_)].sort(), 'it grows')
  })

  test('of a long call is reported while it runs, and of no other call', async (t) => {
    const site = await startSite(t)
    const server = await startServer(t)
    await server.ok('navigate', { url: site.url('/') })
    const call = (meta) =>
      server.request('tools/call', {
        name: 'wait_for',
        arguments: { text: 'never', timeout: 2500 },
        _meta: meta
      })
    await call({})
    assert.deepEqual(server.notifications(PROGRESS), [])
    await call({ progressToken: 7 })
    const progress = server.notifications(PROGRESS)
    assert.ok(progress.length >= 1, 'at least one in 2.5 s')
    assert.ok(progress.every(({ progressToken }) => progressToken === 7))
    assert.match(progress[0].message, /wait_for has been running/)
  })
})

describe('log messages', { timeout: 60_000 }, () => {
  test('about calls are sent from the level that the client has set, and not before it sets one', async (t) => {
    const server = await startServer(t)
    await server.call('navigate', { url: 'not a url' })
    assert.deepEqual(server.notifications(MESSAGE), [])
    await server.request('logging/setLevel', { level: 'warning' })
    await server.ok('navigate', { url: 'about:blank' })
    await server.call('navigate', { url: 'not a url' })
    const [message, ...more] = server.notifications(MESSAGE)
    assert.deepEqual(more, [])
    assert.deepEqual(
      [message.level, message.data.tool, message.data.errorCode],
      ['warning', 'navigate', 'INVALID_URL']
    )
    await server.request('logging/setLevel', { level: 'info' })
    await server.ok('navigate', { url: 'about:blank' })
    assert.equal(server.notifications(MESSAGE).at(-1).level, 'info')
  })

  test(`are sent in ${MODERN} for a request that asks for them`, async (t) => {
    const server = await startServer(t, [], { handshake: false })
    const call = { name: 'navigate', arguments: { url: 'not a url' } }
    await modernRequest(server, 'tools/call', call)
    assert.deepEqual(server.notifications(MESSAGE), [])
    await modernRequest(server, 'tools/call', call, { 'io.modelcontextprotocol/logLevel': 'debug' })
    assert.equal(server.notifications(MESSAGE)[0].data.errorCode, 'INVALID_URL')
  })
})

describe('ask_user', { timeout: 60_000 }, () => {
  const schema = {
    type: 'object',
    properties: { code: { type: 'string' }, trust: { type: 'boolean' } },
    required: ['code']
  }

  for (const [action, content] of /** @type {const} */ ([
    ['accept', { code: '123', trust: true }],
    ['decline'],
    ['cancel']
  ])) {
    test(`asks the user the question and returns the reply: ${action}`, async (t) => {
      const server = await startServer(t, [], { handshake: false })
      await server.initialize('2025-11-25', { elicitation: {} })
      server.answer = ({ method, params }) => {
        assert.equal(method, 'elicitation/create')
        assert.equal(params.message, 'The code from your telephone?')
        assert.deepEqual(params.requestedSchema.properties, schema.properties)
        return { action, content }
      }
      const asked = await server.ok('ask_user', {
        message: 'The code from your telephone?',
        schema
      })
      assert.equal(asked.action, action)
      assert.deepEqual(asked.content, content)
    })
  }

  test('does not delay other calls while it waits, and ends when it is canceled', async (t) => {
    const server = await startServer(t, [], { handshake: false })
    await server.initialize('2025-11-25', { elicitation: {} })
    let asked = () => {}
    const isAsked = new Promise((resolve) => (asked = () => resolve(undefined)))
    server.answer = () => {
      asked()
      return new Promise(() => {})
    }
    const asking = server.call('ask_user', { message: 'Well?' }, { id: 'question' })
    await isAsked
    await server.ok('navigate', { url: 'about:blank' })
    server.notify('notifications/cancelled', { requestId: 'question' })
    await until(
      () => server.notifications('notifications/cancelled').length > 0,
      'the question to be taken back'
    )
    asking.catch(() => {})
  })

  test('reports that the client does not support elicitation', async (t) => {
    const server = await startServer(t)
    const asked = await server.ok('ask_user', { message: 'Well?' })
    assert.equal(asked.action, 'unavailable')
    assert.match(asked.message, /does not support elicitation/)
  })

  test('requires the schema of a form, and cannot be a step of a batch', async (t) => {
    const server = await startServer(t)
    const { json } = await server.call('ask_user', {
      message: 'Well?',
      schema: { type: 'object', properties: { a: { type: 'object' } } }
    })
    assert.equal(json.errorCode, 'INVALID_PARAMETERS')
    const { results } = await server.ok('batch', {
      steps: [{ tool: 'ask_user', arguments: { message: 'Well?' } }]
    })
    assert.match(results[0].error.message, /make it a separate call/)
  })

  test(`returns an input request in ${MODERN}, and continues with the reply`, async (t) => {
    const server = await startServer(t, [], { handshake: false })
    const meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
    const call = { name: 'ask_user', arguments: { message: 'Well?' } }
    const first = await modernRequest(server, 'tools/call', call, meta)
    assert.equal(first.resultType, 'input_required')
    const [[name, question]] = Object.entries(first.inputRequests)
    assert.deepEqual([question.method, question.params.message], ['elicitation/create', 'Well?'])
    const inputResponses = { [name]: { action: 'accept', content: { answer: 'yes' } } }
    const second = await modernRequest(server, 'tools/call', { ...call, inputResponses }, meta)
    assert.deepEqual(second.structuredContent.content, { answer: 'yes' })
    const without = await modernRequest(server, 'tools/call', call)
    assert.equal(without.structuredContent.action, 'unavailable')
    assert.equal(META['io.modelcontextprotocol/protocolVersion'], MODERN)
  })
})
