/** Tasks of the page's event loop. */

const waiting: (() => void)[] = []
/** Each message to this port queues a task. */
let port: MessagePort | null = null

/** Resolves in a new task after the queued ones. Waiting for a frame would take 16 ms. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    ;(port ??= open()).postMessage(0)
  })
}

function open(): MessagePort {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => waiting.shift()?.()
  return port2
}
