// fill, fill_form, select, check, uncheck: the values and events in the page.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { renderPage } from '../support/html.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { refIn } from '../support/snapshots.mjs'
import { eventRecorderScript } from './page.mjs'

const FIELDS = `<form>
  <input id="name" aria-label="Name" value="old"><textarea id="note" aria-label="Note"></textarea><div id="rich" contenteditable aria-label="Rich">old</div>
  <input id="day" type="date" aria-label="Day"><input id="count" type="number" aria-label="Count"><input id="volume" type="range" min="0" max="10" aria-label="Volume">
  <input id="fixed" readonly aria-label="Fixed"><input id="off" disabled aria-label="Off">
  <select id="one" aria-label="One"><option value="a">Alpha<option value="b">Beta<option value="c" disabled>Gamma</select>
  <select id="several" multiple aria-label="Several"><option>x<option>y<option>z</select>
  <input id="box" type="checkbox" aria-label="Box"><input id="radio1" type="radio" name="r" aria-label="R1"><input id="radio2" type="radio" name="r" aria-label="R2" checked>
  <span id="switch" role="switch" aria-checked="false" tabindex="0" onclick="ariaChecked = ariaChecked !== 'true'">Switch</span>
  <span id="stuck" role="checkbox" aria-checked="false" tabindex="0">Stuck</span><p id="words">No field</p></form>
  <div id="open"></div><div id="closed"></div><script>
    for (const mode of ['open', 'closed']) window[mode + 'Root'] = document.getElementById(mode).attachShadow({ mode })
    for (const root of [openRoot, closedRoot]) root.innerHTML = '<input aria-label="In ' + root.mode + '"><input type="checkbox" aria-label="Box in ' + root.mode + '">'
  </script>`

// Fields that change an entered value: by maxlength, by a formatter, by a delayed handler.
const FORMATTING = `<input id="short" maxlength="4" aria-label="Short"><input id="password" type="password" maxlength="4" aria-label="Password">
  <input id="phone" aria-label="Phone" oninput="const digits = value.replace(/\\D/g, ''); value = '(' + digits.slice(0, 3) + ') ' + digits.slice(3, 6) + '-' + digits.slice(6)">
  <input id="late" aria-label="Late" oninput="setTimeout(() => { value = value.toUpperCase() })"><input id="count" type="number" step="any" aria-label="Count"><textarea id="note" aria-label="Note"></textarea>`

describe('filling forms', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    args: ['--timeout-action', '150'],
    routes: {
      '/formatting': renderPage(
        'Formatting',
        FORMATTING + '<iframe id="framed" src="/short"></iframe>'
      ),
      '/short': renderPage('Short', '<input id="short" maxlength="4" aria-label="Short">'),
      '/fields': renderPage(
        'Fields',
        FIELDS + eventRecorderScript('focus input change keydown click')
      ),
      '/framed': renderPage(
        'Framed',
        '<iframe id="frame" src="/fields" width="900" height="500"></iframe>'
      )
    }
  })
  beforeEach(() => server.ok('navigate', { url: site.url('/fields') }))

  test('fill sets a value with focus, input and change events, and reports the changes', async () => {
    const { success, message, changes } = await server.ok('fill', {
      selector: '#name',
      value: 'new'
    })
    assert.equal(success, true)
    assert.match(message, /^Filled textbox "Name" \[ref=e\d+\]$/)
    assert.match(changes, /~.*textbox "Name".*new/)
    // In Firefox, the window and the document receive the focus when the page appears.
    const result = await server.evaluate(
      `[document.getElementById('name').value, recorded.filter((event) => !event.endsWith(' '))]`
    )
    assert.deepEqual(result, ['new', ['focus name', 'input name', 'change name']])
  })

  test('fill is noticed by a form that reacts only to keys', async () => {
    await server.evaluate(
      "void document.getElementById('name').addEventListener('keyup', ({ target }) => { document.title = target.value })"
    )
    await server.ok('fill', { selector: '#name', value: 'noticed' })
    assert.equal(await server.evaluate('document.title'), 'noticed')
  })

  test('fill supports all types of fields', async () => {
    for (const [id, given, property] of [
      ['note', 'two\nlines', 'value'],
      ['rich', 'rich text', 'textContent'],
      ['day', '2026-11-21', 'value'],
      ['count', '1.5', 'value'],
      ['volume', '7', 'value']
    ]) {
      await server.ok('fill', { selector: `#${id}`, value: given })
      assert.equal(await server.evaluate(`document.getElementById('${id}').${property}`), given, id)
    }
    await server.ok('fill', { selector: '#name', value: '' })
    assert.equal(await server.evaluate('document.getElementById("name").value'), '')
  })

  test('type with clear sets a date, whose keys depend on the language', async () => {
    await server.ok('type', { selector: '#day', text: '2026-12-24', clear: true })
    assert.equal(await server.evaluate('day.value'), '2026-12-24')
    await server.ok('type', { selector: '#day', text: '11/21/2026', clear: true })
    if (BROWSER !== 'webkit') assert.equal(await server.evaluate('day.value'), '2026-11-21')
  })

  test('an entered value that the page has changed is reported', async () => {
    await server.ok('navigate', { url: site.url('/formatting') })
    const message = async (tool, args) => (await server.ok(tool, args)).message
    assert.match(
      await message('fill', { selector: '#short', value: 'abcdef' }),
      /; but the value of textbox "Short" .*\[ref=e\d+\] differs from the given text \("abcd"; its maxlength is 4\)$/
    )
    assert.match(
      await message('type', { selector: '#short', text: 'wxyz12', clear: true }),
      /differs from the given text \("wxyz"; its maxlength is 4\)$/
    )
    assert.match(
      await message('fill', { selector: '#phone', value: '5551234567' }),
      /differs from the given text \("\(555\) 123-4567"\)$/
    )
    assert.match(
      await message('fill', { selector: '#late', value: 'words' }),
      /differs from the given text \("WORDS"\)$/
    )
    const form = {
      fields: [
        { selector: '#phone', value: '(555) 123-4567' },
        { selector: '#short', value: 'abcdef' },
        { selector: '#framed >>> #short', value: 'ghijkl' }
      ]
    }
    const both = await message('fill_form', form)
    assert.match(
      both,
      /^Filled 3 fields; but the value of textbox "Short" .*\("abcd".*; but the value of textbox "Short" \[ref=f.*\("ghij"/
    )
    // A value that was entered unchanged, or as the same number, is not reported.
    for (const [tool, args] of [
      ['fill', { selector: '#phone', value: '(555) 123-4567' }],
      ['fill', { selector: '#count', value: '1.50' }],
      ['type', { selector: '#short', text: 'bc', clear: true }],
      ['fill', { selector: '#note', value: 'two\r\nlines' }]
    ])
      assert.doesNotMatch(await message(tool, args), /but the value/, JSON.stringify(args))
  })

  test('a truncated password or secret is reported without its value', async (t) => {
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, 'secrets'), 'TOKEN=s3cretvalue\n')
    const own = await startServer(t, ['--secrets', join(folder, 'secrets')])
    await own.ok('navigate', { url: site.url('/formatting') })
    for (const [selector, value] of [
      ['#password', 'hunter22'],
      ['#short', 'TOKEN']
    ]) {
      const { message } = await own.ok('fill', { selector, value })
      assert.match(
        message,
        /differs from the given text \(not shown: it is a secret; its maxlength is 4\)$/
      )
      assert.doesNotMatch(message, /hunt|s3cr/)
    }
  })

  test('fill reports invalid values', async () => {
    for (const [selector, reason] of [
      ['#fixed', 'read-only'],
      ['#off', 'disabled'],
      ['#words', 'not-a-text-field'],
      ['#box', 'not-a-text-field']
    ]) {
      const { errorCode, details } = await server.fail('fill', { selector, value: 'x' })
      assert.deepEqual([errorCode, details.reason], ['ELEMENT_NOT_EDITABLE', reason], selector)
    }
    const { errorCode, message } = await server.fail('fill', {
      selector: '#day',
      value: 'tomorrow'
    })
    assert.equal(errorCode, 'ELEMENT_NOT_EDITABLE')
    assert.match(message, /does not accept `tomorrow`.*\d{4}-\d\d-\d\d/)
  })

  test('fill_form sets text, number, select, checkbox and radio button in one call', async () => {
    const fields = [
      { selector: 'label=Name', value: 'Ada' },
      { selector: '#count', value: 3 },
      { selector: '#one', value: 'Beta' },
      { selector: '#box', value: true },
      { selector: '#radio1', value: 'yes' }
    ]
    const { message, changes } = await server.ok('fill_form', { fields })
    assert.match(message, /^Filled 5 fields$/)
    assert.match(changes, /Ada/)
    assert.deepEqual(
      await server.evaluate(
        '[document.getElementById("name").value, count.value, one.value, box.checked, radio1.checked]'
      ),
      ['Ada', '3', 'b', true, true]
    )
    await server.ok('fill_form', { fields: [{ selector: '#box', value: false }] })
    assert.equal(await server.evaluate('box.checked'), false)
  })

  test('fill_form reports the failed field and the number of filled fields', async () => {
    const { errorCode, details } = await server.fail('fill_form', {
      fields: [
        { selector: '#name', value: 'Ada' },
        { selector: '#fixed', value: 'x' }
      ]
    })
    assert.equal(errorCode, 'ELEMENT_NOT_EDITABLE')
    assert.deepEqual([details.field, details.filled], ['#fixed', 1])
    assert.equal(await server.evaluate('document.getElementById("name").value'), 'Ada')
    assert.equal(
      (await server.fail('fill_form', { fields: [{ selector: '#name' }] })).errorCode,
      'INVALID_PARAMETERS'
    )
  })

  test('select selects options by value and label, several too, and lists the options if none matches', async () => {
    const { message } = await server.ok('select', { selector: '#one', value: 'b' })
    assert.match(message, /^Chose in combobox "One"/)
    assert.deepEqual(
      await server.evaluate('[one.value, recorded.filter((each) => /input|change/.test(each))]'),
      ['b', ['input one', 'change one']]
    )
    await server.ok('select', { selector: '#one', value: 'Alpha' })
    assert.equal(await server.evaluate('one.value'), 'a')
    await server.ok('select', { selector: '#several', value: ['x', 'z'] })
    assert.deepEqual(
      await server.evaluate('[...several.selectedOptions].map(({ value }) => value)'),
      ['x', 'z']
    )
    for (const [selector, wanted, errorCode, message] of /** @type {const} */ ([
      ['#one', 'Delta', 'ELEMENT_NOT_FOUND', /Alpha, Beta/],
      ['#one', 'Gamma', 'ELEMENT_NOT_EDITABLE', /disabled/],
      ['#name', 'x', 'ELEMENT_NOT_EDITABLE', /not a select element/]
    ])) {
      const error = await server.fail('select', { selector, value: wanted })
      assert.equal(error.errorCode, errorCode)
      assert.match(error.message, message)
    }
  })

  test('check and uncheck click only if necessary: checkboxes, switches, radio buttons', async () => {
    const checked = () =>
      server.evaluate(
        '[box.checked, document.getElementById("switch").ariaChecked, radio1.checked]'
      )
    for (const selector of ['#box', '#switch', '#radio1']) {
      assert.match((await server.ok('check', { selector, timeout: 1000 })).message, /^Checked /)
      await server.ok('check', { selector })
    }
    assert.deepEqual(await checked(), [true, 'true', true])
    assert.equal(
      await server.evaluate('recorded.filter((each) => each.startsWith("click")).length'),
      3
    )
    for (const selector of ['#box', '#switch'])
      await server.ok('uncheck', { selector, timeout: 1000 })
    assert.deepEqual(await checked(), [false, 'false', true])
  })

  test('check and uncheck report impossible states', async () => {
    for (const [tool, selector, code, message] of /** @type {const} */ ([
      ['uncheck', '#radio2', 'ELEMENT_NOT_EDITABLE', /checking another one unchecks it/],
      ['check', '#stuck', 'ELEMENT_NOT_EDITABLE', /did not change/],
      ['check', '#words', 'ELEMENT_NOT_CLICKABLE', /neither checked nor unchecked/],
      ['check', '#off', 'ELEMENT_NOT_CLICKABLE', /is disabled/],
      ['uncheck', '#words', 'ELEMENT_NOT_CLICKABLE', /neither checked nor unchecked/]
    ])) {
      const error = await server.fail(tool, { selector })
      assert.equal(error.errorCode, code, `${tool} ${selector}: ${error.message}`)
      assert.match(error.message, message)
    }
  })

  for (const mode of ['open', 'closed']) {
    test(`fill and check work in ${mode} shadow roots`, async () => {
      const text = await server.ok('snapshot')
      await server.ok('fill', { selector: refIn(text, new RegExp(`"In ${mode}"`)), value: mode })
      await server.ok('check', { selector: refIn(text, new RegExp(`"Box in ${mode}"`)) })
      assert.deepEqual(
        await server.evaluate(
          `[...${mode}Root.querySelectorAll('input')].map((input) => input.type === 'checkbox' ? input.checked : input.value)`
        ),
        [mode, true]
      )
    })
  }

  test('fill, select, check, uncheck and fill_form work in frames', async () => {
    await server.ok('navigate', { url: site.url('/framed') })
    await server.ok('fill', { selector: '#frame >>> #name', value: 'framed' })
    await server.ok('select', { selector: '#frame >>> #one', value: 'Beta' })
    await server.ok('check', { selector: '#frame >>> #box' })
    await server.ok('uncheck', { selector: '#frame >>> #box' })
    await server.ok('fill_form', { fields: [{ selector: '#frame >>> #note', value: 'framed' }] })
    assert.deepEqual(
      await server.evaluate(
        '((frame) => [frame.getElementById("name").value, frame.getElementById("one").value, frame.getElementById("box").checked, frame.getElementById("note").value])(frame.contentDocument)'
      ),
      ['framed', 'b', false, 'framed']
    )
  })
})
