// --browser-endpoint with a browser behind a TLS proxy, which is how hosted browsers are reached.
import assert from 'node:assert/strict'
import { createServer as createPlain } from 'node:http'
import { createServer as createTls } from 'node:https'
import { networkInterfaces } from 'node:os'
import { describe, test } from 'node:test'
import { startBrowser } from '../support/running-browser.mjs'
import { troupe } from '../support/scripts.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { closeTogether, forwardUpgrade, listen, startTunnel } from '../support/sockets.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { TRUST, IDENTITY } from '../support/tls.mjs'
import { until, within } from '../support/wait.mjs'

const SECRET = 'correct-horse-battery'
/** Replaces the proxies of the environment in which the tests run. */
const NO_PROXIES = Object.fromEntries(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [
    [name, ''],
    [name.toLowerCase(), '']
  ])
)

/**
 * Starts a proxy before a browser. It rejects requests for which `allows` is false, and delays the
 * bytes in both directions by `delay` ms.
 * @param {any} t
 * @param {{ http: string }} browser
 * @param {{ allows?: (request: import('node:http').IncomingMessage) => unknown, tls?: boolean,
 *   delay?: number, host?: string }} [options]
 */
async function startProxy(t, browser, options = {}) {
  const { allows = () => true, tls = true, delay = 0, host = '127.0.0.1' } = options
  /** The path of each allowed request. @type {string[]} */
  const requests = []
  const isAllowed = (request) => {
    if (!allows(request)) return false
    requests.push(request.url)
    return true
  }
  const answer = async (request, response) => {
    if (!isAllowed(request)) return response.writeHead(401).end(`rejected: ${request.url}`)
    const { pathname } = new URL(request.url, browser.http)
    const fetched = fetch(new URL(pathname, browser.http)).then((found) => found.text())
    // At its end, a test ends the browser first, and the server connects again.
    const body = await fetched.catch(() => undefined)
    if (body === undefined) return response.writeHead(502).end('the browser does not respond')
    // Two writes, so that the response has no Content-Length.
    response.write(body.slice(0, 10))
    response.end(body.slice(10))
  }
  const server = tls ? createTls(IDENTITY, answer) : createPlain(answer)
  server.on('upgrade', (request, from) => {
    if (!isAllowed(request)) return from.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    const { pathname } = new URL(request.url, browser.http)
    const to = forwardUpgrade(request, new URL(pathname, browser.http))
    closeTogether(from, to)
    for (const [source, target] of /** @type {import('node:stream').Duplex[][]} */ ([
      [from, to],
      [to, from]
    ]))
      source.on('data', (bytes) =>
        delay ? setTimeout(() => target.write(bytes), delay) : target.write(bytes)
      )
  })
  const { port, sockets } = await listen(t, server, host)
  const drop = () => sockets.forEach((socket) => socket.destroy())
  return { host: `${host.includes(':') ? `[${host}]` : host}:${port}`, requests, drop }
}

const withHeader = (request) => request.headers.authorization === `Bearer ${SECRET}`
const withToken = (request) => new URL(request.url, 'http://a').searchParams.get('token') === SECRET
const path = (browser) => new URL(browser.ws).pathname

/**
 * @param {any} t
 * @param {string} endpoint
 * @param {string[]} [args]
 * @param {Record<string, string>} [env]
 */
const attach = (t, endpoint, args = [], env = TRUST) =>
  startServer(t, ['--browser-endpoint', endpoint, ...args], { browser: false, env })

describe('a hosted browser', { skip: process.platform !== 'linux', timeout: 60_000 }, () => {
  test('behind wss: that requires a header gets the headers of the environment', async (t) => {
    const browser = await startBrowser(t)
    const allows = (request) => withHeader(request) && request.headers['x-project'] === 'a, b'
    const proxy = await startProxy(t, browser, { allows, delay: 20 })
    const headers = `Authorization=Bearer ${SECRET}\nX-Project: a, b`
    const site = await startSite(t)
    const server = await attach(t, `wss://${proxy.host}${path(browser)}`, [], {
      ...TRUST,
      TROUPE_BROWSER_HEADER: headers
    })
    await server.ok('navigate', { url: site.url('/form') })
    await server.ok('type', { selector: '#name', text: 'Ada' })
    assert.equal((await server.ok('click', { selector: '#send' })).page.title, 'Echo')
    assert.deepEqual(proxy.requests, [path(browser)])
  })

  test('behind https: is found by /json/version, with the token of the query', async (t) => {
    const browser = await startBrowser(t)
    const proxy = await startProxy(t, browser, { allows: withToken })
    const server = await attach(t, `https://${proxy.host}/?token=${SECRET}`)
    const page = await server.ok('navigate', { url: 'data:text/html,<title>Hosted</title>' })
    assert.equal(page.title, 'Hosted')
    const token = `?token=${SECRET}`
    assert.deepEqual(proxy.requests, [`/json/version${token}`, `${path(browser)}${token}`])
  })

  test('gets the user name and the password of the URL', async (t) => {
    const browser = await startBrowser(t)
    const basic = `Basic ${Buffer.from(`ann:p@ss ${SECRET}`).toString('base64')}`
    const allows = (request) => request.headers.authorization === basic
    const proxy = await startProxy(t, browser, { allows })
    for (const scheme of ['https', 'wss']) {
      const at = `${scheme}://ann:p%40ss%20${SECRET}@${proxy.host}`
      const server = await attach(t, scheme === 'wss' ? at + path(browser) : at)
      await server.ok('navigate', { url: 'about:blank' })
    }
  })

  const hasIpv6 = Object.values(networkInterfaces()).some((of) =>
    of?.some(({ address }) => address === '::1')
  )
  test('has an IPv6 address', { skip: !hasIpv6 }, async (t) => {
    const browser = await startBrowser(t)
    const proxy = await startProxy(t, browser, { tls: false, host: '::1' })
    const server = await attach(t, `ws://${proxy.host}${path(browser)}`)
    await server.ok('navigate', { url: 'about:blank' })
  })

  test('that closes the connection is connected again, and the session resumes', async (t) => {
    const [site, browser] = [await startSite(t), await startBrowser(t)]
    const proxy = await startProxy(t, browser, { allows: withHeader })
    const endpoint = `wss://${proxy.host}${path(browser)}`
    const server = await attach(t, endpoint, [
      '--browser-header',
      `Authorization: Bearer ${SECRET}`
    ])
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/set-cookie?who=ann') })
    await server.ok('navigate', { sessionId, url: site.url('/cookies') })
    await awaitDurableState()
    const call = server.call('evaluate', { sessionId, script: "fetch('/hang')" })
    await until(() => site.requests.some((request) => request.path === '/hang'), 'the request')
    proxy.drop()
    const { json, text } = await within(call, 'the answer to the call', 5000)
    assert.equal(json?.errorCode, 'BROWSER_CRASHED', text)
    const { value } = await server.ok('evaluate', { sessionId, script: 'out.textContent' })
    assert.equal(value, 'who=ann')
    assert.equal(proxy.requests.length, 2)
  })

  test('that rejects the connection is an error that names the option and no token', async (t) => {
    const browser = await startBrowser(t)
    const proxy = await startProxy(t, browser, { allows: () => false })
    for (const endpoint of [
      `wss://ann:${SECRET}@${proxy.host}${path(browser)}?token=${SECRET}`,
      `https://ann:${SECRET}@${proxy.host}?token=${SECRET}`
    ]) {
      const args = ['--browser-header', `x-key=${SECRET}`, '--log-level', 'trace']
      const server = await attach(t, endpoint, args)
      const { json, text } = await server.call('navigate', { url: 'about:blank' })
      assert.equal(json.errorCode, 'BROWSER_ERROR', text)
      assert.ok(json.message.includes(`${proxy.host}`), text)
      assert.match(json.message, /401 Unauthorized/)
      assert.match(json.suggestion, /--browser-header/)
      await server.end()
      assert.ok(server.stderr().length > 0, 'the log is not empty')
      assert.ok(!`${text}${server.stderr()}`.includes(SECRET), server.stderr())
    }
  })

  test('whose certificate is not trusted is an error that says how to trust it', async (t) => {
    const browser = await startBrowser(t)
    const proxy = await startProxy(t, browser)
    for (const scheme of ['wss', 'https']) {
      const server = await attach(t, `${scheme}://${proxy.host}`, [], {})
      const { json, text } = await server.call('navigate', { url: 'about:blank' })
      assert.match(json.message, /certificate is not trusted/, text)
      assert.match(json.suggestion, /SSL_CERT_FILE/)
    }
    assert.deepEqual(proxy.requests, [])
  })

  for (const name of ['HTTPS_PROXY', 'ALL_PROXY'])
    test(`behind wss: is connected through the proxy in ${name}`, async (t) => {
      const browser = await startBrowser(t)
      const hosted = await startProxy(t, browser, { allows: withToken })
      const { tunnels, port } = await startTunnel(t, hosted.host)
      const endpoint = `wss://browser.test${path(browser)}?token=${SECRET}`
      const proxy = `http://ann:${SECRET}@127.0.0.1:${port}`
      const server = await attach(t, endpoint, ['--log-level', 'trace'], {
        ...{ ...NO_PROXIES, ...TRUST },
        [name]: proxy
      })
      const { title } = await server.ok('navigate', { url: 'data:text/html,<title>In</title>' })
      assert.equal(title, 'In')
      const basic = `Basic ${Buffer.from(`ann:${SECRET}`).toString('base64')}`
      assert.deepEqual(tunnels, [`${basic} browser.test:443`])
      assert.equal(hosted.requests.length, 1, 'the TLS connection is in the tunnel')
      assert.ok(!server.stderr().includes(SECRET), server.stderr())
    })

  test('behind wss: and a proxy that refuses its credentials names the proxy', async (t) => {
    const { port } = await startTunnel(t, undefined)
    const server = await attach(t, 'wss://browser.test/a', [], {
      ...{ ...NO_PROXIES, ...TRUST },
      HTTPS_PROXY: `http://ann:${SECRET}@127.0.0.1:${port}`
    })
    const { json, text } = await server.call('navigate', { url: 'about:blank' })
    assert.equal(json.errorCode, 'BROWSER_ERROR', text)
    assert.match(
      json.message,
      new RegExp(`proxy .*127\\.0\\.0\\.1:${port}.* rejects the user name and password`)
    )
    assert.ok(!text.includes(SECRET), text)
  })

  test('is shown by `troupe doctor` without its tokens', async () => {
    const endpoint = `wss://ann:${SECRET}@browsers.test/a?token=${SECRET}`
    const args = ['--browser-endpoint', endpoint, '--browser-header', `x-key=${SECRET}`]
    const { stdout, stderr } = await troupe('doctor', ...args)
    assert.match(stdout, /attaches to wss:\/\/browsers\.test\/a\?…/)
    assert.ok(!`${stdout}${stderr}`.includes(SECRET), stdout + stderr)
  })
})
