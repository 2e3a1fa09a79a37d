// navigate, go_back, go_forward, reload, wait_for_load: the resulting URL and load state.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NO_ANSWER } from '../support/browser.mjs'
import { startShared } from '../support/scope.mjs'
import { isPending, within } from '../support/wait.mjs'

/** A resource that is cached permanently, and counts its requests. */
function counted() {
  let times = 0
  return (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/javascript', 'cache-control': 'max-age=3600' })
      .end(`window.times = ${++times}`)
}

/** A page that drops every connection after the first `good` ones. @param {number} good */
function failing(good) {
  let times = 0
  return (request, response) =>
    times++ < good
      ? response
          .writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-store' })
          .end('<title>Good</title>')
      : request.socket.destroy()
}

describe('navigation', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    args: ['--max-sessions', '50', '--timeout-navigation', '5000'],
    routes: {
      '/stages':
        '<title>Stages</title><script>window.stage = "parsed"; addEventListener("load", () => { stage = "loaded"; fetch("/late").then(() => { stage = "idle" }) })</script><img src="/picture">',
      '/picture': (_request, response) => response.end(),
      '/late': (_request, response) => response.end(),
      '/cached': '<title>Cached</title><script src="/counted.js"></script>',
      '/counted.js': counted(),
      '/fails': failing(1),
      '/greets':
        '<title>Greets</title><script>if (sessionStorage.again) alert("again"); sessionStorage.again = 1</script>',
      '/asks': '<title>Asks</title><script>prompt("Name?", "nobody")</script>',
      '/leaving':
        '<title>Leaving</title><input id="field"><a id="away" href="/slow?ms=400">Away</a><a id="file" href="/download">File</a><script>onbeforeunload = (event) => event.preventDefault()</script>',
      '/opener': '<title>Opener</title><script>open("/greeter")</script><img src="/picture">',
      '/greeter': '<title>Greeter</title><script>alert("from a popup")</script>',
      // Like with frameworks, the page renders in one task and navigates in another.
      '/rendered': `<title>Nothing yet</title><main></main><script>
        const later = (work) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = work; port2.postMessage(0) }
        later(() => { document.querySelector('main').textContent = 'There'; later(() => { document.title = 'Rendered' }) })
      </script>`,
      '/pushed':
        '<title>First</title><script>addEventListener("popstate", () => { document.title = "Popped" }); history.pushState({}, "", "/pushed?2"); document.title = "Second"</script>'
    }
  })

  const refused = async (tool, args, errorCode, reason) => {
    const error = await server.fail(tool, args)
    assert.deepEqual([error.errorCode, error.details.reason], [errorCode, reason], error.message)
    return error
  }

  test('navigate and the recording show what scripts render in tasks queued at the load event', async () => {
    const sessionId = await server.createSession()
    for (let time = 0; time < 10; time++) {
      const { json, text } = await server.call('navigate', {
        sessionId,
        url: site.url(`/rendered?${time}`)
      })
      assert.equal(json.title, 'Rendered', text)
      assert.match(
        JSON.stringify(await server.ok('get_content', { sessionId, resetCursor: true })),
        /There/
      )
    }
  })

  test('navigate returns at the stage of `waitUntil`', async () => {
    for (const [waitUntil, stage, waitedFor] of /** @type {[string, string, string[]][]} */ ([
      ['domcontentloaded', 'parsed', []],
      ['load', 'loaded', ['/picture']],
      ['networkidle', 'idle', ['/picture', '/late']]
    ])) {
      const sessionId = await server.createSession()
      const holds = ['/picture', '/late'].map((path) => ({ path, ...site.hold(path) }))
      const call = server.call('navigate', { sessionId, url: site.url('/stages'), waitUntil })
      for (const { path, requested, release } of holds) {
        if (!waitedFor.includes(path)) continue
        await within(requested, path)
        await server.request('tools/list')
        assert.ok(await isPending(call), `${waitUntil} did not wait for ${path}`)
        release()
      }
      const { json, text } = await call
      assert.equal(json.success, true, text)
      assert.equal(await server.evaluate('stage', { sessionId }), stage, waitUntil)
      for (const { release } of holds) release()
      await server.ok('close_session', { sessionId })
    }
  })

  test('wait_for_load waits for each stage, and returns at once if it is reached', async () => {
    for (const [state, path] of [
      ['load', '/picture'],
      ['networkidle', '/late']
    ]) {
      const sessionId = await server.createSession()
      const holds = ['/picture', '/late'].map((path) => ({ path, ...site.hold(path) }))
      await server.ok('navigate', {
        sessionId,
        url: site.url('/stages'),
        waitUntil: 'domcontentloaded'
      })
      const soon = await server.ok('wait_for_load', { sessionId, state: 'domcontentloaded' })
      assert.deepEqual(
        [soon.success, soon.title, soon.url, soon.status],
        [true, 'Stages', site.url('/stages'), 200]
      )
      await refused('wait_for_load', { sessionId, state, timeout: 100 }, 'TIMEOUT', undefined)
      const call = server.call('wait_for_load', { sessionId, state, timeout: 5000 })
      for (const each of holds) {
        await within(each.requested, each.path)
        await server.request('tools/list')
        assert.ok(await isPending(call), `${state} did not wait for ${each.path}`)
        each.release()
        if (each.path === path) break
      }
      const { json, text } = await call
      assert.equal(json?.success, true, text)
      assert.ok(json.timing.load >= json.timing.domContentLoaded, text)
      for (const each of holds) each.release()
      await server.ok('close_session', { sessionId })
    }
  })

  test('go_back and go_forward move through the history, and report its ends', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    await server.ok('navigate', { sessionId, url: site.url('/status/404') })
    const back = await server.ok('go_back', { sessionId })
    assert.deepEqual(
      [back.success, back.title, back.url, back.status],
      [true, 'Form', site.url('/form'), 200]
    )
    const forward = await server.ok('go_forward', { sessionId, pageId: 'page-1' })
    assert.deepEqual([forward.title, forward.status], ['Status 404', 404])
    await refused('go_forward', { sessionId }, 'NAVIGATION_FAILED', 'no history entry')
    assert.equal(
      (await server.ok('pages', { sessionId, action: 'list' })).pages[0].url,
      site.url('/status/404')
    )
  })

  test('go_back does not leave the history of a page for its initial empty document', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    assert.equal((await server.ok('go_back', { sessionId })).url, 'about:blank')
    await refused('go_back', { sessionId }, 'NAVIGATION_FAILED', 'no history entry')
    assert.equal((await server.ok('go_forward', { sessionId })).url, site.url('/form'))
  })

  test('each navigation reports the dialog of a popup that opens during the load, with its page', async () => {
    const sessionId = await server.createSession()
    const picture = site.hold('/picture')
    const dialog = { type: 'alert', message: 'from a popup' }
    const answer = (pageId) => server.ok('handle_dialog', { sessionId, pageId, accept: true })
    const began = await server.call('navigate', { sessionId, url: site.url('/opener') })
    assert.deepEqual(began.json.dialog, { ...dialog, pageId: 'page-2' }, began.text)
    assert.deepEqual([began.json.title, began.json.url], ['Opener', site.url('/opener')])
    assert.ok(began.ms < 3000, `${began.ms} ms`)
    assert.deepEqual((await server.ok('wait_for_load', { sessionId })).dialog, {
      ...dialog,
      pageId: 'page-2'
    })
    await answer('page-2')
    picture.release()
    assert.equal((await server.ok('wait_for_load', { sessionId })).dialog, undefined)
    const again = site.hold('/picture')
    assert.deepEqual((await server.ok('reload', { sessionId })).dialog, {
      ...dialog,
      pageId: 'page-3'
    })
    await answer('page-3')
    again.release()
    assert.equal((await server.ok('wait_for_load', { sessionId })).title, 'Opener')
    await server.ok('close_session', { sessionId })
  })

  test('go_back stays in a document whose script has created the history entries', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/pushed') })
    const { url, title } = await server.ok('go_back', { sessionId })
    assert.equal(url, site.url('/pushed'))
    assert.equal(title, 'Popped')
    assert.equal((await server.ok('go_forward', { sessionId })).url, site.url('/pushed?2'))
  })

  test('reload uses the cache, unless `ignoreCache` is set', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/cached') })
    const first = await server.evaluate('window.mark = true, times', { sessionId })
    assert.deepEqual(
      (({ success, title, status }) => ({ success, title, status }))(
        await server.ok('reload', { sessionId })
      ),
      { success: true, title: 'Cached', status: 200 }
    )
    assert.deepEqual(await server.evaluate('[window.mark ?? null, times]', { sessionId }), [
      null,
      first
    ])
    await server.ok('reload', { sessionId, ignoreCache: true })
    assert.equal(await server.evaluate('times', { sessionId }), first + 1)
    await server.ok('reload', { sessionId, ignoreCache: false })
    assert.equal(await server.evaluate('times', { sessionId }), first + 1)
  })

  test('forty steps back and forward finish quickly', async () => {
    const sessionId = await server.createSession()
    const places = ['/', '/form', '/slow?ms=1'].map((path) => site.url(path))
    for (const url of places) await server.ok('navigate', { sessionId, url })
    for (let step = 0; step < 40; step++) {
      const [tool, place] = /** @type {const} */ ([
        ['go_back', 1],
        ['go_back', 0],
        ['go_forward', 1],
        ['go_forward', 2]
      ])[step % 4]
      const { json, ms, text } = await server.call(tool, { sessionId })
      assert.equal(json.url, places[place], text)
      assert.ok(ms < 10_000, `step ${step}: ${ms} ms`)
    }
  })

  test('reload, go_back and go_forward report an unreachable server', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/fails') })
    const { details, retryable } = await refused(
      'reload',
      { sessionId },
      'NAVIGATION_FAILED',
      NO_ANSWER
    )
    assert.deepEqual([details.url, retryable], [site.url('/fails'), true])
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    await refused('go_back', { sessionId }, 'NAVIGATION_FAILED', NO_ANSWER)
    assert.equal((await server.ok('go_forward', { sessionId })).url, site.url('/form'))
    await server.ok('navigate', { sessionId, url: site.url('/') })
    assert.equal(await server.evaluate('document.title', { sessionId }), 'Home')
  })

  test('each navigation reports a dialog of the new or the previous page', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/greets') })
    assert.deepEqual((await server.ok('reload', { sessionId })).dialog, {
      type: 'alert',
      message: 'again'
    })
    await server.ok('handle_dialog', { sessionId, accept: true })
    const { dialog } = await server.ok('navigate', { sessionId, url: site.url('/asks') })
    assert.deepEqual(dialog, { type: 'prompt', message: 'Name?', defaultValue: 'nobody' })
    await server.ok('handle_dialog', { sessionId, pageId: 'page-1', accept: true })
    await server.ok('navigate', { sessionId, url: site.url('/leaving') })
    await server.ok('click', { sessionId, selector: '#field' })
    assert.equal((await server.ok('go_back', { sessionId })).dialog?.type, 'beforeunload')
    const blocked = await server.call('snapshot', { sessionId })
    assert.match(blocked.json.suggestion, /\{accept: true\} leaves the page/)
    await server.ok('handle_dialog', { sessionId, accept: false })
    assert.equal(await server.evaluate('document.title', { sessionId }), 'Leaving')
  })

  test('handle_dialog returns the new page after an accepted beforeunload dialog', async () => {
    const sessionId = await server.createSession()
    for (const leave of [
      () => server.ok('navigate', { sessionId, url: site.url('/slow?ms=400') }),
      () => server.ok('click', { sessionId, selector: '#away' })
    ]) {
      await server.ok('navigate', { sessionId, url: site.url('/leaving') })
      await server.ok('click', { sessionId, selector: '#field' })
      assert.equal((await leave()).dialog?.type, 'beforeunload')
      const { page } = await server.ok('handle_dialog', { sessionId, accept: true })
      assert.deepEqual(page, { url: site.url('/slow?ms=400'), title: 'Slow' })
      assert.equal(await server.evaluate('document.title', { sessionId }), 'Slow')
    }
    // It does not navigate to a URL that is not a document.
    await server.ok('navigate', { sessionId, url: site.url('/leaving') })
    await server.ok('click', { sessionId, selector: '#field' })
    await server.ok('click', { sessionId, selector: '#file' })
    const { download, page } = await server.ok('handle_dialog', { sessionId, accept: true })
    assert.deepEqual([download?.suggestedFilename, page], ['report.bin', undefined])
    assert.equal(await server.evaluate('document.title', { sessionId }), 'Leaving')
    await server.ok('close_session', { sessionId })
  })
})

describe('pages', { timeout: 60_000 }, () => {
  const { server, site } = startShared({ args: ['--max-sessions', '50'] })

  test('are opened, listed, selected and closed; calls without a pageId use the current one', async () => {
    const sessionId = await server.createSession()
    const pages = (args) => server.ok('pages', { sessionId, ...args })
    const title = async () =>
      (await server.ok('evaluate', { sessionId, script: 'document.title' })).value
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    const opened = await pages({ action: 'new', url: site.url('/buttons') })
    assert.deepEqual(opened.pages, [
      { pageId: 'page-1', url: site.url('/form'), title: 'Form' },
      { pageId: 'page-2', url: site.url('/buttons'), title: 'Buttons' }
    ])
    assert.deepEqual([opened.navigation.title, opened.navigation.status], ['Buttons', 200])
    assert.equal(opened.current, 'page-2')
    await pages({ action: 'select', pageId: 'page-1' })
    assert.equal(await title(), 'Form')
    assert.equal((await pages({ action: 'select', pageId: 'page-2' })).current, 'page-2')
    assert.equal(await title(), 'Buttons')
    const closed = await pages({ action: 'close', pageId: 'page-2' })
    assert.deepEqual([closed.current, closed.pages.length], ['page-1', 1])
    assert.equal(await title(), 'Form')
    // An id is never reused.
    assert.equal((await pages({ action: 'new' })).pages.at(-1).pageId, 'page-3')
    assert.equal((await pages({ action: 'list' })).pages.length, 2)
  })

  test('the last one can be closed, and the next call has a new one', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    assert.deepEqual(
      (await server.ok('pages', { sessionId, action: 'close', pageId: 'page-1' })).pages,
      []
    )
    assert.equal(
      (await server.call('navigate', { sessionId, url: site.url('/') })).meta.pageId,
      'page-2'
    )
  })

  test('reject invalid arguments', async () => {
    const sessionId = await server.createSession()
    for (const [args, errorCode] of /** @type {const} */ ([
      [{ action: 'select' }, 'INVALID_PARAMETERS'],
      [{ action: 'close' }, 'INVALID_PARAMETERS'],
      [{ action: 'close', pageId: 'page-9' }, 'PAGE_NOT_FOUND'],
      [{ action: 'new', url: 'http://' }, 'INVALID_URL'],
      [{ action: 'new', url: 'file:///etc/passwd' }, 'BLOCKED_BY_POLICY'],
      [{ action: 'new', url: site.url('/drop') }, 'NAVIGATION_FAILED']
    ])) {
      const { json, text } = await server.call('pages', { sessionId, ...args })
      assert.equal(json.errorCode, errorCode, text)
    }
  })
})
