// Navigations that fail: the error is immediate and clear, and the page remains usable.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { freePort } from '../support/ports.mjs'
import { assertRefusal } from './refusal.mjs'

describe('navigate', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/empty': (_request, response) => response.writeHead(204).end(),
      '/slow-picture': '<title>Slow picture</title><img src="/hang">'
    }
  })
  before(async () => {
    await server.ok('navigate', { url: site.url('/') })
  })

  /** Checks that the page still works. */
  const assertPageWorks = async () => {
    assert.equal((await server.ok('navigate', { url: site.url('/form') })).title, 'Form')
    assert.equal((await server.ok('evaluate', { script: 'document.title' })).value, 'Form')
  }

  for (const url of [
    'not a url',
    '',
    '   ',
    'http://',
    'https://exa mple.com/',
    'http://[::1',
    '//example.com/',
    'http://host:port/'
  ]) {
    test(`to ${JSON.stringify(url)} is INVALID_URL`, async () => {
      const error = await assertRefusal(
        server,
        'navigate',
        { url },
        { errorCode: 'INVALID_URL', retryable: false, suggestion: /https:\/\// }
      )
      assert.ok(error.message.includes(`\`${url.trim()}\``), error.message)
      await assertPageWorks()
    })
  }

  for (const [url, suggestion] of /** @type {const} */ ([
    ['file:///etc/passwd', /--allow-file-access/],
    ['FILE:///etc/passwd', /--allow-file-access/],
    ['javascript:alert(1)', /evaluate/],
    ['  javascript:alert(1)', /evaluate/],
    ['java\nscript:alert(1)', /evaluate/],
    ['view-source:http://127.0.0.1/'],
    ['chrome://version'],
    ['devtools://devtools/bundled/inspector.html']
  ])) {
    test(`to ${JSON.stringify(url)} is BLOCKED_BY_POLICY`, async () => {
      const error = await assertRefusal(
        server,
        'navigate',
        { url },
        { errorCode: 'BLOCKED_BY_POLICY', retryable: false, suggestion }
      )
      assert.match(error.details.rule, /^scheme:/)
      await assertPageWorks()
    })
  }

  for (const url of ['ftp://example.com/', 'mailto:ada@example.com', 'nonsense:x']) {
    test(`to ${url}, which no browser opens, is an error that names the scheme or the URL`, async () => {
      const { json, isError, text } = await server.call('navigate', { url })
      assert.ok(isError, text)
      assert.ok(
        ['INVALID_URL', 'NAVIGATION_FAILED', 'BLOCKED_BY_POLICY'].includes(json.errorCode),
        text
      )
      assert.ok(json.message.includes(url.split(':')[0]), text)
      assert.doesNotMatch(json.message, /the server sent no document/, 'no server was asked')
      await assertPageWorks()
    })
  }

  test('to a port without a listener reports the refused connection', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`
    await assertRefusal(
      server,
      'navigate',
      { url },
      {
        errorCode: 'NAVIGATION_FAILED',
        message: /no server listens there/,
        reason: 'net::ERR_CONNECTION_REFUSED',
        retryable: false,
        suggestion: /server runs/
      }
    )
    await assertPageWorks()
  })

  test('to a host without an address reports the failed name resolution', async () => {
    await assertRefusal(
      server,
      'navigate',
      { url: 'http://no-such-host.invalid/' },
      {
        errorCode: 'NAVIGATION_FAILED',
        message: /host name cannot be resolved/,
        reason: 'net::ERR_NAME_NOT_RESOLVED',
        retryable: false
      }
    )
    await assertPageWorks()
  })

  test('to a server that resets the connection is a retryable error', async () => {
    const expected = {
      errorCode: 'NAVIGATION_FAILED',
      reason: /net::ERR_(EMPTY_RESPONSE|CONNECTION_)/,
      retryable: true,
      message: /could not be loaded/
    }
    await assertRefusal(server, 'navigate', { url: site.url('/drop') }, expected)
    await assertPageWorks()
  })

  test('without a response times out, and the page keeps its document', async () => {
    await assertPageWorks()
    const { message } = await assertRefusal(
      server,
      'navigate',
      { url: site.url('/hang'), timeout: 200 },
      {
        errorCode: 'NAVIGATION_FAILED',
        reason: 'timeout',
        retryable: true,
        suggestion: /timeout/,
        within: 1500
      }
    )
    assert.match(message, /200 ms/)
    assert.equal((await server.ok('evaluate', { script: 'document.title' })).value, 'Form')
  })

  test('to a page that never finishes loading times out, and the suggestion of the error works', async () => {
    const url = site.url('/slow-picture')
    const { suggestion, message } = await assertRefusal(
      server,
      'navigate',
      { url, timeout: 300 },
      { errorCode: 'NAVIGATION_FAILED', reason: 'timeout' }
    )
    assert.match(suggestion, /domcontentloaded/)
    assert.doesNotMatch(message, /no answer/, 'there was an answer; loading it took too long')
    assert.equal(
      (await server.ok('navigate', { url, waitUntil: 'domcontentloaded', timeout: 5000 })).title,
      'Slow picture'
    )
  })

  test('to a missing page succeeds with the status 404', async () => {
    const { success, status, title } = await server.ok('navigate', { url: site.url('/status/404') })
    assert.deepEqual(
      { success, status, title },
      { success: true, status: 404, title: 'Status 404' }
    )
    assert.equal((await server.ok('navigate', { url: site.url('/status/500') })).status, 500)
  })

  test('to a response without a document reports that', async () => {
    await assertRefusal(
      server,
      'navigate',
      { url: site.url('/empty') },
      { errorCode: 'NAVIGATION_FAILED', message: /sent no document/ }
    )
    await assertPageWorks()
  })

  test('in a redirect loop is reported as such', async () => {
    await assertRefusal(
      server,
      'navigate',
      { url: site.url('/redirect?to=/&times=50') },
      { errorCode: 'NAVIGATION_FAILED', reason: 'net::ERR_TOO_MANY_REDIRECTS' }
    )
    await assertPageWorks()
  })

  test('to a fragment of the same page returns immediately, with the new URL', async () => {
    await server.ok('navigate', { url: site.url('/links') })
    for (const hash of ['#below', '#nowhere', '#below']) {
      const { json, ms } = await server.call('navigate', { url: site.url(`/links${hash}`) })
      assert.equal(json.success, true)
      assert.equal(json.url, site.url(`/links${hash}`))
      assert.equal(json.title, 'Links')
      assert.ok(ms < 1000, `${ms} ms`)
    }
  })

  test('to a download returns immediately, and the page keeps its document', async () => {
    await server.ok('navigate', { url: site.url('/form') })
    const { json, ms } = await server.call('navigate', { url: site.url('/download') })
    assert.equal(json.success, true)
    assert.equal(json.url, site.url('/form'))
    assert.deepEqual(json.download, {
      ...json.download,
      url: site.url('/download'),
      suggestedFilename: 'report.bin'
    })
    assert.ok(ms < 2000, `${ms} ms`)
    assert.equal((await server.ok('evaluate', { script: 'document.title' })).value, 'Form')
  })

  test('to a page that opens a dialog returns immediately with the dialog', async () => {
    const { json, ms } = await server.call('navigate', { url: site.url('/alert-on-load') })
    assert.equal(json.success, true)
    assert.deepEqual(json.dialog, { type: 'alert', message: 'On load' })
    assert.ok(ms < 2000, `${ms} ms`)
    await server.ok('handle_dialog', { accept: true })
    await assertPageWorks()
  })

  test('away from a page with a beforeunload handler reports its dialog', async () => {
    await server.ok('navigate', { url: site.url('/form') })
    await server.ok('evaluate', {
      script: 'addEventListener("beforeunload", (event) => event.preventDefault())'
    })
    await server.ok('click', { selector: '#name' })
    const { json, ms } = await server.call('navigate', { url: site.url('/') }, { timeout: 8000 })
    assert.equal(json.dialog?.type, 'beforeunload', JSON.stringify(json))
    assert.ok(ms < 2000, `${ms} ms`)
    // The call that answers the dialog waits for the effects.
    await server.ok('handle_dialog', { accept: true })
    assert.equal((await server.ok('evaluate', { script: 'document.title' })).value, 'Home')
  })
})
