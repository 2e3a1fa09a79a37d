// The contents of a client's sessions as resources: list, read, subscribe, and completion of their
// names.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { META, MODERN, modernRequest } from '../support/modern.mjs'
import { sizeOf } from '../support/pictures.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { UNKNOWN_SESSION } from '../support/sessions.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

const UPDATED = 'notifications/resources/updated'
const LIST_CHANGED = 'notifications/resources/list_changed'

/** A button that opens a popup: some browsers block popups without a user gesture. */
const POPUP =
  '<title>Popup</title><button id="popup" onclick="window.open(\'about:blank\')">Open</button>'

describe('resources', { timeout: 60_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  before(async () => {
    site = await startSite(scope, { '/popup': POPUP })
    server = await startServer(scope)
  })

  async function request(method, params, of = server) {
    const { result, error } = await of.request(method, params)
    assert.ok(!error, `${method}: ${JSON.stringify(error)}`)
    return result
  }
  const read = async (uri) => {
    const { contents } = await request('resources/read', { uri })
    assert.equal(contents.length, 1)
    assert.equal(contents[0].uri, uri)
    return contents[0]
  }
  const readJson = async (uri) => {
    const { text, mimeType } = await read(uri)
    assert.equal(mimeType, 'application/json')
    return JSON.parse(text)
  }
  const listed = async (of = server) =>
    (await request('resources/list', {}, of)).resources.map(({ uri }) => uri)
  /** Creates a session and navigates to a page. */
  async function sessionAt(path) {
    const sessionId = await server.createSession({ viewport: { width: 700, height: 500 } })
    await server.ok('navigate', { sessionId, url: site.url(path) })
    return sessionId
  }

  test('a session and its page are listed and read', async () => {
    const sessionId = await sessionAt('/form')
    const page = `playwright:///page/${sessionId}/page-1`
    const uris = await listed()
    for (const uri of [`playwright:///session/${sessionId}`, page])
      assert.ok(uris.includes(uri), `${uri} is not in ${uris}`)

    const session = await readJson(`playwright:///session/${sessionId}`)
    assert.equal(session.metadata.sessionId, sessionId)
    assert.equal(session.metadata.pages[0].url, site.url('/form'))
    const { metadata } = await readJson(page)
    assert.deepEqual(
      [metadata.url, metadata.title, metadata.viewport],
      [site.url('/form'), 'Form', { width: 700, height: 500 }]
    )
    assert.ok(Math.abs(Date.now() - metadata.createdAt) < 60_000, `${metadata.createdAt}`)
    assert.deepEqual(
      (await readJson(`playwright:///page/${sessionId}`)).pages.map(({ uri }) => uri),
      [page]
    )
  })

  test('the network log of a page is listed and read', async () => {
    const log = `playwright:///network-log/${await sessionAt('/form')}/page-1`
    const uris = await listed()
    assert.ok(uris.includes(log), `${log} is not in ${uris}`)
    const { metadata: counts, content } = await readJson(log)
    const document = content.find(({ url }) => url === site.url('/form'))
    assert.deepEqual(
      [document.method, document.status, document.resourceType],
      ['GET', 200, 'document']
    )
    assert.ok(document.timing.startTime > 0 && document.timing.duration >= 0)
    assert.equal(counts.requestCount, content.length)
    assert.equal(counts.errorCount, 0)
  })

  test(
    'a network log is not listed if the browser does not report requests',
    { skip: BROWSER !== 'webkit' && 'this browser reports requests' },
    async () => {
      const log = `playwright:///network-log/${await sessionAt('/form')}/page-1`
      assert.ok(!(await listed()).includes(log))
      const { error } = await server.request('resources/read', { uri: log })
      assert.match(error?.message ?? '', /the request log is not supported/)
    }
  )

  test('elements are listed by a selector, and read by their refs', async () => {
    const sessionId = await sessionAt('/form')
    const selector = encodeURIComponent('form > button, #name')
    const { elements, count } = await readJson(
      `playwright:///element/${sessionId}/page-1?selector=${selector}`
    )
    assert.equal(count, 2)
    const [name] = elements
    assert.deepEqual([name.metadata.tagName, name.metadata.attributes.id], ['input', 'name'])
    const { metadata } = await readJson(name.uri)
    assert.deepEqual(
      [metadata.tagName, metadata.selector, metadata.attributes.name],
      ['input', '#name', 'name']
    )
    assert.ok(metadata.boundingBox.width > 0 && metadata.boundingBox.height > 0)
    const box = (
      await server.ok('evaluate', {
        sessionId,
        script:
          '(({ x, y }) => ({ x, y }))(document.querySelector("#name").getBoundingClientRect())'
      })
    ).value
    assert.deepEqual([metadata.boundingBox.x, metadata.boundingBox.y], [box.x, box.y])
    const all = await readJson(`playwright:///element/${sessionId}/page-1`)
    assert.ok(all.elements.some(({ metadata }) => metadata.attributes.id === 'send'))
  })

  test('the box of an element in a frame is relative to the viewport of the page', async () => {
    const sessionId = await sessionAt('/frames')
    const { elements } = await readJson(
      `playwright:///element/${sessionId}/page-1?selector=${encodeURIComponent('#frame >>> #name')}`
    )
    assert.match(elements[0].uri, /f\d+e\d+$/)
    const { metadata } = await readJson(elements[0].uri)
    const script = `(() => { const frame = document.querySelector('#frame'); const outer = frame.getBoundingClientRect()
      return outer.x + frame.clientLeft + frame.contentDocument.querySelector('#name').getBoundingClientRect().x })()`
    assert.equal(metadata.boundingBox.x, (await server.ok('evaluate', { sessionId, script })).value)
  })

  test('a screenshot is a blob whose URI contains its time', async () => {
    const sessionId = await sessionAt('/form')
    const { result } = await server.call('screenshot', { sessionId })
    const [{ uri, metadata }] = (await readJson(`playwright:///screenshot/${sessionId}`))
      .screenshots
    assert.match(
      uri,
      new RegExp(
        String.raw`^playwright:///screenshot/${sessionId}/page-1/\d{4}-\d\d-\d\dT[\d:.]+Z$`
      )
    )
    assert.deepEqual([metadata.width, metadata.height, metadata.fullPage], [700, 500, false])
    assert.ok((await listed()).includes(uri))
    const { blob, mimeType } = await read(uri)
    assert.equal(mimeType, 'image/png')
    assert.equal(blob, result.content[0].data)
    assert.deepEqual(sizeOf(blob), { type: 'png', width: 700, height: 500 })
    // The milliseconds are optional.
    assert.equal((await read(uri.replace(/\.\d+Z$/, 'Z'))).blob, blob)
  })

  test('missing resources and invalid URIs are errors with the reason', async () => {
    const sessionId = await sessionAt('/')
    for (const [uri, pattern] of /** @type {const} */ ([
      [`playwright:///session/${UNKNOWN_SESSION}`, /no session/],
      [`playwright:///page/${sessionId}/page-9`, /not open/],
      [`playwright:///element/${sessionId}/page-1/e9999`, /e9999/],
      [`playwright:///screenshot/${sessionId}/page-1/2025-11-27T10:30:00Z`, /no screenshot/],
      ['playwright:///window/1', /unknown kind/],
      ['file:///etc/passwd', /begin with/]
    ])) {
      const { error } = await server.request('resources/read', { uri })
      assert.equal(error?.code, -32002, uri)
      assert.match(error.message, /** @type {RegExp} */ (pattern))
    }
  })

  test('a client can access only sessions that it has created or named', async (t) => {
    const sessionId = await sessionAt('/')
    const other = await startServer(t)
    assert.deepEqual(await listed(other), [])
    await other.ok('navigate', { url: 'about:blank' })
    assert.ok((await listed(other)).length > 0)
    assert.ok((await listed(other)).every((uri) => !uri.includes(sessionId)))
  })

  test('subscribers are notified of navigation and load, others are not', async () => {
    const [watched, unwatched] = [await sessionAt('/'), await sessionAt('/')]
    const uri = `playwright:///page/${watched}/page-1`
    await request('resources/subscribe', { uri })
    server.received.length = 0
    await server.ok('navigate', { sessionId: unwatched, url: site.url('/form') })
    await server.ok('navigate', { sessionId: watched, url: site.url('/form') })
    await until(() => server.notifications(UPDATED).length > 0, 'the update')
    assert.ok(server.notifications(UPDATED).every((update) => update.uri === uri))

    // A document that loads slowly: one update for the navigation, and another for the load.
    const hold = site.hold('/held.js')
    server.received.length = 0
    const navigating = server.ok('navigate', { sessionId: watched, url: site.url('/loading') })
    await hold.requested
    await until(() => server.notifications(UPDATED).length > 0, 'the update of the navigation')
    // The update is sent at the commit, before the title is parsed.
    await until(async () => (await readJson(uri)).metadata.title === 'Loading', 'its title')
    server.received.length = 0
    hold.release()
    await until(() => server.notifications(UPDATED).length > 0, 'the update of the load')
    await navigating

    await request('resources/unsubscribe', { uri })
    server.received.length = 0
    await server.ok('navigate', { sessionId: watched, url: site.url('/') })
    await server.ok('close_session', { sessionId: watched })
    await until(() => server.notifications(LIST_CHANGED).length > 0, 'the change of the list')
    assert.deepEqual(server.notifications(UPDATED), [])
  })

  test('a subscription to a missing resource is rejected', async () => {
    const { error } = await server.request('resources/subscribe', {
      uri: `playwright:///page/${UNKNOWN_SESSION}/page-1`
    })
    assert.equal(error?.code, -32002)
  })

  test('clients are notified of changes of the list: sessions, pages and screenshots', async () => {
    const sessionId = await sessionAt('/popup')
    const changes = async (what, act) => {
      server.received.length = 0
      await act()
      await until(
        () => server.notifications(LIST_CHANGED).length > 0,
        `the change of the list by ${what}`
      )
    }
    await changes('a new session', () => server.createSession())
    await changes('a popup', () => server.ok('click', { sessionId, selector: '#popup' }))
    await changes('a screenshot', () => server.call('screenshot', { sessionId }))
    await changes('the end of a session', () => server.ok('close_session', { sessionId }))
  })

  test('the templates are listed, and their variables can be completed', async () => {
    const { resourceTemplates } = await request('resources/templates/list')
    const uris = resourceTemplates.map(({ uriTemplate }) => uriTemplate)
    const uri = 'playwright:///page/{sessionId}/{pageId}'
    assert.ok(
      uris.includes(uri) && uris.includes('playwright:///element/{sessionId}/{pageId}{?selector}'),
      `${uris}`
    )

    const sessionId = await sessionAt('/')
    const complete = async (name, value, known) => {
      const params = {
        ref: { type: 'ref/resource', uri },
        argument: { name, value },
        context: { arguments: known }
      }
      return (await request('completion/complete', params)).completion
    }
    assert.deepEqual((await complete('sessionId', sessionId.slice(0, 13))).values, [sessionId])
    assert.deepEqual(await complete('pageId', 'page', { sessionId }), {
      values: ['page-1'],
      total: 1,
      hasMore: false
    })
    assert.deepEqual((await complete('pageId', 'x', { sessionId })).values, [])
    const { error } = await server.request('completion/complete', {
      ref: { type: 'ref/resource', uri: 'x:{y}' },
      argument: { name: 'y', value: '' }
    })
    assert.equal(error?.code, -32602)
  })
})

test(
  `a client of ${MODERN} is notified of the resources that it names`,
  { timeout: 30_000 },
  async (t) => {
    const site = await startSite(t, { '/popup': POPUP })
    const server = await startServer(t, [], { handshake: false })
    const call = async (name, args) =>
      (await modernRequest(server, 'tools/call', { name, arguments: args })).structuredContent
    const { sessionId } = await call('create_session', {})
    const uri = `playwright:///page/${sessionId}/page-1`
    const notifications = {
      resourcesListChanged: true,
      resourceSubscriptions: [uri, 'file:///etc/passwd']
    }
    const listening = modernRequest(server, 'subscriptions/listen', { notifications })
    await until(
      () => server.notifications('notifications/subscriptions/acknowledged').length > 0,
      'the acknowledgment'
    )
    const [granted] = server.notifications('notifications/subscriptions/acknowledged')
    assert.deepEqual(granted.notifications, {
      resourcesListChanged: true,
      resourceSubscriptions: [uri]
    })

    await call('navigate', { sessionId, url: site.url('/popup') })
    await until(() => server.notifications(UPDATED).length > 0, 'the update')
    assert.ok(server.notifications(UPDATED).every((update) => update.uri === uri))
    await call('click', { sessionId, selector: '#popup' })
    await until(() => server.notifications(LIST_CHANGED).length > 0, 'the change of the list')
    assert.ok(
      server
        .notifications(LIST_CHANGED)
        .every(({ _meta }) => _meta['io.modelcontextprotocol/subscriptionId'] !== undefined)
    )

    // A missing resource has a different error in this protocol version.
    const { error } = await server.request('resources/read', {
      uri: 'playwright:///window/1',
      _meta: META
    })
    assert.equal(error?.code, -32602)
    listening.catch(() => {})
  }
)
