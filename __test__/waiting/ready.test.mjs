// Actions wait until their element is visible, enabled, stable and receives events, and no longer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { until } from '../support/wait.mjs'

// Changes happen when the server responds to /go, so that no call can be in time by chance.
const later = (
  body,
  script
) => `<!doctype html><title>Later</title>${body}<div id="out"></div><script>
  window.clicks = 0
  const ready = () => { ${script} }
  fetch('/go').then(ready)
</script>`

const BUTTON = '<button id="target" onclick="clicks++">Target</button>'

/** The initial state of an element, and its change. */
const PAGES = {
  '/appears': later('', `document.body.insertAdjacentHTML('beforeend', '${BUTTON}')`),
  '/shown': later(
    `<div id="hidden" style="display:none">${BUTTON}</div>`,
    `hidden.style.display = 'block'`
  ),
  '/enabled': later(BUTTON.replace('id=', 'disabled id='), 'target.disabled = false'),
  '/fieldset': later(
    `<fieldset id="group" disabled>${BUTTON}</fieldset>`,
    'group.disabled = false'
  ),
  '/aria-enabled': later(
    BUTTON.replace('id=', 'aria-disabled="true" id='),
    `target.removeAttribute('aria-disabled')`
  ),
  '/rests': later(
    `${BUTTON}<style>@keyframes move { from { margin-left: 0 } to { margin-left: 400px } } #target { animation: move 0.3s linear infinite alternate }</style>`,
    `target.style.animation = 'none'`
  ),
  '/uncovered': later(
    `${BUTTON}<div id="cover" style="position:fixed;inset:0;background:#0008">Please wait</div>`,
    'cover.remove()'
  ),
  '/by-rule': later(
    `<style id="rules">#target { visibility: hidden }</style>${BUTTON}`,
    'rules.sheet.deleteRule(0)'
  ),
  '/in-shadow': later(
    '<div id="host"></div>',
    `const root = host.attachShadow({ mode: 'open' }); root.innerHTML = '<button id="target">Target</button>'; root.querySelector('button').onclick = () => clicks++`
  ),
  '/replaced': later(BUTTON.replace('id=', 'disabled id='), `target.outerHTML = '${BUTTON}'`)
}

const FIELDS = {
  '/field-appears': later(
    '',
    `document.body.insertAdjacentHTML('beforeend', '<input id="field">')`
  ),
  '/field-enabled': later('<input id="field" disabled>', 'field.disabled = false'),
  '/field-writable': later('<input id="field" readonly>', 'field.readOnly = false'),
  '/field-shown': later(
    '<input id="field" style="visibility:hidden">',
    `field.style.visibility = 'visible'`
  )
}

describe('an action waits', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/go': (_request, response) => response.end('go'),
      ...PAGES,
      ...FIELDS,
      '/next': `<title>Next</title>${BUTTON}`,
      '/leaves': `<title>Leaves</title><script>fetch('/go').then(() => { location.href = '/next' })</script>`,
      '/leaves-now': `<title>Leaves now</title><script>window.clicks = 0; setTimeout(() => { location.href = '/slow-next' })</script>`,
      '/slow-next': (_request, response) =>
        setTimeout(
          () =>
            response.end(
              '<title>Next</title><script>clicks = 0</script><button id="target" onclick="clicks++">Target</button>'
            ),
          150
        ),
      '/below': `<title>Below</title><div style="height:5000px"></div><div style="overflow:auto;height:100px"><div style="height:900px"></div>${BUTTON}</div><script>clicks = 0</script>`,
      '/sticky': `<title>Sticky</title><div style="position:sticky;top:0;height:60%;background:#ccc">Header</div><div style="height:2000px"></div>${BUTTON}<div style="height:2000px"></div><script>clicks = 0</script>`,
      '/drawn': `<title>Drawn</title><style>@keyframes blink { to { opacity: 0.5; color: red } } #target { animation: blink 0.2s infinite alternate }</style>${BUTTON}<script>clicks = 0</script>`
    }
  })

  /**
   * Acts on an element that is not ready, checks that the call waits, makes the element ready, and
   * returns the time that the call took from then on.
   */
  async function actsOnceReady(path, tool, args) {
    const go = site.hold('/go')
    await server.ok('navigate', { url: site.url(path), waitUntil: 'domcontentloaded' })
    await go.requested
    let answered = false
    const call = server.call(tool, args).finally(() => (answered = true))
    // Long enough for several checks.
    const begun = performance.now()
    await until(() => answered || performance.now() - begun > 150, 'a moment')
    assert.ok(!answered, 'it acted on what was not ready')
    go.release()
    const released = performance.now()
    const { json, text, isError } = await call
    assert.ok(!isError, text)
    assert.ok(
      performance.now() - released < 1000,
      `it took ${performance.now() - released} ms more`
    )
    return json
  }

  for (const path of Object.keys(PAGES)) {
    test(`click: ${path.slice(1)}`, async () => {
      const { message } = await actsOnceReady(path, 'click', { selector: '#target' })
      assert.match(message, /Clicked button "Target"/)
      assert.equal(await server.evaluate('clicks'), 1)
    })
  }

  for (const path of Object.keys(FIELDS)) {
    test(`type: ${path.slice(1)}`, async () => {
      await actsOnceReady(path, 'type', { selector: '#field', text: 'abc' })
      assert.equal(await server.evaluate('field.value'), 'abc')
    })
  }

  test('in the next page, if the current one navigates', async () => {
    await actsOnceReady('/leaves', 'click', { selector: '#target' })
    assert.equal(await server.evaluate('document.title'), 'Next')
    await server.ok('navigate', { url: site.url('/leaves-now') })
    await server.ok('click', { selector: '#target' })
    assert.equal(await server.evaluate('clicks'), 1)
  })

  test('not at all for an element that can be scrolled into view', async () => {
    for (const path of ['/below', '/sticky']) {
      await server.ok('navigate', { url: site.url(path) })
      const { ms } = await server.call('click', { selector: '#target' })
      assert.equal(await server.evaluate('clicks'), 1, path)
      assert.ok(ms < 1000, `${path}: ${ms} ms`)
    }
  })

  test('not at all for an animation that does not move the element', async () => {
    await server.ok('navigate', { url: site.url('/drawn') })
    const { ms } = await server.call('click', { selector: '#target' })
    assert.equal(await server.evaluate('clicks'), 1)
    assert.ok(ms < 500, `${ms} ms`)
  })

  test('no longer than its `timeout`', async () => {
    await server.ok('navigate', { url: site.url('/form') })
    for (const timeout of [1, 100, 500]) {
      const { json, ms } = await server.call('click', { selector: '#none', timeout })
      assert.equal(json.errorCode, 'ELEMENT_NOT_FOUND')
      assert.ok(ms >= timeout - 20 && ms < timeout + 500, `${ms} ms for ${timeout}`)
    }
  })

  test('without a limit for a `timeout` of 0', async (t) => {
    const impatient = await startServer(t, [
      '--timeout-action',
      '100',
      '--timeout-navigation',
      '400'
    ])
    await impatient.ok('navigate', { url: site.url('/form') })
    // The element appears after the default timeout of an action, and the document after that of a
    // navigation.
    const late =
      "setTimeout(() => document.body.append(Object.assign(document.createElement('button'), { id: 'late' })), 600)"
    await impatient.ok('evaluate', { script: late })
    await impatient.ok('click', { selector: '#late', timeout: 0 })
    await impatient.ok('navigate', { url: site.url('/slow'), timeout: 0 })
  })

  test('without a limit if `--timeout-action` and `--timeout-navigation` are 0', async (t) => {
    const patient = await startServer(t, ['--timeout-action', '0', '--timeout-navigation', '0'])
    await patient.ok('navigate', { url: site.url('/slow') })
    const late = (/** @type {string} */ id) =>
      `setTimeout(() => document.body.append(Object.assign(document.createElement('button'), { id: '${id}' })), 600)`
    await patient.ok('evaluate', { script: late('late') })
    await patient.ok('click', { selector: '#late' })
    await patient.ok('evaluate', { script: late('later') })
    await patient.ok('wait_for_selector', { selector: '#later' })
    // All tools with a timeout accept 0, and the largest number in JSON.
    for (const timeout of [0, Number.MAX_SAFE_INTEGER]) {
      for (const [tool, args] of /** @type {const} */ ([
        ['wait_for_selector', { selector: '#late' }],
        ['find_element', { selector: '#late' }],
        ['wait_for', { url: '**/slow' }],
        ['wait_for', { textGone: 'nothing like it' }],
        ['wait_for_load', {}],
        ['hover', { selector: '#late' }],
        ['click', { selector: '#late' }]
      ])) {
        await patient.ok(tool, { ...args, timeout })
      }
    }
  })

  test('for `--timeout-action` without a `timeout`', async (t) => {
    const impatient = await startServer(t, ['--timeout-action', '150'])
    await impatient.ok('navigate', { url: site.url('/form') })
    const { json, ms } = await impatient.call('click', { selector: '#none' })
    assert.equal(json.errorCode, 'ELEMENT_NOT_FOUND')
    assert.ok(ms > 100 && ms < 1000, `${ms} ms`)
  })

  test('not at all with `force`, even for a covered element', async () => {
    await server.ok('navigate', { url: site.url('/buttons') })
    const { ms } = await server.call('click', { selector: '#covered', force: true })
    assert.ok(ms < 500, `${ms} ms`)
    // The click hits the covering element.
    assert.deepEqual(await server.evaluate('clicks.map(({ id }) => id)'), ['cover'])
    // A disabled element does not receive the click, and is not awaited.
    const disabled = await server.call('click', { selector: '#off', force: true })
    assert.ok(!disabled.isError && disabled.ms < 500, disabled.text)
    const moving = await server.call('click', { selector: '#moving', force: true })
    assert.ok(!moving.isError && moving.ms < 500, moving.text)
    // An element that is not rendered has no action point.
    const hidden = await server.call('click', { selector: '#hidden', force: true })
    assert.equal(hidden.json.errorCode, 'ELEMENT_NOT_CLICKABLE', hidden.text)
    assert.ok(hidden.ms < 500)
  })
})
