// Requirement 8: an agent gets errors that it can handle.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { UNKNOWN_SESSION, startWithExpiredSession } from '../support/sessions.mjs'

describe('requirement 8: errors', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    args: ['--max-sessions', '1'],
    routes: {
      '/twins':
        '<title>Twins</title><button>One</button><button>Two</button><button id="off" disabled>Off</button><input readonly>'
    }
  })
  let sessionId
  /**
   * A failing call of each kind: its tool, arguments, code and details.
   */
  let failures

  before(async () => {
    sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/twins') })
    failures = [
      ['create_session', {}, 'MAX_SESSIONS_REACHED', ['maxSessions']],
      ['close_session', { sessionId: UNKNOWN_SESSION }, 'SESSION_NOT_FOUND', ['reason']],
      ['type', { sessionId }, 'INVALID_PARAMETERS', ['violations']],
      ['click', { sessionId, selector: '#off', timeout: 1 }, 'ELEMENT_NOT_CLICKABLE', ['reason']],
      ['click', { sessionId, selector: 'button:not(#off)' }, 'ELEMENT_AMBIGUOUS', ['matches']],
      ['click', { sessionId, selector: '#nothing', timeout: 1 }, 'ELEMENT_NOT_FOUND', []],
      [
        'type',
        { sessionId, selector: 'input', text: 'x', timeout: 1 },
        'ELEMENT_NOT_EDITABLE',
        ['reason']
      ],
      ['evaluate', { sessionId, script: 'nothing.at.all' }, 'SCRIPT_ERROR', ['message', 'line']],
      ['evaluate', { sessionId, script: '({ big: 1n })' }, 'SCRIPT_ERROR', ['message', 'line']],
      ['navigate', { sessionId, url: 'http://' }, 'INVALID_URL', ['url']],
      ['navigate', { sessionId, url: site.url('/drop') }, 'NAVIGATION_FAILED', ['reason', 'url']]
    ]
  })

  /**
   * Checks each failure.
   * @param {(failure: { json: any, result: any, sent: any, code: string, details: string[] }) =>
   *   void} check
   */
  async function each(check) {
    await server.ok('navigate', { sessionId, url: site.url('/twins') })
    for (const [tool, args, code, details] of failures) {
      const { isError, json, result } = await server.call(tool, args)
      assert.equal(isError, true, `${tool} ${JSON.stringify(args)}`)
      check({ json, result, sent: args, code, details })
    }
  }

  test('8.1 an error has its errorCode', () =>
    each(({ json, code }) => assert.equal(json.errorCode, code)))

  test('8.2 an error has a message for people', () =>
    each(({ json: { message } }) => {
      assert.ok(message.length > 10, message)
      // No stack traces, no colors.
      assert.doesNotMatch(message, /\n\s+at |\u001b/)
    }))

  test('8.3 an error that concerns a session has its sessionId', () =>
    each(({ json, sent }) => assert.equal(json.sessionId, sent.sessionId, json.errorCode)))

  test('8.4 an error has details if more is known', () =>
    each(({ json, code, details }) => {
      for (const detail of details)
        assert.ok(detail in json.details, `${code}: ${JSON.stringify(json.details)}`)
    }))

  test('8.5 the error for an unknown or expired session suggests a new session', async (t) => {
    const late = await startWithExpiredSession(t)
    const calls = /** @type {const} */ ([
      [server, UNKNOWN_SESSION, 'SESSION_NOT_FOUND'],
      [late.server, late.sessionId, 'SESSION_EXPIRED']
    ])
    for (const [where, id, code] of calls) {
      for (const [tool, args] of /** @type {const} */ ([
        ['navigate', { url: 'data:,' }],
        ['click', { selector: 'a' }],
        ['type', { selector: 'a', text: 'x' }],
        ['close_session', {}]
      ])) {
        const { isError, json } = await where.call(tool, { sessionId: id, ...args })
        assert.equal(isError, true)
        assert.equal(json.errorCode, code, tool)
        assert.match(json.suggestion, /create_session/)
      }
    }
  })
})
