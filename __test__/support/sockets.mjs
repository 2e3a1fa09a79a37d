// Connections that the tests forward, observe and close.
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer } from 'node:net'

/**
 * Listens on a free port. After the test, ends the server and its connections.
 * @param {{ after: (end: () => unknown) => void }} t @param {import('node:net').Server} server
 * @returns the port and the open connections
 */
export async function listen(t, server, host = '127.0.0.1') {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.after(() => {
    sockets.forEach((socket) => socket.destroy())
    server.close()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { port, sockets }
}

/**
 * Closes each of two sockets when the other closes.
 * @param {import('node:stream').Duplex} one @param {import('node:stream').Duplex} other
 */
export function closeTogether(one, other) {
  for (const [from, to] of [
    [one, other],
    [other, one]
  ]) {
    from.on('error', () => {})
    from.on('close', () => to.destroy())
  }
}

/**
 * Forwards the bytes of two sockets to each other.
 * @param {import('node:stream').Duplex} one @param {import('node:stream').Duplex} other
 */
export function joinSockets(one, other) {
  closeTogether(one, other)
  one.pipe(other).pipe(one)
}

/**
 * Forwards a WebSocket handshake. Returns the socket of the connection to `url`.
 * @param {import('node:http').IncomingMessage} request @param {string | URL} url
 */
export function forwardUpgrade(request, url) {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  const names = ['upgrade', 'connection', 'sec-websocket-key', 'sec-websocket-version']
  const lines = names.map((name) => `${name}: ${request.headers[name]}`)
  socket.write(`GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\n${lines.join('\r\n')}\r\n\r\n`)
  return socket
}

/**
 * Starts a TCP proxy in front of a port of this machine.
 * @param {{ after: (end: () => unknown) => void }} t @param {number} target
 * @param {(near: import('node:net').Socket, far: import('node:net').Socket) => void} [join]
 *   forwards the bytes of a connection
 */
export function startForwarder(t, target, join = joinSockets) {
  const server = createServer((socket) => join(socket, connect(target, '127.0.0.1')))
  return listen(t, server)
}

/**
 * Starts a proxy that connects each tunnel to `target`. Without a target, it refuses credentials.
 * @param {{ after: (end: () => unknown) => void }} t @param {string | undefined} target
 */
export async function startTunnel(t, target) {
  /** The credentials and the address of each request. @type {string[]} */
  const tunnels = []
  const proxy = createHttpServer((_, response) => response.writeHead(400).end())
  proxy.on('connect', (request, from) => {
    tunnels.push(`${request.headers['proxy-authorization']} ${request.url}`)
    if (!target) return from.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    const { hostname, port } = new URL(`http://${target}`)
    const to = connect(Number(port), hostname, () => from.write('HTTP/1.1 200 OK\r\n\r\n'))
    joinSockets(from, to)
  })
  const { port } = await listen(t, proxy)
  return { tunnels, port }
}
