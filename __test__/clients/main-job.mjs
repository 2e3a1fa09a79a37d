// The main task, which every client completes: create a session, fill in and submit a form, close
// the session.
import assert from 'node:assert/strict'
import { BROWSER_ARGUMENTS, cleanEnvironment } from '../support/browser.mjs'
import { BIN } from '../support/server.mjs'

/** How a client starts the server. */
export const SERVER = {
  command: process.execPath,
  args: [BIN, ...BROWSER_ARGUMENTS],
  env: cleanEnvironment()
}

const TOOLS = ['create_session', 'close_session', 'navigate', 'click', 'type', 'snapshot']

/**
 * @param {ReturnType<typeof import('../support/site.mjs').startSite> extends Promise<infer S> ? S :
 *   never} site
 * @param {{ list: () => Promise<{ name: string }[]>, call: (tool: string, args: object) =>
 *   Promise<any> }} client `call`
 *   gives the tool's structured content
 */
export async function playMainJob(site, { list, call }) {
  const names = (await list()).map(({ name }) => name)
  for (const tool of TOOLS) assert.ok(names.includes(tool), `${tool} is not among ${names}`)

  const { sessionId } = await call('create_session', {})
  const navigated = await call('navigate', { sessionId, url: site.url('/form') })
  assert.deepEqual([navigated.success, navigated.title, navigated.status], [true, 'Form', 200])
  assert.equal(
    (await call('type', { sessionId, selector: '#name', text: 'Ada Lovelace' })).success,
    true
  )
  const clicked = await call('click', { sessionId, selector: '#send' })
  assert.equal(clicked.page.title, 'Echo')
  const sent = site.requests.find(({ path }) => path.startsWith('/echo'))
  assert.equal(new URL(sent?.path ?? '', site.origin).searchParams.get('name'), 'Ada Lovelace')
  assert.equal((await call('close_session', { sessionId })).success, true)
}

/**
 * The other features of a client: resources, a prompt, progress, cancellation.
 * @param {Awaited<ReturnType<typeof import('../support/site.mjs').startSite>>} site
 * @param {{
 *   call: (tool: string, args: object) => Promise<any>,
 *   resources: () => Promise<string[]>, read: (uri: string) => Promise<string>,
 *   prompt: (name: string, args: Record<string, string>) => Promise<string>,
 *   progress: (tool: string, args: object) => Promise<{ progress: number, total?: number }[]>,
 *   cancel: (tool: string, args: object, when: Promise<void>) => Promise<void>,
 *   stateless?: boolean
 * }} client `read` returns the text of a resource, `prompt` the text of its message, `progress` the
 * notifications of a call. `cancel` starts a call, cancels it `when`, and returns when the call has
 * failed. `stateless`: the server cannot attribute requests to a client
 */
export async function playBesideTools(
  site,
  { call, resources, read, prompt, progress, cancel, stateless }
) {
  const { sessionId } = await call('create_session', {})
  await call('navigate', { sessionId, url: site.url('/form') })
  const page = `playwright:///page/${sessionId}/page-1`
  const listed = await resources()
  if (stateless)
    assert.deepEqual(listed, [], 'nothing is its own; what it names it can read all the same')
  else assert.ok(listed.includes(page), `${page} is not among ${listed}`)
  assert.equal(JSON.parse(await read(page)).metadata.title, 'Form')

  const text = await prompt('fill_form', {
    url: site.url('/form'),
    form_data: '{"name": "Ada & Co"}'
  })
  assert.match(text, /- name: Ada & Co\n/)

  const steps = ['1', '2', '3'].map((script) => ({
    tool: 'evaluate',
    arguments: { sessionId, script }
  }))
  const reports = await progress('batch', { steps })
  assert.ok(
    reports.length > 0 && reports.every(({ total }) => total === 3),
    JSON.stringify(reports)
  )

  const hold = site.hold('/held')
  const begun = performance.now()
  await cancel('navigate', { sessionId, url: site.url('/held') }, hold.requested)
  assert.equal((await call('get_text', { sessionId, selector: '#words' })).text, 'No field at all')
  assert.ok(
    performance.now() - begun < 20_000,
    'the next call did not wait for the navigation, which takes 30 s'
  )
  hold.release()
  await call('close_session', { sessionId })
}
