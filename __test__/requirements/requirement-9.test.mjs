// Requirement 9: a user puts the server into the configuration of an MCP client.
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { describe, test } from 'node:test'
import { BIN, startServer } from '../support/server.mjs'
import { until } from '../support/wait.mjs'

const ROOT = dirname(dirname(BIN))

describe('requirement 9: in an MCP client', { timeout: 60_000 }, () => {
  // package.test.mjs shows it for a package that is installed from its tarball.
  test('9.1 npx runs the server', async (t) => {
    const server = await startServer(t, [], {
      command: ['npx', '--no-install', 'troupe'],
      cwd: ROOT
    })
    const { title } = await server.ok('navigate', { url: 'data:text/html,<title>By npx</title>' })
    assert.equal(title, 'By npx')
  })

  test('9.2 the args of the configuration are the start parameters', async (t) => {
    // As clients write it: {"mcpServers": {"troupe": {"command": …, "args": […]}}}.
    const { command, args } = {
      command: process.execPath,
      args: [BIN, '--maxSessions', '1', '--session-timeout=60000', '--locale', 'de-CH']
    }
    const server = await startServer(t, [], { command: [command, ...args] })
    const before = Date.now()
    const { sessionId, expiresAt } = await server.ok('create_session')
    assert.ok(expiresAt >= before + 60_000 && expiresAt <= Date.now() + 60_000)
    assert.equal(
      (await server.ok('evaluate', { sessionId, script: 'navigator.language' })).value,
      'de-CH'
    )
    assert.equal((await server.call('create_session')).json.errorCode, 'MAX_SESSIONS_REACHED')
  })

  test('9.3 stdin and stdout carry only protocol messages', async (t) => {
    const server = await startServer(t, ['--log-level', 'debug'])
    const sessionId = await server.createSession()
    await server.ok('navigate', {
      sessionId,
      url: "data:text/html,<script>console.log('to the console')</script>"
    })
    await server.call('click', { sessionId, selector: '#nothing', timeout: 1 })
    assert.deepEqual(await server.end(), { code: 0, signal: null })
    assert.deepEqual(server.unparsable, [])
    assert.ok(
      server.received.length > 0 && server.received.every(({ jsonrpc }) => jsonrpc === '2.0')
    )
    assert.match(server.stderr(), /DEBUG/)
  })

  test('9.4 the server handles messages according to MCP', async (t) => {
    const server = await startServer(t, [], { handshake: false })
    const { protocolVersion, serverInfo, capabilities } = await server.initialize('2025-06-18')
    assert.equal(protocolVersion, '2025-06-18')
    assert.equal(serverInfo.name, 'troupe')
    assert.ok(capabilities.tools)

    assert.deepEqual((await server.request('ping')).result, {})
    // The id comes back as it was, a string or a number.
    assert.equal((await server.request('ping', undefined, { id: 'a string' })).id, 'a string')
    assert.equal((await server.request('ping', undefined, { id: 4711 })).id, 4711)

    const { result } = await server.call('create_session')
    assert.deepEqual(result.structuredContent, JSON.parse(result.content[0].text))
    assert.equal(result.content[0].type, 'text')

    assert.equal((await server.request('nothing/like/this')).error.code, -32601)
    assert.equal((await server.call('no_such_tool')).error.code, -32602)
    assert.equal((await server.request('tools/call', { arguments: {} })).error.code, -32602)

    // An unknown notification or an invalid line does not stop the server.
    server.notify('notifications/nothing')
    server.sendRaw('{"broken')
    assert.deepEqual((await server.request('ping')).result, {})
    // Its answer may come before the next one's or after it.
    const broken = () => server.received.filter(({ error }) => error?.code === -32700)
    await until(() => broken().length === 1, 'the answer to the broken line')
  })

  test('9.5 all tools are listed, each with its description and its parameters', async (t) => {
    const server = await startServer(t)
    const { result } = await server.request('tools/list')
    const needed = {
      create_session: [],
      close_session: ['sessionId'],
      navigate: ['url'],
      // It also accepts a position instead of a selector.
      click: [],
      type: ['selector', 'text']
    }
    for (const [name, required] of Object.entries(needed)) {
      const tool = result.tools.find((each) => each.name === name)
      assert.ok(tool, `${name} is not listed`)
      assert.ok(tool.description.length > 20)
      assert.equal(tool.inputSchema.type, 'object')
      assert.deepEqual(tool.inputSchema.required ?? [], required)
      if (name !== 'create_session') assert.ok(tool.inputSchema.properties.sessionId)
    }
    const { click, type, navigate } = Object.fromEntries(
      result.tools.map(({ name, inputSchema }) => [name, inputSchema.properties])
    )
    for (const option of ['timeout', 'force', 'clickCount']) assert.ok(click[option], option)
    for (const option of ['delay', 'timeout', 'clear']) assert.ok(type[option], option)
    assert.deepEqual(navigate.waitUntil.enum, ['load', 'domcontentloaded', 'networkidle'])
  })
})
