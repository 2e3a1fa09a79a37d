// Calls with invalid parameters: one answer lists all errors and the parameters of the tool.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { assertRefusal } from './refusal.mjs'

describe('parameters', { timeout: 60_000 }, () => {
  const { server } = startShared()
  before(async () => {
    await server.ok('navigate', { url: 'data:text/html,<title>Parameters</title>' })
  })

  const refused = async (tool, args, expected) => {
    const error = await assertRefusal(server, tool, args, {
      errorCode: 'INVALID_PARAMETERS',
      ...expected
    })
    for (const violation of error.details.violations) {
      assert.equal(typeof violation.parameter, 'string')
      assert.ok(error.message.includes(violation.problem), 'the message lists each violation')
    }
    return error
  }
  const wrong = ({ details }) => details.violations.map(({ parameter }) => parameter).sort()

  test('a missing one is named', async () => {
    const error = await refused(
      'uncheck',
      {},
      { message: /`uncheck`.*`selector` is missing/, suggestion: /selector/ }
    )
    assert.deepEqual(wrong(error), ['selector'])
    assert.equal(error.details.reason, 'MISSING_PARAMETER')
  })

  test('several missing ones are all named', async () => {
    assert.deepEqual(wrong(await refused('type', {}, { message: /`selector`.*`text`/ })), [
      'selector',
      'text'
    ])
  })

  test('an unknown one is named, with the most similar known one', async () => {
    const error = await refused(
      'click',
      { selector: 'a', clickcount: 2 },
      { message: /`clickcount` is unknown; did you mean `clickCount`/ }
    )
    assert.deepEqual(wrong(error), ['clickcount'])
  })

  test('an unknown one without a similar name is an error that lists the known ones', async () => {
    await refused(
      'navigate',
      { url: 'about:blank', speed: 5 },
      { message: /`speed` is unknown/, suggestion: /timeout.*url.*waitUntil/ }
    )
  })

  test('a timeout can have any length', async () => {
    for (const timeout of [2 ** 31, Number.MAX_SAFE_INTEGER, 2 ** 63]) {
      await server.ok('navigate', {
        url: 'data:text/html,<title>Parameters</title><button>Go</button>',
        timeout
      })
      await server.ok('click', { selector: 'button', timeout })
      await server.ok('wait_for_selector', { selector: 'button', timeout })
    }
    await refused(
      'click',
      { selector: 'button', timeout: 1e30 },
      { message: /`timeout` must be an integer/ }
    )
  })

  test('wrong types are errors that show the given value', async () => {
    const given = { selector: 5, force: 'yes', timeout: '100', modifiers: 'Shift' }
    const error = await refused('click', given, { message: /`selector` must be a string, not 5/ })
    assert.deepEqual(wrong(error), ['force', 'modifiers', 'selector', 'timeout'])
  })

  for (const [what, tool, args, message] of [
    [
      'a choice that there is not',
      'click',
      { selector: 'a', button: 'upper' },
      /`button` must be one of "left", "right", "middle", not "upper"/
    ],
    [
      'a choice in a list',
      'click',
      { selector: 'a', modifiers: ['Shift', 'Hyper'] },
      /`modifiers\[1\]`.*"Hyper"/
    ],
    [
      'a number that is too small',
      'click',
      { selector: 'a', clickCount: 0 },
      /`clickCount` must be between 1 and 10, not 0/
    ],
    [
      'a number that is too large',
      'click',
      { selector: 'a', clickCount: 1000 },
      /`clickCount` must be between 1 and 10, not 1000/
    ],
    [
      'a negative time',
      'navigate',
      { url: 'about:blank', timeout: -5 },
      /`timeout` must be at least 0, not -5/
    ],
    [
      'half a millisecond',
      'navigate',
      { url: 'about:blank', timeout: 0.5 },
      /`timeout` must be an integer, not 0.5/
    ],
    [
      'a list for a text',
      'navigate',
      { url: ['about:blank'] },
      /`url` must be a string, not \["about:blank"\]/
    ],
    [
      'an object that lacks a part',
      'create_session',
      { viewport: { width: 800 } },
      /`viewport.height` is missing/
    ],
    [
      'a part of an object that is out of range',
      'create_session',
      { viewport: { width: 0, height: 600 } },
      /`viewport.width` must be between 1 and 10000, not 0/
    ],
    [
      'a whole document as a text',
      'evaluate',
      { script: { code: 'x'.repeat(1000) } },
      /`script` must be a string, not \{"code":"x{1,60}…/
    ]
  ]) {
    test(`${what} is refused`, async () => {
      const error = await refused(tool, args, { message })
      assert.ok(error.message.length < 400, error.message)
    })
  }

  test('null counts as an omitted parameter, which is an error for a required one', async () => {
    assert.equal((await server.ok('evaluate', { script: '1', args: null })).value, 1)
    await refused('evaluate', { script: null }, { message: /`script` is missing/ })
  })

  test('snake_case names are read as the camelCase ones', async () => {
    const { sessionId } = await server.ok('create_new_session', { user_agent: 'tester' })
    assert.equal(
      (await server.ok('evaluate', { session_id: sessionId, script: 'navigator.userAgent' })).value,
      'tester'
    )
    await server.ok('close_session', { session_id: sessionId })
  })

  for (const [parameter, value] of [
    ['timezone', 'Mars/Olympus'],
    ['locale', 'not a locale']
  ]) {
    test(`an unknown ${parameter} is named in the error`, async () => {
      const { message } = await assertRefusal(
        server,
        'create_session',
        { [parameter]: value },
        { errorCode: 'INVALID_PARAMETERS' }
      )
      assert.match(message, new RegExp(`\`${parameter}\`|\`${value}\``))
    })

    test(`a session that failed because of its ${parameter} leaves no resources`, async (t) => {
      const server = await startServer(t)
      const { isError } = await server.call('create_session', { [parameter]: value })
      assert.ok(isError)
      assert.deepEqual((await server.ok('list_sessions')).sessions, [])
      const begun = performance.now()
      assert.deepEqual(
        await server.end(),
        { code: 0, signal: null },
        'it does not keep the server alive'
      )
      assert.ok(performance.now() - begun < 2000)
    })
  }
})
