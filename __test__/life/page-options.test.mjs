// Options of a server that apply to all pages: the device, the time zone, TLS and the proxy.
import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import { describe, test } from 'node:test'
import { startInternet } from '../support/attacks.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { listen } from '../support/sockets.mjs'
import { IDENTITY } from '../support/tls.mjs'

/** Serves a page with a self-signed certificate. @param {import('node:test').TestContext} t */
async function startTlsSite(t) {
  const server = createServer(IDENTITY, (_request, response) =>
    response.setHeader('content-type', 'text/html').end('<title>Encrypted</title>')
  )
  server.on('tlsClientError', () => {})
  const { port } = await listen(t, server)
  return `https://127.0.0.1:${port}/`
}

describe('every page', { timeout: 60_000 }, () => {
  test('has the --device-scale-factor, --timezone, --user-agent and --locale', async (t) => {
    const server = await startServer(t, [
      ...['--viewport-size', '400x300', '--device-scale-factor', '3'],
      ...['--timezone', 'Pacific/Auckland', '--user-agent', 'tester/2', '--locale', 'de-CH']
    ])
    const script =
      '[devicePixelRatio, Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent, navigator.language]'
    assert.deepEqual((await server.ok('evaluate', { script })).value, [
      3,
      'Pacific/Auckland',
      'tester/2',
      'de-CH'
    ])
  })

  test('has the cookies and the storage of the profile in --user-data-dir, also after a restart', async (t) => {
    const site = await startSite(t)
    const profile = temporaryFolder(t)
    const start = () => startServer(t, ['--user-data-dir', profile])
    const first = await start()
    await first.ok('navigate', { url: site.url('/form') })
    await first.ok('evaluate', {
      script: "localStorage.kept = 'yes'; document.cookie = 'kept=yes; max-age=3600'; null"
    })
    assert.equal((await first.end()).code, 0)
    const second = await start()
    await second.ok('navigate', { url: site.url('/form') })
    assert.deepEqual(
      (await second.ok('evaluate', { script: '[localStorage.kept, document.cookie]' })).value,
      ['yes', 'kept=yes']
    )
    // The browser writes to its profile until it exits.
    assert.equal((await second.end()).code, 0)
  })

  test('loads from a server with an invalid certificate only with --ignore-https-errors', async (t) => {
    const url = await startTlsSite(t)
    const strict = await startServer(t)
    const { isError, json } = await strict.call('navigate', { url })
    assert.equal(isError, true)
    assert.match(JSON.stringify(json), /CERT/)
    const lenient = await startServer(t, ['--ignore-https-errors'])
    assert.equal((await lenient.ok('navigate', { url })).title, 'Encrypted')
  })

  test('of a profile follows --ignore-https-errors and --proxy-server', async (t) => {
    const [site, url] = [await startSite(t), await startTlsSite(t)]
    const internet = await startInternet(t, site.port)
    const server = await startServer(t, [
      ...['--user-data-dir', temporaryFolder(t), '--ignore-https-errors'],
      ...['--proxy-server', `http://127.0.0.1:${internet.port}`, '--proxy-bypass', '127.0.0.1']
    ])
    assert.equal((await server.ok('navigate', { url })).title, 'Encrypted')
    assert.equal((await server.ok('navigate', { url: 'http://far.example/form' })).title, 'Form')
    assert.ok(internet.asked.includes('far.example:80'), internet.asked.join())
    // The browser writes to its profile until it exits.
    await server.end()
  })

  test('loads from the domains of --proxy-bypass without the proxy', async (t) => {
    const site = await startSite(t)
    const internet = await startInternet(t, site.port)
    const server = await startServer(t, [
      ...['--proxy-server', `http://127.0.0.1:${internet.port}`],
      ...['--proxy-bypass', 'near.localhost,other.example']
    ])
    const near = `http://near.localhost:${site.port}/form`
    assert.equal((await server.ok('navigate', { url: near })).title, 'Form')
    assert.deepEqual(internet.asked, [])
    assert.equal((await server.ok('navigate', { url: 'http://far.example/form' })).title, 'Form')
    assert.ok(internet.asked.includes('far.example:80'), internet.asked.join())
  })
})
