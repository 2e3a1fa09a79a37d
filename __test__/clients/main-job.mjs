// The main job as each client plays it: a session, a form filled in and sent, the session closed.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { BROWSER_ARGUMENTS, cleanEnvironment } from '../support/browser.mjs'
import { BIN } from '../support/server.mjs'

/** How a client starts the server. */
export const SERVER = { command: process.execPath, args: [BIN, ...BROWSER_ARGUMENTS], env: cleanEnvironment() }

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const TOOLS = ['create_session', 'close_session', 'navigate', 'click', 'type', 'snapshot']

/**
 * @param {ReturnType<typeof import('../support/site.mjs').startSite> extends Promise<infer S> ? S : never} site
 * @param {{ list: () => Promise<{ name: string }[]>, call: (tool: string, args: object) => Promise<any> }} client `call`
 *   gives the tool's structured content
 */
export async function playMainJob(site, { list, call }) {
  const names = (await list()).map(({ name }) => name)
  for (const tool of TOOLS) assert.ok(names.includes(tool), `${tool} is not among ${names}`)

  const { sessionId } = await call('create_session', {})
  const navigated = await call('navigate', { sessionId, url: site.url('/form') })
  assert.deepEqual([navigated.success, navigated.title, navigated.status], [true, 'Form', 200])
  assert.equal((await call('type', { sessionId, selector: '#name', text: 'Ada Lovelace' })).success, true)
  const clicked = await call('click', { sessionId, selector: '#send' })
  assert.equal(clicked.page.title, 'Echo')
  const sent = site.requests.find(({ path }) => path.startsWith('/echo'))
  assert.equal(new URL(sent?.path ?? '', site.origin).searchParams.get('name'), 'Ada Lovelace')
  assert.equal((await call('close_session', { sessionId })).success, true)
}
