// Pages with beforeunload dialogs, pages that close, and pages that block each other: reported in
// the result of the call.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

const QUESTION = { type: 'beforeunload', message: '' }

describe('a page with a beforeunload dialog', { timeout: 90_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  before(async () => {
    site = await startSite(scope, {
      '/asks': `<title>Asks</title><script>addEventListener('beforeunload', (event) => event.preventDefault())</script>
        <button id=touch>Touch</button><a id=away href=/form>Away</a><button id=shut onclick="window.close()">Shut</button>`,
      '/opener': `<title>Opener</title><button id=open onclick="w = window.open('/asks')">Open</button><button id=shut onclick="w.close()">Shut</button>
        <button id=talk onclick="w.alert('From the popup')">Talk</button><button id=self onclick="window.close()">Close</button>`
    })
    server = await startServer(scope)
  })

  /** Opens a session on the page. The dialog requires a user gesture. */
  async function asking() {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/asks') })
    await server.ok('click', { sessionId, selector: '#touch' })
    return sessionId
  }

  /** @param {string} sessionId */
  const title = async (sessionId) => {
    // The page still navigates during the check, and the error suggests to retry.
    for (;;) {
      const { json, text } = await server.call('evaluate', { sessionId, script: 'document.title' })
      if (json.success) return json.value
      assert.equal(json.details?.reason, 'document replaced', text)
    }
  }

  /** Opens a session with a page and its popup, which has received a user gesture. */
  async function withPopup() {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/opener') })
    assert.equal(
      (await server.ok('click', { sessionId, selector: '#open' })).newPage.pageId,
      'page-2'
    )
    await server.ok('click', { sessionId, pageId: 'page-2', selector: '#touch' })
    return sessionId
  }

  for (const [tool, args] of /** @type {const} */ ([
    ['click', { selector: '#away' }],
    ['navigate', { url: 'about:blank' }],
    ['reload', {}],
    ['go_back', {}]
  ])) {
    test(`reports the dialog to ${tool}; dismissed it stays, accepted it leaves`, async () => {
      const sessionId = await asking()
      const { json, ms } = await server.call(tool, { sessionId, ...args })
      assert.deepEqual(json.dialog, QUESTION, JSON.stringify(json))
      if (tool !== 'click') assert.match(json.message, /not left yet; handle_dialog/)
      assert.ok(ms < 2000, `${ms} ms`)
      await server.ok('handle_dialog', { sessionId, accept: false })
      assert.equal(await title(sessionId), 'Asks')
      assert.deepEqual((await server.ok(tool, { sessionId, ...args })).dialog, QUESTION)
      await server.ok('handle_dialog', { sessionId, accept: true })
      if (tool !== 'reload') assert.notEqual(await title(sessionId), 'Asks')
    })
  }

  for (const open of [false, true]) {
    test(`is closed without a dialog${open ? ', even while one is open' : ''}`, async () => {
      const sessionId = await asking()
      if (open) await server.ok('click', { sessionId, selector: '#away' })
      const { pages } = await server.ok('pages', { sessionId, action: 'close', pageId: 'page-1' })
      assert.deepEqual(pages, [], 'it has gone when the answer comes')
      const other = await asking()
      if (open) await server.ok('click', { sessionId: other, selector: '#away' })
      await server.ok('close_session', { sessionId: other })
    })
  }

  test('that closes itself reports the dialog to the click', async () => {
    const sessionId = await withPopup()
    const { dialog, message } = await server.ok('click', {
      sessionId,
      pageId: 'page-2',
      selector: '#shut'
    })
    if (dialog) {
      assert.deepEqual(dialog, QUESTION)
      await server.ok('handle_dialog', { sessionId, pageId: 'page-2', accept: true })
    } else assert.match(message, /the page has closed/)
    const { pages } = await server.ok('pages', { sessionId, action: 'list' })
    assert.deepEqual(
      pages.map(({ pageId }) => pageId),
      ['page-1']
    )
  })

  test('blocks its opener, which reports the name of the popup', async () => {
    const sessionId = await withPopup()
    const { json, ms } = await server.call('click', { sessionId, selector: '#talk' })
    assert.deepEqual(
      json.dialog,
      { type: 'alert', message: 'From the popup', pageId: 'page-2' },
      JSON.stringify(json)
    )
    assert.ok(ms < 4000, `${ms} ms`)
    const refused = await server.call('snapshot', { sessionId })
    assert.equal(refused.json.errorCode, 'DIALOG_OPEN', refused.text)
    assert.equal(refused.json.details.pageId, 'page-2')
    await server.ok('handle_dialog', { sessionId, pageId: 'page-2', accept: true })
    assert.equal(await title(sessionId), 'Opener')
  })

  test('does not block a page of another process', async () => {
    const sessionId = await asking()
    await server.ok('click', { sessionId, selector: '#away' })
    await server.ok('pages', {
      sessionId,
      action: 'new',
      url: site.url('/form').replace('127.0.0.1', 'localhost')
    })
    const { value } = await server.ok('evaluate', {
      sessionId,
      pageId: 'page-2',
      script: 'new Promise((done) => setTimeout(() => done(document.title), 1200))'
    })
    assert.equal(value, 'Form')
  })
})
