// Queries about elements.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { READING_PAGES } from '../support/reading-pages.mjs'
import { startShared } from '../support/scope.mjs'

describe('queries about elements', { timeout: 120_000 }, () => {
  const { server, site } = startShared({ routes: READING_PAGES })
  before(async () => {
    await server.ok('navigate', { url: site.url('/outer') })
  })

  test('find_element describes an element completely', async () => {
    const { ref, box, ...rest } = await server.ok('find_element', { selector: '#link' })
    assert.match(ref, /^e\d+$/)
    assert.ok(box.width > 0 && box.height > 0)
    assert.deepEqual(rest, {
      description: `link "Other" [ref=${ref}]`,
      role: 'link',
      name: 'Other',
      tag: 'a',
      text: 'Other',
      attributes: { href: '/other?a=1#top', id: 'link', title: 'Away' },
      visible: true,
      enabled: true,
      path: rest.path
    })
    const { value: same } = await server.ok('evaluate', {
      script: `(path) => document.querySelector(path) === link`,
      args: [rest.path]
    })
    assert.equal(same, true)
  })

  test('find_element searches shadow roots and frames, with boxes in the viewport', async () => {
    assert.equal((await server.ok('find_element', { selector: '#deep' })).text, 'In the shadow')
    const framed = await server.ok('find_element', { selector: '#inner >>> #field' })
    assert.match(framed.ref, /^f\d+e\d+$/)
    assert.equal(framed.value, 'framed')
    const { value: top } = await server.ok('evaluate', {
      script:
        '(() => { const box = inner.getBoundingClientRect(); return box.top + 8 + inner.contentDocument.getElementById("field").getBoundingClientRect().top })()'
    })
    assert.equal(framed.box.y, top)
    assert.equal((await server.ok('find_element', { selector: framed.ref })).ref, framed.ref)
  })

  test('find_element waits for an element, and reports similar elements at the timeout', async () => {
    await server.ok('evaluate', {
      script:
        'void setTimeout(() => document.body.insertAdjacentHTML("beforeend", "<p id=late>Late</p>"), 200)'
    })
    assert.equal(
      (await server.ok('find_element', { selector: '#late', timeout: 5000 })).text,
      'Late'
    )
    const { json, ms } = await server.call('find_element', { selector: '#linc', timeout: 200 })
    assert.deepEqual([json.errorCode, json.details.timeout], ['ELEMENT_NOT_FOUND', 200])
    assert.match(json.details.suggestions[0].description, /Other/)
    assert.match(json.suggestion, new RegExp(`\\b${json.details.suggestions[0].ref}\\b`))
    assert.ok(ms >= 190 && ms < 2000, `${ms} ms`)
    for (const selector of ['e99999', 'f999e1']) {
      const { json } = await server.call('find_element', { selector, timeout: 100 })
      assert.equal(json.details.reason, 'unknown', json.message)
      assert.match(json.message, /no element has the ref/)
    }
    assert.equal(
      (await server.call('find_element', { selector: 'p[', timeout: 100 })).json.errorCode,
      'INVALID_SELECTOR'
    )
  })

  test('find_elements lists all matches, or an empty list', async () => {
    const { elements, count } = await server.ok('find_elements', { selector: '.line' })
    assert.equal(count, 2)
    assert.deepEqual(
      elements.map(({ text, tag, visible }) => ({ text, tag, visible })),
      [
        { text: 'First line', tag: 'p', visible: true },
        { text: 'Second line', tag: 'p', visible: true }
      ]
    )
    assert.deepEqual(await server.ok('find_elements', { selector: '.nothing' }), {
      elements: [],
      count: 0
    })
    assert.equal((await server.ok('find_elements', { selector: '#inner >>> button' })).count, 1)
    assert.equal(
      (await server.call('find_elements', { selector: '//[' })).json.errorCode,
      'INVALID_SELECTOR'
    )
  })

  test('element_exists answers without waiting', async () => {
    const exists = async (selector) => (await server.ok('element_exists', { selector })).exists
    assert.deepEqual(
      await Promise.all(
        ['#gone', '#deep', '#inner >>> #off', '#no', '#no >>> #off', '#inner >>> #no'].map(exists)
      ),
      [true, true, true, false, false, false]
    )
    assert.equal((await server.ok('element_exists', { selector: '.line' })).count, 2)
    assert.equal(
      (await server.call('element_exists', { selector: 'p[' })).json.errorCode,
      'INVALID_SELECTOR'
    )
  })

  test('is_visible reports why an element is not visible', async () => {
    assert.deepEqual(await server.ok('is_visible', { selector: '#link' }), {
      visible: true,
      exists: true
    })
    for (const [selector, reason] of /** @type {const} */ ([
      ['#gone', /display: none/],
      ['#faint', /visibility: hidden/]
    ])) {
      const answer = await server.ok('is_visible', { selector })
      assert.deepEqual([answer.visible, answer.exists], [false, true])
      assert.match(answer.reason, reason)
    }
    assert.deepEqual(await server.ok('is_visible', { selector: '#no' }), {
      visible: false,
      exists: false,
      reason: 'nothing matches'
    })
    assert.equal((await server.ok('is_visible', { selector: '#inner >>> #text' })).visible, true)
  })

  test('is_enabled reports the state of a control, and fails if nothing matches', async () => {
    const enabled = async (selector) => (await server.ok('is_enabled', { selector })).enabled
    assert.deepEqual(
      await Promise.all(
        ['#link', 'text=Shadowed', '#inner >>> #off', '#inner >>> #field'].map(enabled)
      ),
      [true, false, false, true]
    )
    assert.equal(
      (await server.call('is_enabled', { selector: '#no' })).json.errorCode,
      'ELEMENT_NOT_FOUND'
    )
  })

  test('find_element reports the state of a field', async () => {
    await server.ok('navigate', { url: site.url('/fields') })
    const describe = async (selector) =>
      (({ role, value, checked, enabled }) => ({ role, value, checked, enabled }))(
        await server.ok('find_element', { selector })
      )
    const box = await describe('#agree')
    assert.deepEqual([box.role, box.checked, box.enabled], ['checkbox', true, true])
    assert.deepEqual(await describe('#name'), {
      role: 'textbox',
      value: 'Ada',
      checked: undefined,
      enabled: true
    })
    assert.doesNotMatch((await describe('#secret')).value, /hunter2/)
  })
})
