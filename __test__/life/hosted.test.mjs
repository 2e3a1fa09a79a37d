// --browser-endpoint with a browser behind a TLS proxy, which is how hosted browsers are reached.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer as createPlain } from 'node:http'
import { createServer as createTls } from 'node:https'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startBrowser } from '../support/running-browser.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { until, within } from '../support/wait.mjs'

const SECRET = 'correct-horse-battery'
const [KEY, CERTIFICATE] = ['key', 'certificate'].map((name) =>
  fileURLToPath(new URL(`../support/tls/${name}.pem`, import.meta.url))
)
const TRUST = { SSL_CERT_FILE: CERTIFICATE }
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
  /** @type {Set<import('node:stream').Duplex>} */
  const sockets = new Set()
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
  const identity = { key: readFileSync(KEY), cert: readFileSync(CERTIFICATE) }
  const server = tls ? createTls(identity, answer) : createPlain(answer)
  server.on('upgrade', (request, from) => {
    if (!isAllowed(request)) return from.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    const { hostname, port } = new URL(browser.http)
    const to = connect(Number(port), hostname)
    const { pathname } = new URL(request.url, browser.http)
    const names = ['upgrade', 'connection', 'sec-websocket-key', 'sec-websocket-version']
    const lines = names.map((name) => `${name}: ${request.headers[name]}`)
    to.write(`GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\n${lines.join('\r\n')}\r\n\r\n`)
    for (const [source, target] of /** @type {import('node:stream').Duplex[][]} */ ([
      [from, to],
      [to, from]
    ])) {
      sockets.add(source)
      source.on('error', () => {})
      source.on('data', (bytes) =>
        delay ? setTimeout(() => target.write(bytes), delay) : target.write(bytes)
      )
      source.on('close', () => {
        sockets.delete(source)
        target.destroy()
      })
    }
  })
  await new Promise((resolve) => server.listen(0, host, () => resolve(undefined)))
  const drop = () => sockets.forEach((socket) => socket.destroy())
  t.after(() => {
    drop()
    server.closeAllConnections()
    server.close()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { host: `${host.includes(':') ? `[${host}]` : host}:${port}`, requests, drop }
}

/**
 * Starts a proxy that connects each tunnel to `target`. Without a target, it refuses credentials.
 * @param {any} t @param {string | undefined} target
 */
async function startTunnel(t, target) {
  /** The credentials and the address of each request. @type {string[]} */
  const tunnels = []
  const proxy = createPlain((_, response) => response.writeHead(400).end())
  /** @type {Set<import('node:stream').Duplex>} */
  const sockets = new Set()
  proxy.on('connect', (request, from) => {
    tunnels.push(`${request.headers['proxy-authorization']} ${request.url}`)
    if (!target) return from.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    const { hostname, port } = new URL(`http://${target}`)
    const to = connect(Number(port), hostname, () => from.write('HTTP/1.1 200 OK\r\n\r\n'))
    from.pipe(to).pipe(from)
    for (const socket of [from, to]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
  })
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', () => resolve(undefined)))
  t.after(() => {
    sockets.forEach((socket) => socket.destroy())
    proxy.close()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (proxy.address())
  return { tunnels, port }
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

  test('is shown by `troupe doctor` without its tokens', () => {
    const endpoint = `wss://ann:${SECRET}@browsers.test/a?token=${SECRET}`
    const args = ['--browser-endpoint', endpoint, '--browser-header', `x-key=${SECRET}`]
    const { stdout, stderr } = spawnSync(process.execPath, [BIN, 'doctor', ...args], {
      encoding: 'utf8'
    })
    assert.match(stdout, /attaches to wss:\/\/browsers\.test\/a\?…/)
    assert.ok(!`${stdout}${stderr}`.includes(SECRET), stdout + stderr)
  })
})
