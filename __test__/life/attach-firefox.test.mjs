// --browser-endpoint with a Firefox that does not allow privileged scripts, as in a Selenium Grid.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { pathOf } from '../support/browser.mjs'
import { startFirefox } from '../support/running-browser.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { Site } from '../support/site.mjs'

const FIREFOX = pathOf('firefox-esr') ?? pathOf('firefox')
const page = (title, body) => `<!doctype html><title>${title}</title>${body}`
const opener = (how) => page('Opener', `${how}<p id="out">nothing</p>`)

describe(
  'attached to a Firefox that does not allow privileged scripts',
  { skip: FIREFOX ? false : 'needs Firefox', timeout: 240_000 },
  () => {
    const scope = shared()
    const site = new Site({
      '/link': page('Link', '<a id="go" href="/form">Form</a>'),
      '/script': page('Script', `<button id="go" onclick="location = '/form'">Go</button>`),
      '/fetches': page(
        'Fetches',
        `<button id="go" onclick="fetch('/data').then(() => setTimeout(() => { out.textContent = 'done' }))">Go</button><p id="out">nothing</p>`
      ),
      '/data': (_request, response) => response.end('data'),
      '/pushes': page(
        'Pushes',
        `<button id="go" onclick="history.pushState({}, '', '/pushed'); document.title = 'Pushed'">Go</button>`
      ),
      '/opens-by-link': opener('<a id="go" href="/form" target="_blank">Go</a>'),
      '/opens-by-script': opener(`<button id="go" onclick="window.open('/form')">Go</button>`),
      '/alerts': page('Alerts', `<button id="go" onclick="alert('Stop')">Go</button>`),
      '/asks': page(
        'Asks',
        `<script>addEventListener('beforeunload', (event) => event.preventDefault())</script><p>Text</p>`
      )
    })
    /** @type {Awaited<ReturnType<typeof startServer>>} */
    let server
    before(async () => {
      await site.start(scope)
      const browser = await startFirefox(scope, /** @type {string} */ (FIREFOX))
      const endpoint = ['--browser', 'firefox', '--browser-endpoint', browser.ws]
      server = await startServer(scope, endpoint, { browser: false })
    })

    const open = (path) => server.ok('navigate', { url: site.url(path) })
    const click = () => server.ok('click', { selector: '#go' })

    test('a submitted form is in the result, by click and by Enter', async () => {
      for (const submit of [
        () => server.ok('click', { selector: '#send' }),
        () => server.ok('press', { selector: '#name', key: 'Enter' })
      ]) {
        assert.equal((await open('/form')).title, 'Form')
        await server.ok('type', { selector: '#name', text: 'Ada' })
        const result = await submit()
        assert.equal(result.page.title, 'Echo')
        assert.match(result.page.url, /\/echo\?.*Ada/)
        assert.equal(result.settled, undefined)
      }
    })

    for (const path of ['/link', '/script'])
      test(`a navigation from ${path} is in the result`, async () => {
        await open(path)
        const { page, settled } = await click()
        assert.deepEqual(page, { url: site.url('/form'), title: 'Form' })
        assert.equal(settled, undefined)
      })

    test('a response is in the changes of the click that requested it', async () => {
      await open('/fetches')
      const { changes, settled } = await click()
      assert.match(changes, /\+ .*: done/)
      assert.equal(settled, undefined)
    })

    test('a same-document navigation is in the result', async () => {
      await open('/pushes')
      await click()
      assert.equal(
        await server.evaluate('location.pathname + " " + document.title'),
        '/pushed Pushed'
      )
    })

    for (const path of ['/opens-by-link', '/opens-by-script'])
      test(`a popup from ${path} is in the result, and both pages keep working`, async (t) => {
        const sessionId = await server.createSession()
        t.after(() => server.call('close_session', { sessionId }))
        await server.ok('navigate', { sessionId, url: site.url(path) })
        const act = async (tool, args) => await server.ok(tool, { sessionId, ...args })
        const visibility = async (pageId) =>
          (await act('evaluate', { pageId, script: 'document.visibilityState' })).value
        const { newPage } = await act('click', { selector: '#go' })
        assert.equal(newPage.url, site.url('/form'))
        const { pageId } = newPage
        assert.equal(await visibility('page-1'), 'visible')
        await act('type', { pageId, selector: '#name', text: 'Ada' })
        assert.equal(await visibility(pageId), 'visible')
        assert.equal((await act('click', { pageId, selector: '#send' })).page.title, 'Echo')
        const again = await act('click', { selector: '#go' })
        assert.equal(again.newPage.url, site.url('/form'))
        assert.equal(again.settled, undefined)
      })

    test('a dialog is in the result of the click that opened it', async () => {
      await open('/alerts')
      const { dialog } = await click()
      assert.deepEqual(dialog, { type: 'alert', message: 'Stop' })
      await server.ok('handle_dialog', { accept: true })
      assert.equal(await server.evaluate('document.title'), 'Alerts')
    })

    test('reload reports a beforeunload dialog', async () => {
      await open('/asks')
      await server.ok('click', { selector: 'p' })
      const { dialog } = await server.ok('reload', {})
      assert.equal(dialog.type, 'beforeunload')
      await server.ok('handle_dialog', { accept: true })
      assert.equal(await server.evaluate('document.title'), 'Asks')
    })
  }
)
