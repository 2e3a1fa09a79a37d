// A SOCKS 5 proxy that requires a user name and a password (RFC 1928, RFC 1929).
import { once } from 'node:events'
import { connect, createServer } from 'node:net'

const PASSWORD_METHOD = 2

/**
 * Returns the next `count` bytes of a socket.
 * @param {import('node:net').Socket} socket
 * @param {number} count
 * @returns {Promise<Buffer>}
 */
async function take(socket, count) {
  for (;;) {
    const bytes = socket.read(count)
    if (bytes) return bytes
    await once(socket, 'readable')
  }
}

/** Reads a length and that number of bytes. @param {import('node:net').Socket} socket */
const text = async (socket) => {
  const [length] = await take(socket, 1)
  return length === 0 ? '' : String(await take(socket, length))
}

/**
 * Starts a proxy that connects every host name to the site at `port`.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {number} port
 * @param {{ user: string, password: string }} credentials
 */
export async function startSocksProxy(t, port, { user, password }) {
  /** Host names of connections that were granted. @type {string[]} */
  const granted = []
  let rejected = 0
  /** @type {Set<import('node:net').Socket>} */
  const open = new Set()

  /** @param {import('node:net').Socket} socket */
  const serve = async (socket) => {
    const [, methods] = await take(socket, 2)
    const offered = await take(socket, methods)
    if (!offered.includes(PASSWORD_METHOD)) {
      rejected++
      return void socket.end(Buffer.from([5, 0xff]))
    }
    socket.write(Buffer.from([5, PASSWORD_METHOD]))
    await take(socket, 1)
    const isRight = [await text(socket), await text(socket)].join(':') === `${user}:${password}`
    socket.write(Buffer.from([1, isRight ? 0 : 1]))
    if (!isRight) {
      rejected++
      return void socket.end()
    }
    await take(socket, 4)
    granted.push(await text(socket))
    await take(socket, 2)
    const server = connect(port, '127.0.0.1', () => {
      socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
      socket.pipe(server).pipe(socket)
    })
    open.add(server)
    server.on('error', () => socket.destroy())
  }

  const proxy = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    serve(socket).catch(() => socket.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => {
    for (const socket of open) socket.destroy()
    return new Promise((resolve) => proxy.close(resolve))
  })
  const address = /** @type {import('node:net').AddressInfo} */ (proxy.address())
  return { port: address.port, granted, rejected: () => rejected }
}
