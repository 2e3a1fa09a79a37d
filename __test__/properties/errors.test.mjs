// Properties of the errors that a client receives, with one server and one browser for all runs.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { inMemoryManager } from '../support/managers.mjs'
import { fc } from '../support/random.mjs'
import { startShared } from '../support/scope.mjs'
import { freePort } from '../support/ports.mjs'

const RUNS = { numRuns: 100 }

describe('errors', { timeout: 180_000 }, () => {
  const { server, site } = startShared({
    args: ['--max-sessions', '1'],
    routes: {
      '/all':
        '<title>All</title><button disabled>Off</button><input readonly><p>Text</p><i>1</i><i>2</i>'
    }
  })
  let refused
  /** A session on a page with buttons and fields. */
  let sessionId

  before(async () => {
    refused = `http://127.0.0.1:${await freePort()}/`
    sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/all') })
  })

  // For each tool that needs a session, arguments that are valid in an open session.
  const operations = fc.oneof(
    fc.webUrl().map((url) => ['navigate', { url }]),
    fc.string().map((selector) => ['click', { selector }]),
    fc.tuple(fc.string(), fc.string()).map(([selector, text]) => ['type', { selector, text }]),
    fc.constant(['close_session', {}])
  )

  test('Property 4: Invalid SessionId Returns Consistent Error', async () => {
    const unknownIds = fc.oneof(
      fc.uuid(),
      fc.string({ unit: 'binary' }),
      fc.stringMatching(/^[\w-]{1,40}$/)
    )
    await fc.assert(
      fc.asyncProperty(operations, unknownIds, async (operation, unknownId) => {
        const [tool, args] = /** @type {[string, object]} */ (operation)
        const { isError, json } = await server.call(tool, { ...args, sessionId: unknownId })
        assert.equal(isError, true)
        assert.equal(json.errorCode, 'SESSION_NOT_FOUND')
        assert.equal(json.sessionId, unknownId)
      }),
      RUNS
    )
  })

  /**
   * Failing calls and their codes. `inSession`: the ones that use the session.
   * @type {Record<string, (word: string) => [string, object]>}
   */
  const inSession = {
    ELEMENT_NOT_FOUND: (word) => ['click', { sessionId, selector: `#none-${word}`, timeout: 1 }],
    ELEMENT_AMBIGUOUS: () => ['click', { sessionId, selector: 'i' }],
    ELEMENT_NOT_CLICKABLE: () => ['click', { sessionId, selector: 'button', timeout: 1 }],
    ELEMENT_NOT_EDITABLE: (text) => ['type', { sessionId, selector: 'input', text, timeout: 1 }],
    INVALID_SELECTOR: (word) => ['click', { sessionId, selector: `a[[${word}` }],
    INVALID_URL: (word) => ['navigate', { sessionId, url: `http://${word} ${word}` }],
    NAVIGATION_FAILED: (word) => ['navigate', { sessionId, url: refused + word }],
    PAGE_NOT_FOUND: (word) => ['snapshot', { sessionId, pageId: `page-none-${word}` }],
    SCRIPT_ERROR: (word) => [
      'evaluate',
      { sessionId, script: `(() => { throw new Error('${word}') })()` }
    ],
    INVALID_PARAMETERS: (text) => ['type', { sessionId, selector: 'input', text, nothing: true }]
  }
  const anywhere = {
    ...inSession,
    SESSION_NOT_FOUND: (word) => ['navigate', { sessionId: word, url: site.url('/') }],
    MAX_SESSIONS_REACHED: () => ['create_session', {}],
    'INVALID_PARAMETERS ': (word) => ['create_session', { viewport: word }]
  }
  /** What the message of each error names. @type {Record<string, (word: string) => string>} */
  const named = {
    ELEMENT_NOT_FOUND: (word) => `\`#none-${word}\``,
    ELEMENT_AMBIGUOUS: () => '`i` matches 2 elements',
    ELEMENT_NOT_CLICKABLE: () => 'button "Off"',
    ELEMENT_NOT_EDITABLE: () => 'is read-only',
    INVALID_SELECTOR: (word) => `a[[${word}`,
    INVALID_URL: (word) => `\`http://${word} ${word}\``,
    NAVIGATION_FAILED: (word) => refused + word,
    PAGE_NOT_FOUND: (word) => `\`page-none-${word}\``,
    SCRIPT_ERROR: (word) => `Error: ${word}`,
    INVALID_PARAMETERS: () => '`nothing`',
    SESSION_NOT_FOUND: (word) => `\`${word}\``,
    MAX_SESSIONS_REACHED: () => '--max-sessions',
    'INVALID_PARAMETERS ': (word) => `\`viewport\` must be an object, not "${word}"`
  }
  const words = fc.stringMatching(/^[a-z]{1,8}$/)
  const failing = (calls) => fc.tuple(fc.constantFrom(...Object.entries(calls)), words)

  /** Opens the page again, so that earlier failures have no effect. */
  async function fail(make, word) {
    const [tool, args] = make(word)
    const answer = await server.call(tool, args)
    assert.equal(answer.isError, true, `${tool} ${JSON.stringify(args)} succeeded: ${answer.text}`)
    // After a failed navigation, the browser shows its own error page.
    if (args.url?.startsWith(refused))
      await server.ok('navigate', { sessionId, url: site.url('/all') })
    return answer
  }

  test('Property 13: Error Response Structure', async () => {
    await fc.assert(
      fc.asyncProperty(failing(anywhere), async ([[code, make], word]) => {
        const { result, json } = await fail(make, word)
        assert.equal(json.errorCode, code.trim())
        assert.ok(json.message.includes(named[code](word)), `${code}: ${json.message}`)
        assert.equal(result.content.length, 1)
        assert.equal(result.structuredContent, undefined)
      }),
      RUNS
    )
  })

  test('Property 14: Session-Related Errors Include SessionId', async () => {
    await fc.assert(
      fc.asyncProperty(failing(inSession), async ([[, make], word]) => {
        assert.equal((await fail(make, word)).json.sessionId, sessionId)
      }),
      RUNS
    )
  })

  test('Property 15: Distinct Error Codes for Different Failures', async () => {
    const expired = async () => {
      const { manager, advance } = inMemoryManager({ sessionTimeout: 1 })
      const session = await manager.createSession()
      advance(1)
      const { error } = manager.validateSession(session.sessionId)
      await manager.shutdown()
      return error.errorCode
    }
    const scenarios = Object.entries({ ...anywhere, 'expired session': expired }).filter(
      ([name]) => !name.endsWith(' ')
    )
    const pairs = fc
      .tuple(fc.nat(scenarios.length - 1), fc.nat(scenarios.length - 1), words)
      .filter(([one, other]) => one !== other)
    const codeOf = async (index, word) => {
      const [, make] = scenarios[index]
      return make === expired ? expired() : (await fail(make, word)).json.errorCode
    }
    await fc.assert(
      fc.asyncProperty(pairs, async ([one, other, word]) => {
        assert.notEqual(
          await codeOf(one, word),
          await codeOf(other, word),
          `${scenarios[one][0]} and ${scenarios[other][0]}`
        )
      }),
      RUNS
    )
  })
})
