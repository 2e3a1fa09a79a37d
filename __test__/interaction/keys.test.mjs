// press, and the keys of type: events as defined by UI Events.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { renderPage } from '../support/html.mjs'
import { startShared } from '../support/scope.mjs'

const KEYS = renderPage(
  'Keys',
  `<input id="field" aria-label="Field" value="some words" autofocus><textarea id="note" aria-label="Note"></textarea><button id="next">Next</button>
  <iframe id="frame" srcdoc="<input id=inner autofocus>"></iframe>
  <script>
    window.recorded = []
    for (const type of ['keydown', 'keypress', 'beforeinput', 'input', 'keyup', 'change', 'submit']) addEventListener(type, (event) => {
      const { key, code, keyCode, location, shiftKey, ctrlKey, altKey, metaKey, isTrusted, inputType } = event
      recorded.push({ type, key, code, keyCode, location, held: [shiftKey && 'Shift', ctrlKey && 'Control', altKey && 'Alt', metaKey && 'Meta'].filter(Boolean).join(), isTrusted, inputType })
    }, true)
  </script>`
)

/**
 * Keys of `press`, and `key code keyCode` of their events. Some numbers differ between browsers.
 */
const PRESSED = [
  ['a', 'a KeyA 65'],
  ['A', 'A KeyA 65'],
  ['5', '5 Digit5 53'],
  ['?', '? Slash 191'],
  ['+', BROWSER === 'firefox' ? '+ Equal 61' : '+ Equal 187'],
  ['Space', '  Space 32'],
  ['Enter', 'Enter Enter 13'],
  ['Tab', 'Tab Tab 9'],
  ['Escape', 'Escape Escape 27'],
  ['Backspace', 'Backspace Backspace 8'],
  ['Delete', 'Delete Delete 46'],
  ['Insert', 'Insert Insert 45'],
  ['Home', 'Home Home 36'],
  ['End', 'End End 35'],
  ['PageUp', 'PageUp PageUp 33'],
  ['PageDown', 'PageDown PageDown 34'],
  ['ArrowLeft', 'ArrowLeft ArrowLeft 37'],
  ['ArrowUp', 'ArrowUp ArrowUp 38'],
  ['ArrowRight', 'ArrowRight ArrowRight 39'],
  ['ArrowDown', 'ArrowDown ArrowDown 40'],
  ['F1', 'F1 F1 112'],
  ['F12', 'F12 F12 123'],
  ['Shift', 'Shift ShiftLeft 16'],
  ['Control', 'Control ControlLeft 17'],
  ['Alt', 'Alt AltLeft 18'],
  ['Meta', 'Meta MetaLeft 91'],
  ['CapsLock', 'CapsLock CapsLock 20'],
  ['ContextMenu', 'ContextMenu ContextMenu 93'],
  ['Pause', 'Pause Pause 19'],
  ['PrintScreen', 'PrintScreen PrintScreen 44'],
  ['NumLock', 'NumLock NumLock 144'],
  ['ScrollLock', 'ScrollLock ScrollLock 145'],
  ['F24', 'F24 F24 135']
]

const NOT_IN_BIDI = [
  'CapsLock',
  'ContextMenu',
  'Pause',
  'PrintScreen',
  'NumLock',
  'ScrollLock',
  'F24'
]

describe('keys', { timeout: 60_000 }, () => {
  const { server, site } = startShared({ routes: { '/keys': KEYS } })
  beforeEach(async () => {
    await server.ok('navigate', { url: site.url('/keys') })
    await server.ok('evaluate', { script: 'field.focus(), field.select()' })
  })

  /** @returns {Promise<any[]>} */
  const recorded = () => server.evaluate('recorded.splice(0)')

  test('press dispatches the events of each key', async () => {
    for (const [name, expected] of PRESSED.filter(
      ([name]) => BROWSER !== 'firefox' || !NOT_IN_BIDI.includes(name)
    )) {
      await server.ok('evaluate', { script: 'field.focus(), recorded.splice(0), 0' })
      const { message } = await server.ok('press', { key: name })
      assert.match(message, /^Pressed `/)
      const [down] = await recorded()
      assert.deepEqual(
        [down.type, `${down.key} ${down.code} ${down.keyCode}`, down.isTrusted],
        ['keydown', expected, true],
        name
      )
    }
  })

  test('a single modifier is the left one', async () => {
    for (const key of ['Shift', 'Control', 'Alt', 'Meta']) {
      await server.ok('press', { key })
      assert.deepEqual(
        (await recorded()).map(({ type, location, held }) => [type, location, held]),
        [
          ['keydown', 1, key],
          ['keyup', 1, '']
        ],
        key
      )
    }
  })

  test('a character dispatches keydown, keypress, beforeinput, input, keyup; a command inserts no text', async () => {
    await server.ok('press', { key: 'x' })
    assert.deepEqual(
      (await recorded()).map(({ type }) => type),
      ['keydown', 'keypress', 'beforeinput', 'input', 'keyup']
    )
    assert.equal(await server.evaluate('field.value'), 'x')
    await server.ok('press', { key: 'Control+b' })
    assert.deepEqual(
      (await recorded()).map(({ type, key, held }) => [type, key, held]),
      [
        ['keydown', 'Control', 'Control'],
        ['keydown', 'b', 'Control'],
        ['keyup', 'b', 'Control'],
        ['keyup', 'Control', '']
      ]
    )
    assert.equal(await server.evaluate('field.value'), 'x')
  })

  test('shortcuts select, copy, cut, paste and undo', async () => {
    const selected = () =>
      server.evaluate('field.value.slice(field.selectionStart, field.selectionEnd)')
    await server.ok('press', { key: 'End' })
    for (const [key, expected] of [
      ['Control+A', 'some words'],
      ['ArrowRight', ''],
      ['ControlOrMeta+A', 'some words'],
      ['End', ''],
      ['Shift+Home', 'some words'],
      ['End', ''],
      ['Control+Shift+ArrowLeft', 'words']
    ]) {
      await server.ok('press', { key })
      assert.equal(await selected(), expected, key)
    }
    await server.ok('press', { key: 'x', modifiers: ['Control'] })
    assert.equal(await server.evaluate('field.value'), 'some ')
    await server.ok('press', { key: 'Control+V' })
    await server.ok('press', { key: 'v', modifiers: ['ControlOrMeta'] })
    assert.equal(await server.evaluate('field.value'), 'some wordswords')
    await server.ok('press', { key: 'Control+Z' })
    assert.equal(await server.evaluate('field.value'), 'some words')
  })

  test('`modifiers` are held around the key, alone and combined', async () => {
    for (const modifier of ['Alt', 'Control', 'Meta', 'Shift']) {
      await server.ok('press', { key: 'F2', modifiers: [modifier] })
      assert.deepEqual(
        (await recorded()).map(({ type, key, held }) => [type, key, held]),
        [
          ['keydown', modifier, modifier],
          ['keydown', 'F2', modifier],
          ['keyup', 'F2', modifier],
          ['keyup', modifier, '']
        ]
      )
    }
    await server.ok('press', { key: 'Shift+F2', modifiers: ['Alt', 'Control'] })
    assert.equal((await recorded()).find(({ key }) => key === 'F2').held, 'Shift,Control,Alt')
  })

  test('Tab moves the focus, Enter and Space activate the focused element', async () => {
    await server.evaluate('next.onclick = () => { next.textContent += "!" }')
    await server.ok('press', { key: 'Tab' })
    await server.ok('press', { key: 'Tab' })
    assert.equal(await server.evaluate('document.activeElement.id'), 'next')
    await server.ok('press', { key: 'Enter' })
    const { changes } = await server.ok('press', { key: 'Space' })
    assert.match(changes, /Next!!/)
    await server.ok('press', { key: 'Shift+Tab' })
    assert.equal(await server.evaluate('document.activeElement.id'), 'note')
  })

  test('press acts on the focused element, in frames too', async () => {
    await server.ok('click', { selector: '#frame >>> #inner' })
    await server.ok('press', { key: 'z' })
    assert.equal(await server.evaluate('frame.contentDocument.getElementById("inner").value'), 'z')
  })

  test('an unknown key is rejected with examples', async () => {
    for (const key of ['', 'Foo', 'Control+', 'ab', 'Hyper+a']) {
      const { json } = await server.call('press', { key })
      assert.equal(json.errorCode, 'INVALID_PARAMETERS', key)
      assert.match(json.suggestion, /ArrowDown/)
    }
  })

  test('type presses a key for each character, including line breaks and tabs', async () => {
    await server.ok('type', { selector: '#note', text: 'aB\n!', timeout: 1000 })
    const events = (await recorded()).filter(({ type }) => type === 'keydown' || type === 'input')
    assert.deepEqual(
      events.map(({ type, key, code, inputType }) =>
        [type, key ?? inputType, code].filter(Boolean).join(' ')
      ),
      [
        'keydown a KeyA',
        'input insertText',
        'keydown B KeyB',
        'input insertText',
        'keydown Enter Enter',
        'input insertLineBreak',
        'keydown ! Digit1',
        'input insertText'
      ]
    )
    assert.equal(await server.evaluate('note.value'), 'aB\n!')
  })
})
