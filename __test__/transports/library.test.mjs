// `serve` of the Node library: the same server in the caller's process.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { BROWSER_CONFIG } from '../support/browser.mjs'
import { HttpClient } from '../support/http.mjs'
import { within } from '../support/wait.mjs'

const { TroupeError, serve } = createRequire(import.meta.url)('../../index.js')

test(
  'serve() returns a server with its URL, and close() stops it',
  { timeout: 30_000 },
  async () => {
    const server = await serve({
      ...BROWSER_CONFIG,
      transport: 'http',
      port: 0,
      authToken: 'correct-horse'
    })
    assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
    const client = new HttpClient(server.url, { authorization: 'Bearer correct-horse' })
    await client.initialize()
    assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
    await server.close()
    await within(server.closed, 'the end')
    await assert.rejects(fetch(server.url), ({ cause }) => cause.code === 'ECONNREFUSED')
  }
)

test('serve() rejects an invalid configuration', async () => {
  await assert.rejects(
    serve({ transport: 'pigeon' }),
    (/** @type {any} */ error) =>
      error instanceof TroupeError && error.code === 'INVALID_PARAMETERS'
  )
  await assert.rejects(serve({ transport: 'http', host: '0.0.0.0', auth: false }), /auth/)
  const one = await serve({
    ...BROWSER_CONFIG,
    transport: 'http',
    port: 0,
    authToken: 'correct-horse'
  })
  const port = Number(new URL(one.url).port)
  await assert.rejects(
    serve({ ...BROWSER_CONFIG, transport: 'http', port, authToken: 'correct-horse' }),
    /cannot be bound/
  )
  await one.close()
})
