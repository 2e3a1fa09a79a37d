// Secrets that the record never contains in clear text.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { NO_SQLITE, query, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

const FORM = `<title>Log in</title><form><label>Name <input id="name"></label>
  <label>Password <input id="password" type="password"></label></form>`

/** Returns the contents of the record's files. @param {string} file */
const bytes = (file) => ['', '-wal'].map((end) => readFileSync(file + end, 'latin1')).join('')

/** Returns the saved state of the session. @param {string} file */
const savedState = (file) =>
  query(file, 'SELECT state FROM session_snapshots UNION ALL SELECT storage FROM session_origins')
    .map(({ state }) => state)
    .join('')

describe('redaction', { timeout: 60_000, skip: NO_SQLITE }, () => {
  test('a value typed into a password field is never written, whatever tool types it; other values are', async (t) => {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    const site = await startSite(t, { '/login': FORM })
    await server.ok('navigate', { url: site.url('/login') })
    await server.ok('fill', { selector: '#name', value: 'the-name-filled' })
    await server.ok('type', { selector: '#password', text: 'secret-typed-1' })
    await server.ok('fill', { selector: '#password', value: 'secret-filled-2' })
    const fields = [
      { selector: '#name', value: 'the-name-in-form' },
      { selector: '#password', value: 'secret-in-form-3' }
    ]
    await server.ok('fill_form', { fields })
    await server.ok('batch', {
      steps: [{ tool: 'fill', arguments: { selector: '#password', value: 'secret-in-batch-4' } }]
    })
    // Results don't contain it either: the agent gets the same text as the record.
    const read = { script: "document.querySelector('#password').value" }
    assert.equal((await server.ok('evaluate', read)).value, '••••')
    assert.match(
      (await server.call('evaluate', { script: `throw new Error(${read.script})` })).json.message,
      /••••/
    )
    const { meta } = await server.call('evaluate', { script: `document.title = ${read.script}` })
    const { result } = await server.request('resources/read', {
      uri: `playwright:///page/${meta.sessionId}/page-1`
    })
    assert.equal(JSON.parse(result.contents[0].text).metadata.title, '••••')
    await server.ok('evaluate', {
      script: "document.body.append(document.querySelector('#password').value)"
    })
    await server.ok('evaluate', {
      script: "console.log('it is', document.querySelector('#password').value)"
    })
    await server.ok('click', { selector: '#name' })
    // It is not written either if the call fails before the type of the field is known.
    await server.call('fill', { selector: '#nothing-here', value: 'secret-unknown-5' })
    const written = bytes(file)
    for (const name of ['the-name-filled', 'the-name-in-form'])
      assert.ok(written.includes(name), name)
    for (const secret of ['typed-1', 'filled-2', 'in-form-3', 'in-batch-4', 'unknown-5'])
      assert.ok(!written.includes(`secret-${secret}`), secret)
    const [{ params }] = query(file, "SELECT params FROM requests WHERE tool_name = 'type'")
    assert.deepEqual(JSON.parse(params), { selector: '#password', text: '••••' })
  })

  test('a password is not written if it is typed key by key, appended to, or sent in a URL', async (t) => {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    const site = await startSite(t, {
      '/login': FORM.replace('</form>', '<button>Send</button></form>').replace(
        'id="password"',
        'id="password" name="password"'
      )
    })
    await server.ok('navigate', { url: site.url('/login') })
    await server.ok('press', { key: 'a' })
    await server.ok('click', { selector: '#password' })
    for (const key of ['K', 'e', 'y', 's', ' ', '&', '9', 'Shift+z'])
      await server.ok('press', { key })
    await server.ok('press', { key: 'End' })
    await server.ok('type', { selector: '#password', text: '/more' })
    await server.ok('evaluate', { script: "document.querySelector('#password').type = 'text'" })
    assert.match(await server.ok('snapshot'), /Password.*••••/)
    // The saved state of the session, which is written a moment later, does not contain it either.
    await server.ok('evaluate', {
      script: "localStorage.seen = document.querySelector('#password').value"
    })
    await until(() => savedState(file).includes('"seen"'), 'the state with the field')
    const { page } = await server.ok('click', { selector: 'button' })
    assert.match(page.url, /password=••••/)
    await until(() => savedState(file).includes('/login?'), 'the state with the URL')
    await server.ok('get_request_log')
    const written = bytes(file)
    for (const secret of [
      'Keys &9',
      'Keys+%269',
      'Keys%20%269',
      '{"key":"K"}',
      '{"key":"Shift+z"}'
    ])
      assert.ok(!written.includes(secret), secret)
    const pressed = query(
      file,
      "SELECT params FROM requests WHERE tool_name = 'press' ORDER BY rowid"
    ).map(({ params }) => JSON.parse(params).key)
    assert.deepEqual([pressed[0], pressed[1], pressed.at(-1)], ['a', '••••', 'End'])
  })

  test('a short password is not written as a separate word', async (t) => {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    const site = await startSite(t, { '/login': FORM })
    await server.ok('navigate', { url: site.url('/login') })
    await server.ok('fill', { selector: '#password', value: 'ab12' })
    await server.ok('navigate', { url: `${site.url('/login')}?pin=ab12&x=cab123` })
    const text = JSON.stringify(await server.ok('get_request_log'))
    assert.match(text, /pin=••••&x=cab123/)
    assert.ok(!bytes(file).includes('pin=ab12'))
  })

  test('the contents of a storage state are not written', async (t) => {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    const site = await startSite(t, { '/login': FORM })
    await server.ok('navigate', { url: site.url('/login') })
    await server.ok('evaluate', {
      script: "void localStorage.setItem('token', ['token', 'kept', 1].join('-'))"
    })
    const { state } = await server.ok('save_state')
    assert.equal(state.origins[0].localStorage[0].value, 'token-kept-1')
    const [{ result }] = query(
      file,
      "SELECT result FROM requests JOIN responses USING (ref_id) WHERE tool_name = 'save_state'"
    )
    assert.ok(!result.includes('token-kept-1') && result.includes('••••'), result)
  })

  for (const [flags, kept] of /** @type {const} */ ([
    [[], false],
    [['--record-headers'], true]
  ])) {
    test(`cookies and Authorization are ${kept ? 'written with --record-headers' : 'not written'}`, async (t) => {
      const file = recordFile(t)
      const server = await startServer(t, ['--store', file, ...flags])
      const site = await startSite(t)
      await server.ok('set_cookies', {
        cookies: [{ name: 'sid', value: 'cookie-set-1', url: site.url() }]
      })
      const { cookies } = await server.ok('get_cookies')
      assert.equal(cookies[0].value, 'cookie-set-1')
      const response = {
        body: 'x',
        headers: { 'set-cookie': 'a=cookie-mocked-2', authorization: 'Bearer token-3' }
      }
      await server.ok('mock_response', { url: '**/mocked', response })
      const written = bytes(file)
      for (const secret of ['cookie-set-1', 'cookie-mocked-2', 'token-3'])
        assert.equal(written.includes(secret), kept, secret)
      assert.ok(written.includes('sid'))
    })
  }
})
