// Both generations of MCP on stdio: the handshake of 2024-11-05 … 2025-11-25, and 2026-07-28, in
// which each request names its revision.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { META, MODERN, modernRequest } from '../support/modern.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

describe('the handshake', () => {
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    test(
      `of ${version} is answered in that revision, and a tool can be called`,
      { timeout: 30_000 },
      async (t) => {
        const server = await startServer(t, [], { handshake: false })
        const result = await server.initialize(version)
        assert.equal(result.protocolVersion, version)
        assert.equal(result.serverInfo.name, 'troupe')
        assert.match(result.serverInfo.version, /^\d+\.\d+\.\d+/)
        assert.ok(result.capabilities.tools)
        assert.match(result.instructions, /session/)

        const { tools } = (await server.request('tools/list')).result
        assert.ok(tools.some(({ name }) => name === 'navigate'))
        const { result: called } = await server.call('navigate', {
          url: 'data:text/html,<title>Then</title>'
        })
        assert.equal(JSON.parse(called.content[0].text).title, 'Then')
      }
    )
  }

  test('with an unknown revision is answered with a known one', { timeout: 30_000 }, async (t) => {
    const server = await startServer(t, [], { handshake: false })
    for (const version of ['2099-01-01', 'yesterday']) {
      const result = await server.initialize(version)
      assert.match(result.protocolVersion, /^20\d\d-\d\d-\d\d$/)
      assert.notEqual(result.protocolVersion, version)
    }
  })

  test(
    'with 2025-03-26 lets a client send several messages in one line, as that revision requires',
    { timeout: 30_000 },
    async (t) => {
      const server = await startServer(t, [], { handshake: false })
      await server.initialize('2025-03-26')
      server.sendRaw(
        '[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]'
      )
      const answered = () => server.received.flat().filter(({ id }) => id === 'a' || id === 'b')
      await until(() => answered().length === 2, 'both answers')
      // In any order: JSON-RPC guarantees none.
      const sorted = answered().sort((x, y) => x.id.localeCompare(y.id))
      assert.deepEqual(
        sorted.map(({ id, result }) => ({ id, result })),
        [
          { id: 'a', result: {} },
          { id: 'b', result: {} }
        ]
      )
    }
  )
})

describe(MODERN, () => {
  test(
    'needs no handshake: a client discovers the server, lists the tools and completes the main task',
    { timeout: 30_000 },
    async (t) => {
      const site = await startSite(t)
      const server = await startServer(t, [], { handshake: false })
      const request = (method, params) => modernRequest(server, method, params)
      const call = async (name, args) => {
        const result = await request('tools/call', { name, arguments: args })
        assert.ok(!result.isError, JSON.stringify(result.content))
        assert.equal(result.resultType ?? 'complete', 'complete')
        return result.structuredContent
      }

      const discovered = await request('server/discover')
      assert.ok(discovered.supportedVersions.includes(MODERN), JSON.stringify(discovered))
      assert.ok(discovered.capabilities.tools)
      const { tools } = await request('tools/list')
      assert.ok(tools.some(({ name }) => name === 'navigate'))

      const { sessionId } = await call('create_session', {})
      assert.equal((await call('navigate', { sessionId, url: site.url('/form') })).status, 200)
      await call('type', { sessionId, selector: '#name', text: 'Ada' })
      assert.equal((await call('click', { sessionId, selector: '#send' })).page.title, 'Echo')
      await call('close_session', { sessionId })
    }
  )

  test(
    'a request with an unknown revision is rejected with the list of known ones',
    { timeout: 30_000 },
    async (t) => {
      const server = await startServer(t, [], { handshake: false })
      const _meta = { ...META, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' }
      const { error } = await server.request('tools/list', { _meta })
      assert.equal(error.code, -32022)
      assert.ok(error.data.supported.includes(MODERN), JSON.stringify(error))
      const again = await server.request('tools/list', { _meta: META })
      assert.ok(again.result, 'the next one is answered')
    }
  )

  test(
    'a discovery without required metadata is rejected with the name of the missing field',
    { timeout: 30_000 },
    async (t) => {
      const server = await startServer(t, [], { handshake: false })
      const { error } = await server.request('server/discover', {
        _meta: { ...META, 'io.modelcontextprotocol/clientCapabilities': undefined }
      })
      assert.equal(error.code, -32602)
      assert.match(error.message, /clientCapabilities/)
    }
  )
})
