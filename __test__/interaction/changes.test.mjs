// The changes in the result of an action: short, and relative to the state that the client has last
// received.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { scriptRoute } from '../support/site.mjs'

const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1)

describe('the changes in the result of an action', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    args: ['--max-sessions', '50'],
    routes: {
      '/late': `<title>Late</title><input aria-label="Nodes"><button id="import" disabled>Import</button><button id="other" onclick="out.textContent = 'pressed'">Other</button><p id="out"></p>`,
      '/dialog': `<title>Dialog</title><button id="close" onclick="dialog.remove()">Close all</button>
        <div role="dialog" aria-label="Import nodes" id="dialog"><h2>Paste</h2><input aria-label="JSON"><button>Import</button><p>As a flow</p></div>`,
      '/list': `<title>List</title><input aria-label="Filter" oninput="for (const item of document.querySelectorAll('[role=option]')) item.hidden = !item.textContent.endsWith(this.value)">
        <div role="listbox" aria-label="Numbers">${numbers(32)
          .map((number) => `<div role="option">Number ${number}</div>`)
          .join('')}</div>`,
      '/modal': `<title>Modal</title>${['Shop', 'Cart', 'Help', 'Jobs', 'News', 'Press']
        .map((name) => `<a href="/next">${name}</a> `)
        .join(
          ''
        )}<button id="open" onclick="dialog.showModal()">Open</button><p role="status" id="count">0 times</p>
        <dialog id="dialog"><button id="done" onclick="dialog.close(); count.textContent = parseInt(count.textContent) + 1 + ' times'">Done</button></dialog>`,
      '/route': `<title>Route</title><button id="push" onclick="history.pushState(0, '', '/route?page=2')">Push</button>
        <button id="same" onclick="out.textContent = 'pressed'">Same</button><p id="out"></p>`,
      '/focus': `<title>Focus</title><input aria-label="First" autofocus><button id="go">Go</button>`,
      '/slow': `<title>Slow</title><button onclick="show('/next')">Show</button><p id="out"></p><script>
        async function show(path) {
          await fetch(path)
          setTimeout(() => { out.textContent = "Shown" }, 150)
        }
      </script>`,
      '/part': `<title>Part</title><button id="tab" aria-pressed="false" onclick="open_()">Versions</button><script>
        function open_() {
          tab.setAttribute("aria-pressed", "true")
          const part = document.createElement("script")
          part.src = "/part.js"
          document.head.append(part)
        }
      </script>`,
      '/part.js': scriptRoute("setTimeout(() => document.body.append('Version 1'), 150)"),
      '/busy': `<title>Busy</title><button id="tab" aria-pressed="false" onclick="open_()">Versions</button><script>
        function open_() {
          tab.setAttribute("aria-pressed", "true")
          const part = document.createElement("script")
          part.src = "/busy.js?" + location.search.slice(1)
          document.head.append(part)
        }
      </script>`,
      // The page responds to nothing for 100 ms, a few ms after it has received the script.
      '/busy.js': (request, response) => {
        response.setHeader('content-type', 'text/javascript')
        response.end(`
          const block = () => { const end = performance.now() + 100; while (performance.now() < end); }
          setTimeout(block, ${Number(request.url?.split('?')[1])})
          setTimeout(() => document.body.append('Version 1'), 150)`)
      },
      '/many': `<title>Many</title><button onclick="show('/next')">Show</button><p id="out"></p><script>
        const responses = Promise.all(Array.from({ length: 300 }, (_, number) => fetch("/next?" + number).then((response) => response.text())))
        async function show(path) {
          await (await fetch(path)).text()
          setTimeout(() => { out.textContent = "Shown" }, 150)
        }
      </script>`,
      '/next': '<title>Next</title><p>Next</p>'
    }
  })

  const sessionAt = async (path) => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url(path) })
    return sessionId
  }

  const enable = (sessionId) =>
    server.ok('evaluate', {
      sessionId,
      script: 'document.querySelector("#import").disabled = false'
    })

  test('contain the URL if the document has another one', async () => {
    await server.ok('navigate', { url: site.url('/route') })
    const pushed = await server.ok('click', { selector: '#push' })
    assert.equal(pushed.url, site.url('/route?page=2'))
    assert.doesNotMatch(pushed.message, /did not change/)
    assert.equal((await server.ok('click', { selector: '#same' })).url, undefined)
  })

  test('separates the changes between the last action and this one', async () => {
    const sessionId = await sessionAt('/late')
    await server.ok('type', { sessionId, selector: 'label=Nodes', text: 'x' })
    await enable(sessionId)
    const { changes, earlierChanges } = await server.ok('click', { sessionId, selector: '#other' })
    assert.match(earlierChanges, /^~ button "Import" \[ref=e\d+\]$/)
    assert.match(changes, /pressed/)
    assert.doesNotMatch(changes, /Import/)
    assert.equal(
      (await server.ok('click', { sessionId, selector: '#other' })).earlierChanges,
      undefined
    )
  })

  for (const [shown, show] of /** @type {const} */ ([
    ['the navigation', () => {}],
    ['the snapshot', (sessionId) => server.ok('snapshot', { sessionId })]
  ])) {
    test(`contains the changes since ${shown}`, async () => {
      const sessionId = await sessionAt('/late')
      await show(sessionId)
      await enable(sessionId)
      const { changes, earlierChanges } = await server.ok('click', {
        sessionId,
        selector: '#other'
      })
      assert.match(earlierChanges, /^~ button "Import" \[ref=e\d+\]$/)
      assert.doesNotMatch(changes, /Import/)
    })
  }

  test('does not repeat the contents of a snapshot', async () => {
    const sessionId = await sessionAt('/late')
    await enable(sessionId)
    await server.ok('snapshot', { sessionId })
    const { changes, earlierChanges } = await server.ok('click', { sessionId, selector: '#other' })
    assert.equal(earlierChanges, undefined)
    assert.doesNotMatch(changes, /Import/)
  })

  test('contains what the page shows some time after a response', async () => {
    const sessionId = await sessionAt('/slow')
    const { changes } = await server.ok('click', { sessionId, selector: 'text=Show' })
    assert.match(changes, /Shown/)
  })

  test('contains what a part of the program shows after it was loaded', async () => {
    const sessionId = await sessionAt('/part')
    const { changes } = await server.ok('click', { sessionId, selector: '#tab' })
    assert.match(changes, /button "Versions" .*\[pressed\]/)
    assert.match(changes, /Version 1/)
  })

  test('contains what a busy page shows after it has loaded a part of the program', async () => {
    for (const delay of [1, 2, 3, 4, 5]) {
      const sessionId = await sessionAt(`/busy?${delay}`)
      const { changes } = await server.ok('click', { sessionId, selector: '#tab' })
      assert.match(changes, /Version 1/, `blocked after ${delay} ms`)
    }
  })

  test('contains what a page with hundreds of resources shows some time after a response', async () => {
    const sessionId = await sessionAt('/many')
    const script = 'responses.then((all) => all.length)'
    assert.equal((await server.ok('evaluate', { sessionId, script })).value, 300)
    const { changes } = await server.ok('click', { sessionId, selector: 'text=Show' })
    assert.match(changes, /Shown/)
  })

  test('contains nothing of the previous document', async () => {
    const sessionId = await sessionAt('/next')
    await server.ok('navigate', { sessionId, url: site.url('/late') })
    assert.equal(
      (await server.ok('click', { sessionId, selector: '#other' })).earlierChanges,
      undefined
    )
  })

  test('has one line for removed elements, with their number', async () => {
    const sessionId = await sessionAt('/dialog')
    const { changes } = await server.ok('click', { sessionId, selector: '#close' })
    assert.match(changes, /^- dialog "Import nodes" \[ref=e\d+\] \(5 lines\)$/)
  })

  test('has one line for elements that are shown again after a dialog', async () => {
    const sessionId = await sessionAt('/modal')
    const opened = await server.ok('click', { sessionId, selector: '#open' })
    assert.match(opened.changes, /^- 6 × link$/m)
    // A batch hides and shows them in between.
    const steps = ['#done', '#open', '#done'].map((selector) => ({
      tool: 'click',
      arguments: { selector }
    }))
    const { results } = await server.ok('batch', { sessionId, steps })
    assert.match(
      results[2].result.changes,
      /^\+ link "Shop" \[ref=e\d+\] … button "Open" \[active\] \[ref=e\d+\] \(\d+ lines, the same as before\)$/m
    )
    assert.match(results[2].result.changes, /^\+ +status: 2 times$/m)
  })

  test('shows the remaining items of a list', async () => {
    const sessionId = await sessionAt('/list')
    const { changes } = await server.ok('type', { sessionId, selector: 'label=Filter', text: '32' })
    assert.match(changes, /^~ textbox "Filter" .*: "?32"?$/m)
    assert.match(changes, /^- +31 × option; 1 remain: option "Number 32" \[ref=e\d+\]$/m)
    assert.equal(changes.split('\n').length, 2)
  })

  test('omits mere focus changes', async () => {
    const sessionId = await sessionAt('/focus')
    assert.equal((await server.ok('click', { sessionId, selector: '#go' })).changes, undefined)
  })
})
