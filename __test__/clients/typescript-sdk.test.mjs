// The TypeScript SDK's client, the strictest: it checks each answer against the protocol's schemas.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { descendants, allEnded } from '../support/processes.mjs'
import { startSite } from '../support/site.mjs'
import { SERVER, playMainJob } from './main-job.mjs'

test('the TypeScript SDK lists the tools and plays the main job', { timeout: 60_000 }, async (t) => {
  const site = await startSite(t)
  const transport = new StdioClientTransport({ ...SERVER, stderr: 'pipe' })
  const client = new Client({ name: 'troupe-test', version: '0' })
  t.after(() => client.close())
  await client.connect(transport)
  const { pid } = transport
  assert.equal(client.getServerVersion()?.name, 'troupe')

  await playMainJob(site, {
    list: async () => (await client.listTools()).tools,
    call: async (name, args) => {
      const { structuredContent, isError, content } = await client.callTool({ name, arguments: args })
      assert.ok(!isError, JSON.stringify(content))
      return structuredContent
    }
  })

  // A failed call is a result for it, not an exception; an unknown tool alone is one.
  const failed = await client.callTool({ name: 'navigate', arguments: { url: 'not a url' } })
  assert.equal(failed.isError, true)
  assert.equal(JSON.parse(failed.content[0].text).errorCode, 'INVALID_URL')
  await assert.rejects(client.callTool({ name: 'fly', arguments: {} }), { code: -32602 })

  const below = descendants(/** @type {number} */ (pid))
  assert.ok(below.length > 0)
  await client.close()
  await allEnded(below)
})
