// A browser that asks for consent to each connection, as Chrome does since version 144. It is a
// proxy in front of a real browser. The proxy has no HTTP endpoints, and answers the handshake of a
// WebSocket when the user has decided.
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pathOf } from './browser.mjs'
import { startBrowser } from './running-browser.mjs'
import { closeTogether, forwardUpgrade, listen } from './sockets.mjs'
import { until } from './wait.mjs'
import { takeFrames } from './websocket.mjs'

/**
 * Returns a function that passes each text message of a WebSocket to `handle`.
 * @param {(text: string) => void} handle
 */
function messages(handle) {
  /** @type {Buffer} */
  let bytes = Buffer.alloc(0)
  /** @type {Buffer[]} */
  let parts = []
  return (/** @type {Buffer} */ data) => {
    const { frames, rest } = takeFrames(Buffer.concat([bytes, data]))
    bytes = rest
    for (const { opcode, isLast, payload } of frames) {
      if (opcode > 2) continue
      parts.push(payload)
      if (!isLast) continue
      handle(Buffer.concat(parts).toString())
      parts = []
    }
  }
}

/**
 * Starts the user's browser with `urls` in its tabs, and the proxy in front of it.
 * @param {any} t
 * @param {string[]} urls
 */
export async function startUserBrowser(t, urls) {
  const executable = pathOf('chromium') ?? 'chromium'
  const browser = await startBrowser(t, { executable, args: ['--headless=new', 'about:blank'] })
  const [blank] = await browser.pages()
  // Chrome without a window accepts only one URL on its command line.
  for (const url of urls)
    await fetch(`${browser.http}/json/new?${encodeURIComponent(url)}`, { method: 'PUT' })
  await fetch(`${browser.http}/json/close/${blank.id}`)
  const isLoaded = async () => {
    const pages = await browser.pages()
    // A tab that loads has its URL as title.
    const areLoaded = pages.every(({ title }) => title !== '' && !title.startsWith('data:'))
    return pages.length === urls.length && areLoaded
  }
  await until(isLoaded, 'the tabs of the user')
  /** The commands that reached the browser. @type {any[]} */
  const commands = []
  /** The ids of the tabs that the commands opened. @type {string[]} */
  const opened = []
  /** The paths of HTTP requests. @type {(string | undefined)[]} */
  const requests = []
  /** The handshakes that wait for a decision. @type {((allows: boolean) => void)[]} */
  const dialogs = []
  let connections = 0
  let mostDialogs = 0
  const server = createServer((request, response) => {
    requests.push(request.url)
    response.writeHead(404).end()
  })
  server.on('upgrade', async (request, from) => {
    from.on('error', () => {})
    const allows = await new Promise((resolve) => {
      dialogs.push(resolve)
      mostDialogs = Math.max(mostDialogs, dialogs.length)
    })
    if (!allows) return from.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    connections++
    const to = forwardUpgrade(request, browser.ws)
    closeTogether(from, to)
    const creations = new Set()
    const sent = messages((text) => {
      const command = JSON.parse(text)
      commands.push(command)
      if (command.method === 'Target.createTarget') creations.add(command.id)
    })
    const received = messages((text) => {
      const { id, result } = JSON.parse(text)
      if (creations.delete(id) && result) opened.push(result.targetId)
    })
    from.on('data', (bytes) => {
      sent(bytes)
      to.write(bytes)
    })
    let isOpen = false
    to.on('data', (bytes) => {
      from.write(bytes)
      // The browser sends nothing after its response to the handshake before the first command.
      if (isOpen) received(bytes)
      isOpen = true
    })
  })
  const { port, sockets } = await listen(t, server)
  const drop = () => sockets.forEach((socket) => socket.destroy())
  // The profile folder that the server reads, with the proxy's port.
  const profile = join(browser.profile, 'of-the-proxy')
  mkdirSync(profile)
  writeFileSync(join(profile, 'DevToolsActivePort'), `${port}\n${new URL(browser.ws).pathname}`)
  /** Answers all open dialogs. @param {boolean} allows */
  const decide = (allows) => dialogs.splice(0).forEach((dialog) => dialog(allows))
  return {
    ...browser,
    port,
    profile,
    commands,
    opened,
    requests,
    decide,
    drop,
    /** The number of dialogs that are open. */
    dialogs: () => dialogs.length,
    connections: () => connections,
    mostDialogs: () => mostDialogs
  }
}
