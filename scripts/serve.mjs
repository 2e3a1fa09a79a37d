// Serves pages on this machine, for benchmarks, the demo and the examples of the documentation.
import { once } from 'node:events'
import { createServer } from 'node:http'

/**
 * Serves pages on a free port of 127.0.0.1.
 * @param {import('node:http').RequestListener} respond
 * @returns {Promise<{ url: string, close: () => void }>}
 */
export async function serve(respond) {
  const server = createServer(respond)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    }
  }
}
