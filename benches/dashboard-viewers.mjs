// The viewers of `dashboard.mjs`, in their own thread: their work must not delay the agents'
// measured calls. Watches `ids` until the message `end`, and responds with the number of images.
import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { LiveSocket } from '../__test__/support/dashboard.mjs'
import { openWebSocket } from '../__test__/support/websocket.mjs'

const { url, headers, count, ids } = workerData
let frames = 0

/** Keeps no frame and no message. */
class CountingSocket extends LiveSocket {
  receive() {}

  /** @param {Buffer} bytes */
  receiveBytes(bytes) {
    super.receiveBytes(bytes)
    frames += this.frames.splice(0).length
  }
}

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
const watched = ids.map((/** @type {string} */ id) => ({
  id,
  width: 320,
  height: 240,
  calls: false
}))
const sockets = []
for (let at = 0; at < count; at++) {
  const socket = await openWebSocket(url, headers, CountingSocket)
  socket.say({ type: 'watch', sessions: watched })
  sockets.push(socket)
}
port.postMessage('watching')
await once(port, 'message')
for (const socket of sockets) socket.cut()
port.postMessage(frames)
