import { once } from 'node:events'
import { createServer } from 'node:net'

/** Returns a port of this machine on which nothing listens. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  await new Promise((resolve) => server.close(resolve))
  return port
}
