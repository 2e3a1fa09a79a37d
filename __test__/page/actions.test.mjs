// Actionability of elements, input into fields, and reads of a page.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from '../support/scope.mjs'
import { until } from '../support/wait.mjs'
import { sharedPage } from './world.mjs'

/**
 * Waits until `target` is actionable.
 * @param {import('./world.mjs').World} world
 * @param {string} target
 * @param {object} [more]
 */
const ready = (world, target, more) =>
  world.call('waitActionable', {
    refs: { prefix: 'e', next: 100 },
    target,
    action: 'click',
    timeout: 2000,
    ...more
  })

describe('actionability', { timeout: 60_000 }, () => {
  const page = sharedPage(shared())

  /** Returns why an element is not actionable, after a short wait. */
  const refusal = async (world, target, more) => {
    const { error } = await ready(world, target, { timeout: 60, ...more })
    return `${error.code}: ${error.message} ${error.suggestion ?? ''}`
  }

  test('a covering element is reported, and the wait ends when it is removed', async () => {
    const world = await page.open(
      '<div id=o style="position:fixed;inset:0" class=modal></div><button id=c>Covered</button>'
    )
    assert.match(
      await refusal(world, '#c'),
      /^ELEMENT_NOT_CLICKABLE: button "Covered" .*is covered by <div#o\.modal>/
    )
    const waiting = ready(world, '#c')
    await world.page.evaluate(() => document.querySelector('#o').remove())
    assert.equal((await waiting).ok, true)
  })

  test('after document.open, clicks are guarded and download clicks are reported', async () => {
    const world = await page.open('<button>Old</button>')
    await world.call('snapshot')
    await world.page.evaluate(() => {
      document.open()
      document.write('<a id=c href="data:,x" download style="position:fixed;inset:0">Save</a>')
      document.close()
    })
    assert.equal((await ready(world, '#c', { guard: true })).ok, true)
    await world.page.evaluate(() => {
      const cover = Object.assign(document.createElement('div'), {
        id: 'cover',
        style: 'position:fixed;inset:0'
      })
      cover.onclick = () => document.body.append('pressed')
      document.body.append(cover)
    })
    await world.page.mouse.click(50, 50)
    assert.equal((await world.call('awaitTick')).covered, '<div#cover>')
    assert.doesNotMatch(await world.page.innerText('body'), /pressed/)
    await world.page.evaluate(() => document.querySelector('#cover').remove())
    await world.page.mouse.click(50, 50)
    assert.equal((await world.call('awaitTick')).download, true)
  })

  /**
   * By state: the element, the statement that makes it actionable, and the message.
   * @type {[string, string, string, RegExp][]}
   */
  const HEALED = [
    [
      'disabled',
      '<button id=c disabled>D</button>',
      "document.querySelector('#c').disabled = false",
      /is disabled/
    ],
    [
      'disabled with its group',
      '<fieldset disabled><button id=c>D</button></fieldset>',
      "document.querySelector('fieldset').disabled = false",
      /is disabled/
    ],
    [
      'hidden by what is above it',
      '<div style="display:none" id=w><button id=c>D</button></div>',
      "document.querySelector('#w').style.display = ''",
      /is hidden: display: none.*\(by <div#w>\)/
    ],
    [
      'not there yet',
      '<p>x</p>',
      "document.body.innerHTML += '<button id=c>late</button>'",
      /^ELEMENT_NOT_FOUND: .*waited 60 ms/
    ]
  ]
  for (const [state, html, heal, reason] of HEALED) {
    test(`an element that is ${state} is awaited, or reported at the timeout`, async () => {
      const world = await page.open(html)
      assert.match(await refusal(world, '#c'), reason)
      const waiting = ready(world, '#c')
      await world.page.evaluate(heal)
      assert.equal((await waiting).ok, true)
    })
  }

  test('a moving element is awaited until it is stable', async () => {
    const world = await page.open(
      '<style>@keyframes m { to { transform: translateX(300px) } } #c { animation: m 0.4s linear }</style><button id=c>Moving</button>'
    )
    const { ok, x } = await ready(world, '#c')
    assert.equal(ok, true)
    const box = await world.page.locator('#c').boundingBox()
    assert.ok(box && x > box.x && x < box.x + box.width, `${x} is where the button was`)
  })

  test('an element with an inactive scroll animation is stable', async () => {
    const world = await page.open(
      '<style>@keyframes m { to { transform: translateX(300px) } } #c { animation: m linear; animation-timeline: scroll() }</style><button id=c>Still</button>'
    )
    assert.equal((await ready(world, '#c')).ok, true)
  })

  test('an element that never stops moving is reported, and `force` skips the check', async () => {
    const world = await page.open(
      '<style>@keyframes m { to { transform: rotate(360deg) } } #c { animation: m 1s linear infinite }</style><button id=c>Spin</button>'
    )
    assert.match(await refusal(world, '#c', { timeout: 200 }), /is moving/)
    assert.equal((await ready(world, '#c', { force: true })).ok, true)
  })

  test('an element outside of the viewport is scrolled into view, not under a sticky header', async () => {
    const below = await page.open('<div style="height:3000px"></div><button id=c>Below</button>')
    const { y } = await ready(below, '#c')
    assert.ok(y > 0 && y < 800, `${y}`)
    const under = await page.open(
      '<div style="position:sticky;top:0;height:60px;background:red;z-index:1">head</div><div style="height:500px"></div><a href=# id=c>x</a><div style="height:3000px"></div>'
    )
    await under.page.evaluate(() => scrollTo(0, 540))
    assert.equal((await ready(under, '#c')).ok, true)
  })

  test('the hit target can be a wrapped link, a span in a button or the label of a hidden checkbox', async () => {
    const world =
      await page.open(`<p style="width:150px">some long text before <a id=c href=#>a link that wraps over lines</a></p>
      <button><span id=s style="pointer-events:none">in</span></button><label for=h>Lab</label><input type=checkbox id=h style="display:none">`)
    assert.equal((await ready(world, '#c')).ok, true)
    assert.equal((await ready(world, '#s')).ok, true)
    const checked = await ready(world, '#h', { action: 'check' })
    assert.deepEqual([checked.ok, checked.tag], [true, 'label'])
  })

  test('an element that accepts no text is reported with an alternative', async () => {
    const world = await page.open(
      '<input id=r readonly value=1><div id=d>x</div><input type=checkbox id=k><select id=s></select><div style="width:0;height:0"><div id=z></div></div>'
    )
    assert.match(
      await refusal(world, '#r', { action: 'fill' }),
      /^ELEMENT_NOT_EDITABLE: .*is read-only/
    )
    assert.match(
      await refusal(world, '#d', { action: 'type' }),
      /^ELEMENT_NOT_EDITABLE: .*accepts no text/
    )
    assert.match(await refusal(world, '#k', { action: 'fill' }), /Use `check`/)
    assert.match(await refusal(world, '#s', { action: 'type' }), /Use `select`/)
    assert.match(await refusal(world, '#z'), /its box is empty/)
  })
})

describe('fields', { timeout: 60_000 }, () => {
  const page = sharedPage(shared())
  const FIELDS = `<input id=i value=old><input id=d type=date><input id=n type=number><input id=c type=color><textarea id=t></textarea>
    <div id=e contenteditable>old</div><input id=m maxlength=3><select id=s><option value=a>Alpha<option value=b>Beta<option disabled>No</select>
    <select id=mu multiple><option>1<option>2</select><input id=p type=password><input id=ch type=checkbox checked>
    <script>window.log = []; for (const type of ['input', 'change']) document.addEventListener(type, (event) => log.push(type + ':' + event.target.id), true)</script>`

  /** Calls a function with the element of a selector. */
  const on = async (world, name, target, more) =>
    world.call(name, { ref: (await world.call('resolve', { target })).ref, ...more })
  const ready = async (world, target, replace) =>
    world.call('waitActionable', { target, action: 'type', timeout: 1000, focus: { replace } })

  test('fill sets the normalized value and dispatches the events of user input', async () => {
    const world = await page.open(FIELDS)
    const filled = async (target, value) => (await on(world, 'fill', target, { value })).value
    assert.equal(await filled('#i', 'new'), 'new')
    assert.equal(await world.page.evaluate('log.splice(0).join()'), 'input:i,change:i')
    assert.equal(await filled('#d', '2026-11-21'), '2026-11-21')
    assert.equal(await filled('#n', '1.50'), '1.50')
    assert.equal(await filled('#c', '#FF0000'), '#ff0000')
    assert.equal(await filled('#t', 'a\nb'), 'a\nb')
    assert.equal(await filled('#e', 'brand new'), 'brand new')
    assert.equal(await filled('#m', 'abcdef'), 'abc')
    assert.equal((await on(world, 'fill', '#p', { value: 'hunter2' })).password, true)
  })

  test('an invalid value for the field type is rejected', async () => {
    const world = await page.open(FIELDS)
    for (const [target, value] of [
      ['#d', 'tomorrow'],
      ['#n', 'abc']
    ]) {
      const { error } = await on(world, 'fill', target, { value })
      assert.deepEqual([error.code, error.details.reason], ['ELEMENT_NOT_EDITABLE', 'malformed'])
    }
  })

  test('options are selected by value, label or index, and listed if none matches', async () => {
    const world = await page.open(FIELDS)
    const chosen = async (target, ...values) =>
      (await on(world, 'select', target, { values })).selected?.map(({ label }) => label)
    const refused = async (value) =>
      (await on(world, 'select', '#s', { values: [value] })).error.message
    assert.deepEqual(await chosen('#s', 'Beta'), ['Beta'])
    assert.deepEqual(await chosen('#s', 'a'), ['Alpha'])
    assert.deepEqual(await chosen('#s', '#1'), ['Beta'])
    assert.deepEqual(await chosen('#mu', '1', '2'), ['1', '2'])
    assert.match(await refused('Gamma'), /no option.*Alpha, Beta/)
    assert.match(await refused('No'), /disabled/)
    assert.equal((await on(world, 'checkedState', '#ch')).checked, true)
  })

  test('focusing with `replace` selects the contents', async () => {
    const world = await page.open(FIELDS)
    assert.equal((await ready(world, '#i', true)).focused, true)
    assert.equal(await world.page.evaluate('getSelection().toString()'), 'old')
  })

  test('an editable body accepts the focus and keeps its selection', async () => {
    const world = await page.open('<body contenteditable><p>old text</p>')
    await world.page.click('body')
    await world.page.keyboard.press('ControlOrMeta+A')
    assert.equal((await ready(world, 'body', false)).focused, true)
    assert.equal(await world.page.evaluate('getSelection().toString().trim()'), 'old text')
    assert.match((await world.call('snapshot')).text, /^- textbox \[active\] \[ref=e1\]/)
  })

  test('the change count includes values set by scripts and document.open', async () => {
    const world = await page.open(FIELDS)
    const changes = async (script) => {
      await world.call('snapshot')
      await world.page.evaluate(script)
      return (await world.call('mutations')).changed
    }
    assert.equal(await changes('0'), false)
    assert.equal(await changes("document.querySelector('#i').value = 'script'"), true)
    assert.equal(await changes("document.body.append('x')"), true)
  })

  test('form data is saved and restored, without passwords', async () => {
    const world = await page.open(
      '<input id=i><input id=p type=password><input id=shown autocomplete=current-password><input type=checkbox id=c>'
    )
    await world.page.fill('#i', 'x')
    await world.page.fill('#p', 'secret')
    await world.page.check('#c')
    await world.page.fill('#shown', 'secret')
    const { document: saved, version: first } = await world.call('saveState')
    assert.equal(saved.fields.length, 2)
    assert.doesNotMatch(JSON.stringify(saved), /secret/)
    // The browser reports the last selection in its own task.
    let version = first
    const isUnchanged = async () => {
      const { document: changed, version: now } = await world.call('saveState', { known: version })
      version = now
      return changed === undefined
    }
    await until(isUnchanged, 'a state without changes')
    await world.page.evaluate(
      "document.querySelector('#i').value = ''; document.querySelector('#c').checked = false"
    )
    const { fields, missing, stale } = await world.call('restoreState', {
      ...saved,
      savedRefs: saved.refs,
      searchTimeout: 0
    })
    assert.deepEqual({ fields, missing, stale }, { fields: 2, missing: 0, stale: [] })
    assert.equal(
      await world.page.evaluate(
        "document.querySelector('#i').value + document.querySelector('#c').checked"
      ),
      'xtrue'
    )
  })
})

describe('reads', { timeout: 60_000 }, () => {
  const page = sharedPage(shared())

  test('a table is extracted with its spans and headers', async () => {
    const world =
      await page.open(`<table id=t><thead><tr><th rowspan=2>Name<th colspan=2>Score</tr><tr><th>A<th>B</tr></thead>
      <tbody><tr><th scope=row>Ann<td>1<td rowspan=2>2</tr><tr><th>Bob<td>3</tr></tbody></table>`)
    const { headers, rows } = await world.call('table', { target: '#t' })
    assert.deepEqual(headers, ['Name', 'Score / A', 'Score / B'])
    assert.deepEqual(rows, [
      ['Ann', '1', '2'],
      ['Bob', '3', '2']
    ])
  })

  test('links have absolute URLs', async () => {
    const world = await page.open(
      '<base href="http://127.0.0.1/a/"><a href=/x>L1</a><a href="y">L2</a><a href="https://e.org/">L3</a><a>no link</a>'
    )
    const { links } = await world.call('links')
    assert.deepEqual(
      links.map(({ text, url }) => `${text} ${url}`),
      ['L1 http://127.0.0.1/x', 'L2 http://127.0.0.1/a/y', 'L3 https://e.org/']
    )
  })

  test('`find` searches folded elements too, and shows the matching row', async () => {
    const rows = Array.from(
      { length: 400 },
      (_, index) => `<tr><td>Person ${index}<td><button>Edit ${index}</button>`
    ).join('')
    const world = await page.open(`<table>${rows}</table>`)
    const { text, count } = await world.call('find', { text: 'person 399' })
    assert.equal(count, 1)
    assert.match(
      text,
      /^- table .*\n {2}- row:\n.*"Person 399"\n.*\n? *- button "Edit 399" \[ref=e\d+\]$/
    )
  })

  test('text and HTML contain shadow roots, but no hidden elements', async () => {
    const world = await page.open(
      '<h1>H</h1><div id=h></div><p>vis</p><p hidden>hid</p><script>h.attachShadow({ mode: "open" }).innerHTML = "<p>shadow</p>"</script>'
    )
    const { html } = await world.call('html')
    const { text } = await world.call('text')
    for (const part of ['shadow', 'vis'])
      assert.ok(text.includes(part) && html.includes(part), part)
    assert.match(html, /<h1>H/)
    assert.ok(!text.includes('hid') && !html.includes('hid<'))
  })

  test('metadata, attributes, states and lists of elements are read', async () => {
    const world = await page.open(
      '<meta name=description content=D><script type="application/ld+json">{"a":1}</script><h1>H</h1><p>a</p><p>b</p><p hidden>c</p><a href=rel>r</a><input id=i>'
    )
    const { description, jsonLd, headings } = await world.call('metadata')
    assert.deepEqual(
      { description, jsonLd, headings },
      { description: 'D', jsonLd: [{ a: 1 }], headings: [{ level: 1, text: 'H' }] }
    )
    const { visible, hiddenBecause } = await world.call('state', { target: 'p[hidden]' })
    assert.deepEqual({ visible, hiddenBecause }, { visible: false, hiddenBecause: 'display: none' })
    assert.equal((await world.call('list', { target: 'p' })).count, 3)
    assert.equal((await world.call('attribute', { target: 'a', attribute: 'href' })).value, 'rel')
    const { ref } = await world.call('resolve', { target: '#i' })
    assert.equal((await world.call('describe', { ref })).path, '#i')
  })

  test('annotations contain the boxes of visible elements with refs', async () => {
    const world = await page.open(
      '<button>a</button><input><a href=#>c</a><div style="height:3000px"></div><button>below</button>'
    )
    await world.call('snapshot')
    assert.equal((await world.call('annotations')).boxes.length, 3)
    assert.equal((await world.call('saveState')).document.refs.length, 4)
  })
})
