// Elements that cannot be acted on: the error names the element, the reason and the waiting time.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { assertRefusal } from './refusal.mjs'

describe('an element', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/more': `<title>More</title>
        <fieldset disabled><button id="inFieldset">In fieldset</button></fieldset>
        <div style="visibility:hidden"><button id="invisible">Invisible</button></div>
        <button id="empty" style="width:0;height:0;padding:0;border:0;overflow:hidden"></button>
        <div style="position:relative;height:40px"><input id="under" style="width:200px">
          <button id="above" onclick="document.title = 'wrong'" style="position:absolute;inset:0;width:300px">Above</button></div>
        <button id="outside" style="position:fixed;left:-500px;top:10px">Outside</button>
        <button id="aria" aria-disabled="true">Aria</button>
        <a id="gone" href="#x" onclick="this.remove(); return false">Gone</a>
        <label for="box">Box</label><input id="box" type="checkbox">`
    }
  })

  const at = (path) => server.ok('navigate', { url: site.url(path) })
  const clicked = async () =>
    (await server.ok('evaluate', { script: 'clicks.map(({ id }) => id)' })).value

  const refusedClick = (selector, reason, message) =>
    assertRefusal(
      server,
      'click',
      { selector, timeout: 150 },
      { errorCode: 'ELEMENT_NOT_CLICKABLE', reason, message, retryable: false, within: 1500 }
    )

  for (const [path, selector, reason, message] of [
    [
      '/buttons',
      '#hidden',
      'hidden',
      /button "Hidden".*is hidden: display: none.*waited 1[45]\d ms/
    ],
    ['/buttons', '#off', 'disabled', /button "Disabled".*is disabled.*waited 1[45]\d ms/],
    [
      '/buttons',
      '#covered',
      'covered',
      /button "Covered".*is covered by <div#cover>.*waited 1[45]\d ms/
    ],
    ['/buttons', '#moving', 'moving', /button "Moving".*is moving.*waited 1[45]\d ms/],
    ['/more', '#inFieldset', 'disabled', /button "In fieldset".*is disabled/],
    ['/more', '#invisible', 'hidden', /is hidden: visibility: hidden.*<div/],
    ['/more', '#empty', 'hidden', /is hidden/],
    ['/more', '#under', 'covered', /textbox.*is covered by <button#above>/],
    ['/more', '#outside', 'ELEMENT_NOT_INTERACTIVE', /button "Outside".*outside of the viewport/],
    ['/more', '#aria', 'disabled', /button "Aria".*is disabled/]
  ]) {
    test(`${selector} of ${path} is not clicked: ${reason}`, async () => {
      await at(path)
      const error = await refusedClick(selector, reason, message)
      assert.match(error.details.ref, /^e\d+$/)
      if (reason === 'covered') assert.match(error.details.covering, /^<\w+#\w+>$/)
      if (path === '/buttons') {
        assert.deepEqual(await clicked(), [])
        await server.ok('click', { selector: '#plain' })
        assert.deepEqual(await clicked(), ['plain'])
      } else {
        assert.equal((await server.ok('evaluate', { script: 'document.title' })).value, 'More')
      }
    })
  }

  test('that keeps moving is never considered stable, in any number of attempts', async () => {
    await at('/buttons')
    for (let timeout = 90; timeout < 300; timeout += 35) {
      await assertRefusal(
        server,
        'click',
        { selector: '#moving', timeout },
        { errorCode: 'ELEMENT_NOT_CLICKABLE', reason: 'moving' }
      )
    }
  })

  for (const [selector, reason, message, suggestion] of /** @type {const} */ ([
    ['#fixed', 'read-only', /textbox.*is read-only.*waited 1[45]\d ms/],
    ['#off', 'disabled', /textbox.*is disabled/],
    ['#agree', 'not-a-text-field', /checkbox.*accepts no text/],
    ['#pick', 'not-a-text-field', /is a select element, which accepts no text/],
    ['#words', 'not-a-text-field', /accepts no text.*<p#words>/, /text field/]
  ])) {
    test(`${selector} is not typed into: ${reason}`, async () => {
      await at('/form')
      const expected = {
        errorCode: 'ELEMENT_NOT_EDITABLE',
        reason,
        message,
        suggestion,
        retryable: false,
        within: 1500
      }
      await assertRefusal(server, 'type', { selector, text: 'x', timeout: 150 }, expected)
      await server.ok('type', { selector: '#name', text: 'goes on' })
      assert.equal(
        (await server.ok('evaluate', { script: 'document.getElementById("name").value' })).value,
        'goes on'
      )
    })
  }

  test('gets suggestions only of tools that exist', async () => {
    await at('/form')
    const { tools } = (await server.request('tools/list')).result
    for (const selector of ['#agree', '#pick']) {
      const { json } = await server.call('type', { selector, text: 'x', timeout: 100 })
      const tool = /Use `(\w+)` for it/.exec(json.suggestion)?.[1]
      assert.ok(
        tools.some(({ name }) => name === tool),
        `no tool \`${tool}\`: ${json.suggestion}`
      )
    }
  })

  test('that does not exist is an error that lists similar ones', async () => {
    await at('/form')
    const expected = {
      errorCode: 'ELEMENT_NOT_FOUND',
      message: /nothing matches `#password2`.*waited 1[45]\d ms/,
      retryable: false,
      within: 1500
    }
    const { suggestion } = await assertRefusal(
      server,
      'click',
      { selector: '#password2', timeout: 150 },
      expected
    )
    const [ref] = /e\d+/.exec(suggestion) ?? []
    assert.ok(ref, suggestion)
    // The ref of the suggestion can be used as it is.
    assert.equal((await server.ok('type', { selector: ref, text: 'secret' })).success, true)
    assert.equal(
      (
        await server.ok('evaluate', {
          script: 'document.getElementById("password").value === "secret"'
        })
      ).value,
      true
    )
  })

  test('that is one of several matches must be identified by its ref', async () => {
    await at('/buttons')
    const expected = {
      errorCode: 'ELEMENT_AMBIGUOUS',
      message: /`.twin` matches 2 elements/,
      suggestion: /ref/,
      retryable: false,
      within: 500
    }
    const { details } = await assertRefusal(server, 'click', { selector: '.twin' }, expected)
    assert.equal(details.matches.length, 2)
    await server.ok('click', { selector: details.matches[1].ref })
    assert.equal((await clicked()).length, 1)
  })

  test('that was removed is not found by its ref', async () => {
    await at('/more')
    const ref = /\[ref=(e\d+)\]/.exec(
      (await server.ok('click', { selector: '#gone' })).message
    )?.[1]
    const expected = {
      errorCode: 'ELEMENT_NOT_FOUND',
      reason: 'stale',
      message: /no longer in the page/,
      suggestion: /snapshot/,
      within: 500
    }
    await assertRefusal(server, 'click', { selector: ref }, expected)
    // The ref of an earlier document does not match an element of the current one.
    const [, old] = /\[ref=(e\d+)\]/.exec(await server.ok('snapshot')) ?? []
    await at('/form')
    await assertRefusal(server, 'click', { selector: old }, expected)
  })

  for (const [selector, message] of /** @type {const} */ ([
    ['', /target is empty/],
    ['   ', /target is empty/],
    ['#a:::b', /#a:::b/],
    ['div >', /div >/],
    ['//*[', /\/\/\*\[/],
    ['role=nonsense[', /role=nonsense\[/]
  ])) {
    test(`named by ${JSON.stringify(selector)} is INVALID_SELECTOR, at once`, async () => {
      await at('/form')
      await assertRefusal(
        server,
        'click',
        { selector },
        { errorCode: 'INVALID_SELECTOR', message, retryable: false, within: 500 }
      )
    })
  }
})
