// Protocol version 2026-07-28, which has no handshake. Each request names its version.
import assert from 'node:assert/strict'

export const MODERN = '2026-07-28'

/** The metadata in each request of this protocol version. */
export const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientInfo': { name: 'troupe-test', version: '0' },
  'io.modelcontextprotocol/clientCapabilities': {}
}

/**
 * Sends a request of this protocol version, which must succeed. Returns its result.
 * @param {import('./server.mjs').Server} server
 * @param {string} method
 * @param {object} [params]
 * @param {object} [meta]
 */
export async function modernRequest(server, method, params, meta) {
  const { result, error } = await server.request(method, { ...params, _meta: { ...META, ...meta } })
  assert.ok(!error, JSON.stringify(error))
  return result
}
