// Requests that need no browser do not wait for it.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { delayedBrowser } from '../support/delayed-browser.mjs'
import { cleanEnvironment } from '../support/browser.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { isPending, until } from '../support/wait.mjs'

test(
  '`initialize` and `tools/list` are answered while the browser still starts',
  { timeout: 30_000 },
  async (t) => {
    const browser = delayedBrowser(t)
    const server = await startServer(t, ['--executable-path', browser.path], { handshake: false })
    assert.equal((await server.initialize()).serverInfo.name, 'troupe')
    assert.ok((await server.request('tools/list')).result.tools.length > 0)
    assert.deepEqual((await server.ok('list_sessions')).sessions, [])
    // Requests that arrive meanwhile run once it has started.
    await until(browser.isStarting, 'the start of the browser')
    const navigation = server.call('navigate', { url: 'data:text/html,<title>Late</title>' })
    assert.ok((await server.request('ping')).result)
    assert.ok(await isPending(navigation))
    browser.letStart()
    assert.equal((await navigation).json.title, 'Late')
  }
)

test(
  '`serverInfo` has the name and the version of the configuration',
  { timeout: 30_000 },
  async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'config.json')
    writeFileSync(file, JSON.stringify({ name: 'playwright-mcp-server', version: '3.2.1' }))
    const server = await startServer(t, ['--config', file], { handshake: false })
    const { name, version } = (await server.initialize()).serverInfo
    assert.deepEqual({ name, version }, { name: 'playwright-mcp-server', version: '3.2.1' })
  }
)

test('the browser starts before the first call', { timeout: 30_000 }, async (t) => {
  const browser = delayedBrowser(t)
  await startServer(t, ['--executable-path', browser.path])
  await until(browser.isStarting, 'the start of the browser')
  browser.letStart()
})

test('stdout has only protocol messages at any log level', { timeout: 30_000 }, async (t) => {
  const server = await startServer(t, ['--log-level', 'trace'])
  await server.ok('navigate', {
    url: 'data:text/html,<script>console.log("from the page")</script>'
  })
  await server.call('click', { selector: '#none', timeout: 50 })
  assert.deepEqual(server.unparsable, [])
  assert.match(server.stderr(), /\S/)
  assert.ok(server.received.every((message) => message.jsonrpc === '2.0'))
})

test(
  'stdin and stdout can be pipes or files instead of the sockets of Node',
  { timeout: 30_000 },
  (t) => {
    const folder = temporaryFolder(t)
    const hello = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'shell', version: '0' }
    }
    const lines = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' }
    ]
    const input = join(folder, 'in.jsonl')
    writeFileSync(input, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const command = `"${process.execPath}" bin/troupe.js --headless --no-sandbox`
    // Input ends only after the responses.
    const piped = execFileSync('sh', ['-c', `(cat "${input}"; sleep 1) | ${command} | cat`], {
      encoding: 'utf8',
      timeout: 15_000,
      env: cleanEnvironment()
    })
    const ids = (text) =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id)
    assert.deepEqual(ids(piped), [1, 2])
    assert.ok(existsSync(input))
  }
)
