// `node forwarder.mjs HOST PORT SOCKET` forwards the connections to HOST:PORT to a Unix socket.
import { connect, createServer } from 'node:net'

const [host, port, path] = process.argv.slice(2)
createServer({ noDelay: true }, (client) => {
  const server = connect(path)
  for (const [from, to] of [
    [client, server],
    [server, client]
  ]) {
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }
}).listen(Number(port), host, () => console.log('listening'))
