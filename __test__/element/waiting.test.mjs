// Waiting for elements, texts and URLs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { READING_PAGES } from '../support/reading-pages.mjs'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'

describe('waiting', { timeout: 120_000 }, () => {
  const { server, site, scope } = startShared({
    routes: {
      ...READING_PAGES,
      '/listening': `<title>Listening</title><h1>Listening</h1><script>
        addEventListener('storage', ({ newValue }) => document.body.insertAdjacentHTML('beforeend', newValue))</script>`
    }
  })

  const at = (path) => server.ok('navigate', { url: site.url(path) })
  /** Runs a script in the page a little later. @param {string} script */
  const soon = (script, ms = 150) =>
    server.ok('evaluate', { script: `void setTimeout(() => { ${script} }, ${ms})` })
  const wait = (args) => server.ok('wait_for_selector', args)
  const timedOut = async (tool, args, message) => {
    const { json, ms } = await server.call(tool, { ...args, timeout: 200 })
    assert.deepEqual(
      [json?.errorCode, json?.retryable],
      ['TIMEOUT', true],
      `${tool} ${JSON.stringify(args)}`
    )
    assert.match(json.message, message)
    assert.ok(ms < 2000, `${ms} ms`)
  }

  test('wait_for_selector waits for each state', async () => {
    await at('/outer')
    await soon(
      "document.body.insertAdjacentHTML('beforeend', '<p id=late style=display:none>Late</p>')"
    )
    const attached = await wait({ selector: '#late', state: 'attached' })
    assert.equal(attached.success, true)
    await soon("late.style.display = 'block'")
    const visible = await wait({ selector: '#late', state: 'visible', timeout: 5000 })
    assert.equal(visible.ref, attached.ref)
    assert.match(visible.description, /Late/)
    await soon("late.style.visibility = 'hidden'")
    assert.equal((await wait({ selector: '#late', state: 'hidden' })).success, true)
    await soon('late.remove()')
    assert.equal((await wait({ selector: '#late', state: 'detached' })).success, true)
    assert.equal((await wait({ selector: '#late', state: 'hidden' })).success, true)
  })

  test('a wait reports the changes since the last result', async () => {
    await at('/listening')
    const { pages } = await server.ok('pages', { action: 'new', url: site.url('/form') })
    const [{ pageId }, other] = pages
    await server.ok('snapshot', { pageId })
    const append = (text) => {
      const script = `localStorage.appended = ${JSON.stringify(text)}, 0`
      return server.ok('evaluate', { pageId: other.pageId, script })
    }
    await append('<p>Saved</p>')
    const { changes } = await server.ok('wait_for', { pageId, text: 'Saved' })
    assert.match(changes, /^\+ .*Saved$/)
    await append('<button id=next>Next</button>')
    const next = await wait({ pageId, selector: '#next' })
    assert.match(next.changes, /^\+ .*button "Next" \[ref=e\d+\]$/)
    assert.equal((await wait({ pageId, selector: '#next' })).changes, undefined)
    await server.ok('pages', { action: 'close', pageId: other.pageId })
  })

  test('wait_for_selector reports similar elements at the timeout', async () => {
    await at('/outer')
    await timedOut('wait_for_selector', { selector: '#linc' }, /nothing matches `#linc`/)
    await timedOut('wait_for_selector', { selector: '#gone' }, /`#gone` is hidden: display: none/)
    await timedOut(
      'wait_for_selector',
      { selector: '#link', state: 'detached' },
      /`#link` is still in the page/
    )
    await timedOut(
      'wait_for_selector',
      { selector: '#link', state: 'hidden' },
      /`#link` is still visible/
    )
    await timedOut(
      'wait_for_selector',
      { selector: '#nowhere >>> #x' },
      /nothing matches `#nowhere`/
    )
    assert.equal(
      (await server.call('wait_for_selector', { selector: 'p[' })).json.errorCode,
      'INVALID_SELECTOR'
    )
    assert.equal(
      (await server.call('wait_for_selector', { selector: 'p', state: 'there' })).json.errorCode,
      'INVALID_PARAMETERS'
    )
  })

  test('wait_for_selector continues in the next document', async () => {
    await at('/board')
    await soon("location.href = '/outer'")
    assert.match((await wait({ selector: '#deep' })).description, /In the shadow/)
  })

  test('wait_for_selector waits for a frame and for its document, and for the removal of either', async () => {
    await at('/board')
    await soon(
      "document.body.insertAdjacentHTML('beforeend', '<iframe id=new src=/slow?ms=200></iframe>')"
    )
    assert.match((await wait({ selector: '#new >>> text=At last' })).ref, /^f\d+e\d+$/)
    await soon("document.getElementById('new').src = '/inner'")
    assert.equal((await wait({ selector: '#new >>> #field' })).success, true)
    await soon("document.getElementById('new').remove()")
    assert.equal((await wait({ selector: '#new >>> #field', state: 'detached' })).success, true)
  })

  test('wait_for waits for a text, in the page or a frame', async () => {
    await at('/outer')
    await soon("document.querySelector('h1').textContent = 'Done at last'")
    const done = await server.ok('wait_for', { text: 'done at last', timeout: 5000 })
    assert.equal(done.success, true)
    assert.match(done.description, /Done at last/)
    await soon("inner.contentDocument.getElementById('text').textContent = 'Framed news'")
    assert.match((await server.ok('wait_for', { text: 'Framed news' })).ref, /^f\d+e\d+$/)
    await soon(
      "document.body.insertAdjacentHTML('beforeend', '<iframe src=/slow?ms=100></iframe>')"
    )
    assert.match((await server.ok('wait_for', { text: 'At last' })).ref, /^(f\d+)?e\d+$/)
    await timedOut(
      'wait_for',
      { text: 'Never' },
      /the text `Never` is not visible \(waited 200 ms\); the page shows "Done at last First line/
    )
  })

  test('wait_for waits until a text has disappeared from all frames', async () => {
    await at('/outer')
    await soon("document.querySelector('h1').remove()")
    assert.match(
      (await server.ok('wait_for', { textGone: 'Outer' })).message,
      /the text `Outer` is gone/
    )
    await soon("inner.contentDocument.getElementById('text').remove()")
    await server.ok('wait_for', { textGone: 'Inside the frame' })
    await soon('inner.remove()')
    await server.ok('wait_for', { textGone: 'Innermost text' })
    await timedOut('wait_for', { textGone: 'First line' }, /the text `First line` is still visible/)
  })

  test('wait_for waits for a URL, by a substring or a glob', async () => {
    await at('/board')
    await soon("history.pushState({}, '', '/board/7?tab=1')")
    assert.match((await server.ok('wait_for', { url: '/board/7' })).message, /\/board\/7\?tab=1/)
    await soon("location.hash = 'done'")
    await server.ok('wait_for', { url: '#done' })
    await server.ok('wait_for', { url: site.url('/board/7?tab=1') })
    await soon("location.href = '/article'")
    await server.ok('wait_for', { url: '**/article' })
    await timedOut(
      'wait_for',
      { url: '**/nowhere/*' },
      /the page is at `http.*\/article`, not at `\*\*\/nowhere\/\*` \(waited 200 ms\)/
    )
    assert.equal(
      (await server.call('wait_for', { url: '*{' })).json.errorCode,
      'INVALID_PARAMETERS'
    )
  })

  test('wait_for accepts several conditions and a timeout', async () => {
    await at('/board')
    const { ms } = await server.call('wait_for', { time: 250 })
    assert.ok(ms >= 250 && ms < 2000, `${ms} ms`)
    await soon("location.href = '/outer'")
    const all = await server.ok('wait_for', {
      text: 'First line',
      textGone: '3 open',
      url: '/outer',
      time: 10
    })
    assert.match(
      all.message,
      /^10 ms have passed, the page is at `.*\/outer`, the text `3 open` is gone, the text `First line` is visible after \d+ ms$/
    )
    assert.equal((await server.call('wait_for', {})).json.errorCode, 'INVALID_PARAMETERS')
  })

  test('a wait ends on a page whose script never ends', async () => {
    const stuck = await startServer(scope)
    await stuck.ok('navigate', { url: site.url('/board') })
    await stuck.ok('evaluate', { script: 'void setTimeout(() => { for (;;); }, 50)' })
    await stuck.ok('wait_for', { time: 100 })
    const { json, ms } = await stuck.call('wait_for_selector', { selector: '#never', timeout: 200 })
    assert.equal(json.errorCode, 'TIMEOUT')
    assert.ok(ms < 5000, `${ms} ms`)
  })

  test('a dialog that opens during a wait is reported', async () => {
    await at('/board')
    await soon("alert('Hello')")
    assert.equal((await server.call('wait_for', { time: 5000 })).json.errorCode, 'DIALOG_OPEN')
    await server.ok('handle_dialog', { accept: true })
  })
})
