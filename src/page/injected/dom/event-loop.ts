/** Tasks of the page's event loop. */

const resolvers: (() => void)[] = []
/** Each message to this port queues a task. */
let port: MessagePort | null = null

/** Resolves in a new task after the queued ones, which is sooner than the next frame. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    resolvers.push(resolve)
    ;(port ??= openPort()).postMessage(0)
  })
}

/** Maximum ms to wait for a pause. */
const maxIdleWait = 100

/** Resolves when no tasks are queued, so that frameworks have run the tasks that they queued. */
export function idle(): Promise<void> {
  // WebKit does not have this function.
  if (typeof requestIdleCallback !== 'function') return nextTask()
  return new Promise((resolve) => {
    requestIdleCallback(() => resolve(), { timeout: maxIdleWait })
  })
}

function openPort(): MessagePort {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => resolvers.shift()?.()
  return port2
}
