// Closed shadow roots: their visible contents are in the snapshot and actionable.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { refIn } from '../support/snapshots.mjs'

/**
 * Defines a custom element with these contents in a closed root.
 * @param {string} tag
 * @param {string} inside
 */
const element = (tag, inside) => `customElements.define('${tag}', class extends HTMLElement {
  constructor() { super(); this.attachShadow({ mode: 'closed' }).innerHTML = ${JSON.stringify(inside)} }
})`

/** Pages by path. */
const PAGES = {
  '/element': `<x-card>Slotted text</x-card><p id=out></p><script>${element(
    'x-card',
    "<label for=n>Name</label><input id=n><button onclick=\"document.getElementById('out').textContent = 'Pressed by ' + this.previousSibling.value\">Press</button><slot></slot>"
  )}</script>`,
  '/nested': `<x-a></x-a><p id=out></p><script>${element('x-c', "<button onclick=\"document.getElementById('out').textContent = 'Deep'\">Deepest</button>")}
    ${element('x-b', '<div id=open></div><x-c></x-c>')}; ${element('x-a', '<x-b></x-b>')}</script>`,
  '/declared': `<div>
      <template shadowrootmode=closed><h2>Declared</h2><button onclick="this.textContent = 'Done'">Do</button></template>
    </div>
    <x-declared><template shadowrootmode=closed><a href=/elsewhere>Elsewhere</a><slot></slot></template>Beside it</x-declared>`,
  '/later': `<x-later></x-later><div id=plain></div>
    <button onclick="document.querySelector('x-later').attachShadow({ mode: 'closed' }).innerHTML = '<button>Came</button>'">Attach</button>
    <button onclick="plain.attachShadow({ mode: 'closed' }).innerHTML = '<button>Plain came</button>'">Attach plainly</button>
    <button onclick="setTimeout(() => document.body.append(document.createElement('x-new')), 200)">Append</button>
    <script>${element('x-new', '<button>New</button>')}</script>`,
  '/framed': '<iframe src=/element title=inner></iframe>'
}

describe('closed shadow roots', { timeout: 60_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site

  before(async () => {
    site = await startSite(scope, PAGES)
    server = await startServer(scope)
  })

  /** Returns the snapshot of a page. @param {keyof PAGES} path @returns {Promise<string>} */
  const open = async (path) => {
    await server.ok('navigate', { url: site.url(path) })
    return server.ok('snapshot')
  }

  test('of a custom element are in the snapshot with accessible names, and their fields and buttons work by ref', async () => {
    const text = await open('/element')
    assert.match(text, /textbox "Name"/)
    assert.match(text, /Slotted text/)
    await server.ok('type', { selector: refIn(text, /textbox "Name/), text: 'Ada' })
    const { changes } = await server.ok('click', { selector: refIn(text, /button "Press/) })
    assert.match(changes, /Pressed by Ada/)
  })

  test('are searched by role, by label and by text', async () => {
    await server.ok('navigate', { url: site.url('/element') })
    await server.ok('fill', { selector: 'label=Name', value: 'Bob' })
    assert.equal(
      (await server.ok('get_value', { selector: 'role=textbox[name="Name"]' })).value,
      'Bob'
    )
    await server.ok('click', { selector: 'text="Press"' })
    assert.match(await server.ok('snapshot'), /Pressed by Bob/)
    assert.match(JSON.stringify(await server.ok('find', { text: 'press' })), /button \\"Press\\"/)
  })

  test('that are nested in each other are in the snapshot, and their elements are clicked', async () => {
    assert.match(await open('/nested'), /button "Deepest"/)
    const { changes } = await server.ok('click', { selector: 'role=button[name="Deepest"]' })
    assert.match(changes, /Deep/)
  })

  test('that are declarative are in the snapshot, for custom and built-in elements', async () => {
    const text = await open('/declared')
    for (const line of [/heading "Declared"/, /button "Do"/, /link "Elsewhere"/, /Beside it/])
      assert.match(text, line)
    const { changes } = await server.ok('click', { selector: 'text="Do"' })
    assert.match(changes, /button "Done"/)
  })

  test('that are attached later are in the changes of the action', async () => {
    await open('/later')
    assert.match(
      (await server.ok('click', { selector: 'text="Attach"' })).changes,
      /\+ button "Came"/
    )
    assert.match(
      (await server.ok('click', { selector: 'text="Attach plainly"' })).changes,
      /\+ button "Plain came"/
    )
  })

  test('of an added element end a wait for their contents', async () => {
    await open('/later')
    await server.ok('click', { selector: 'text="Append"' })
    assert.match(
      JSON.stringify(await server.ok('wait_for_selector', { selector: 'role=button[name="New"]' })),
      /button \\"New\\"/
    )
  })

  test('in a frame are in the snapshot and actionable', async () => {
    const text = await open('/framed')
    const ref = refIn(text, /button "Press"/)
    assert.match((await server.ok('click', { selector: ref })).changes, /Pressed by/)
  })

  test('a wait that times out without them reports the requested timeout', async () => {
    await server.ok('navigate', { url: site.url('/element') })
    const { json } = await server.call('click', {
      selector: 'role=button[name="Nobody"]',
      timeout: 300
    })
    assert.equal(json.errorCode, 'ELEMENT_NOT_FOUND')
    assert.equal(json.details.timeout, 300)
    assert.match(json.message, /waited 300 ms/)
  })
})
