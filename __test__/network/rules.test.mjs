// block_resource and mock_response: for all requests of a session, from every kind of initiator.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { INITIATOR_ROUTES, responseForEachInitiator } from '../support/everywhere.mjs'
import { startServer } from '../support/server.mjs'
import { startShared } from '../support/scope.mjs'
import { sendHtml } from '../support/site.mjs'

const IMAGE = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"></svg>'

/**
 * Loads a resource of each type. The variable `loaded` contains the types that have loaded.
 * @type {import('../support/site.mjs').Route}
 */
const RICH = (_request, response) =>
  sendHtml(
    response,
    `<!doctype html><title>Rich</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/rich/style.css">
    <script src="/rich/script.js"></script><img src="/rich/image.svg">
    <script>
      addEventListener('load', async () => {
        const xhr = () => new Promise((resolve) => {
          const request = new XMLHttpRequest()
          request.onload = () => resolve(true)
          request.onerror = () => resolve(false)
          request.open('GET', '/api/xhr')
          request.send()
        })
        window.loaded = {
          stylesheet: document.styleSheets.length === 1 && getComputedStyle(document.body).color === 'rgb(1, 2, 3)',
          script: window.fromScript === true,
          image: document.images[0].naturalWidth > 0,
          fetch: await fetch('/api/fetch').then(() => true, () => false),
          xhr: await xhr()
        }
        document.title = 'Done'
      })
    </script>`
  )

/** @param {string} type @param {string} text @returns {import('../support/site.mjs').Route} */
const cached = (type, text) => (_request, response) =>
  response.writeHead(200, { 'content-type': type, 'cache-control': 'max-age=3600' }).end(text)

describe('network rules', { timeout: 120_000 }, () => {
  const { server, site } = startShared({
    args: ['--max-sessions', '50'],
    routes: {
      ...INITIATOR_ROUTES,
      '/rich': RICH,
      '/rich/style.css': cached('text/css', 'body { color: rgb(1, 2, 3) }'),
      '/rich/script.js': cached('text/javascript', 'window.fromScript = true'),
      '/rich/image.svg': cached('image/svg+xml', IMAGE),
      '/embeds': '<title>Embeds</title><iframe src="/form"></iframe>'
    }
  })

  /** Returns the resources that /rich has loaded. @param {string} sessionId */
  async function loadedResources(sessionId) {
    await server.ok('navigate', { sessionId, url: site.url('/rich') })
    const { value } = await server.ok('evaluate', {
      sessionId,
      script: `new Promise((resolve) => { const look = () => window.loaded ? resolve(loaded) : setTimeout(look, 5); look() })`
    })
    return value
  }

  /** @param {string} sessionId @param {string} path @param {string} [pageId] */
  async function ask(sessionId, path, pageId) {
    const { value } = await server.ok('evaluate', {
      sessionId,
      pageId,
      script: 'ask',
      args: [path]
    })
    return value
  }

  const everything = { stylesheet: true, script: true, image: true, fetch: true, xhr: true }

  for (const resourceType of Object.keys(everything)) {
    test(`block_resource blocks only ${resourceType} requests, also for cached resources, until they are unblocked`, async () => {
      const sessionId = await server.createSession()
      assert.deepEqual(await loadedResources(sessionId), everything)
      const { success, message } = await server.ok('block_resource', { sessionId, resourceType })
      assert.deepEqual(
        { success, message },
        { success: true, message: `Blocked now: ${resourceType}.` }
      )
      assert.deepEqual(await loadedResources(sessionId), { ...everything, [resourceType]: false })
      const lifted = await server.ok('block_resource', { sessionId, resourceType, block: false })
      assert.equal(lifted.message, 'Blocked now: nothing.')
      assert.deepEqual(await loadedResources(sessionId), everything)
      await server.ok('close_session', { sessionId })
    })
  }

  test('a navigation to a blocked document fails, also in a frame', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/embeds') })
    await server.ok('block_resource', { sessionId, resourceType: 'document' })
    const { json, isError } = await server.call('navigate', { sessionId, url: site.url('/form') })
    assert.equal(isError, true)
    assert.equal(json.errorCode, 'NAVIGATION_FAILED')
    assert.equal(json.details.reason, 'net::ERR_BLOCKED_BY_CLIENT')
  })

  test('block_resource applies to pages, frames and workers, and to pages that open later', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/everywhere/page') })
    assert.deepEqual(await ask(sessionId, '/api/x'), responseForEachInitiator('real'))
    await server.ok('block_resource', { sessionId, resourceType: 'fetch' })
    assert.deepEqual(await ask(sessionId, '/api/x'), responseForEachInitiator('failed'))
    await server.ok('block_resource', { sessionId, resourceType: 'fetch', block: false })
    assert.deepEqual(await ask(sessionId, '/api/x'), responseForEachInitiator('real'))
    await server.ok('block_resource', { sessionId, resourceType: 'fetch' })
    await server.ok('pages', { sessionId, action: 'new', url: site.url('/everywhere/page') })
    assert.deepEqual(await ask(sessionId, '/api/x', 'page-2'), responseForEachInitiator('failed'))
  })

  test('block_resource websocket prevents WebSockets from opening', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/') })
    await server.ok('block_resource', { sessionId, resourceType: 'websocket' })
    const script = `new Promise((resolve) => { const socket = new WebSocket(location.origin.replace('http', 'ws')); socket.onerror = () => resolve('refused') })`
    const asked = site.requests.length
    assert.equal((await server.ok('evaluate', { sessionId, script })).value, 'refused')
    assert.equal(site.requests.length, asked)
    assert.equal(
      (await server.ok('evaluate', { sessionId, script: `fetch('/').then(() => 'fetched')` }))
        .value,
      'fetched'
    )
  })

  test('rules of a session do not apply to other sessions', async () => {
    const [one, other] = [await server.createSession(), await server.createSession()]
    await server.ok('block_resource', { sessionId: one, resourceType: 'script' })
    await server.ok('mock_response', {
      sessionId: one,
      url: site.url('/api/fetch'),
      response: { status: 500 }
    })
    assert.deepEqual(await loadedResources(other), everything)
  })

  test('mock_response applies to pages, frames and workers until it is removed', async () => {
    const sessionId = await server.createSession()
    // Before anything runs: new targets find it in place.
    await server.ok('mock_response', { sessionId, url: '**/api/*', response: { body: 'mocked' } })
    await server.ok('navigate', { sessionId, url: site.url('/everywhere/page') })
    const asked = site.requests.length
    assert.deepEqual(await ask(sessionId, '/api/x'), responseForEachInitiator('mocked'))
    assert.equal(site.requests.slice(asked).filter(({ path }) => path === '/api/x').length, 0)
    const { message } = await server.ok('mock_response', {
      sessionId,
      url: '**/api/*',
      response: null
    })
    assert.match(message, /Removed the mock/)
    assert.deepEqual(await ask(sessionId, '/api/x'), responseForEachInitiator('real'))
  })

  test('mock_response applies to out-of-process iframes', async (t) => {
    const server = await startServer(t, ['--browser-arg', '--site-per-process'])
    await server.ok('mock_response', { url: '**/api/x', response: { body: 'mocked' } })
    await server.ok('navigate', { url: site.url('/everywhere/page') })
    assert.deepEqual(
      (await server.ok('evaluate', { script: 'ask', args: ['/api/x'] })).value,
      responseForEachInitiator('mocked')
    )
    await server.ok('block_resource', { resourceType: 'fetch' })
    assert.deepEqual(
      (await server.ok('evaluate', { script: 'ask', args: ['/api/y'] })).value,
      responseForEachInitiator('failed')
    )
  })

  test('mock_response mocks documents, frames and scripts with each of its parameters', async () => {
    const sessionId = await server.createSession()
    const mock = (url, response) => server.ok('mock_response', { sessionId, url, response })
    await mock('http://nowhere.test/', {
      body: '<title>Mocked ü</title><iframe src="/frame"></iframe><script src="/x.js"></script>'
    })
    await mock('http://nowhere.test/frame', { status: 404, body: '<p>none</p>' })
    await mock('http://nowhere.test/x.js', { body: 'window.x = 1' })
    await mock('http://nowhere.test/data', {
      json: { a: [1] },
      status: 201,
      headers: { 'X-Given': 'yes', 'X-Number': 7 }
    })
    await mock('http://nowhere.test/text', { body: 'a,b', contentType: 'text/csv' })
    const { title, status, url } = await server.ok('navigate', {
      sessionId,
      url: 'http://nowhere.test'
    })
    assert.deepEqual(
      { title, status, url },
      { title: 'Mocked ü', status: 200, url: 'http://nowhere.test/' }
    )
    const script = `async () => {
      const data = await fetch('/data'), text = await fetch('/text')
      return [x, frames[0].document.body.innerText, data.status, data.headers.get('x-given'), data.headers.get('x-number'),
        data.headers.get('content-type'), await data.json(), text.headers.get('content-type'), await text.text()]
    }`
    const { value } = await server.ok('evaluate', { sessionId, script })
    assert.deepEqual(value, [
      1,
      'none',
      201,
      'yes',
      '7',
      'application/json',
      { a: [1] },
      'text/csv',
      'a,b'
    ])
  })

  test('the newest mock of a URL applies, and mocks take precedence over blocks', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/') })
    const text = async () =>
      (
        await server.ok('evaluate', {
          sessionId,
          script: `fetch('/api/x').then((answer) => answer.text())`
        })
      ).value
    await server.ok('mock_response', {
      sessionId,
      url: site.url('/api/x'),
      response: { body: 'exact' }
    })
    await server.ok('mock_response', { sessionId, url: '**/api/**', response: { body: 'glob' } })
    assert.equal(await text(), 'glob')
    await server.ok('mock_response', {
      sessionId,
      url: site.url('/api/x'),
      response: { body: 'again' }
    })
    assert.equal(await text(), 'again')
    await server.ok('block_resource', { sessionId, resourceType: 'fetch' })
    assert.equal(await text(), 'again')
  })

  test('a mock can be read from another origin, preflight included', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/') })
    await server.ok('mock_response', {
      sessionId,
      url: 'https://api.test/**',
      response: { json: { ok: true } }
    })
    const script = `fetch('https://api.test/v1/x', { method: 'PUT', headers: { 'x-more': '1' }, credentials: 'include' }).then((answer) => answer.json())`
    assert.deepEqual((await server.ok('evaluate', { sessionId, script })).value, { ok: true })
  })

  const refused = /** @type {const} */ ([
    [
      'block_resource',
      { resourceType: 'pictures' },
      'INVALID_PARAMETERS',
      /one of "document", "stylesheet"/
    ],
    ['block_resource', {}, 'INVALID_PARAMETERS', /`resourceType` is missing/],
    [
      'mock_response',
      { url: 'http://', response: {} },
      'INVALID_URL',
      /`http:\/\/` is not a URL, part of a URL, or glob/
    ],
    ['mock_response', { url: '**/{a', response: {} }, 'INVALID_URL', /glob/],
    [
      'mock_response',
      { url: '**/x', response: { body: 'a', json: 1 } },
      'INVALID_PARAMETERS',
      /`body` is also given/
    ],
    [
      'mock_response',
      { url: '**/x', response: { status: 99 } },
      'INVALID_PARAMETERS',
      /between 200 and 599/
    ],
    [
      'mock_response',
      { url: '**/x', response: { headers: { 'a b': 'c' } } },
      'INVALID_PARAMETERS',
      /`a b` is not a valid header name/
    ],
    ['mock_response', { url: '**/never' }, 'INVALID_PARAMETERS', /no mock for `\*\*\/never`/]
  ])
  for (const [tool, args, errorCode, message] of refused) {
    test(`${tool} refuses ${JSON.stringify(args)}`, async () => {
      const { json, isError } = await server.call(tool, {
        ...args,
        sessionId: await server.createSession()
      })
      assert.equal(isError, true)
      assert.equal(json.errorCode, errorCode)
      assert.match(json.message, message)
    })
  }
})
