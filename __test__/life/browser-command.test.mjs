// --browser-command, which prints the address of a browser, and the options for remote browsers.
import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { temporaryFolder } from '../support/record.mjs'
import { startBrowser } from '../support/running-browser.mjs'
import { assertRejectedAtStartup, troupe } from '../support/scripts.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { forwardUpgrade, joinSockets, listen, startTunnel } from '../support/sockets.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { until } from '../support/wait.mjs'

const SECRET = 'correct-horse-battery-4711'

/**
 * Writes a command that prints the next line of its list. The last line is printed again and again.
 * @param {any} t @param {object[]} lines
 */
function commandOf(t, lines) {
  const folder = temporaryFolder(t)
  const [list, runs] = [join(folder, 'list'), join(folder, 'runs')]
  writeFileSync(list, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  writeFileSync(runs, '')
  const command = `echo run >> ${runs}; n=$(wc -l < ${runs}); { head -n $n | tail -n 1; } < ${list}`
  const count = () => readFileSync(runs, 'utf8').split('\n').length - 1
  const add = (/** @type {object} */ line) => appendFileSync(list, `${JSON.stringify(line)}\n`)
  return { command, count, add }
}

/** @param {any} t @param {string} command @param {string[]} [args] @param {object} [env] */
const start = (t, command, args = [], env = {}) =>
  startServer(t, ['--browser-command', command, ...args], { browser: false, env })

const awaitBrowserExit = (browser) =>
  until(() => browser.child.exitCode !== null, 'the exit of the browser')

describe('--browser-command', { skip: process.platform !== 'linux', timeout: 180_000 }, () => {
  test('is run when a session needs a browser, which ends with the server', async (t) => {
    const [browser, site] = [await startBrowser(t), await startSite(t)]
    const { command, count } = commandOf(t, [{ url: browser.ws, liveView: `http://a/?${SECRET}` }])
    const server = await start(t, command)
    assert.equal(count(), 0, 'no browser is obtained at startup')
    const [one, two] = [await server.createSession(), await server.createSession()]
    await server.ok('navigate', { sessionId: one, url: site.url('/set-cookie?who=one') })
    await server.ok('navigate', { sessionId: two, url: site.url('/cookies') })
    const { value } = await server.ok('evaluate', { sessionId: two, script: 'out.textContent' })
    assert.equal(value, '', 'each session has its own context')
    assert.equal(count(), 1)
    assert.deepEqual(await server.end(), { code: 0, signal: null })
    await awaitBrowserExit(browser)
    assert.ok(!server.stderr().includes(SECRET), server.stderr())
  })

  test('prints the headers of the connection', async (t) => {
    const browser = await startBrowser(t)
    /** @type {(string | undefined)[]} */
    const seen = []
    const proxy = createServer((_, response) => response.writeHead(404).end())
    proxy.on('upgrade', (request, from) => {
      seen.push(/** @type {string} */ (request.headers['x-key']))
      if (request.headers['x-key'] !== SECRET) return from.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
      joinSockets(from, forwardUpgrade(request, browser.ws))
    })
    const { port } = await listen(t, proxy)
    const url = `ws://127.0.0.1:${port}${new URL(browser.ws).pathname}`
    const { command } = commandOf(t, [{ url, headers: { 'X-Key': SECRET } }])
    const server = await start(t, command, ['--browser-header', 'x-key=other'])
    await server.ok('navigate', { url: 'about:blank' })
    assert.deepEqual(seen, [SECRET])
  })

  test('is run again when the browser dies, and the session resumes in the next one', async (t) => {
    const [first, second, site] = [await startBrowser(t), await startBrowser(t), await startSite(t)]
    // The first attempt to reconnect fails.
    const { command, count } = commandOf(t, [
      { url: first.ws },
      { url: 'ws://127.0.0.1:1/' },
      { url: second.ws }
    ])
    const server = await start(t, command)
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/set-cookie?who=ann') })
    await server.ok('navigate', { sessionId, url: site.url('/cookies') })
    await awaitDurableState()
    first.child.kill('SIGKILL')
    await until(() => count() === 3, 'the third run of the command')
    const { value } = await server.ok('evaluate', { sessionId, script: 'out.textContent' })
    assert.equal(value, 'who=ann')
    assert.ok((await second.pages()).some(({ url }) => url === site.url('/cookies')))
  })

  test('gives a browser that expires, and the session resumes in the next one', async (t) => {
    const [first, second] = [await startBrowser(t), await startBrowser(t)]
    const expiresAt = new Date(Date.now() + 8000).toISOString()
    const { command, count } = commandOf(t, [{ url: first.ws, expiresAt }, { url: second.ws }])
    const server = await start(t, command)
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: 'data:text/html,<title>Kept</title>' })
    await until(() => count() === 2, 'the second run of the command', 10_000)
    const { value } = await server.ok('evaluate', { sessionId, script: 'document.title' })
    assert.equal(value, 'Kept')
    assert.ok((await second.pages()).some(({ title }) => title === 'Kept'))
  })

  test('that fails is an error that quotes stderr without secrets', async (t) => {
    const env = { VENDOR_API_KEY: SECRET }
    for (const [command, message] of /** @type {[string, RegExp][]} */ ([
      ['echo "quota reached for $VENDOR_API_KEY" >&2; exit 3', /exit status: 3\): quota reached/],
      ['echo "x-api-key: abc-$VENDOR_API_KEY" >&2; echo nothing', /not a JSON object.*x-api-key/],
      ['echo "{\\"url\\": \\"ftp://$VENDOR_API_KEY\\"}"', /must begin with ws:/],
      ['head -c 100000 /dev/zero', /printed more than 65536 bytes/]
    ])) {
      const server = await start(t, command, ['--log-level', 'trace'], env)
      const { json, text } = await server.call('navigate', { url: 'about:blank' })
      assert.equal(json.errorCode, 'BROWSER_ERROR', text)
      assert.match(json.message, message)
      assert.match(json.suggestion, /--browser-command/)
      await server.end()
      assert.ok(!`${text}${server.stderr()}`.includes(SECRET), text + server.stderr())
    }
  })

  test('that does not end is killed after its timeout', async (t) => {
    const folder = temporaryFolder(t)
    const pid = join(folder, 'pid')
    const command = `sleep 1000 & echo $! > ${pid}; wait`
    const server = await start(t, command, ['--browser-command-timeout', '500'])
    const { json, text } = await server.call('navigate', { url: 'about:blank' })
    assert.match(json.message, /did not end within 500 ms/, text)
    const id = readFileSync(pid, 'utf8').trim()
    const isGone = () =>
      !existsSync(`/proc/${id}`) || readFileSync(`/proc/${id}/stat`, 'utf8').includes(') Z')
    await until(isGone, 'the end of the process that the command started')
  })

  test('is not shown by `troupe doctor`', async () => {
    const { stdout, stderr } = await troupe('doctor', '--browser-command', `curl ${SECRET}`)
    assert.match(stdout, /--browser-command/)
    assert.ok(!`${stdout}${stderr}`.includes(SECRET), stdout + stderr)
  })

  test('and options that contradict it are rejected at startup', async () => {
    await assertRejectedAtStartup([
      [['--browser-command', 'x', '--browser-endpoint', 'ws://a'], /each names a browser/],
      [['--browser-command', 'x', '--allowed-domains', 'a.test'], /cannot be enforced/],
      [['--browser-command', 'x', '--executable-path', '/x'], /running browser/],
      [['--remote-close', 'terminate'], /browser-endpoint/],
      [
        ['--remote-context', 'default', '--browser-command', 'x', '--grant-permissions', 'midi'],
        /all tabs/
      ]
    ])
  })
})

describe('a remote browser', { skip: process.platform !== 'linux', timeout: 180_000 }, () => {
  test('keeps running with --remote-close disconnect', async (t) => {
    const browser = await startBrowser(t)
    const { command } = commandOf(t, [{ url: browser.ws }])
    const server = await start(t, command, ['--remote-close', 'disconnect'])
    await server.ok('navigate', { url: 'about:blank' })
    assert.deepEqual(await server.end(), { code: 0, signal: null })
    assert.equal((await browser.pages()).length, 1)
  })

  test('at a fixed address ends with --remote-close terminate', async (t) => {
    const browser = await startBrowser(t)
    const args = ['--browser-endpoint', browser.ws, '--remote-close', 'terminate']
    const server = await startServer(t, args, { browser: false })
    await server.ok('navigate', { url: 'about:blank' })
    assert.deepEqual(await server.end(), { code: 0, signal: null })
    await awaitBrowserExit(browser)
  })

  test('has sessions in its default context with --remote-context default', async (t) => {
    const [browser, site] = [await startBrowser(t), await startSite(t)]
    const args = ['--browser-endpoint', browser.ws, '--remote-context', 'default']
    const server = await startServer(t, args, { browser: false })
    const one = await server.ok('create_session')
    assert.match(one.message, /not isolated.*default context of a remote browser/)
    const { sessionId } = one
    await server.ok('navigate', { sessionId, url: site.url('/set-cookie?who=one') })
    const two = await server.createSession()
    await server.ok('navigate', { sessionId: two, url: site.url('/cookies') })
    const { value } = await server.ok('evaluate', { sessionId: two, script: 'out.textContent' })
    assert.equal(value, 'who=one', 'the sessions share the cookies')
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    await server.ok('type', { sessionId, selector: '#name', text: 'Ada' })
    await server.ok('click', { sessionId, selector: '#send' })
    await server.end()
    const own = async () => (await browser.pages()).every(({ url }) => url === 'about:blank')
    await until(own, 'the end of the tabs of the sessions')
    assert.equal((await browser.pages()).length, 1, 'the first tab is still open')
  })

  test('has sessions in contexts of their own with --remote-context new', async (t) => {
    const [browser, site] = [await startBrowser(t), await startSite(t)]
    const endpoint = ['--browser-endpoint', browser.ws]
    const inDefault = await startServer(t, [...endpoint, '--remote-context', 'default'], {
      browser: false
    })
    await inDefault.ok('navigate', { url: site.url('/set-cookie?who=default') })
    const server = await startServer(t, [...endpoint, '--remote-context', 'new'], {
      browser: false
    })
    const one = await server.ok('create_session')
    assert.doesNotMatch(one.message, /not isolated/)
    await server.ok('navigate', {
      sessionId: one.sessionId,
      url: site.url('/set-cookie?who=one')
    })
    const two = await server.createSession()
    for (const [sessionId, cookies] of [
      [one.sessionId, 'who=one'],
      [two, '']
    ]) {
      await server.ok('navigate', { sessionId, url: site.url('/cookies') })
      const { value } = await server.ok('evaluate', { sessionId, script: 'out.textContent' })
      assert.equal(value, cookies)
    }
    await inDefault.ok('navigate', { url: site.url('/cookies') })
    const { value } = await inDefault.ok('evaluate', { script: 'out.textContent' })
    assert.equal(value, 'who=default', 'the default context keeps its own cookies')
    const open = (await browser.pages()).length
    await server.end()
    await until(async () => (await browser.pages()).length < open, 'the end of its contexts')
    const { value: kept } = await inDefault.ok('evaluate', { script: 'out.textContent' })
    assert.equal(kept, 'who=default', 'the tabs of the default context stay open')
  })

  test('is connected through HTTPS_PROXY, unless NO_PROXY names its host', async (t) => {
    const browser = await startBrowser(t)
    const { tunnels, port } = await startTunnel(t, new URL(browser.ws).host)
    const address = `http://ann:${SECRET}@127.0.0.1:${port}`
    // The browser accepts only IP addresses as host.
    const env = { HTTP_PROXY: address, HTTPS_PROXY: address, http_proxy: address, NO_PROXY: '' }
    const endpoint = `ws://192.0.2.1:9222${new URL(browser.ws).pathname}`
    const server = await startServer(t, ['--browser-endpoint', endpoint], { browser: false, env })
    await server.ok('navigate', { url: 'about:blank' })
    const basic = `Basic ${Buffer.from(`ann:${SECRET}`).toString('base64')}`
    assert.deepEqual(tunnels, [`${basic} 192.0.2.1:9222`])
    const local = await startServer(t, ['--browser-endpoint', browser.ws], { browser: false, env })
    await local.ok('navigate', { url: 'about:blank' })
    assert.equal(tunnels.length, 1, 'loopback addresses need no proxy')
    const unreachable = { ...env, NO_PROXY: 'browser.invalid' }
    const at = 'ws://browser.invalid:1/'
    const direct = await startServer(t, ['--browser-endpoint', at], {
      browser: false,
      env: unreachable
    })
    const { json, text } = await direct.call('navigate', { url: 'about:blank' })
    assert.equal(json.errorCode, 'BROWSER_ERROR', text)
    assert.equal(tunnels.length, 1)
  })
})
