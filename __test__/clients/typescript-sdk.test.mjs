// The TypeScript SDK's clients: 1.32, the strictest, which checks each answer against the
// protocol's schemas, and 2.x in both eras.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import WebSocket from 'ws'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js'
import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2
} from '@modelcontextprotocol/client'
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio'
import { startHttpServer } from '../support/http.mjs'
import { descendants, awaitProcessesEnded } from '../support/processes.mjs'
import { startSite } from '../support/site.mjs'
import { SERVER, playBesideTools, playMainJob } from './main-job.mjs'

const INFO = { name: 'troupe-test', version: '0' }

const CLIENTS = {
  'SDK 1.32': {
    stdio: () => new Stdio1({ ...SERVER, stderr: 'pipe' }),
    http: ({ url, authorization }) =>
      new Http1(new URL(url), { requestInit: { headers: authorization } }),
    stateless: false,
    connect: async (transport) => {
      const client = new Client1(INFO)
      await client.connect(transport)
      return client
    },
    callTool: (client, params, options) => client.callTool(params, undefined, options)
  },
  ...Object.fromEntries(
    /** @type {const} */ (['legacy', 'auto']).map((mode) => [
      `client 2.x (${mode})`,
      {
        stdio: () => new Stdio2({ ...SERVER, stderr: 'pipe' }),
        http: ({ url, authorization }) =>
          new Http2(new URL(url), { requestInit: { headers: authorization } }),
        stateless: mode === 'auto',
        connect: async (transport) => {
          const client = new Client2(INFO, { versionNegotiation: { mode } })
          await client.connect(transport)
          return client
        },
        callTool: (client, params, options) => client.callTool(params, options)
      }
    ])
  )
}

/** The functions of a client for the tasks. */
function clientFunctions(client, callTool) {
  return {
    list: async () => (await client.listTools()).tools,
    call: async (name, args) => {
      const { structuredContent, isError, content } = await callTool(client, {
        name,
        arguments: args
      })
      assert.ok(!isError, JSON.stringify(content))
      return structuredContent
    },
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    read: async (uri) => (await client.readResource({ uri })).contents[0].text,
    prompt: async (name, args) =>
      (await client.getPrompt({ name, arguments: args })).messages[0].content.text,
    progress: async (name, args) => {
      const reports = []
      await callTool(
        client,
        { name, arguments: args },
        { onprogress: (progress) => reports.push(progress) }
      )
      return reports
    },
    cancel: async (name, args, when) => {
      const giveUp = new AbortController()
      const call = callTool(client, { name, arguments: args }, { signal: giveUp.signal })
      const given = assert.rejects(call, /no longer wanted/)
      await when
      giveUp.abort('no longer wanted')
      await given
    }
  }
}

for (const [name, { stdio, http, stateless, connect, callTool }] of Object.entries(CLIENTS)) {
  const ways = (client) => clientFunctions(client, callTool)

  describe(`the TypeScript ${name} over stdio`, { timeout: 60_000 }, () => {
    test('lists the tools and completes the main job', async (t) => {
      const site = await startSite(t)
      const transport = stdio()
      const client = await connect(transport)
      t.after(() => client.close())
      assert.equal(client.getServerVersion()?.name, 'troupe')
      await playMainJob(site, ways(client))

      // A failed call is a result, not an exception; only an unknown tool is an exception.
      const failed = await callTool(client, { name: 'navigate', arguments: { url: 'not a url' } })
      assert.equal(failed.isError, true)
      assert.equal(JSON.parse(failed.content[0].text).errorCode, 'INVALID_URL')
      await assert.rejects(callTool(client, { name: 'fly', arguments: {} }), { code: -32602 })

      const below = descendants(/** @type {number} */ (transport.pid))
      assert.ok(below.length > 0)
      await client.close()
      await awaitProcessesEnded(below)
    })

    test('reads resources and a prompt, receives progress, and cancels a call', async (t) => {
      const site = await startSite(t)
      const client = await connect(stdio())
      t.after(() => client.close())
      await playBesideTools(site, ways(client))
    })
  })

  test(`the TypeScript ${name} completes all of it over HTTP`, { timeout: 60_000 }, async (t) => {
    const site = await startSite(t)
    const server = await startHttpServer(t)
    const client = await connect(http(server))
    t.after(() => client.close())
    await playMainJob(site, ways(client))
    await playBesideTools(site, { ...ways(client), stateless })
  })
}

test(
  'the TypeScript SDK 1.32 completes all of it over a WebSocket',
  { timeout: 60_000 },
  async (t) => {
    // Node 20 has no WebSocket.
    globalThis.WebSocket ??= /** @type {any} */ (WebSocket)
    const { connect, callTool } = CLIENTS['SDK 1.32']
    const site = await startSite(t)
    // This transport sends no headers, so it cannot send a token.
    const server = await startHttpServer(t, ['--no-auth'], { transport: 'websocket' })
    const client = await connect(new WebSocketClientTransport(new URL(server.url)))
    t.after(() => client.close())
    await playMainJob(site, clientFunctions(client, callTool))
    await playBesideTools(site, clientFunctions(client, callTool))
  }
)
