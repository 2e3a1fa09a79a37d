// The meaning of targets, the lifetime of refs, and suggestions if nothing is found.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from '../support/scope.mjs'
import { sharedPage } from './world.mjs'

const FORM = `<form><label for=e>Email</label><input id=e data-testid=mail placeholder="you@x">
  <button class="btn go">Send</button><button hidden>Send</button><div>Hello <b>World</b></div><p>hello there</p>
  <input type=submit value=Go><h2>Title</h2></form>`

/** Targets, and their descriptions or error codes. @type {[string, RegExp][]} */
const TARGETS = [
  ['#e', /^textbox "Email"/],
  ['button.go', /^button "Send"/],
  ['css=button.go', /^button "Send"/],
  ['label=email', /^textbox/],
  ['label="Email"', /^textbox/],
  ['label="email"', /^ELEMENT_NOT_FOUND/],
  ['placeholder=YOU', /^textbox/],
  ['testid=mail', /^textbox/],
  ['text=world', /^<b>/],
  ['text=/^hel+o t/i', /hello there/],
  ['text="Hello"', /^<div>/],
  ['text=Go', /^button "Go"/],
  ['role=button[name="Send"]', /^button "Send"/],
  ['role=button[name="send"]', /^ELEMENT_NOT_FOUND.*button "Send"/],
  ['role=button[name="send"i]', /^button "Send"/],
  ['role=button[name=/^S/]', /^button "Send"/],
  ['role=heading[level=2]', /^heading "Title"/],
  ['button:has-text("send")', /^button "Send"/],
  ['//button[1]', /^button "Send"/],
  ['(//button)[1]', /^button "Send"/],
  ['xpath=//h2', /^heading "Title"/],
  ['form >> button >> nth=0', /^button "Send"/],
  ['form >> text=Send >> visible=true', /^button "Send"/],
  // One of the two is hidden.
  ['button', /^button "Send"/],
  ['.btn, #e', /^ELEMENT_AMBIGUOUS.*textbox "Email".*button "Send"/],
  ['bttn', /^ELEMENT_NOT_FOUND/],
  ['.bttn', /^ELEMENT_NOT_FOUND.*button "Send"/],
  ['text=Sendd', /^ELEMENT_NOT_FOUND.*button "Send"/],
  ['role=buttn', /^INVALID_SELECTOR/],
  ['e99', /^ELEMENT_NOT_FOUND.*unknown/],
  ['', /^INVALID_SELECTOR/],
  ['//[', /^INVALID_SELECTOR/],
  ['text=/(/', /^INVALID_SELECTOR/]
]

/** Returns the descriptions of the matches of an ambiguous target, or of similar elements. */
const matchesIn = ({ details }) =>
  [...(details.matches ?? []), ...(details.suggestions ?? [])]
    .map(({ description }) => description)
    .join('; ')

describe('targets', { timeout: 60_000 }, () => {
  const page = sharedPage(shared())

  test('each kind of target finds its element, or reports why it does not', async () => {
    const world = await page.open(FORM)
    for (const [target, expected] of TARGETS) {
      const { description, error } = await world.call('resolve', { target, strict: true })
      assert.match(
        description ??
          `${error.code} ${error.message} ${error.suggestion ?? ''} ${matchesIn(error)} ${error.details.reason ?? ''}`,
        expected,
        target
      )
    }
  })

  test('a label target prefers the field with exactly this label', async () => {
    const world = await page.open(
      '<input aria-label="Minimum price"><input aria-label="Price" id="exact"><input aria-label="Old price">'
    )
    const { ref } = await world.call('resolve', { target: 'label=Price', strict: true })
    assert.equal(ref, (await world.call('resolve', { target: '#exact', strict: true })).ref)
    const { error } = await world.call('resolve', { target: 'label=price', strict: true })
    assert.equal(error.code, 'ELEMENT_AMBIGUOUS')
  })

  test('similar elements are described by their container and URL', async () => {
    const world = await page.open(`
      <nav aria-label="Site"><a href="/editors">Editors</a></nav>
      <main><a href="/editors">Editors</a><a href="/all-editors">Editors</a>
        <table><tr><td>Ada</td><td><button>Delete</button></td></tr><tr><td>Eve</td><td><button>Delete</button></td></tr></table>
        <input class="amount" aria-label="Amount" value="3"><input class="amount" aria-label="Amount" value="4">
        <i class="same">x</i><i class="same">x</i></main>`)
    const matches = async (target) =>
      (await world.call('resolve', { target, strict: true })).error.details.matches.map(
        ({ description }) => description.replace(/ \[ref=e\d+\]/, '')
      )
    assert.deepEqual(await matches('text=Editors'), [
      'link "Editors" (/editors, in navigation "Site")',
      'link "Editors" (/editors, in main)',
      'link "Editors" (/all-editors, in main)'
    ])
    const rows = ['Ada', 'Eve'].map((name) => `button "Delete" (in row "${name} Delete")`)
    assert.deepEqual(await matches('role=button[name="Delete"]'), rows)
    assert.deepEqual(await matches('.amount'), [
      'textbox "Amount" (value "3")',
      'textbox "Amount" (value "4")'
    ])
    const alike = await matches('.same')
    assert.equal(alike[0], alike[1])
  })

  test('a ref stays with its element when it is renamed or removed, and is stale while it is removed', async () => {
    const world = await page.open('<button id=a>One</button>')
    await world.call('snapshot')
    const meaning = async () =>
      (await world.call('resolve', { target: 'e1' })).description ?? 'stale'
    await world.page.evaluate(() => (document.querySelector('#a').textContent = 'Two'))
    assert.equal(await meaning(), 'button "Two" [ref=e1]')
    await world.page.evaluate(() => (globalThis.kept = document.querySelector('#a')).remove())
    assert.equal(await meaning(), 'stale')
    await world.page.evaluate(() => document.body.append(globalThis.kept))
    assert.equal(await meaning(), 'button "Two" [ref=e1]')
  })

  test('no ref is assigned twice, even if the counter restarts', async () => {
    const world = await page.open('<button>One</button>')
    await world.call('snapshot')
    await world.page.evaluate(() => document.body.append(document.createElement('input')))
    assert.match(
      (await world.call('snapshot')).text,
      /button "One" \[ref=e1\]\n- textbox \[ref=e(?!1\])\d+\]/
    )
  })

  test('suggestions are few, distinct and similar to the target', async () => {
    const rows = Array.from(
      { length: 6 },
      (_, index) => `<li>Row ${index} <a href=#${index}>Open</a></li>`
    ).join('')
    const world = await page.open(
      `<ul>${rows}</ul><button>Pop</button><button id=save-all>Save all</button><input placeholder="Search">`
    )
    const suggested = async (target) => {
      const { error } = await world.call('resolve', { target, strict: true })
      return error.details.suggestions.map(({ description }) =>
        description.replace(/ \[ref=\w+\]/, '')
      )
    }
    assert.deepEqual(await suggested('role=link[name="Opne"]'), ['link "Open"'])
    assert.deepEqual(await suggested('text=Opens'), ['link "Open"'])
    assert.deepEqual(await suggested('#basket'), [])
    assert.deepEqual(await suggested('#saveAll'), ['button "Save all"'])
    assert.deepEqual(await suggested('label=Serach'), ['textbox "Search"'])
    assert.deepEqual(await suggested('role=button[name="Save everything"]'), ['button "Save all"'])
  })

  test('a wait for text or an element ends when it appears, and reports similar elements at the timeout', async () => {
    const world = await page.open('<p>visible</p><p hidden>hidden</p><button>Continue</button>')
    assert.equal((await world.call('waitFor', { text: 'VISIBLE', timeout: 50 })).error, undefined)
    assert.match(
      (await world.call('waitFor', { text: 'hidden', timeout: 50 })).error.message,
      /`hidden` is not visible/
    )
    assert.equal(
      (await world.call('waitFor', { textGone: 'visible', timeout: 50 })).error.code,
      'TIMEOUT'
    )
    const waiting = world.call('waitFor', { text: 'later on', timeout: 5000 })
    await world.page.evaluate(() => document.body.append('later on'))
    assert.ok((await waiting).waited < 2000)
    const { suggestion, details } = (
      await world.call('waitFor', { target: 'text=Continued', timeout: 50 })
    ).error
    const [{ ref, description }] = details.suggestions
    assert.equal(description, `button "Continue" [ref=${ref}]`)
    assert.match(suggestion, new RegExp(`similar element as \`selector\`: ${ref}$`))
  })

  test('a text is found as a name, placeholder, value or title if no visible text matches', async () => {
    const world =
      await page.open(`<button aria-label="Add node"><svg width="10" height="10"></svg></button><input placeholder="Search flows"><input aria-label="Amount" value="1,200">
      <i title="More options" style="display: inline-block; width: 9px; height: 9px"></i><img alt="Flow diagram" width="9" height="9"><input type="password" aria-label="Key" value="sesame"><p>Search flows here</p><p hidden>Amount</p>`)
    const resolved = async (target) =>
      (await world.call('resolve', { target, strict: true })).description?.replace(
        / \[ref=\w+\]/,
        ''
      )
    assert.equal(await resolved('text=Add node'), 'button "Add node"')
    assert.equal(await resolved('text=1,200'), 'textbox "Amount"')
    assert.match(await resolved('text=More options'), /More options/)
    assert.equal(await resolved('text=Flow diagram'), 'img "Flow diagram"')
    // Visible text takes precedence, hidden text comes last.
    assert.match(await resolved('text=Search flows'), /Search flows here/)
    assert.equal(await resolved('text=Amount'), 'textbox "Amount"')
    assert.equal(await resolved('text=sesame'), undefined)
    for (const [text, as] of [
      ['add node', 'name'],
      ['1,200', 'value'],
      ['More options', 'name'],
      ['Search flows here', undefined]
    ]) {
      assert.equal((await world.call('waitFor', { text, timeout: 50 })).as, as, text)
    }
    assert.match(
      (await world.call('waitFor', { textGone: '1,200', timeout: 50 })).error.message,
      /still visible as the value of textbox "Amount"/
    )
  })

  test('find shows the elements around a short text', async () => {
    const world = await page.open(
      '<main><div role="group"><b>msg.payload</b><p>number</p><code>42</code></div><p>Other</p></main>'
    )
    const { text } = await world.call('find', { text: '42' })
    assert.match(text, /msg\.payload/)
    assert.doesNotMatch(text, /Other/)
  })
})
