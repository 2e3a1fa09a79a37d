// Requirement 5: an agent types text into fields.
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { UNKNOWN_SESSION, startWithExpiredSession } from '../support/sessions.mjs'

describe('requirement 5: typing', { timeout: 60_000 }, () => {
  const { server, site } = startShared()
  let sessionId
  const type = (args) => server.call('type', { sessionId, ...args })
  const evaluate = (script) => server.evaluate(script, { sessionId })

  before(async () => {
    sessionId = await server.createSession()
  })
  beforeEach(() => server.ok('navigate', { sessionId, url: site.url('/form') }))

  test('5.1 type finds the field by CSS or XPath and enters the text by key strokes', async () => {
    const text = 'Grüße, 世界 👋!'
    for (const selector of ['#name', '//textarea', '#rich', '#password']) {
      assert.equal((await type({ selector, text })).isError, false, selector)
    }
    const fields = await evaluate(
      '[document.querySelector("#name").value, note.value, rich.textContent, password.value]'
    )
    assert.deepEqual(fields, [text, text, text, text])
    const keys = await evaluate('keys.filter(({ trusted }) => trusted).map(({ key }) => key)')
    assert.deepEqual(keys.slice(0, 2), ['G', 'r'])
  })

  test('5.2 a successful call of type returns success and a message', async () => {
    const { isError, json } = await type({ selector: '#name', text: 'Ada' })
    assert.equal(isError, false)
    assert.equal(json.success, true)
    assert.match(json.message, /Typed.*Name/)
  })

  test('5.3 a missing field is reported as ELEMENT_NOT_FOUND, one that is not editable as ELEMENT_NOT_EDITABLE', async () => {
    const cases = /** @type {const} */ ({
      '#nothing': ['ELEMENT_NOT_FOUND', /nothing matches `#nothing`/],
      '#fixed': ['ELEMENT_NOT_EDITABLE', /is read-only/],
      '#off': ['ELEMENT_NOT_EDITABLE', /is disabled/],
      '#words': ['ELEMENT_NOT_EDITABLE', /accepts no text: <p#words>/],
      '#agree': ['ELEMENT_NOT_EDITABLE', /accepts no text/]
    })
    for (const [selector, [code, message]] of Object.entries(cases)) {
      const { isError, json } = await type({ selector, text: 'x', timeout: 300 })
      assert.equal(isError, true, selector)
      assert.equal(json.errorCode, code, `${selector}: ${json.message}`)
      assert.match(json.message, message)
    }
    assert.deepEqual(await evaluate('[fixed.value, off.value, words.textContent, keys.length]'), [
      'fixed',
      'off',
      'No field at all',
      0
    ])
  })

  test('5.4 an unknown session is reported as SESSION_NOT_FOUND, an expired one as SESSION_EXPIRED', async (t) => {
    const missing = await type({ sessionId: UNKNOWN_SESSION, selector: '#name', text: 'x' })
    assert.equal(missing.json.errorCode, 'SESSION_NOT_FOUND')
    assert.match(missing.json.message, new RegExp(UNKNOWN_SESSION))
    const late = await startWithExpiredSession(t)
    const { json } = await late.server.call('type', {
      sessionId: late.sessionId,
      selector: '#name',
      text: 'x'
    })
    assert.equal(json.errorCode, 'SESSION_EXPIRED')
    assert.match(json.message, /expired/)
  })

  test('5.5 delay, clear, submit and timeout are used', async () => {
    await type({ selector: '#name', text: 'abcd', delay: 60 })
    const times = await evaluate('keys.map(({ at }) => at)')
    assert.equal(times.length, 4)
    const pauses = times.slice(1).map((at, index) => at - times[index])
    assert.ok(
      pauses.every((pause) => pause >= 50),
      `pauses of ${pauses.map(Math.round)} ms`
    )

    await type({ selector: '#full', text: ' after' })
    assert.equal(await evaluate('full.value'), 'before after')
    await type({ selector: '#full', text: 'anew', clear: true })
    assert.equal(await evaluate('full.value'), 'anew')

    const { json, ms } = await type({ selector: '#fixed', text: 'x', timeout: 200 })
    assert.equal(json.errorCode, 'ELEMENT_NOT_EDITABLE')
    assert.ok(ms < 3000, `${ms} ms in place of 200`)

    const sent = await type({ selector: '#name', text: 'e', submit: true })
    assert.match(sent.json.page.url, /\/echo\?name=abcde&full=anew/)
  })
})
