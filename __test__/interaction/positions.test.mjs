// Actions at positions, along paths and by the mouse wheel, as canvases and maps need them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'

const CANVAS = `<title>Canvas</title><style>body { margin: 0 }</style><div style="height: 40px">Above</div>
  <canvas id="canvas" width="300" height="200" style="display: block"></canvas><p id="out"></p>
  <script>
    const recorded = []
    const note = (event) => {
      recorded.push([event.type, Math.round(event.offsetX), Math.round(event.offsetY)])
      out.textContent = event.type + ' ' + Math.round(event.offsetX) + ', ' + Math.round(event.offsetY)
    }
    for (const type of ['mousedown', 'mousemove', 'mouseup', 'click']) canvas.addEventListener(type, note)
    canvas.addEventListener('wheel', (event) => { event.preventDefault(); out.textContent = 'wheel ' + event.deltaX + ', ' + event.deltaY })
  </script>`

const LARGE = `<title>Large</title><div style="height: 900px"></div><div id="map" style="width: 400px; height: 3000px; background: #eee"></div>
  <script>map.onclick = (event) => { document.title = 'at ' + Math.round(event.offsetX) + ', ' + Math.round(event.offsetY) }</script>`

const APPLICATION = `<title>Application</title><style>html, body { margin: 0; height: 100%; overflow: hidden }</style>
  <main style="height: 100%; overflow: auto"><div style="height: 5000px">Long</div></main>`

const LIST = `<title>List</title><div id="list" style="height: 100px; overflow: auto"><p id="first">First</p><div style="height: 1000px"></div></div>`

const STILL = '<title>Still</title><p>Short</p>'

const FRAMED =
  '<title>Framed</title><style>body { margin: 0 }</style><iframe id="frame" src="/application" style="border: 0; width: 1000px; height: 600px; margin: 10px"></iframe>'

const WIDGETS = `<title>Widgets</title><style>.box { position: relative; width: 40px; height: 40px } .box * { position: absolute; inset: 0; margin: 0 } .track { position: relative; width: 200px; height: 20px }</style>
  <div class="box"><input type="checkbox" aria-label="Agree" id="agree"><div class="ripple" onclick="agree.checked = !agree.checked"></div></div>
  <div class="track"><div role="slider" tabindex="0" aria-label="Volume" aria-valuenow="1" style="position: absolute; width: 16px; height: 16px" id="thumb"></div>
    <div class="rail" style="position: absolute; inset: 0" onclick="thumb.setAttribute('aria-valuenow', 2)"></div></div>
  <div style="position: relative; width: 300px; height: 200px"><button id="covered">Save</button><div id="overlay" style="position: absolute; inset: 0"></div></div>
  <input id="field" onkeydown="document.title = event.key">`

describe('positions', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    args: ['--max-sessions', '50', '--timeout-action', '1500'],
    routes: {
      '/canvas': CANVAS,
      '/large': LARGE,
      '/application': APPLICATION,
      '/list': LIST,
      '/still': STILL,
      '/framed': FRAMED,
      '/widgets': WIDGETS
    }
  })

  const at = async (path) => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url(path) })
    return {
      ok: (tool, args) => server.ok(tool, { sessionId, ...args }),
      fail: (tool, args) => server.fail(tool, { sessionId, ...args }),
      evaluate: (script) => server.evaluate(script, { sessionId })
    }
  }

  test('click and hover act at a position of an element, or of the viewport', async () => {
    const page = await at('/canvas')
    const clicked = await page.ok('click', { selector: '#canvas', position: { x: 20, y: 30 } })
    assert.match(clicked.message, /^Clicked .*canvas.* at 20, 30$/)
    assert.equal(await page.evaluate('out.textContent'), 'click 20, 30')
    const pointed = await page.ok('click', { position: { x: 100, y: 90 } })
    assert.match(pointed.message, /^Clicked .*canvas.* at 100, 90 in the viewport$/)
    assert.equal(await page.evaluate('out.textContent'), 'click 100, 50')
    await page.ok('hover', { selector: '#canvas', position: { x: 7, y: 8 } })
    assert.equal(await page.evaluate('out.textContent'), 'mousemove 7, 8')
  })

  test('a position of an element that is larger than the viewport is scrolled into view', async () => {
    const page = await at('/large')
    await page.ok('click', { selector: '#map', position: { x: 50, y: 2500 } })
    assert.equal(await page.evaluate('document.title'), 'at 50, 2500')
  })

  test('a position outside of its element or of the viewport is rejected, and a missing one too', async () => {
    const page = await at('/canvas')
    const outside = await page.fail('click', {
      selector: '#canvas',
      position: { x: 20, y: 300 }
    })
    assert.equal(outside.errorCode, 'ELEMENT_NOT_CLICKABLE')
    assert.match(outside.message, /is 300×200 px: the position 20, 300 is outside of it/)
    const beyond = await page.fail('click', { position: { x: 20, y: 9000 } })
    assert.equal(beyond.errorCode, 'INVALID_PARAMETERS')
    assert.match(
      beyond.message,
      /the position 20, 9000 is outside of the viewport, which is \d+×\d+ px/
    )
    for (const tool of ['click', 'hover', 'drag_and_drop']) {
      const { errorCode, details } = await page.fail(tool, {})
      assert.deepEqual(
        [errorCode, details.reason],
        ['INVALID_PARAMETERS', 'MISSING_PARAMETER'],
        tool
      )
    }
  })

  test('a drag goes from one position to another, and reports the drop position', async () => {
    const page = await at('/canvas')
    const { message } = await page.ok('drag_and_drop', {
      source: '#canvas',
      sourcePosition: { x: 10, y: 10 },
      target: '#canvas',
      targetPosition: { x: 110, y: 60 }
    })
    assert.match(
      message,
      /^Dragged .*canvas.* at 10, 10 onto .*canvas.* at 110, 60, dropped at 110, 100$/
    )
    const recorded = await page.evaluate(
      "recorded.filter(([type]) => type === 'mousedown' || type === 'mouseup')"
    )
    assert.deepEqual(recorded, [
      ['mousedown', 10, 10],
      ['mouseup', 110, 60]
    ])
  })

  test('a path is drawn with the button pressed', async () => {
    const page = await at('/canvas')
    const path = [
      { x: 10, y: 10 },
      { x: 50, y: 10 },
      { x: 50, y: 90 }
    ]
    const { message } = await page.ok('drag_and_drop', { source: '#canvas', path })
    assert.match(message, /^Dragged over .*canvas.* along 3 points/)
    const recorded = (await page.evaluate('recorded')).map(([type, x, y]) => `${type} ${x},${y}`)
    assert.equal(
      recorded.find((event) => event.startsWith('mousedown')),
      'mousedown 10,10'
    )
    for (const moved of ['mousemove 50,10', 'mousemove 50,90'])
      assert.ok(recorded.includes(moved), recorded.join('; '))
    assert.equal(
      recorded.find((event) => event.startsWith('mouseup')),
      'mouseup 50,90'
    )
    await page.ok('drag_and_drop', {
      path: [
        { x: 30, y: 50 },
        { x: 30, y: 70 }
      ]
    })
    assert.ok(
      (await page.evaluate('recorded')).some(
        ([type, x, y]) => type === 'mouseup' && x === 30 && y === 30
      )
    )
    assert.equal(
      (await page.fail('drag_and_drop', { source: '#canvas', target: '#out', path })).errorCode,
      'INVALID_PARAMETERS'
    )
  })

  test('scroll uses the wheel if nothing scrolls by script', async () => {
    const page = await at('/canvas')
    const { message } = await page.ok('scroll', { selector: '#canvas', y: 120 })
    assert.match(message, /^Scrolled .*canvas.* by the mouse wheel$/)
    assert.equal(await page.evaluate('out.textContent'), 'wheel 0, 120')
    await page.ok('scroll', { position: { x: 50, y: 100 }, y: -60 })
    assert.equal(await page.evaluate('out.textContent'), 'wheel 0, -60')
  })

  test('scroll moves the nearest scroll container', async () => {
    const list = await at('/list')
    const { message } = await list.ok('scroll', { selector: '#first', y: 200 })
    assert.match(message, / to 0, 200 of 0, \d+$/)
    assert.equal(await list.evaluate('document.querySelector("#list").scrollTop'), 200)
    for (const [path, script] of [
      ['/application', 'document.querySelector("main").scrollTop'],
      ['/framed', 'frame.contentDocument.querySelector("main").scrollTop']
    ]) {
      const page = await at(path)
      await page.ok('scroll', { y: 300 })
      assert.equal(await page.evaluate(script), 300, path)
    }
  })

  test('scroll fails if nothing moves', async () => {
    const page = await at('/still')
    const { errorCode, message, details } = await page.fail('scroll', { y: 300 })
    assert.deepEqual([errorCode, details.reason], ['ELEMENT_NOT_CLICKABLE', 'not scrollable'])
    assert.match(message, /^nothing scrolled: the page is at 0, 0 of 0, 0, and/)
  })

  test('the rendered parts of a control do not cover it, but other elements do', async () => {
    const page = await at('/widgets')
    await page.ok('check', { selector: 'role=checkbox[name="Agree"]' })
    assert.equal(await page.evaluate('agree.checked'), true)
    await page.ok('click', { selector: 'role=slider' })
    assert.equal(await page.evaluate("thumb.getAttribute('aria-valuenow')"), '2')
    const { errorCode, suggestion } = await page.fail('click', { selector: '#covered' })
    assert.equal(errorCode, 'ELEMENT_NOT_CLICKABLE')
    assert.match(suggestion, /`press` with its `selector` and the key Enter/)
  })

  test('press focuses an element first', async () => {
    const page = await at('/widgets')
    const { message } = await page.ok('press', { key: 'a', selector: '#field' })
    assert.match(message, /^Pressed `a` in textbox/)
    assert.deepEqual(await page.evaluate('[document.title, field.value]'), ['a', 'a'])
    const refused = await page.fail('press', { key: 'a', selector: '#overlay' })
    assert.match(refused.message, /cannot be focused/)
  })
})
