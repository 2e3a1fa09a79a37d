// Actions on elements in iframes: frames that are scrolled to, transformed, covered or moving.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renderPage } from '../support/html.mjs'
import { startShared } from '../support/scope.mjs'
import { sendHtml } from '../support/site.mjs'

/** A document whose elements record trusted pointer events. */
const INNER = `<style>body { margin: 0 } #go { position: absolute; left: 180px; top: 120px; width: 60px; height: 24px } #name { position: absolute; left: 20px; top: 40px }
  #box { position: absolute; left: 20px; top: 80px }</style>
  <button id="go">Go</button><input id="name" aria-label="Name"><input id="box" type="checkbox" aria-label="Box"><script>
    window.got = []
    for (const type of ['mouseover', 'click'])
      addEventListener(type, (event) => { if (event.isTrusted && event.target === go) got.push(type + ' ' + [event.clientX, event.clientY].map(Math.round)) }, true)
    go.onclick = () => { go.textContent = 'Gone'; top.postMessage(got, '*') }
  </script>`

const FRAME =
  'id="frame" src="/inner" style="width:300px;height:200px;border:12px solid;padding:6px'

/** By title: the body of a page with a frame for the inner document. */
const LAYOUTS = {
  'with a border and padding': `<div style="margin:40px"><iframe ${FRAME}"></iframe></div>`,
  'with box-sizing and a fractional size': `<iframe ${FRAME};box-sizing:border-box;width:300.6px;height:200.3px"></iframe>`,
  'that is scaled': `<div style="transform:scale(.6)"><iframe ${FRAME}"></iframe></div>`,
  'that is enlarged from its corner': `<iframe ${FRAME};transform:scale(1.7);transform-origin:0 0"></iframe>`,
  'that is turned': `<div style="margin:150px;rotate:35deg"><iframe ${FRAME}"></iframe></div>`,
  'that is turned by 45 degrees': `<iframe ${FRAME};margin:100px;transform:rotate(45deg)"></iframe>`,
  'that is mirrored': `<iframe ${FRAME};scale:-1 1"></iframe>`,
  'that is skewed in a scaled box': `<div style="scale:.8 1.2;margin:80px"><iframe ${FRAME};transform:skew(20deg, 10deg)"></iframe></div>`,
  'that is turned in 3D': `<div style="margin:200px;transform-style:preserve-3d;transform:rotateX(30deg)"><iframe ${FRAME};transform:translateZ(200px) rotateY(40deg)"></iframe></div>`,
  'that is zoomed': `<div style="zoom:.5"><iframe ${FRAME};zoom:1.5"></iframe></div>`,
  'in a scroll box': `<div style="height:150px;overflow:auto;border:5px solid"><div style="height:2000px"></div><iframe ${FRAME}"></iframe><div style="height:500px"></div></div>`,
  'in a scroll box that is turned': `<div style="margin:100px;width:280px;height:150px;overflow:auto;transform:rotate(20deg) scale(.8)"><div style="width:900px;height:1200px"></div><iframe ${FRAME};margin-left:500px"></iframe></div>`,
  'far below, under a fixed header': `<div style="position:fixed;inset:0 0 auto 0;height:300px;background:#ccc">Header</div><div style="height:4000px"></div><iframe ${FRAME}"></iframe>`,
  'in a shadow root': `<div id="host" style="transform:scale(.7)"></div><script>host.attachShadow({ mode: 'open' }).innerHTML = '<div style="transform:rotate(10deg)"><iframe ${FRAME}"></iframe></div>'</script>`
}

const COVER = '<div id="cover" style="position:fixed;inset:0;background:#eee8">Please wait</div>'

describe('elements in frames', { timeout: 120_000 }, () => {
  const routes = {
    '/inner': renderPage('Inner', INNER),
    // The frame is as tall as its content: the element is far below, but the frame itself does not
    // scroll.
    '/tall-inner': renderPage(
      'Tall',
      `${INNER}<style>#go { top: 2800px }</style><div style="height:3000px"></div>`
    ),
    '/tall': renderPage(
      'Around',
      '<h1>Tall</h1><iframe id="frame" src="/tall-inner" style="width:600px;height:3000px"></iframe>'
    ),
    '/nested': renderPage(
      'Nested',
      '<div style="height:1500px"></div><div style="transform:scale(.8) rotate(8deg)"><iframe id="outer" src="/middle" style="width:700px;height:2500px;border:4px solid"></iframe></div>'
    ),
    '/middle': (request, response) => {
      const other = `http://localhost:${request.headers.host.split(':')[1]}/inner`
      sendHtml(
        response,
        renderPage(
          'Middle',
          `<div style="height:1900px"></div><div style="transform:scale(1.2);width:300px"><iframe id="frame" src="${other}" style="width:300px;height:200px"></iframe></div>`
        )
      )
    },
    '/covered': renderPage(
      'Covered',
      `<iframe ${FRAME}"></iframe>${COVER}<script>
      if (location.search) setTimeout(() => cover.remove(), 600)
    </script>`
    ),
    // The cover appears with the pointer, after the check of the element.
    '/covering': renderPage(
      'Covering',
      `<iframe ${FRAME}"></iframe>${COVER.replace('id="cover"', '$& hidden')}<script>
      onmessage = ({ data }) => { window.got = data }
      addEventListener('mouseover', () => { cover.hidden = false; setTimeout(() => cover.remove(), 400) }, { once: true })
    </script>`
    ),
    '/moving': renderPage(
      'Moving',
      `<style>@keyframes move { from { transform: translateX(0) } to { transform: translateX(400px) } }</style>
      <iframe ${FRAME};animation:move 500ms linear both"></iframe>`
    ),
    '/drags': renderPage(
      'Drags',
      `<style>body { margin: 0 } #card { position: absolute; left: 10px; top: 10px; width: 60px; height: 30px; background: #ccc } #place { position: absolute; left: 160px; top: 100px; width: 100px; height: 60px; background: #eee }</style>
      <div id="card">Card</div><div id="place">Place</div><script>
        let held = false
        card.onpointerdown = () => { held = true }
        addEventListener('pointerup', ({ clientX, clientY }) => { if (held && document.elementFromPoint(clientX, clientY) === place) place.textContent = 'Got it' })
      </script>`
    ),
    '/scaled-drags': renderPage(
      'Scaled',
      '<iframe id="frame" src="/drags" style="width:300px;height:200px;margin:80px;transform:scale(.7) rotate(15deg)"></iframe>'
    )
  }
  for (const [index, body] of Object.values(LAYOUTS).entries())
    routes[`/layout/${index}`] = renderPage('Layout', body)
  const { server, site } = startShared({ args: ['--timeout-action', '4000'], routes })

  const at = (path) => server.ok('navigate', { url: site.url(path) })
  const INNER_FRAME = 'document.querySelector("iframe") ?? host.shadowRoot.querySelector("iframe")'

  for (const [index, title] of Object.keys(LAYOUTS).entries()) {
    test(`in a frame ${title} are clicked, hovered over, checked and filled`, async () => {
      await at(`/layout/${index}`)
      const got = () => server.evaluate(`(${INNER_FRAME}).contentWindow.got.splice(0)`)
      await server.ok('hover', { selector: '#frame >>> #go' })
      const [over] = await got()
      assert.match(over ?? 'nothing', /^mouseover /, title)
      await server.ok('click', { selector: '#frame >>> #go' })
      const [, x, y] = /^click (\d+),(\d+)$/.exec((await got()).at(-1) ?? '') ?? []
      assert.ok(
        Math.abs(Number(x) - 210) <= 3 && Math.abs(Number(y) - 132) <= 3,
        `in the middle of the button, at 210,132: ${x},${y}`
      )
      await server.ok('check', { selector: '#frame >>> #box' })
      await server.ok('fill', { selector: '#frame >>> #name', value: 'new' })
      const entered =
        "(({ contentDocument: inner }) => [inner.getElementById('box').checked, inner.getElementById('name').value])"
      assert.deepEqual(await server.evaluate(`${entered}(${INNER_FRAME})`), [true, 'new'])
    })
  }

  test('of a tall frame that does not scroll are scrolled into view in the parent page', async () => {
    await at('/tall')
    const { changes } = await server.ok('click', { selector: '#frame >>> #go' })
    assert.match(changes, /button "Gone"/)
    assert.ok((await server.evaluate('scrollY')) > 1500)
  })

  test('of nested frames, cross-site too, are clicked if all frames are transformed and scrolled', async () => {
    await at('/nested')
    await server.ok('click', { selector: '#outer >>> #frame >>> #go' })
    assert.match(await server.ok('snapshot'), /button "Gone"/)
  })

  test('are awaited while their frame is covered or moves', async () => {
    for (const path of ['/covered?goes', '/moving']) {
      await at(path)
      await server.ok('click', { selector: '#frame >>> #go' })
      assert.match(await server.ok('snapshot'), /button "Gone"/, path)
    }
  })

  test('are not reported as clicked if the page covers their frame when the pointer arrives', async () => {
    await at('/covering')
    await server.ok('click', { selector: '#frame >>> #go' })
    assert.match(await server.ok('snapshot'), /button "Gone"/)
  })

  test('of a covered frame report the covering element at the timeout, and accept text', async () => {
    await at('/covered')
    const { json, ms } = await server.call('click', { selector: '#frame >>> #go', timeout: 500 })
    assert.deepEqual(
      [json.errorCode, json.details?.reason, json.details?.covering],
      ['ELEMENT_NOT_CLICKABLE', 'covered', '<div#cover>']
    )
    assert.match(
      json.message,
      /^button "Go" \[ref=f\d+e\d+\] cannot be reached: iframe .* is covered by <div#cover> \(waited 500 ms\)$/
    )
    assert.ok(ms >= 500, `${ms} ms`)
    await server.ok('fill', { selector: '#frame >>> #name', value: 'typed under the cover' })
  })

  test('have boxes and screenshots at their rendered position', async () => {
    await at('/layout/3')
    const { box } = await server.ok('find_element', { selector: '#frame >>> #go' })
    const frame = await server.evaluate(
      '(({ left, top }) => [left, top])(frame.getBoundingClientRect())'
    )
    const expected = [frame[0] + 1.7 * (18 + 180), frame[1] + 1.7 * (18 + 120), 1.7 * 60, 1.7 * 24]
    for (const [name, number] of ['x', 'y', 'width', 'height'].map((name, index) => [
      name,
      expected[index]
    ])) {
      assert.ok(Math.abs(box[name] - number) < 1, `${name}: ${box[name]}, expected ${number}`)
    }
    const { result } = await server.call('screenshot_element', { selector: '#frame >>> #go' })
    const png = Buffer.from(result.content[0].data, 'base64')
    for (const [size, index] of [
      [png.readUInt32BE(16), 2],
      [png.readUInt32BE(20), 3]
    ]) {
      assert.ok(
        Math.abs(size - expected[index]) <= 2,
        `${size} pixels, expected ${expected[index]}`
      )
    }
  })

  test('are dragged onto each other in a transformed frame', async () => {
    await at('/scaled-drags')
    await server.ok('drag_and_drop', { source: '#frame >>> #card', target: '#frame >>> #place' })
    assert.equal(
      await server.evaluate('frame.contentDocument.getElementById("place").textContent'),
      'Got it'
    )
  })
})
