// Attacks: the methods with which a page can try to reach a host, and a site that accepts all
// requests and counts them by their `Host`.
import { createServer as createPlainServer } from 'node:net'
import { createServer } from 'node:http'
import { once } from 'node:events'

/**
 * The attacks by name, as scripts of the page. `to` is the origin under attack, `own` the origin of
 * the page, and `name` a part of the path that identifies the attack. Attacks that navigate the
 * page are last.
 * @type {Record<string, string>}
 */
export const ATTACK_SCRIPTS = {
  fetch: `fetch(to + '/fetch').catch(() => {})`,
  'fetch-no-cors': `fetch(to + '/fetch-no-cors', { mode: 'no-cors', referrerPolicy: 'no-referrer' }).catch(() => {})`,
  'fetch-post': `fetch(to + '/fetch-post', { method: 'POST', body: 'x', mode: 'no-cors' }).catch(() => {})`,
  preflight: `fetch(to + '/preflight', { method: 'PUT', headers: { 'x-own': '1' } }).catch(() => {})`,
  keepalive: `fetch(to + '/keepalive', { keepalive: true, mode: 'no-cors' }).catch(() => {})`,
  xhr: `const request = new XMLHttpRequest(); request.open('GET', to + '/xhr'); request.send()`,
  beacon: `navigator.sendBeacon(to + '/beacon', 'x')`,
  eventsource: `new EventSource(to + '/eventsource')`,
  websocket: `new WebSocket(to.replace('http', 'ws') + '/websocket')`,
  image: `new Image().src = to + '/image'`,
  script: `put('script', { src: to + '/script' })`,
  module: `import(to + '/module').catch(() => {})`,
  stylesheet: `put('link', { rel: 'stylesheet', href: to + '/stylesheet' })`,
  'css-import': `put('style', { textContent: '@import url("' + to + '/css-import");' })`,
  'css-image': `document.body.style.backgroundImage = 'url("' + to + '/css-image")'`,
  font: `new FontFace('x', 'url("' + to + '/font")').load().catch(() => {})`,
  video: `put('video', { src: to + '/video', preload: 'auto' })`,
  audio: `put('audio', { src: to + '/audio', preload: 'auto' })`,
  iframe: `put('iframe', { src: to + '/iframe' })`,
  'iframe-srcdoc': `put('iframe', { srcdoc: '<img src="' + to + '/iframe-srcdoc">' })`,
  'iframe-data': `put('iframe', { src: 'data:text/html,<img src="' + to + '/iframe-data">' })`,
  'iframe-sandbox': `put('iframe', { src: to + '/iframe-sandbox', sandbox: 'allow-scripts' })`,
  object: `put('object', { data: to + '/object', type: 'text/html' })`,
  embed: `put('embed', { src: to + '/embed', type: 'text/html' })`,
  preload: `put('link', { rel: 'preload', as: 'fetch', href: to + '/preload' })`,
  prefetch: `put('link', { rel: 'prefetch', href: to + '/prefetch' })`,
  preconnect: `put('link', { rel: 'preconnect', href: to })`,
  'speculation-rules': `put('script', { type: 'speculationrules', textContent: JSON.stringify({ prefetch: [{ urls: [to + '/speculation-rules'], eagerness: 'immediate' }] }) })`,
  icon: `put('link', { rel: 'icon', href: to + '/icon' })`,
  manifest: `put('link', { rel: 'manifest', href: to + '/manifest' })`,
  svg: `put('div', { innerHTML: '<svg><image href="' + to + '/svg"/><use href="' + to + '/svg-use#a"/></svg>' })`,
  ping: `const link = put('a', { href: '#', ping: to + '/ping' }); link.click()`,
  worker: `new Worker(script('fetch("' + to + '/worker").catch(() => {})'))`,
  'worker-import': `new Worker(script('importScripts("' + to + '/worker-import")'))`,
  'worker-websocket': `new Worker(script('new WebSocket("' + to.replace('http', 'ws') + '/worker-websocket")'))`,
  'shared-worker': `new SharedWorker(script('fetch("' + to + '/shared-worker").catch(() => {})'))`,
  'service-worker': `navigator.serviceWorker?.register('/service-worker.js?to=' + encodeURIComponent(to)).catch(() => {})`,
  form: `const form = put('form', { action: to + '/form', method: 'POST', target: 'sink' }); put('iframe', { name: 'sink' }); form.submit()`,
  popup: `window.open(to + '/popup')`,
  'popup-noopener': `window.open(to + '/popup-noopener', '_blank', 'noopener,noreferrer')`,
  'popup-blank': `const popup = window.open('about:blank'); popup && popup.fetch(to + '/popup-blank').catch(() => {})`,
  'redirect-fetch': `fetch(own + '/redirect?to=' + encodeURIComponent(to + '/redirect-fetch'), { mode: 'no-cors' }).catch(() => {})`,
  'redirect-image': `new Image().src = own + '/redirect?to=' + encodeURIComponent(to + '/redirect-image')`,
  'redirect-iframe': `put('iframe', { src: own + '/redirect?to=' + encodeURIComponent(to + '/redirect-iframe') })`,
  'meta-refresh': `put('iframe', { srcdoc: '<meta http-equiv="refresh" content="0;url=' + to + '/meta-refresh">' })`,
  webtransport: `try { new WebTransport(to.replace('http:', 'https:') + '/webtransport').ready.catch(() => {}) } catch {}`,
  webrtc: `try {
    const connection = new RTCPeerConnection({ iceServers: [{ urls: 'stun:' + new URL(to).host }, { urls: 'turn:' + new URL(to).host + '?transport=tcp', username: 'a', credential: 'b' }] })
    connection.createDataChannel('x'); connection.createOffer().then((offer) => connection.setLocalDescription(offer))
  } catch {}`,
  download: `put('a', { href: to + '/download', download: 'x', target: '_blank' }).click()`
}

const PAGE = (script) => `<!doctype html><meta charset="utf-8"><title>Attack</title><body><script>
  const own = location.origin
  const put = (name, values) => document.body.appendChild(Object.assign(document.createElement(name), values))
  const script = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
  ${script}
</script>`

/**
 * Starts a site that serves the pages of every attack, and counts the requests for each host.
 * @param {{ after: (end: () => unknown) => void }} t
 */
export async function startAttackSite(t) {
  /** The received requests as `host/path`. @type {string[]} */
  const reached = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`)
    reached.push(`${request.headers.host}${url.pathname}`)
    const to = url.searchParams.get('to') ?? ''
    if (url.pathname === '/redirect') return void response.writeHead(302, { location: to }).end()
    if (url.pathname === '/service-worker.js') {
      response.writeHead(200, { 'content-type': 'text/javascript' })
      return void response.end(
        `fetch(${JSON.stringify(`${to}/service-worker`)}, { mode: 'no-cors' }).catch(() => {}); oninstall = () => skipWaiting()`
      )
    }
    const ways = url.searchParams.getAll('way').map((way) => {
      // Each attack has its own host, which identifies it.
      const target = JSON.stringify(to.replace('WAY', way))
      return `try { ((to) => { ${ATTACK_SCRIPTS[way]} })(${target}) } catch (error) { console.log('${way}', error.message) }`
    })
    response.writeHead(200, {
      'content-type': 'text/html',
      'access-control-allow-origin': '*',
      'access-control-allow-headers': '*',
      'access-control-allow-methods': '*'
    })
    response.end(PAGE(ways.join('\n')))
  })
  server.on('upgrade', (request, socket) => {
    reached.push(`${request.headers.host}${request.url}`)
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { port, reached, server }
}

/**
 * Starts a proxy that replaces the internet. It connects every host to `port` of this machine and
 * counts the hosts.
 * @param {{ after: (end: () => unknown) => void }} t @param {number} port
 */
export async function startInternet(t, port) {
  const { connect } = await import('node:net')
  /** The port to which all connections lead. */
  let targetPort = port
  /** Hosts of the requested connections. @type {string[]} */
  const asked = []
  /** @type {Set<import('node:net').Socket>} */
  const open = new Set()
  const proxy = createPlainServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => {})
    socket.once('data', (head) => {
      const host = /^CONNECT (\S+)/.exec(String(head))?.[1]
      if (!host) return socket.destroy()
      asked.push(host)
      const server = connect(targetPort, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.pipe(server).pipe(socket)
      })
      open.add(server)
      server.on('close', () => open.delete(server))
      server.on('error', () => socket.destroy())
    })
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => {
    for (const socket of open) socket.destroy()
    return new Promise((resolve) => proxy.close(resolve))
  })
  const { port: own } = /** @type {import('node:net').AddressInfo} */ (proxy.address())
  /** Makes every name resolve to another port from now on. @param {number} port */
  const rebind = (port) => {
    targetPort = port
    for (const socket of open) socket.destroy()
  }
  return { port: own, asked, rebind }
}
