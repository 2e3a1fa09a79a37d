// Every type of request on the web platform: shown in the request log with its type, and blocked by
// block_resource.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { until } from '../support/wait.mjs'

/** What makes a request of each type; @type {Record<string, string>} */
const MAKING = {
  stylesheet: `document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: URL }))`,
  image: `new Image().src = URL`,
  media: `document.body.append(Object.assign(document.createElement('video'), { src: URL, preload: 'auto' }))`,
  font: `new FontFace('f', 'url(' + URL + ')').load().catch(() => {})`,
  script: `document.head.append(Object.assign(document.createElement('script'), { src: URL }))`,
  texttrack: `(() => { const video = document.createElement('video'); video.append(Object.assign(document.createElement('track'), { src: URL, kind: 'captions', default: true })); document.body.append(video); video.textTracks[0].mode = 'showing' })()`,
  xhr: `(() => { const request = new XMLHttpRequest(); request.open('GET', URL); request.send() })()`,
  fetch: `void fetch(URL).catch(() => {})`,
  eventsource: `void (window.source = new EventSource(URL))`,
  websocket: `void new WebSocket(new window.URL(URL, location).href.replace('http', 'ws'))`,
  ping: `navigator.sendBeacon(URL)`,
  prefetch: `document.head.append(Object.assign(document.createElement('link'), { rel: 'prefetch', href: URL }))`,
  other: `document.head.append(Object.assign(document.createElement('link'), { rel: 'preload', as: 'fetch', href: URL }))`,
  preflight: `void fetch('http://localhost:' + location.port + URL, { headers: { 'x-own': '1' } }).catch(() => {})`,
  document: `document.body.append(Object.assign(document.createElement('iframe'), { src: URL }))`
}

describe('request types', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    args: ['--max-sessions', '50'],
    routes: {
      '/types': '<title>Types</title><body>',
      '/typed/': (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/plain' }).end()
    }
  })

  /** Makes a request and gives what the log says of it, once it is over. */
  async function logged(sessionId, type, path) {
    const { json } = await server.call('evaluate', {
      sessionId,
      script: MAKING[type].replaceAll(/\bURL\b(?!\()/g, (word, at, all) =>
        all.slice(at - 7, at) === 'window.' ? word : JSON.stringify(path)
      )
    })
    assert.equal(json.success, true, JSON.stringify(json))
    return until(async () => {
      const { requests } = await server.ok('get_request_log', { sessionId, filter: path })
      return requests.find(
        ({ method, status, failure }) =>
          (type !== 'preflight' || method === 'OPTIONS') &&
          (status !== undefined || failure !== undefined)
      )
    }, `the ${type} in the log`)
  }

  test('block_resource supports types that scripts cannot request', async () => {
    const sessionId = await server.createSession()
    for (const resourceType of ['manifest', 'prefetch', 'other'])
      await server.ok('block_resource', { sessionId, resourceType })
    const { message } = await server.ok('block_resource', {
      sessionId,
      resourceType: 'other',
      block: false
    })
    assert.equal(message, 'Blocked now: manifest, prefetch.')
    await server.ok('navigate', { sessionId, url: site.url('/types') })
    await server.ok('close_session', { sessionId })
  })

  for (const type of Object.keys(MAKING)) {
    test(`${type} requests are logged with their type, and can be blocked`, async () => {
      const sessionId = await server.createSession()
      await server.ok('navigate', { sessionId, url: site.url('/types') })
      assert.equal((await logged(sessionId, type, `/typed/free-${type}`)).resourceType, type)
      await server.ok('block_resource', { sessionId, resourceType: type })
      // Prefetches use the network settings that a document gets at its commit: new rules do not
      // apply to the current document.
      if (type === 'prefetch') await server.ok('navigate', { sessionId, url: site.url('/types') })
      const asked = site.requests.length
      if (type === 'websocket') {
        // It stays pending: the log has no more entries for it.
        await server.ok('evaluate', {
          sessionId,
          script: `new Promise((resolve) => { const socket = new WebSocket(location.href.replace('http', 'ws')); socket.onerror = resolve; setTimeout(resolve, 100) })`
        })
      } else {
        const { resourceType, failure } = await logged(sessionId, type, `/typed/blocked-${type}`)
        assert.deepEqual([resourceType, failure], [type, 'net::ERR_BLOCKED_BY_CLIENT'])
      }
      assert.deepEqual(
        site.requests.slice(asked).map(({ path }) => path),
        []
      )
      await server.ok('close_session', { sessionId })
    })
  }
})
