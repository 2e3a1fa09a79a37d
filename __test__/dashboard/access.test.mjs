// Only people who have opened a valid link see the dashboard, and only what the link shows.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { before, describe, test } from 'node:test'
import { cleanEnvironment } from '../support/browser.mjs'
import { Viewer, createLink, logIn, openDashboard } from '../support/dashboard.mjs'
import { ask, startHttpServer } from '../support/http.mjs'
import { shared } from '../support/scope.mjs'
import { BIN } from '../support/server.mjs'
import { Site } from '../support/site.mjs'

const MARKUP = '"><img src=x onerror="alert(1)"><script>alert(2)</script>'

describe('the dashboard', { timeout: 120_000 }, () => {
  const scope = shared()
  const site = new Site({
    '/markup': (_request, response) =>
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(
          `<title>${MARKUP.replaceAll('<', '&lt;')}</title><script>console.log(${JSON.stringify(MARKUP).replaceAll('<', '\\u003c')})</script><p>Text`
        )
  })
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  /** @type {import('../support/dashboard.mjs').Viewer} */
  let viewer
  /** @type {string} */
  let session
  /** @type {string} */
  let call
  before(async () => {
    await site.start(scope)
    server = await startHttpServer(scope, ['--allowed-origins', 'https://app.example'])
    const client = await server.connect()
    const page = `${site.url('/markup')}?${MARKUP}`
    session = (await client.call('create_session')).json.sessionId
    await client.call('navigate', { sessionId: session, url: page })
    await client.call('screenshot', { sessionId: session })
    await client.call('click', { sessionId: session, selector: '#none', timeout: 1 })
    viewer = await openDashboard(server)
    const { calls } = (await viewer.api(`/sessions/${session}/calls`)).json
    call = calls.find((/** @type {{ tool: string }} */ { tool }) => tool === 'screenshot').id
  })

  const paths = () => [
    '/me',
    '/sessions',
    `/sessions/${session}`,
    `/sessions/${session}/calls`,
    `/calls/${call}`,
    `/calls/${call}/pictures/1`,
    '/search?text=navigate',
    '/metrics'
  ]

  test('shows nothing without a cookie', async () => {
    const origin = new URL(server.url).origin
    const wrong = viewer.cookie.replace(/=.*/, `=${'0'.repeat(64)}`)
    const other = viewer.cookie.replace(/-\d+=/, '-1=')
    for (const path of paths()) {
      for (const cookie of ['', wrong, other]) {
        const { status, json } = await ask(server.at(`/dashboard/api${path}`), {
          headers: { cookie, origin, ...server.authorization }
        })
        assert.equal(status, 401, `${path} with ${cookie}`)
        assert.equal(json.error.code, 'UNAUTHORIZED')
      }
    }
    const { status } = await ask(server.at(`/dashboard/api/sessions/${session}`), {
      method: 'DELETE',
      headers: { origin }
    })
    assert.equal(status, 401)
  })

  test('shows everything to the owner of a link', async () => {
    for (const path of paths()) assert.equal((await viewer.api(path)).status, 200, path)
    assert.equal((await viewer.api('/none')).status, 404)
  })

  test('a link works once, and its cookie is HttpOnly and SameSite=Strict', async () => {
    const token = await createLink(server)
    const { status, headers } = await logIn(server, token)
    assert.equal(status, 204)
    assert.match(
      headers['set-cookie'][0],
      new RegExp(
        `^troupe-dashboard-${server.port}=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=/dashboard; Max-Age=\\d+$`
      )
    )
    for (const used of [token, '', '0'.repeat(64)]) {
      const again = await logIn(server, used)
      assert.equal(again.status, 401)
      assert.equal(again.json.error.code, 'LINK_INVALID')
      assert.equal(again.headers['set-cookie'], undefined)
    }
  })

  test('the command line prints a link', async () => {
    /** @param {string[]} args */
    const run = (...args) =>
      spawnSync(process.execPath, [BIN, 'dashboard', '--url', server.url, ...args], {
        encoding: 'utf8',
        env: cleanEnvironment()
      })
    /** @param {string} link */
    const open = async (link) => {
      assert.ok(link.startsWith(server.at('/dashboard/#token=')), link)
      const token = new URLSearchParams(new URL(link).hash.slice(1)).get('token') ?? ''
      const { headers } = await logIn(server, token)
      return new Viewer(server, headers['set-cookie'][0].split(';')[0])
    }
    const { stdout, status } = run()
    assert.equal(status, 0)
    assert.equal((await (await open(stdout.trim())).api('/me')).json.readOnly, false)
    const shared = await open(run('--session', session, '--read-only').stdout.trim())
    const { json: me } = await shared.api('/me')
    assert.deepEqual([me.readOnly, me.session], [true, session])
    const unknown = run('--session', 'none')
    assert.equal(unknown.status, 32)
    assert.match(unknown.stderr, /no session `none`/)
    const wrong = run('--auth-token', 'wrong')
    assert.match(wrong.stderr, /rejected the token; pass the token/)
  })

  test('only the token of the server creates a link', async () => {
    for (const authorization of ['', 'Bearer wrong']) {
      const { status } = await ask(server.at('/dashboard/links'), {
        method: 'POST',
        headers: { authorization, cookie: viewer.cookie },
        body: '{}'
      })
      assert.equal(status, 401)
    }
  })

  test('refuses other sites, other origins and other hosts', async () => {
    const { cookie } = viewer
    const path = server.at('/dashboard/api/sessions')
    for (const headers of [
      { cookie, origin: 'https://evil.example' },
      // May use MCP, but not the dashboard.
      { cookie, origin: 'https://app.example' },
      { cookie, origin: 'http://127.0.0.1:1' },
      { cookie, origin: 'null' },
      { cookie, host: 'evil.example' },
      { cookie, 'sec-fetch-site': 'same-site' },
      { cookie, 'sec-fetch-site': 'cross-site' }
    ])
      assert.equal((await ask(path, { headers })).status, 403, JSON.stringify(headers))
    const ended = server.at('/dashboard/api/sessions/none')
    const { status } = await ask(ended, { method: 'DELETE', headers: { cookie } })
    assert.equal(status, 403, 'a change without an origin')
    const token = await createLink(server)
    assert.equal((await logIn(server, token, { origin: 'https://app.example' })).status, 403)
    assert.equal((await logIn(server, token)).status, 204)
  })

  test('the metrics are those of the calls', async () => {
    const { json } = await viewer.api('/metrics')
    assert.ok(json.calls > 0 && json.sessions > 0 && json.browsers > 0 && json.memoryBytes > 1e6)
    const { count, buckets, sumMs } = json.latencyByTool.navigate
    assert.ok(count > 0 && sumMs > 0)
    const [[first], [second]] = buckets
    assert.ok(first < second)
  })

  test('a read-only link shows one session and changes nothing', async () => {
    const client = await server.connect()
    const other = (await client.call('create_session')).json.sessionId
    await client.call('navigate', { sessionId: other, url: site.url() })
    const guest = await openDashboard(server, { readOnly: true, session: other })
    const { json: me } = await guest.api('/me')
    assert.deepEqual([me.readOnly, me.session], [true, other])
    const listed = (await guest.api('/sessions')).json.sessions
    assert.deepEqual(
      listed.map((/** @type {{ id: string }} */ { id }) => id),
      [other]
    )
    assert.equal((await guest.api(`/sessions/${other}`)).status, 200)
    for (const path of [`/sessions/${session}`, `/sessions/${session}/calls`, `/calls/${call}`])
      assert.equal((await guest.api(path)).status, 404, path)
    assert.equal((await guest.api(`/calls/${call}/pictures/1`)).status, 404)
    const metrics = await guest.api('/metrics')
    assert.deepEqual([metrics.status, metrics.json.error.code], [403, 'ONE_SESSION'])
    const { calls } = (await guest.api('/search?text=navigate')).json
    assert.ok(calls.length > 0)
    for (const found of calls) assert.equal(found.session, other)
    const { status, json } = await guest.api(`/sessions/${other}`, 'DELETE')
    assert.deepEqual([status, json.error.code], [403, 'READ_ONLY'])
  })

  test('markup in titles and URLs stays text in JSON', async () => {
    const response = await viewer.api(`/sessions/${session}`)
    assert.match(response.headers['content-type'], /^application\/json/)
    assert.equal(response.headers['x-content-type-options'], 'nosniff')
    assert.match(response.headers['content-security-policy'], /^default-src 'none'/)
    assert.equal(response.json.title, MARKUP)
    const { json } = await viewer.api(`/calls/${call}`)
    assert.equal(json.pictureUrl, `api/calls/${call}/pictures/1`)
    const picture = await viewer.api(`/calls/${call}/pictures/1`)
    assert.equal(picture.headers['content-type'], 'image/png')
    assert.equal(picture.bytes.subarray(1, 4).toString(), 'PNG')
  })

  test('the page loads only files of the server', async () => {
    for (const path of ['/', '/dashboard']) {
      const { status, headers } = await ask(server.at(path))
      assert.deepEqual([status, headers.location], [303, '/dashboard/'])
    }
    const { status, headers } = await ask(server.at('/dashboard/'))
    assert.equal(status, 200)
    assert.match(headers['content-type'], /^text\/html/)
    assert.match(headers['content-security-policy'], /^default-src 'none'; script-src 'self';/)
    assert.equal(headers['x-frame-options'], 'DENY')
    for (const path of ['/dashboard/none.js', '/dashboard/../Cargo.toml', '/dashboard/%2e%2e/x'])
      assert.equal((await ask(server.at(path))).status, 404, path)
  })

  test('a cookie of one server is not valid at another', async (t) => {
    const other = await startHttpServer(t)
    const name = viewer.cookie.replace(/-\d+=/, `-${other.port}=`)
    assert.equal((await new Viewer(other, name).api('/sessions')).status, 401)
  })

  test('a server without a token still requires one for a link', async (t) => {
    const open = await startHttpServer(t, ['--no-auth'])
    const { status } = await ask(open.at('/dashboard/links'), { method: 'POST', body: '{}' })
    assert.equal(status, 401)
    assert.equal((await ask(open.at('/dashboard/api/sessions'))).status, 401)
  })
})
