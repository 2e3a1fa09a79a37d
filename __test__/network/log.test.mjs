// get_request_log: the requests of a page.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { INITIATOR_ROUTES } from '../support/everywhere.mjs'
import { startShared } from '../support/scope.mjs'
import { freePort } from '../support/ports.mjs'
import { until } from '../support/wait.mjs'

describe('the request log', { timeout: 120_000 }, () => {
  const { server, site } = startShared({
    routes: {
      ...INITIATOR_ROUTES,
      '/api/big': (_request, response) => response.end('x'.repeat(5000))
    }
  })

  const log = (sessionId, more = {}) => server.ok('get_request_log', { sessionId, ...more })
  const run = (sessionId, script) => server.ok('evaluate', { sessionId, script })

  test('has URL, method, status, type, time and size, newest last', async () => {
    const sessionId = await server.createSession()
    const begun = Date.now()
    await server.ok('navigate', { sessionId, url: site.url('/redirect?to=/form') })
    await run(
      sessionId,
      `fetch('/api/big', { method: 'POST' }).then((answer) => answer.text()).then(() => fetch('/status/418')).then((answer) => answer.text())`
    )
    const { requests, count } = await until(async () => {
      const result = await log(sessionId)
      return result.requests.every(({ duration }) => duration !== undefined) && result
    }, 'the end of the requests')
    assert.equal(count, 4)
    assert.deepEqual(
      requests.map(({ url, method, status, resourceType }) => [
        new URL(url).pathname,
        method,
        status,
        resourceType
      ]),
      [
        ['/redirect', 'GET', 302, 'document'],
        ['/form', 'GET', 200, 'document'],
        ['/api/big', 'POST', 200, 'fetch'],
        ['/status/418', 'GET', 418, 'fetch']
      ]
    )
    for (const { startTime, duration, size, failure, fromMock, frame, worker } of requests) {
      assert.ok(
        startTime >= begun - 1000 && startTime <= Date.now() + 1000,
        `started at ${startTime}`
      )
      assert.ok(duration >= 0 && duration < 30_000)
      assert.deepEqual(
        { failure, fromMock, frame, worker },
        { failure: undefined, fromMock: undefined, frame: undefined, worker: undefined }
      )
      assert.ok(size === undefined || size > 0)
    }
    assert.ok(requests[2].size > 5000)
  })

  test('filters by part of the URL, type, status, class of status, and failure', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/') })
    const refused = `http://127.0.0.1:${await freePort()}/none`
    await run(
      sessionId,
      `Promise.all(['/status/404', '/api/x', '${refused}'].map((url) => fetch(url).catch(() => {})))`
    )
    const paths = async (filter) => {
      const { requests, count } = await log(sessionId, { filter })
      assert.equal(count, requests.length)
      return requests.map(({ url }) => new URL(url).pathname).sort()
    }
    assert.deepEqual(await paths('/API/'), ['/api/x'])
    assert.deepEqual(await paths('document'), ['/'])
    assert.deepEqual(await paths('status/404'), ['/status/404'])
    assert.deepEqual(await paths('2xx'), ['/', '/api/x'])
    assert.deepEqual(await paths('failed'), ['/none'])
    assert.deepEqual(await paths('nothing like it'), [])
    const [failed] = (await log(sessionId, { filter: 'failed' })).requests
    assert.equal(failed.failure, 'net::ERR_CONNECTION_REFUSED')
    assert.equal(failed.status, undefined)
  })

  test('includes frames and workers, and mocked and blocked requests', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/everywhere/page') })
    await server.ok('mock_response', { sessionId, url: '**/api/mocked', response: { status: 202 } })
    await server.ok('evaluate', { sessionId, script: 'ask', args: ['/api/mocked'] })
    // The page receives the response shortly before the log has the end of the request.
    const requests = await until(async () => {
      const { requests } = await log(sessionId, { filter: '/api/mocked' })
      return requests.every(({ duration }) => duration !== undefined) && requests
    }, 'the end of the requests')
    const from = requests
      .map(({ frame, worker }) => worker ?? (frame ? new URL(frame).hostname : 'page'))
      .sort()
    assert.deepEqual(from, ['127.0.0.1', 'dedicated', 'localhost', 'page', 'service', 'shared'])
    assert.ok(
      requests.every(
        ({ fromMock, status, resourceType }) =>
          fromMock === true && status === 202 && resourceType === 'fetch'
      )
    )
    await server.ok('block_resource', { sessionId, resourceType: 'fetch' })
    await run(sessionId, `fetch('/api/blocked').catch(() => {})`)
    const blocked = await until(
      async () =>
        (await log(sessionId, { filter: '/api/blocked' })).requests.find(({ failure }) => failure),
      'the failure'
    )
    assert.deepEqual([blocked.failure, blocked.fromMock], ['net::ERR_BLOCKED_BY_CLIENT', undefined])
  })

  test('includes WebSockets with their start, and no data: URLs', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/') })
    const begun = Date.now()
    // One gets a response that is not a WebSocket's, the other cannot connect.
    for (const url of [
      site.url('/').replace('http', 'ws'),
      `ws://127.0.0.1:${await freePort()}/`
    ]) {
      await run(
        sessionId,
        `new Promise((resolve) => { new WebSocket('${url}').onerror = resolve; new Image().src = 'data:image/png,x' })`
      )
    }
    const { requests } = await log(sessionId, { filter: 'websocket' })
    assert.equal(requests.length, 2)
    for (const { url, startTime, duration } of requests) {
      assert.match(url, /^ws:/)
      assert.ok(
        startTime >= begun - 1000 && startTime <= Date.now() + 1000,
        `started at ${startTime}`
      )
      assert.ok(
        duration === undefined || (duration >= 0 && duration < 30_000),
        `took ${duration} ms`
      )
    }
    assert.equal((await log(sessionId, { filter: 'data:' })).count, 0)
  })

  test('keeps a thousand requests for each page, and returns the newest within the result budget', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/') })
    // A slow machine needs most of the timeout of one script for all of them.
    for (let at = 0; at < 1100; at += 100) {
      const fetches = `Array.from({ length: 100 }, (_, more) => fetch('/api/' + (${at} + more)))`
      await run(sessionId, `Promise.all(${fetches})`)
    }
    const { requests, count } = await log(sessionId)
    assert.equal(count, 1000)
    assert.ok(requests.length > 50 && JSON.stringify({ requests, count }).length <= 25_000)
    assert.match(requests.at(-1).url, /\/api\/10\d\d$/)
    await server.ok('pages', { sessionId, action: 'new' })
    assert.equal((await log(sessionId, { pageId: 'page-2' })).count, 0)
  })
})
