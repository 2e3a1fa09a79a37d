// The short snapshot in the result of a navigation: an agent can act on the page without another
// call.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startManager } from '../support/managers.mjs'
import { startShared } from '../support/scope.mjs'
import { scriptRoute } from '../support/site.mjs'

const numbers = (count) => Array.from({ length: count }, (_, index) => index + 1)

const LONG = `<title>Users</title>
  <header><a href="/">Shop</a><a href="/logout">Log out</a></header>
  <nav aria-label="Areas"><ul>${numbers(40)
    .map((number) => `<li><a href="/area/${number}">Area ${number}</a></li>`)
    .join('')}</ul></nav>
  <main>
    <h1>Users</h1>
    <ul class="messagelist"><li class="success">The user “eve” was added.</li></ul>
    <div role="status">60 users</div>
    <p>${'A long introduction. '.repeat(60)}</p>
    <form><input type="search" aria-label="Search users"><button type="button">Search</button></form>
    <table>${numbers(60)
      .map(
        (number) =>
          `<tr><td><input type="checkbox" aria-label="Select ${number}"></td><td><a href="/user/${number}">user${number}</a></td><td>user${number}@example.org</td></tr>`
      )
      .join('')}</table>
    <button type="button" onclick="document.title = 'Saved'">Save</button>
  </main>`

/** A page whose script requests its content before the document has loaded. @param {string} path */
const fetching = (path) => `<title>Loading</title><p>Please wait</p><script>
  fetch("${path}").then((response) => response.text()).then((text) => {
    document.title = "Ready"
    document.body.innerHTML = "<button>" + text + "</button>"
  })
</script>`

/**
 * A page that renders as React does: its frame some time after the load event, the request in a
 * later task, and the response 150 ms after it arrives.
 */
const SINGLE_PAGE_APP = `<title>App</title><div id="root"></div><script>
  addEventListener("load", () => setTimeout(() => {
    root.innerHTML = '<div><a href="/">Home</a></div>'
    setTimeout(async () => {
      const text = await (await fetch("/content")).text()
      setTimeout(() => { root.innerHTML += '<button>' + text + '</button>' }, 150)
    }, 10)
  }, 60))
</script>`

/**
 * A page that shows a part of its program later than something else, as React's `Suspense` does.
 */
const LAZY_APP = `<title>App</title><div id="root"></div><script>
  addEventListener("load", () => setTimeout(() => {
    root.innerHTML = '<a href="/">Home</a>'
    const part = document.createElement("script")
    part.src = "/part.js"
    part.onload = () => setTimeout(() => { root.innerHTML += '<p>Footer</p>' }, 20)
    document.head.append(part)
  }, 60))
</script>`

describe('the snapshot of a navigation', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    args: ['--max-sessions', '50', '--timeout-navigation', '5000'],
    routes: {
      '/short':
        '<title>Short</title><h1>Welcome</h1><p>Only a few words.</p><a href="/long" id="on">On</a>',
      '/long': LONG,
      '/fetching': fetching('/content'),
      '/content': (_request, response) => setTimeout(() => response.end('Loaded'), 300),
      '/app': SINGLE_PAGE_APP,
      '/lazy-app': LAZY_APP,
      '/part.js': scriptRoute(
        "setTimeout(() => { root.innerHTML += '<button>Lazy</button>' }, 150)"
      ),
      '/waiting': fetching('/hang'),
      '/blank': '<title>Blank</title><script>fetch("/hang")</script>',
      '/rendering': `<title>Rendering</title><main id="content"></main><script>
        setTimeout(() => { content.innerHTML = '<button>Rendered</button>' }, 400)
      </script>`,
      '/modal': `${LONG}<dialog id="dialog"><h2>Delete it?</h2><button>Delete</button></dialog><script>dialog.showModal()</script>`,
      '/framed': '<title>Framed</title><p>Around</p><iframe src="/short"></iframe>',
      '/logo': '<title>Logo</title><a href="/"><svg width="9" height="9"></svg></a>',
      '/empty': '<title>Empty</title>'
    }
  })

  test('is the whole page, without the URLs of links, if the page is short', async () => {
    const sessionId = await server.createSession()
    const { snapshot, title } = await server.ok('navigate', { sessionId, url: site.url('/short') })
    assert.equal(title, 'Short')
    assert.match(
      snapshot,
      /^- heading "Welcome" \[level=1\] \[ref=e\d+\]\n- paragraph: Only a few words\.\n- link "On" \[ref=e\d+\]$/
    )
  })

  test('has the URL of a link that has no text', async () => {
    const sessionId = await server.createSession()
    const { snapshot } = await server.ok('navigate', { sessionId, url: site.url('/logo') })
    assert.match(snapshot, /^- link \[ref=e\d+\]:\n {2}- \/url: \/$/)
  })

  test('has the controls, headings and messages of a long page, and reports omissions', async () => {
    const sessionId = await server.createSession()
    const { snapshot } = await server.ok('navigate', { sessionId, url: site.url('/long') })
    assert.ok(snapshot.length <= 2000, `${snapshot.length} characters`)
    for (const line of [
      /heading "Users"/,
      /The user “eve” was added\./,
      /60 users/,
      /searchbox "Search users"/,
      /button "Search"/,
      /link "user1"/,
      /button "Save"/
    ]) {
      assert.match(snapshot, line)
    }
    assert.doesNotMatch(snapshot, /introduction|user60|\/url/)
    assert.match(
      snapshot,
      /\n- … controls, headings and messages only: snapshot shows all, snapshot \{selector\} a part by its ref$/
    )
    const areas = /navigation "Areas" \[ref=(e\d+)\]: … \d+ lines/.exec(snapshot)
    assert.ok(areas, snapshot)
    assert.match(await server.ok('snapshot', { sessionId, selector: areas[1] }), /link "Area 40"/)
    const rows = /… (\d+) more rows: snapshot \{selector: "(e\d+)"\} shows them all/.exec(snapshot)
    assert.ok(rows, snapshot)
    assert.match(await server.ok('snapshot', { sessionId, selector: rows[2] }), /link "user60"/)
    await server.ok('click', {
      sessionId,
      selector: /button "Save" \[ref=(e\d+)\]/.exec(snapshot)[1]
    })
    assert.equal(
      (await server.ok('evaluate', { sessionId, script: 'document.title' })).value,
      'Saved'
    )
  })

  test('shows only the open modal dialog', async () => {
    const sessionId = await server.createSession()
    const { snapshot } = await server.ok('navigate', { sessionId, url: site.url('/modal') })
    assert.match(snapshot, /heading "Delete it\?"[^]*button "Delete"/)
    assert.doesNotMatch(snapshot, /Search/)
  })

  test('shows the contents of frames', async () => {
    const sessionId = await server.createSession()
    const { snapshot } = await server.ok('navigate', { sessionId, url: site.url('/framed') })
    assert.match(snapshot, /paragraph: Around\n- iframe \[ref=e\d+\]:\n  - heading "Welcome"/)
  })

  test('is omitted if the page is empty', async () => {
    const sessionId = await server.createSession()
    assert.equal(
      'snapshot' in (await server.ok('navigate', { sessionId, url: site.url('/empty') })),
      false
    )
  })

  test('reports that an empty page is still loading', async () => {
    const sessionId = await server.createSession()
    const { snapshot } = await server.ok('navigate', { sessionId, url: site.url('/blank') })
    assert.match(snapshot, /^- … the page shows nothing yet, it is still loading/)
  })

  test('waits for content that the page loads by script', async () => {
    const sessionId = await server.createSession()
    const { snapshot, title } = await server.ok('navigate', {
      sessionId,
      url: site.url('/fetching')
    })
    assert.match(snapshot, /^- button "Loaded" \[ref=e\d+\]$/)
    assert.equal(title, 'Ready')
    assert.match(
      JSON.stringify(await server.ok('get_content', { sessionId, resetCursor: true })),
      /Loaded/
    )
  })

  test('waits until the page shows what it has requested after its load event', async () => {
    const sessionId = await server.createSession()
    const { snapshot } = await server.ok('navigate', { sessionId, url: site.url('/app') })
    assert.match(snapshot, /link "Home"/)
    assert.match(snapshot, /button "Loaded"/)
  })

  test('waits until the page shows a part of its program that it loads later', async () => {
    const sessionId = await server.createSession()
    const { snapshot } = await server.ok('navigate', { sessionId, url: site.url('/lazy-app') })
    assert.match(snapshot, /paragraph: Footer/)
    assert.match(snapshot, /button "Lazy"/)
  })

  test('waits for content of an empty main element', async () => {
    const sessionId = await server.createSession()
    const url = site.url('/rendering')
    assert.match((await server.ok('navigate', { sessionId, url })).snapshot, /button "Rendered"/)
  })

  test('does not wait indefinitely for content that the page loads by script', async () => {
    const sessionId = await server.createSession()
    const { json, ms } = await server.call('navigate', { sessionId, url: site.url('/waiting') })
    assert.match(json.snapshot, /Please wait/)
    assert.ok(ms < 4000, `${ms} ms`)
  })

  test('is in the result of each call that navigates', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/short') })
    const clicked = await server.ok('click', { sessionId, selector: '#on' })
    assert.match(clicked.snapshot, /heading "Users"/)
    assert.equal(clicked.page.title, 'Users')
    for (const [tool, args, shown] of /** @type {const} */ ([
      ['go_back', {}, /Welcome/],
      ['go_forward', {}, /heading "Users"/],
      ['reload', {}, /heading "Users"/],
      ['wait_for_load', {}, /heading "Users"/]
    ])) {
      assert.match((await server.ok(tool, { sessionId, ...args })).snapshot, shown, tool)
    }
    const { navigation } = await server.ok('pages', {
      sessionId,
      action: 'new',
      url: site.url('/short')
    })
    assert.match(navigation.snapshot, /Welcome/)
  })

  test('is only in the result of the last step of a batch', async () => {
    const sessionId = await server.createSession()
    const steps = ['/short', '/long'].map((path) => ({
      tool: 'navigate',
      arguments: { url: site.url(path) }
    }))
    const { results } = await server.ok('batch', { sessionId, steps })
    assert.deepEqual(
      results.map(({ result }) => 'snapshot' in result),
      [false, true]
    )
  })

  test('is returned to programs only with --after-navigation', async (t) => {
    for (const [afterNavigation, expected] of [
      [undefined, false],
      ['snapshot', true],
      ['none', false]
    ]) {
      const manager = await startManager(t, {
        store: 'none',
        ...(afterNavigation && { afterNavigation })
      })
      const session = await manager.createSession()
      assert.equal(
        'snapshot' in (await session.navigate(site.url('/short'))),
        expected,
        String(afterNavigation)
      )
    }
  })
})

describe('--after-navigation none', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    args: ['--after-navigation', 'none'],
    routes: { '/next': '<title>Next</title><p>There</p>', '/first': '<a href="/next">Next</a>' }
  })

  test('omits the snapshot from all results', async () => {
    assert.equal('snapshot' in (await server.ok('navigate', { url: site.url('/first') })), false)
    const clicked = await server.ok('click', { selector: 'text=Next' })
    assert.deepEqual([clicked.page.title, 'snapshot' in clicked], ['Next', false])
  })
})
