// Each session has a proxy port of its own on this machine. It closes with the session.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { test } from 'node:test'
import { startServer } from '../support/server.mjs'
import { scriptRoute, startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

/** The ports of 127.0.0.1 on which a process listens. @param {number} pid @returns {string[]} */
function listening(pid) {
  const sockets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]
    } catch {
      // It was closed meanwhile.
    }
  })
  const LISTEN = '0A'
  const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
  return rows.filter((row) => row[3] === LISTEN && sockets.includes(row[9])).map((row) => row[1])
}

const NESTED = `onmessage = ({ data }) => postMessage(data)`
const WORKER = `
  const inner = new Worker('/nested.js')
  inner.onmessage = ({ data }) => postMessage(data)
  onmessage = ({ data }) => inner.postMessage(data)`
test(
  'a session with a worker inside a worker leaves no port open',
  { skip: process.platform !== 'linux', timeout: 60_000 },
  async (t) => {
    const page = `<title>Workers</title><main></main><script>
    const worker = new Worker('/worker.js')
    worker.onmessage = ({ data }) => document.querySelector('main').innerHTML = '<p id="answer">' + data + '</p>'
    worker.postMessage('both answer')</script>`
    const site = await startSite(t, {
      '/workers': page,
      '/worker.js': scriptRoute(WORKER),
      '/nested.js': scriptRoute(NESTED)
    })
    const server = await startServer(t, ['--blocked-domains', 'blocked.example'])
    const pid = /** @type {number} */ (server.child.pid)
    await server.awaitBrowserReady()
    for (const leave of [null, '/form']) {
      const sessionId = await server.createSession()
      await server.ok('navigate', { sessionId, url: site.url('/workers') })
      await server.ok('wait_for_selector', { sessionId, selector: '#answer' })
      // The port of the session is one of these. The server may have opened it before the session.
      const ports = listening(pid)
      assert.ok(ports.length > 0, 'the session has a port')
      if (leave) await server.ok('navigate', { sessionId, url: site.url(leave) })
      await server.ok('close_session', { sessionId })
      await until(
        () => ports.some((port) => !listening(pid).includes(port)),
        `the end of the port${leave ? ' after leaving the page' : ''}`,
        5000
      )
    }
  }
)
