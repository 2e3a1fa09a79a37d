// get_cookies and set_cookies.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { UNKNOWN_SESSION } from '../support/sessions.mjs'
import { startShared } from '../support/scope.mjs'

describe('cookies', { timeout: 60_000 }, () => {
  const { server, site } = startShared({ args: ['--max-sessions', '50'] })

  /** The cookie header that the site gets. */
  async function sent(sessionId, path = '/cookies') {
    await server.ok('navigate', { sessionId, url: site.url(path) })
    const { value } = await server.ok('evaluate', {
      sessionId,
      script: `document.querySelector('#out').textContent`
    })
    return value
  }

  test('HttpOnly cookies can be read in one session and set in another', async () => {
    const [one, other] = [await server.createSession(), await server.createSession()]
    await server.ok('navigate', {
      sessionId: one,
      url: site.url('/set-cookie?token=secret&more=1')
    })
    const { cookies } = await server.ok('get_cookies', { sessionId: one })
    const cookie = { domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true, secure: false }
    assert.deepEqual(
      cookies.sort((a, b) => a.name.localeCompare(b.name)),
      [
        { name: 'more', value: '1', ...cookie },
        { name: 'token', value: 'secret', ...cookie }
      ]
    )
    assert.deepEqual(await server.ok('get_cookies', { sessionId: other }), { cookies: [] })
    const { message } = await server.ok('set_cookies', { sessionId: other, cookies })
    assert.equal(message, '2 cookies were set.')
    assert.equal((await sent(other)).split('; ').sort().join('; '), 'more=1; token=secret')
    assert.equal(
      (await server.ok('evaluate', { sessionId: other, script: 'document.cookie' })).value,
      ''
    )
  })

  test('every field of a cookie is kept', async () => {
    const sessionId = await server.createSession()
    const expires = Math.floor(Date.now() / 1000) + 86_400
    const given = {
      name: 'all',
      value: 'v',
      domain: '.example.com',
      path: '/deep',
      expires,
      httpOnly: true,
      secure: true,
      sameSite: 'None'
    }
    await server.ok('set_cookies', { sessionId, cookies: [given] })
    const { cookies } = await server.ok('get_cookies', { sessionId })
    assert.deepEqual(cookies, [given])
    for (const sameSite of ['Strict', 'Lax']) {
      await server.ok('set_cookies', {
        sessionId,
        cookies: [{ name: sameSite, value: '', url: 'https://example.com/a/b', sameSite }]
      })
    }
    const { cookies: others } = await server.ok('get_cookies', {
      sessionId,
      urls: ['https://example.com/a/c']
    })
    assert.deepEqual(
      others
        .map(({ name, sameSite, path, secure, domain }) => [name, sameSite, path, secure, domain])
        .sort(),
      [
        ['Lax', 'Lax', '/a/', true, 'example.com'],
        ['Strict', 'Strict', '/a/', true, 'example.com']
      ]
    )
  })

  test('`urls` returns the cookies that requests to them would have', async () => {
    const sessionId = await server.createSession()
    const cookies = [
      { name: 'here', value: '1', url: site.url('/') },
      { name: 'below', value: '1', url: site.url('/'), path: '/below' },
      { name: 'elsewhere', value: '1', url: 'https://example.com' }
    ]
    await server.ok('set_cookies', { sessionId, cookies })
    const names = async (...urls) =>
      (await server.ok('get_cookies', { sessionId, urls })).cookies.map(({ name }) => name).sort()
    assert.deepEqual(await names(site.url('/')), ['here'])
    assert.deepEqual(await names(site.url('/below/x')), ['below', 'here'])
    assert.deepEqual(await names(site.url('/'), 'example.com'), ['elsewhere', 'here'])
    assert.deepEqual(await names('https://other.example'), [])
    assert.equal(await sent(sessionId), 'here=1')
  })

  test('a cookie in the past is deleted', async () => {
    const sessionId = await server.createSession()
    const cookie = { name: 'gone', value: '1', url: site.url('/') }
    await server.ok('set_cookies', { sessionId, cookies: [cookie] })
    await server.ok('set_cookies', { sessionId, cookies: [{ ...cookie, expires: 1 }] })
    assert.deepEqual(await server.ok('get_cookies', { sessionId }), { cookies: [] })
  })

  const wrong = /** @type {const} */ ([
    [{ name: 'a', value: 'b' }, /cookie `a`: it needs a `url` or a `domain`/],
    [{ name: 'a', value: 'b', url: 'http://a.b', domain: 'a.b' }, /a `url` and a `domain`/],
    [{ name: 'a', value: 'b', url: 'about:blank' }, /cannot have cookies/],
    [{ name: 'a', value: 'b', domain: '' }, /`domain` is empty/],
    [{ name: 'a=b', value: 'c', domain: 'a.b' }, /must not contain `=`/],
    [{ name: 'a', value: 'b\nc', domain: 'a.b' }, /its value must not contain control/],
    [{ name: '', value: '', domain: 'a.b' }, /neither a name nor a value/],
    [{ name: 'a', value: 'b', domain: 'a.b', path: 'x' }, /must begin with `\/`/],
    [{ name: 'a', value: 'b', domain: 'a.b', sameSite: 'None' }, /must be `secure`/],
    [
      { name: 'a', value: 'b', domain: 'a.b', sameSite: 'Sometimes' },
      /one of "Strict", "Lax", "None"/
    ],
    [{ value: 'b', domain: 'a.b' }, /`cookies\[0\].name` is missing/]
  ])
  for (const [cookie, message] of wrong) {
    test(`set_cookies refuses ${JSON.stringify(cookie)}`, async () => {
      const { json, isError } = await server.call('set_cookies', {
        sessionId: await server.createSession(),
        cookies: [cookie]
      })
      assert.equal(isError, true)
      assert.equal(json.errorCode, 'INVALID_PARAMETERS')
      assert.match(json.message, message)
      assert.ok(json.details.violations.length > 0)
    })
  }

  test('unknown sessions and invalid URLs are errors', async () => {
    const unknown = await server.call('get_cookies', { sessionId: UNKNOWN_SESSION })
    assert.equal(unknown.json.errorCode, 'SESSION_NOT_FOUND')
    const none = await server.call('get_cookies', {
      sessionId: await server.createSession(),
      urls: ['no url']
    })
    assert.equal(none.json.errorCode, 'INVALID_URL')
    const set = await server.call('set_cookies', {
      sessionId: none.meta.sessionId,
      cookies: [{ name: 'a', value: 'b', url: 'no url' }]
    })
    assert.equal(set.json.errorCode, 'INVALID_URL')
  })
})
