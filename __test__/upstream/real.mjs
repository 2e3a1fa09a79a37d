// The commands of real upstream servers with the Chromium of this machine, headless and isolated.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { ROOT } from '../../scripts/run.mjs'
import { PLAYWRIGHT_COMMAND, browserExecutable } from '../playwright/servers.mjs'
import { startHttpServer } from '../support/http.mjs'
import { awaitProcessesEnded, descendants } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { outputFolder, quoted } from './upstream.mjs'

const isRoot = process.getuid?.() === 0

/** The words of a command of @playwright/mcp. @param {string[]} [more] */
export const playwright = (more = []) => [
  ...PLAYWRIGHT_COMMAND,
  '--headless',
  '--isolated',
  '--executable-path',
  browserExecutable(),
  ...(isRoot ? ['--no-sandbox'] : []),
  ...more
]

/** The words of a command of chrome-devtools-mcp. */
export const devtools = () => [
  ...[
    process.execPath,
    join(ROOT, 'node_modules/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'),
    '--headless',
    '--isolated',
    '--no-usage-statistics'
  ],
  ...['--executablePath', browserExecutable(), ...(isRoot ? ['--chromeArg=--no-sandbox'] : [])]
]

/**
 * The options of a Troupe server that has such servers behind it.
 * @param {string[]} words
 */
export function upstreamArguments(words) {
  const folder = outputFolder()
  return ['--upstream', words.map(quoted).join(' '), '--output-dir', folder]
}

/**
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {string[]} words
 * @param {string[]} [args]
 * @param {object} [options]
 */
export const startWithUpstream = (t, words, args = [], options = {}) =>
  startServer(t, [...upstreamArguments(words), ...args], { browser: false, ...options })

/** How many conversations start at the same time. Each start takes a second of processor time. */
const AT_ONCE = 4

/**
 * Holds `count` conversations over HTTP, each with its own @playwright/mcp and Chromium. No
 * conversation sees the cookie of another, and no process remains.
 * @param {import('node:test').TestContext} t @param {number} count
 */
export async function realConversations(t, count) {
  const site = await startSite(t)
  const timeoutOptions = [
    '--max-sessions',
    String(count),
    '--upstream-start-timeout',
    '120000',
    '--upstream-ping-timeout',
    '60000'
  ]
  const server = await startHttpServer(
    t,
    [...upstreamArguments(playwright()), '--upstream-transport', 'http', ...timeoutOptions],
    { browser: false }
  )
  const begun = performance.now()
  /** @type {Awaited<ReturnType<typeof server.connect>>[]} */
  const clients = []
  let taken = 0
  const converse = async () => {
    while (taken < count) {
      const number = taken++
      const client = (clients[number] = await server.connect())
      await client.call('browser_navigate', { url: site.url(`/set-cookie?whose=${number}`) })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, converse))
  const below = descendants(server.child.pid ?? 0)
  // All conversations are open. None may see the cookie of another.
  for (const [number, client] of clients.entries()) {
    const { text } = await client.call('browser_navigate', { url: site.url('/cookies') })
    const { text: seen } = await client.call('browser_evaluate', {
      function: '() => document.body.innerText'
    })
    assert.match(seen, new RegExp(`whose=${number}\\b`), text)
  }
  const ports = new Set(
    below.flatMap(({ command }) =>
      command.includes('--port') ? [command[command.indexOf('--port') + 1]] : []
    )
  )
  t.diagnostic(
    `${count} conversations, ${below.length} processes, ${((performance.now() - begun) / 1000).toFixed(1)} s`
  )
  assert.equal(ports.size, count, 'each has a port of its own')
  assert.equal((await server.end()).code, 0)
  await awaitProcessesEnded(below)
}
