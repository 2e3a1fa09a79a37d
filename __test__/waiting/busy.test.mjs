// A page whose script never ends is unresponsive: calls end nevertheless, and the page can
// navigate.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { startShared } from '../support/scope.mjs'
import { until, within } from '../support/wait.mjs'

describe('an unresponsive page', { timeout: 90_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/busy':
        '<title>Busy</title><button>Go</button><script>onload = () => setTimeout(() => { for (;;); }, 0)</script>',
      '/trap': '<title>Trap</title><button id="go" onclick="for (;;);">Go</button>'
    }
  })

  /**
   * Returns when its script runs.
   * @param {string} sessionId
   * @param {string} name identifies the page
   */
  async function makeBusy(sessionId, name) {
    const page = site.hold(`/held-${name}`)
    const script = `void fetch('/held-${name}').then(() => { navigator.sendBeacon('/now-${name}'); for (;;); })`
    await server.ok('evaluate', { sessionId, script })
    page.release()
    await until(
      () => site.requests.some(({ path }) => path === `/now-${name}`),
      'the word of the script'
    )
  }

  test('a call with a timeout ends in time, and the page can navigate', async () => {
    const { sessionId } = await server.ok('create_session')
    await within(
      server.ok('navigate', { sessionId, url: site.url('/busy') }),
      'the navigation',
      10_000
    )
    const wait = server.call('find_element', { sessionId, selector: 'button', timeout: 500 })
    assert.equal((await within(wait, 'the end of the wait', 10_000)).json.errorCode, 'TIMEOUT')
    const { title } = await within(
      server.ok('navigate', { sessionId, url: site.url('/form') }),
      'the way out',
      20_000
    )
    assert.equal(title, 'Form')
    await server.ok('close_session', { sessionId })
  })

  test('a click with a timeout ends in time on a page that has not changed', async () => {
    const { sessionId } = await server.ok('create_session')
    await server.ok('navigate', { sessionId, url: site.url('/trap') })
    await makeBusy(sessionId, 'quiet')
    const { json: error, ms } = await server.call('click', {
      sessionId,
      selector: '#go',
      timeout: 500
    })
    assert.equal(error.errorCode, 'TIMEOUT', error.message)
    assert.ok(ms < 6000, `${ms} ms`)
    await server.ok('close_session', { sessionId })
  })

  test('a call without a timeout ends too with a suggestion, and the session can be closed', async () => {
    const [looked, read, closed, clicked] = await Promise.all(
      /** @type {[string, object][]} */ ([
        ['snapshot', {}],
        ['get_text', { selector: '#go' }],
        ['pages', { action: 'close', pageId: 'page-1' }],
        ['click', { selector: '#go' }]
      ]).map(async ([tool, args]) => {
        const { sessionId } = await server.ok('create_session')
        await server.ok('navigate', { sessionId, url: site.url('/trap') })
        if (tool !== 'click') await makeBusy(sessionId, tool)
        const answer = await server.call(tool, { sessionId, ...args })
        await within(server.ok('close_session', { sessionId }), 'the end of the session', 5000)
        return answer
      })
    )
    for (const { json: error, ms } of [looked, read, clicked]) {
      assert.deepEqual([error.errorCode, error.retryable], ['TIMEOUT', true], error.message)
      assert.match(
        error.suggestion,
        /navigate away with `navigate`, close the page with `pages`, or close the session/
      )
      assert.ok(ms < 30_000, `${ms} ms`)
    }
    // WebKit's driver closes such a page unless it already waits for its answer.
    if (BROWSER === 'webkit' && closed.isError)
      assert.equal(closed.json.errorCode, 'TIMEOUT', closed.text)
    else assert.equal(closed.json.success, true, closed.text)
    assert.ok(closed.ms < 30_000, `${closed.ms} ms`)
  })
})
