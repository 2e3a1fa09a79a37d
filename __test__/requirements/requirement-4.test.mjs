// Requirement 4: an agent clicks elements.
import assert from 'node:assert/strict'
import { before, beforeEach, describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { UNKNOWN_SESSION, startWithExpiredSession } from '../support/sessions.mjs'

describe('requirement 4: clicking', { timeout: 60_000 }, () => {
  const { server, site } = startShared()
  let sessionId
  const click = (args) => server.call('click', { sessionId, ...args })
  const clicks = async () => (await server.ok('evaluate', { sessionId, script: 'clicks' })).value

  before(async () => {
    sessionId = await server.createSession()
  })
  beforeEach(() => server.ok('navigate', { sessionId, url: site.url('/buttons') }))

  test('4.1 click finds the element by CSS or XPath and dispatches trusted events', async () => {
    for (const selector of ['#plain', '//button[text()="Plain"]', '#below']) {
      assert.equal((await click({ selector })).isError, false)
    }
    const made = await clicks()
    assert.deepEqual(
      made.map(({ id }) => id),
      ['plain', 'plain', 'below']
    )
    assert.ok(
      made.every(({ trusted, type, button }) => trusted && type === 'click' && button === 0)
    )
  })

  test('4.2 a successful click returns success and a message', async () => {
    const { isError, json } = await click({ selector: '#plain' })
    assert.equal(isError, false)
    assert.equal(json.success, true)
    assert.match(json.message, /Clicked.*Plain/)
  })

  test('4.3 a missing element is reported as ELEMENT_NOT_FOUND, one that cannot be clicked as ELEMENT_NOT_CLICKABLE', async () => {
    const cases = /** @type {const} */ ([
      ['#nothing', 'ELEMENT_NOT_FOUND', undefined, /nothing matches `#nothing`/],
      ['#off', 'ELEMENT_NOT_CLICKABLE', 'disabled', /button "Disabled".* is disabled/],
      ['#hidden', 'ELEMENT_NOT_CLICKABLE', 'hidden', /is hidden/],
      ['#covered', 'ELEMENT_NOT_CLICKABLE', 'covered', /button "Covered".* is covered by <#?\w+/],
      ['#moving', 'ELEMENT_NOT_CLICKABLE', 'moving', /button "Moving".* is moving/]
    ])
    for (const [selector, code, reason, message] of cases) {
      const { isError, json } = await click({ selector, timeout: 300 })
      assert.equal(isError, true, selector)
      assert.equal(json.errorCode, code, selector)
      assert.equal(json.details.reason, reason, selector)
      assert.match(json.message, message)
    }
    assert.deepEqual(await clicks(), [], 'something was clicked all the same')
  })

  test('4.4 an unknown session is reported as SESSION_NOT_FOUND, an expired one as SESSION_EXPIRED', async (t) => {
    const missing = await click({ sessionId: UNKNOWN_SESSION, selector: '#plain' })
    assert.equal(missing.json.errorCode, 'SESSION_NOT_FOUND')
    assert.match(missing.json.message, new RegExp(UNKNOWN_SESSION))
    const late = await startWithExpiredSession(t)
    const { json } = await late.server.call('click', {
      sessionId: late.sessionId,
      selector: '#plain'
    })
    assert.equal(json.errorCode, 'SESSION_EXPIRED')
    assert.match(json.message, /expired/)
  })

  test('4.5 timeout, force, clickCount and button are used', async () => {
    for (const timeout of [200, 1000]) {
      const { json, ms } = await click({ selector: '#off', timeout })
      assert.equal(json.errorCode, 'ELEMENT_NOT_CLICKABLE')
      assert.ok(ms >= timeout && ms < timeout + 3000, `${ms} ms in place of ${timeout}`)
    }
    // The element is added while the click waits for it.
    await click({ selector: '#add' })
    assert.equal((await click({ selector: '#late', timeout: 5000 })).isError, false)
    // With `force`, the covering element receives the click.
    assert.equal((await click({ selector: '#covered', force: true })).isError, false)
    assert.equal((await click({ selector: '#plain', clickCount: 2 })).isError, false)
    assert.equal((await click({ selector: '#plain', button: 'right' })).isError, false)
    const made = (await clicks()).map(({ type, id, detail }) => `${type} ${id} ${detail}`)
    const left = [
      'click add 1',
      'click late 1',
      'click cover 1',
      'click plain 1',
      'click plain 2',
      'dblclick plain 2'
    ]
    assert.deepEqual(made.slice(0, 6), left)
    assert.ok(
      made.slice(6).some((event) => event.startsWith('contextmenu plain')),
      made.join(', ')
    )
  })
})
