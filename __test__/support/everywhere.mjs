// A page whose requests have every kind of initiator: the page, same-origin and cross-origin
// frames, and all kinds of workers.

const HEAD = { 'cache-control': 'no-store', 'access-control-allow-origin': '*' }

/** Requests `path`. Returns the text of the response, or `failed`. */
const GO = `const go = (path) => fetch(path).then((answer) => answer.text(), () => 'failed')`

/** @param {string} type @param {string} text @returns {import('./site.mjs').Route} */
const file = (type, text) => (_request, response) =>
  response.writeHead(200, { ...HEAD, 'content-type': type }).end(text)
/** @param {string} text */
const script = (text) => file('text/javascript', text)

export const PLACES = ['page', 'frame', 'foreign', 'worker', 'shared', 'service']

/** More routes for `startSite`. @type {Record<string, import('./site.mjs').Route>} */
export const INITIATOR_ROUTES = {
  // A service worker controls only the paths below its script.
  '/everywhere/page': (request, response) => {
    const foreign = `http://localhost:${request.socket.localPort}`
    file(
      'text/html; charset=utf-8',
      `<!doctype html><title>Everywhere</title><link rel="icon" href="data:,">
      <iframe name="frame" src="/everywhere/frame"></iframe><iframe name="foreign" src="${foreign}/everywhere/frame"></iframe>
      <script>
        ${GO}
        const worker = new Worker('/everywhere/worker.js')
        const shared = new SharedWorker('/everywhere/shared.js')
        const service = navigator.serviceWorker.register('/everywhere/service.js').then(() => navigator.serviceWorker.ready)
        const post = (target, path) => new Promise((resolve) => {
          const { port1, port2 } = new MessageChannel()
          port1.onmessage = ({ data }) => resolve(data)
          // The method of a window also takes the target origin.
          target.postMessage(path, { targetOrigin: '*', transfer: [port2] })
        })
        const ask = async (path) => ({
          page: await go(path),
          frame: await post(frames.frame, path),
          foreign: await post(frames.foreign, path),
          worker: await post(worker, path),
          shared: await post(shared.port, path),
          service: await post((await service).active, path)
        })
      </script>`
    )(request, response, new URL('http://localhost'))
  },
  '/everywhere/frame': file(
    'text/html',
    `<script>${GO}; onmessage = async ({ data, ports }) => ports[0].postMessage(await go(data))</script>`
  ),
  '/everywhere/worker.js': script(
    `${GO}; onmessage = async ({ data, ports }) => ports[0].postMessage(await go(data))`
  ),
  '/everywhere/shared.js': script(
    `${GO}; onconnect = ({ ports: [port] }) => { port.onmessage = async ({ data, ports }) => ports[0].postMessage(await go(data)) }`
  ),
  '/everywhere/service.js': script(
    `${GO}; oninstall = () => skipWaiting(); onmessage = async ({ data, ports }) => ports[0].postMessage(await go(data))`
  ),
  '/api/': file('text/plain', 'real')
}

/** Returns the response to `path` for each initiator. @param {string} text */
export function responseForEachInitiator(text) {
  return Object.fromEntries(PLACES.map((place) => [place, text]))
}
