// A page whose own script never ends answers nothing: calls end all the same, and it can be left.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { within } from '../support/wait.mjs'

describe('a page that is busy for ever', { timeout: 90_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/busy': '<title>Busy</title><button>Go</button><script>onload = () => setTimeout(() => { for (;;); }, 0)</script>',
      '/trap': '<title>Trap</title><button id="go" onclick="for (;;);">Go</button>'
    }
  })

  test('a call with a time-out ends with it, and the page can be left', async () => {
    const { sessionId } = await server.ok('create_session')
    await within(server.ok('navigate', { sessionId, url: site.url('/busy') }), 'the navigation', 10_000)
    const wait = server.call('find_element', { sessionId, selector: 'button', timeout: 500 })
    assert.equal((await within(wait, 'the end of the wait', 10_000)).json.errorCode, 'TIMEOUT')
    const { title } = await within(server.ok('navigate', { sessionId, url: site.url('/form') }), 'the way out', 20_000)
    assert.equal(title, 'Form')
    await server.ok('close_session', { sessionId })
  })

  test('a call without one ends too, and says what may be done', async () => {
    const pages = ['/busy', '/trap'].map(async (path) => {
      const { sessionId } = await server.ok('create_session')
      await server.ok('navigate', { sessionId, url: site.url(path) })
      return sessionId
    })
    const [busy, trap] = await Promise.all(pages)
    const [looked, clicked] = await Promise.all([
      server.call('snapshot', { sessionId: busy }),
      server.call('click', { sessionId: trap, selector: '#go' })
    ])
    for (const { json: error } of [looked, clicked]) {
      assert.deepEqual([error.errorCode, error.retryable], ['TIMEOUT', true], error.message)
      assert.match(error.suggestion, /`navigate`, or `pages`/)
    }
  })
})
