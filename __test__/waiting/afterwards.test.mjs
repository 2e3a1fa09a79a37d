// An action returns as soon as its effects are complete, and reports them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { freePort } from '../support/ports.mjs'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { scriptRoute } from '../support/site.mjs'
import { isPending, within } from '../support/wait.mjs'

const button = (script, more = '') =>
  `<!doctype html><title>Button</title><button id="go" onclick="${script}">Go</button><div id="out">nothing</div>${more}`

describe('after an action', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/data': (_request, response) => response.end('data'),
      '/more': (_request, response) => response.end('more'),
      '/lib.js': scriptRoute('out.textContent = "script ran"'),
      '/fetches': button(
        `fetch('/data').then((r) => r.text()).then((text) => { out.textContent = text })`
      ),
      '/xhr': button(
        `const x = new XMLHttpRequest(); x.open('GET', '/data'); x.onload = () => { out.textContent = x.responseText }; x.send()`
      ),
      '/chain': button(
        `fetch('/data').then((r) => r.text()).then((a) => fetch('/more').then((r) => r.text()).then((b) => { out.textContent = a + b }))`
      ),
      '/timer': button(
        `setTimeout(() => fetch('/data').then(() => { out.textContent = 'late' }), 0)`
      ),
      '/script': button(
        `const s = document.createElement('script'); s.src = '/lib.js'; document.body.append(s)`
      ),
      // The response is not cached, so that its body waits for a reader.
      '/fresh': (_request, response) =>
        response.writeHead(200, { 'cache-control': 'no-store', 'content-length': 4 }).end('text'),
      '/endless': (_request, response) =>
        response.writeHead(200, { 'cache-control': 'no-store' }).write('a part'),
      '/in-parts': (_request, response) => {
        response.writeHead(200, { 'cache-control': 'no-store', 'content-length': 8 }).write('half')
        setTimeout(() => response.end('full'), 300)
      },
      '/unread': button(`fetch('/fresh').then((r) => { out.textContent = r.status })`),
      '/unread-endless': button(`fetch('/endless').then((r) => { out.textContent = r.status })`),
      '/reads-parts': button(
        `fetch('/in-parts').then((r) => r.text()).then((text) => { out.textContent = text })`
      ),
      '/board': `<title>Board</title><p id=card style="width:60px">Card</p><p id=column style="width:60px">Column</p>`,
      '/picture': button(
        `const i = new Image(); i.src = '/hang'; document.body.append(i); out.textContent = 'clicked'`
      ),
      '/stream': button(`fetch('/hang'); out.textContent = 'clicked'`),
      '/goes': button(`location.href = '/slow-data'`),
      '/goes-astray': button(`location.href = '/hang'`),
      '/goes-later': button(`fetch('/data').then(() => { location.href = '/form' })`),
      '/slow-data': (_request, response) =>
        response.end('<title>Arrived</title><div id="out"></div><script src="/lib.js"></script>'),
      '/pushes': button(`history.pushState({}, '', '/pushed'); document.title = 'Pushed'`),
      '/opens': button(`window.open('/form')`),
      '/opens-two': button(`window.open('/form'); window.open('/data')`),
      '/closes': button('window.close()'),
      '/no-content': (_request, response) => response.writeHead(204).end(),
      '/goes-nowhere': button(`location.href = '/no-content'`),
      '/keys': `<!doctype html><title>Keys</title><form action="/echo"><input id="field" name="q" value="old" oninput="fetch('/data').then((r) => r.text()).then((text) => { out.textContent = this.value + text })"></form><div id="out"></div>`
    }
  })

  const at = (path) => server.ok('navigate', { url: site.url(path) })
  const out = () => server.evaluate('out.textContent')

  for (const [path, wanted, expected] of [
    ['/fetches', '/data', 'data'],
    ['/xhr', '/data', 'data'],
    ['/chain', '/data', 'datamore'],
    ['/chain', '/more', 'datamore'],
    ['/timer', '/data', 'late'],
    ['/script', '/lib.js', 'script ran']
  ]) {
    test(`${path}: the response of ${wanted} is in the page when the click returns`, async () => {
      await at(path)
      const held = site.hold(wanted)
      const call = server.call('click', { selector: '#go' })
      await within(held.requested, `the request for ${wanted}`)
      // The request has arrived, and the click waits for it.
      await server.request('tools/list')
      assert.ok(await isPending(call), 'the click has returned without it')
      held.release()
      const { json, text } = await call
      assert.equal(json.success, true, text)
      assert.equal(json.settled, undefined, text)
      assert.equal(await out(), expected)
    })
  }

  test('a response whose body is not read does not delay the action', async () => {
    await at('/unread')
    const { json, ms, text } = await server.call('click', { selector: '#go' })
    assert.equal(json.settled, undefined, text)
    assert.equal(await out(), '200')
    assert.ok(ms < 1000, `${ms} ms`)
    const idle = await server.call('wait_for_load', { state: 'networkidle', timeout: 3000 })
    assert.equal(idle.isError, false, idle.text)
  })

  test('a response of unknown length is awaited while data arrives, and reported as open', async () => {
    await at('/unread-endless')
    const { json, ms } = await server.call('click', { selector: '#go' })
    assert.equal(json.settled, false)
    assert.equal(await out(), '200')
    assert.ok(ms < 1800, `${ms} ms`)
  })

  test('a chunked response is in the page when the click returns', async () => {
    await at('/reads-parts')
    const { json } = await server.call('click', { selector: '#go' })
    assert.equal(json.settled, undefined)
    assert.equal(await out(), 'halffull')
  })

  test('a drag without effect is reported', async () => {
    await at('/board')
    const { message, changes } = await server.ok('drag_and_drop', {
      source: '#card',
      target: '#column'
    })
    assert.equal(changes, undefined)
    assert.match(message, /the page's snapshot did not change/)
    await server.evaluate(
      "column.addEventListener('mouseup', () => { column.textContent = 'Taken' }), 1"
    )
    const taken = await server.ok('drag_and_drop', { source: '#card', target: '#column' })
    assert.match(taken.changes, /Taken/)
    assert.doesNotMatch(taken.message, /nothing/)
  })

  test('images are not awaited', async () => {
    await at('/picture')
    const { json, ms } = await server.call('click', { selector: '#go' })
    assert.equal(json.settled, undefined)
    assert.ok(ms < 1000, `${ms} ms`)
  })

  test('a request that never ends is awaited for `--timeout-settle`, and reported', async (t) => {
    const impatient = await startServer(t, ['--timeout-settle', '200'])
    await impatient.ok('navigate', { url: site.url('/stream') })
    const { json, ms } = await impatient.call('click', { selector: '#go' })
    assert.equal(json.settled, false)
    assert.ok(ms > 150 && ms < 1500, `${ms} ms`)
    // The pending request is not awaited again.
    const again = await impatient.call('type', { selector: '#go', text: 'x', timeout: 100 })
    assert.ok(again.ms < 1000, `${again.ms} ms`)
  })

  test('a navigation is awaited, and the new page is in the result', async () => {
    await at('/goes')
    const [page, script] = [site.hold('/slow-data'), site.hold('/lib.js')]
    const call = server.call('click', { selector: '#go' })
    await within(page.requested, 'the navigation')
    assert.ok(await isPending(call))
    page.release()
    await within(script.requested, 'the script of the new page')
    assert.ok(await isPending(call), 'it has returned before the load')
    script.release()
    const { json } = await call
    assert.deepEqual(json.page, { url: site.url('/slow-data'), title: 'Arrived' })
    assert.equal(await out(), 'script ran')
  })

  test('a navigation that begins after a fetch is awaited', async () => {
    await at('/goes-later')
    const { page } = await server.ok('click', { selector: '#go' })
    assert.deepEqual(page, { url: site.url('/form'), title: 'Form' })
  })

  test('the navigation of a link is awaited through redirects, to a missing page too', async () => {
    await at('/links')
    assert.deepEqual((await server.ok('click', { selector: '#away' })).page, {
      url: site.url('/'),
      title: 'Home'
    })
    await at('/links')
    assert.equal((await server.ok('click', { selector: '#gone' })).page.title, 'Status 404')
  })

  test('fragment navigations and pushState are in the result at once', async () => {
    await at('/links')
    await server.ok('click', { selector: '#hash' })
    assert.equal(await server.evaluate('location.hash'), '#below')
    await at('/pushes')
    const { ms } = await server.call('click', { selector: '#go' })
    assert.ok(ms < 1000, `${ms} ms`)
    assert.equal(await server.evaluate('location.pathname'), '/pushed')
  })

  test('a navigation without a document does not delay the click', async () => {
    await at('/goes-nowhere')
    const { json, ms } = await server.call('click', { selector: '#go' })
    assert.equal(json.success, true)
    assert.ok(ms < 1500, `${ms} ms`)
    assert.equal(await out(), 'nothing')
  })

  test('the wait for a navigation without response ends after 10 s, and the page remains usable', async (t) => {
    const server = await startServer(t)
    await server.ok('navigate', { url: site.url('/goes-astray') })
    const { json, text, ms } = await server.call('click', { selector: '#go' }, { timeout: 15_000 })
    assert.equal(json.success, true, text)
    assert.equal(json.settled, false, text)
    assert.ok(ms < 12_000, `${ms} ms`)
    const next = await server.call('evaluate', { script: 'document.title' }, { timeout: 5000 })
    assert.equal(next.json.value, 'Button', next.text)
  })

  test('an unreachable server is reported with the requested URL, for a popup too', async (t) => {
    const sessionId = await server.createSession()
    t.after(() => server.ok('close_session', { sessionId }))
    const dead = `http://127.0.0.1:${await freePort()}/wanted`
    for (const [target, field] of [
      ['', 'page'],
      ['_blank', 'newPage']
    ]) {
      await server.ok('navigate', { sessionId, url: site.url('/form') })
      await server.ok('evaluate', {
        sessionId,
        script: `document.body.insertAdjacentHTML('afterbegin', '<a id="dead" target="${target}" href="${dead}">Dead</a>')`
      })
      const answer = await server.ok('click', { sessionId, selector: '#dead' })
      assert.equal(answer[field]?.url, dead)
      if (field === 'page') assert.equal(answer.page.failure, 'net::ERR_CONNECTION_REFUSED')
    }
    const { pages } = await server.ok('pages', { sessionId, action: 'list' })
    assert.deepEqual(
      pages.map(({ url }) => url),
      [site.url('/form'), dead]
    )
  })

  test('a download is reported, and the page stays', async () => {
    await at('/links')
    for (const time of ['once', 'and again']) {
      const { download, page } = await server.ok('click', { selector: '#file' })
      assert.equal(download?.suggestedFilename, 'report.bin', time)
      assert.equal(page, undefined)
      assert.equal(await server.evaluate('document.title'), 'Links')
    }
  })

  test('a link whose click the page handles, or that leads to the same document, is not awaited', async () => {
    await at('/links')
    await server.ok('evaluate', {
      script: `document.querySelector('#away').addEventListener('click', (event) => { event.preventDefault(); document.title = 'Kept' })`
    })
    for (const [selector, title] of [
      ['#hash', 'Links'],
      ['#away', 'Kept']
    ]) {
      const times = []
      for (let time = 0; time < 3; time++) {
        const { json, ms, text } = await server.call('click', { selector })
        assert.equal(json.success, true, text)
        assert.equal(json.settled, undefined, text)
        times.push(ms)
      }
      assert.ok(Math.min(...times) < 250, `${selector}: ${times} ms`)
      assert.equal(await server.evaluate('document.title'), title)
    }
  })

  for (const [what, path, selector] of [
    ['a link', '/buttons', '#popup'],
    ['a script', '/opens', '#go']
  ]) {
    test(`a popup that ${what} opens is reported with its URL, and does not become the current page`, async () => {
      const sessionId = await server.createSession()
      await server.ok('navigate', { sessionId, url: site.url(path) })
      const { newPage } = await server.ok('click', { sessionId, selector })
      assert.equal(newPage?.pageId, 'page-2')
      assert.equal(
        (await server.ok('evaluate', { sessionId, script: 'location.pathname' })).value,
        path
      )
      await server.ok('type', {
        sessionId,
        pageId: 'page-2',
        selector: '#name',
        text: 'in the popup'
      })
      assert.equal(
        (
          await server.ok('evaluate', {
            sessionId,
            pageId: 'page-2',
            script: 'document.getElementById("name").value'
          })
        ).value,
        'in the popup'
      )
      await server.ok('close_session', { sessionId })
      assert.equal(newPage.url, site.url('/form'))
    })
  }

  test('all windows that a click opens are reported', async () => {
    await at('/opens-two')
    const { newPage, newPages } = await server.ok('click', { selector: '#go' })
    assert.deepEqual([newPage.url, newPages.length], [site.url('/form'), 1])
    for (const { pageId } of [newPage, ...newPages])
      await server.ok('pages', { action: 'close', pageId })
  })

  test('a page that closes itself is reported', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/opens') })
    await server.ok('click', { sessionId, selector: '#go' })
    await server.ok('navigate', { sessionId, pageId: 'page-2', url: site.url('/closes') })
    const { json, text } = await server.call('click', {
      sessionId,
      pageId: 'page-2',
      selector: '#go'
    })
    assert.equal(json.success, true, text)
    assert.match(json.message, /closed/)
    assert.equal(
      (await server.call('snapshot', { sessionId, pageId: 'page-2' })).json.errorCode,
      'PAGE_NOT_FOUND'
    )
    assert.equal(
      (await server.ok('evaluate', { sessionId, script: 'location.pathname' })).value,
      '/opens'
    )
    await server.ok('close_session', { sessionId })
  })

  test('a page that closes itself during a call fails only that call', async (t) => {
    const server = await startServer(t)
    await server.ok('navigate', { url: site.url('/opens') })
    await server.ok('click', { selector: '#go' })
    const script = 'setTimeout(() => close(), 50), new Promise(() => {})'
    const { json, text } = await server.call(
      'evaluate',
      { pageId: 'page-2', script },
      { timeout: 5000 }
    )
    assert.equal(json?.errorCode, 'PAGE_NOT_FOUND', text)
    assert.equal((await server.ok('evaluate', { script: 'location.pathname' })).value, '/opens')
  })

  test('the effects of typing are awaited', async () => {
    await at('/keys')
    await server.ok('type', { selector: '#field', text: 'x' })
    assert.equal(await out(), 'oldxdata')
  })

  test('`submit` presses Enter, and the next page is in the result', async () => {
    await at('/keys')
    const { page } = await server.ok('type', {
      selector: '#field',
      text: 'new',
      clear: true,
      submit: true
    })
    assert.deepEqual(page, { url: site.url('/echo?q=new'), title: 'Echo' })
  })
})

describe('options of click and type', { timeout: 60_000 }, () => {
  const { server, site } = startShared()

  test('`clickCount` 2 is a double click', async () => {
    await server.ok('navigate', { url: site.url('/buttons') })
    await server.ok('click', { selector: '#plain', clickCount: 2 })
    const received = await server.evaluate('clicks')
    assert.deepEqual(
      received.map(({ type, detail }) => [type, detail]),
      [
        ['click', 1],
        ['click', 2],
        ['dblclick', 2]
      ]
    )
    assert.ok(received.every(({ id, trusted }) => id === 'plain' && trusted))
  })

  test('clicks in quick succession are not double clicks', async () => {
    await server.ok('navigate', { url: site.url('/buttons') })
    const click = { tool: 'click', arguments: { selector: '#plain' } }
    await server.ok('batch', { steps: [click, click, click] })
    assert.deepEqual(
      (await server.evaluate('clicks')).map(({ type, detail }) => [type, detail]),
      Array(3).fill(['click', 1])
    )
  })

  test('a click with another button or with modifiers reaches the page with them', async () => {
    await server.ok('navigate', { url: site.url('/buttons') })
    await server.ok('evaluate', {
      script: `addEventListener('click', (event) => { window.held = [event.shiftKey, event.ctrlKey, event.altKey] }, true)`
    })
    await server.ok('click', { selector: '#plain', button: 'right' })
    await server.ok('click', { selector: '#plain', button: 'middle' })
    assert.deepEqual(
      (await server.evaluate('clicks')).map(({ type, button }) => [type, button]).sort(),
      [
        ['auxclick', 1],
        ['auxclick', 2],
        ['contextmenu', 2]
      ]
    )
    await server.ok('click', { selector: '#plain', modifiers: ['Shift', 'Control'] })
    assert.deepEqual(await server.evaluate('held'), [true, true, false])
    await server.ok('click', { selector: '#plain' })
    assert.deepEqual(await server.evaluate('held'), [false, false, false])
  })

  test('`delay` is the time between two characters', async () => {
    await server.ok('navigate', { url: site.url('/form') })
    await server.ok('type', { selector: '#name', text: 'abcd', delay: 80 })
    const keys = await server.evaluate('keys')
    assert.deepEqual(
      keys.map(({ key, trusted }) => [key, trusted]),
      [...'abcd'].map((key) => [key, true])
    )
    for (let index = 1; index < keys.length; index++) {
      const gap = keys[index].at - keys[index - 1].at
      assert.ok(gap > 60 && gap < 400, `${gap} ms`)
    }
  })

  test('without `delay`, 1,000 characters are typed quickly, each with key events', async () => {
    await server.ok('navigate', { url: site.url('/form') })
    const text = 'The quick brown fox. '.repeat(50).slice(0, 1000)
    const { ms } = await server.call('type', { selector: '#note', text })
    assert.equal(await server.evaluate('note.value'), text)
    assert.equal(await server.evaluate('keys.filter(({ key }) => key !== "Shift").length'), 1000)
    assert.ok(ms < 5000, `${ms} ms`)
  })

  test('the contents of a field are kept without `clear`', async () => {
    await server.ok('navigate', { url: site.url('/form') })
    await server.ok('type', { selector: '#full', text: ' and after' })
    assert.equal(await server.evaluate('full.value'), 'before and after')
    await server.ok('type', { selector: '#full', text: 'new', clear: true })
    assert.equal(await server.evaluate('full.value'), 'new')
    await server.ok('type', { selector: '#full', text: '', clear: true })
    assert.equal(await server.evaluate('full.value'), '')
  })

  test('all kinds of text are typed: capitals, accents, emoji, line breaks, and into other elements than inputs', async () => {
    await server.ok('navigate', { url: site.url('/form') })
    const text = 'Ärger, naïve 日本語 😀 <b>&amp;</b>\t"quoted" \\ {}'
    await server.ok('type', { selector: '#name', text: text.replace('\t', ' ') })
    assert.equal(
      await server.evaluate('document.getElementById("name").value'),
      text.replace('\t', ' ')
    )
    await server.ok('type', { selector: '#note', text: 'one\ntwo\r\nthree' })
    assert.equal(await server.evaluate('note.value'), 'one\ntwo\nthree')
    await server.ok('type', { selector: '#rich', text: 'rich text' })
    assert.equal(await server.evaluate('rich.textContent'), 'rich text')
  })

  test('a label refers to its field', async () => {
    await server.ok('navigate', { url: site.url('/form') })
    await server.ok('type', { selector: 'label[for=name]', text: 'by its label' })
    assert.equal(await server.evaluate('document.getElementById("name").value'), 'by its label')
  })
})
