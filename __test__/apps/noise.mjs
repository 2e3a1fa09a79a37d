// Counts the bytes of snapshots that no agent uses, by kind, over the pages of MiniWoB++ and of
// three apps: node __test__/apps/noise.mjs
import { readdirSync } from 'node:fs'
import { PAGES, startScript } from '../miniwob/episodes.mjs'
import { startServer } from '../support/server.mjs'
import { OFFLINE, serveFiles } from './app.mjs'
import { startDjango, startJupyter, startNodeRed } from './programs.mjs'

/** Parts of snapshots, by kind. Code in a line is long after its 100th character. */
const KINDS = {
  'refs of lists, items and rows':
    /(?<=^ *- (?:list|listitem|row|rowgroup|table)\b.*) \[ref=\w+\]/gm,
  'URLs that are a fragment': /^ *- \/url: "?#[^\n]*\n/gm,
  'code in a line': /(?<=^ *- code\b.{0,20}: .{100}).+$/gm,
  'numbers of console messages': /^- Console: .*\n/gm
}

/** @type {(() => unknown)[]} */
const ends = []
const scope = { after: (end) => void ends.push(end) }
const server = await startServer(scope, [...OFFLINE, '--tools', 'all'])
const sessionId = await server.createSession()

/** @typedef {{ native: string, playwright: string }} Texts the results in both formats */

/**
 * Returns the snapshots of a page.
 * @param {string} url
 * @param {{ text?: string, script?: string }} [first] a text to wait for, and a script to run
 */
async function read(url, { text, script } = {}) {
  const { snapshot = '' } = await server.ok('navigate', { sessionId, url })
  if (script) await server.ok('evaluate', { sessionId, script })
  if (text) await server.ok('wait_for', { sessionId, text, timeout: 30_000 })
  const native = await server.call('snapshot', { sessionId })
  const playwright = await server.call('browser_snapshot', { sessionId })
  return { native: `${snapshot}\n${native.text}\n`, playwright: `${playwright.text}\n` }
}

/** @param {string} origin */
async function django(origin) {
  const at = (/** @type {string} */ path) => new URL(path, origin).href
  const texts = [await read(at('/admin/'))]
  await server.ok('fill', { sessionId, selector: 'label=Username', value: 'admin' })
  await server.ok('fill', { sessionId, selector: 'label=Password', value: 'troupe-test' })
  await server
    .ok('click', { sessionId, selector: 'text="Log in" >> visible=true' })
    .catch(() => server.ok('press', { sessionId, key: 'Enter', selector: 'label=Password' }))
  for (const path of [
    '/admin/',
    '/admin/auth/user/',
    '/admin/auth/user/add/',
    '/admin/auth/user/1/change/',
    '/admin/auth/group/'
  ])
    texts.push(await read(at(path)))
  return texts
}

/** The texts of each site's pages. @type {Record<string, () => Promise<Texts[]>>} */
const SITES = {
  'MiniWoB++': async () => {
    const origin = await serveFiles(scope, { folder: PAGES })
    const pages = readdirSync(`${PAGES}/miniwob`).filter((name) => name.endsWith('.html'))
    const texts = []
    for (const page of pages)
      texts.push(await read(`${origin}/miniwob/${page}`, { script: startScript('1') }))
    return texts
  },
  "Django's admin": async () => django(await startDjango(scope)),
  JupyterLab: async () => [await read((await startJupyter(scope)).url, { text: 'sums.ipynb' })],
  'Node-RED': async () => [await read(await startNodeRed(scope), { text: 'Deploy' })]
}

const bytes = (/** @type {string} */ text) => Buffer.byteLength(text)
console.log(`| site | pages | format | bytes | ${Object.keys(KINDS).join(' | ')} |`)
for (const [site, visit] of Object.entries(SITES)) {
  const pages = await visit()
  for (const format of /** @type {const} */ (['native', 'playwright'])) {
    const text = pages.map((page) => page[format]).join('')
    const counts = Object.values(KINDS).map((kind) => bytes((text.match(kind) ?? []).join('')))
    console.log(`| ${[site, pages.length, format, bytes(text), ...counts].join(' | ')} |`)
  }
}
for (const end of ends.reverse()) await end()
