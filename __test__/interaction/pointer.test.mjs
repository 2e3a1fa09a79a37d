// hover, scroll, drag_and_drop, and clicks: the pointer events in the page.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { renderPage } from '../support/html.mjs'
import { startShared } from '../support/scope.mjs'
import { until } from '../support/wait.mjs'
import { eventRecorderScript } from './page.mjs'

const HOVER = `<style>#menu:hover #items { display: block } #menu { position: relative } #items { display: none; position: absolute; left: 150px; top: 0 }</style>
  <div id="menu" style="width:120px">Menu<div id="items"><button id="item">Item</button></div></div>
  <button id="tip" onmouseenter="out.textContent = 'entered'" onmouseleave="out.textContent = 'left'">Tip</button> <p id="out"></p>
  <button id="hidden" style="display:none">Hidden</button><div style="position:relative;height:40px"><button id="covered">Covered</button><div style="position:absolute;inset:0" id="cover"></div></div>`

const LONG = `<div id="box" style="overflow:auto;width:200px;height:100px"><div style="width:1000px;height:1000px">In the box</div></div>
  <div style="width:4000px;height:3000px"></div><button id="below">Below</button>`

// One card handles drag events, the other pointer events.
const DRAGS = `<div id="html" draggable="true" style="width:80px;height:40px;background:#ccc">HTML</div><div id="target" style="width:200px;height:100px;background:#eee">Target</div>
  <div id="pointer" style="width:80px;height:40px;background:#ccf;touch-action:none">Pointer</div>
  <script>
    html.ondragstart = (event) => event.dataTransfer.setData('text/plain', 'from html')
    target.ondragover = (event) => event.preventDefault()
    target.ondrop = (event) => { target.textContent = 'Got ' + event.dataTransfer.getData('text/plain') }
    let held = false
    pointer.onpointerdown = () => { held = true }
    addEventListener('pointerup', (event) => {
      const over = document.elementFromPoint(event.clientX, event.clientY)
      if (held && over === target) target.textContent = 'Got a pointer'
      held = false
    })
  </script>`

// An element that covers the button when the pointer arrives: temporarily (?for=300), or
// permanently.
const COVERING = `<div style="position:relative;width:200px;height:40px"><button id="go">Go</button><label><input type="checkbox" id="box">Box</label>
  <div id="cover" style="position:absolute;inset:0;background:#eee;display:none">Wait</div></div>
  <script>
    const time = Number(new URLSearchParams(location.search).get('for'))
    addEventListener('pointermove', () => {
      cover.style.display = ''
      if (time) setTimeout(() => cover.remove(), time)
    }, { once: true })
  </script>`

describe('the pointer', { timeout: 180_000 }, () => {
  const { server, site } = startShared({
    args: ['--timeout-action', '1000'],
    routes: {
      '/hover': renderPage('Hover', HOVER + eventRecorderScript('mousemove mouseover click')),
      '/long': renderPage('Long', LONG),
      '/drags': renderPage(
        'Drags',
        DRAGS + eventRecorderScript('dragstart dragover drop dragend pointerdown pointerup')
      ),
      '/held': renderPage(
        'Held',
        `<a id="link" href="/form">Link</a><button id="go">Go</button>${eventRecorderScript('click auxclick')}<script>
        window.held = []
        addEventListener('click', ({ altKey, ctrlKey, metaKey, shiftKey }) => held.push({ altKey, ctrlKey, metaKey, shiftKey }))
      </script>`
      ),
      '/in/hover': renderPage(
        'Frame',
        '<iframe id="frame" src="/hover" width="500" height="400"></iframe>'
      ),
      '/covering': renderPage(
        'Covering',
        COVERING + eventRecorderScript('pointerdown mousedown pointerup mouseup click')
      ),
      '/replacing': renderPage(
        'Replacing',
        `<p id="holder"><button>Go</button></p>${eventRecorderScript('click')}<script>
        addEventListener('pointermove', () => { holder.innerHTML = '<button>Another</button>' }, { once: true })
      </script>`
      ),
      '/refusing': renderPage(
        'Refusing',
        `<button id="go">Go</button> <output id="result"></output><script>
        go.onpointerdown = (event) => event.preventDefault()
        go.onclick = () => setTimeout(() => { result.textContent = 'clicked' })
      </script>`
      ),
      // When the pointer first enters the button, a frame covers it and receives the click.
      '/taking': renderPage(
        'Taking',
        `<div style="position:relative;width:200px;height:40px"><button id="go">Go</button><div id="over"></div></div><script>
        go.addEventListener('pointermove', () => {
          over.innerHTML = '<iframe srcdoc="" style="position:absolute;inset:0;width:200px;height:40px"></iframe>'
        }, { once: true })
      </script>`
      ),
      '/in/covering': (_request, response, { search }) =>
        response
          .setHeader('content-type', 'text/html')
          .end(`<iframe id="frame" src="/covering${search}" width="500" height="400"></iframe>`),
      '/in/drags': renderPage(
        'Frame',
        '<iframe id="frame" src="/drags" width="500" height="400"></iframe>'
      ),
      // Pressing a card removes the drop target, so that a drag cannot end.
      '/vanishing': renderPage(
        'Vanishing',
        DRAGS.replace('let held', 'window.held') +
          eventRecorderScript('dragend pointerdown pointerup') +
          `<script>
        const drop = target
        const vanish = ({ target: { id } }) => {
          if (id !== 'html' && id !== 'pointer') return
          drop.remove()
          fetch('/pressed' + location.search)
        }
        addEventListener('pointerdown', vanish)
        for (const type of ['pointerup', 'dragend']) addEventListener(type, () => { held = false })
        window.restore = () => {
          removeEventListener('pointerdown', vanish)
          document.body.append(drop)
        }
      </script>`
      ),
      '/in/vanishing': (_request, response, { search }) =>
        response
          .setHeader('content-type', 'text/html')
          .end(`<iframe id="frame" src="/vanishing${search}" width="500" height="400"></iframe>`),
      '/pressed': 'Pressed',
      '/in/long': renderPage(
        'Frame',
        '<iframe id="frame" src="/long" width="500" height="400"></iframe>'
      )
    }
  })

  const at = (path) => server.ok('navigate', { url: site.url(path) })
  const refused = async (tool, args, errorCode, reason) => {
    const error = await server.fail(tool, args)
    assert.deepEqual([error.errorCode, error.details.reason], [errorCode, reason], error.message)
  }

  test('hover opens a menu, and reports it with refs', async () => {
    await at('/hover')
    const { message, changes } = await server.ok('hover', { selector: '#menu', timeout: 2000 })
    assert.match(message, /^Hovered over /)
    const [, ref] = /\+ *button "Item" \[ref=(e\d+)\]/.exec(changes) ?? []
    assert.ok(ref, changes)
    await server.ok('click', { selector: ref })
    await server.ok('hover', { selector: '#tip' })
    assert.equal(await server.evaluate('out.textContent'), 'entered')
    await server.ok('hover', { selector: '#menu' })
    assert.equal(await server.evaluate('out.textContent'), 'left')
    await at('/in/hover')
    await server.ok('hover', { selector: '#frame >>> #tip' })
    assert.equal(
      await server.evaluate('frame.contentDocument.getElementById("out").textContent'),
      'entered'
    )
  })

  test('hover reports elements that it cannot reach', async () => {
    await at('/hover')
    await refused('hover', { selector: '#hidden', timeout: 100 }, 'ELEMENT_NOT_CLICKABLE', 'hidden')
    await refused(
      'hover',
      { selector: '#covered', timeout: 100 },
      'ELEMENT_NOT_CLICKABLE',
      'covered'
    )
  })

  test('a click whose pointerdown the page cancels is reported with its changes', async () => {
    await at('/refusing')
    const { ms, json } = await server.call('click', { selector: '#go' })
    assert.match(json.changes, /clicked/)
    assert.ok(ms < 1000, `${ms} ms`)
  })

  test('a click received by a frame is reported as fast as others', async () => {
    await at('/taking')
    const { ms, json } = await server.call('click', { selector: '#go' })
    assert.match(json.changes, /iframe/)
    assert.ok(ms < 1000, `${ms} ms`)
  })

  test('an element that covers the target after the check does not receive the click, and is awaited', async () => {
    const presses = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']
    for (const [path, into, scope] of [
      ['/covering?for=300', '', 'window'],
      ['/in/covering?for=300', '#frame >>> ', 'frame.contentWindow']
    ]) {
      for (const [tool, id] of [
        ['click', 'go'],
        ['check', 'box']
      ]) {
        await at(path)
        const { json, text } = await server.call(tool, { selector: `${into}#${id}` })
        assert.equal(json.success, true, text)
        const recorded = await server.evaluate(`${scope}.recorded`)
        assert.deepEqual(
          recorded,
          presses.map((type) => `${type} ${id}`),
          `${tool} at ${path}`
        )
      }
    }
  })

  test('a covering element is reported, and was not clicked', async () => {
    for (const [path, into, scope] of [
      ['/covering', '', 'window'],
      ['/in/covering', '#frame >>> ', 'frame.contentWindow']
    ]) {
      await at(path)
      const { json } = await server.call('click', { selector: `${into}#go`, timeout: 300 })
      assert.deepEqual(
        [json.errorCode, json.details?.reason, json.details?.covering],
        ['ELEMENT_NOT_CLICKABLE', 'covered', '<div#cover>'],
        path
      )
      assert.match(json.message, /waited 300 ms/)
      assert.deepEqual(await server.evaluate(`${scope}.recorded`), [], path)
      // With `force`, the click hits the element at the point.
      await server.ok('click', { selector: `${into}#go`, force: true })
      assert.ok((await server.evaluate(`${scope}.recorded`)).includes('click cover'), path)
    }
  })

  test('a ref never clicks the element that has replaced its element', async () => {
    await at('/replacing')
    const [, ref] = /\[ref=(e\d+)\]/.exec(await server.ok('find', { text: 'Go' })) ?? []
    await refused('click', { selector: ref }, 'ELEMENT_NOT_FOUND', 'stale')
    assert.deepEqual(await server.evaluate('recorded'), [])
    await at('/replacing')
    await server.ok('click', { selector: 'button' })
    assert.deepEqual(await server.evaluate('recorded'), ['click '])
  })

  test('scroll moves in each direction, and reports the offsets', async () => {
    await at('/long')
    const place = () => server.evaluate('[scrollX, scrollY]')
    assert.match(
      (await server.ok('scroll', { y: 500 })).message,
      /^Scrolled the page to 0, 500 of \d+, \d+$/
    )
    await server.ok('scroll', { x: 300, y: -200 })
    assert.deepEqual(await place(), [300, 300])
    await server.ok('scroll', { x: -100 })
    assert.deepEqual(await place(), [200, 300])
    await server.ok('scroll', { y: 1e6 })
    assert.equal(
      (await place())[1],
      await server.evaluate(
        'document.documentElement.scrollHeight - document.documentElement.clientHeight'
      )
    )
  })

  test('scroll moves a scroll container, or scrolls an element into view, in frames too', async () => {
    await at('/long')
    await server.ok('scroll', { selector: '#box', x: 50, y: 120 })
    assert.deepEqual(
      await server.evaluate('[box.scrollLeft, box.scrollTop, scrollY]'),
      [50, 120, 0]
    )
    const inView =
      '((box) => box.top >= 0 && box.bottom <= innerHeight)(below.getBoundingClientRect())'
    assert.equal(await server.evaluate(inView), false)
    await server.ok('scroll', { selector: '#below' })
    assert.equal(await server.evaluate(inView), true)
    await at('/in/long')
    await server.ok('scroll', { selector: '#frame >>> #box', y: 70 })
    assert.equal(await server.evaluate('frame.contentDocument.getElementById("box").scrollTop'), 70)
    await server.ok('scroll', { selector: '#frame >>> #below' })
    assert.ok((await server.evaluate('frame.contentWindow.scrollY')) > 1000)
    await refused('scroll', {}, 'INVALID_PARAMETERS', 'MISSING_PARAMETER')
  })

  test('drag_and_drop works with drag events and with pointer events, in frames too', async () => {
    for (const [path, frame] of [
      ['/drags', ''],
      ['/in/drags', '#frame >>> ']
    ]) {
      const inside = frame ? 'frame.contentWindow' : 'window'
      const text = () => server.evaluate(`${inside}.document.getElementById('target').textContent`)
      await at(path)
      const { message, changes } = await server.ok('drag_and_drop', {
        source: `${frame}#html`,
        target: `${frame}#target`,
        timeout: 2000
      })
      assert.match(message, /^Dragged .* onto /)
      assert.match(changes, /Got from html/)
      assert.equal(await text(), 'Got from html', path)
      const recorded = await server.evaluate(`[...new Set(${inside}.recorded.splice(0))]`)
      for (const event of [
        'pointerdown html',
        'dragstart html',
        'dragover target',
        'drop target',
        'dragend html'
      ])
        assert.ok(recorded.includes(event), `${event}: ${recorded}`)
      await server.ok('drag_and_drop', { source: `${frame}#pointer`, target: `${frame}#target` })
      assert.equal(await text(), 'Got a pointer', path)
    }
  })

  test('drag_and_drop reports which end is invalid', async () => {
    await at('/drags')
    const { json } = await server.call('drag_and_drop', {
      source: '#html',
      target: '#nowhere',
      timeout: 100
    })
    assert.equal(json.errorCode, 'ELEMENT_NOT_FOUND')
    assert.match(json.message, /#nowhere/)
    await server.ok('evaluate', { script: 'html.style.visibility = "hidden"' })
    await refused(
      'drag_and_drop',
      { source: '#html', target: '#target', timeout: 100 },
      'ELEMENT_NOT_CLICKABLE',
      'hidden'
    )
  })

  test('a drag that fails or is canceled releases the button, and later drags work', async () => {
    let rounds = 0
    for (const [path, frame, inside] of [
      ['/vanishing', '', 'window'],
      ['/in/vanishing', '#frame >>> ', 'frame.contentWindow']
    ]) {
      for (const card of BROWSER === 'webkit' ? ['pointer'] : ['html', 'pointer']) {
        for (const ends of ['at its deadline', 'by cancellation']) {
          const what = `${card} at ${path}, ${ends}`
          await at(`${path}?${++rounds}`)
          const drag = { source: `${frame}#${card}`, target: `${frame}#target` }
          if (ends === 'at its deadline') {
            await refused(
              'drag_and_drop',
              { ...drag, timeout: 200 },
              'ELEMENT_NOT_FOUND',
              undefined
            )
          } else {
            const id = `drag of ${what}`
            server.call('drag_and_drop', { ...drag, timeout: 30_000 }, { id }).catch(() => null)
            // Other calls of the session are queued behind the drag, so the page itself reports the
            // press.
            await until(
              () => site.requests.some(({ path }) => path === `/pressed?${rounds}`),
              `the press of ${what}`
            )
            server.notify('notifications/cancelled', { requestId: id })
          }
          await until(
            () =>
              server.evaluate(
                `${inside}.recorded.some((event) => event.startsWith('pointerup') || event.startsWith('dragend'))`
              ),
            `the release of ${what}`
          )
          assert.equal(await server.evaluate(`${inside}.held`), false, what)
          await server.evaluate(`${inside}.restore()`)
          await server.ok('drag_and_drop', { ...drag, timeout: 2000 })
          assert.match(
            await server.evaluate(`${inside}.document.getElementById('target').textContent`),
            /^Got/,
            what
          )
        }
      }
    }
  })

  test('click supports each modifier and each button', async () => {
    await at('/held')
    for (const [modifier, key] of [
      ['Alt', 'altKey'],
      ['Control', 'ctrlKey'],
      ['Meta', 'metaKey'],
      ['Shift', 'shiftKey'],
      ['ControlOrMeta', process.platform === 'darwin' ? 'metaKey' : 'ctrlKey']
    ]) {
      await server.ok('click', { selector: '#go', modifiers: [modifier], button: 'left' })
      const none = { altKey: false, ctrlKey: false, metaKey: false, shiftKey: false }
      assert.deepEqual(await server.evaluate('held.pop()'), { ...none, [key]: true }, modifier)
    }
  })

  test('a link opened in a new tab by a modifier or the middle button is a new page, without a wait', async () => {
    await at('/held')
    // In full Chrome, the new tab may commit before it is set up.
    for (const how of [
      { modifiers: ['ControlOrMeta'] },
      { modifiers: ['Shift'] },
      { button: 'middle' },
      { modifiers: ['ControlOrMeta'] }
    ]) {
      const { json, ms } = await server.call('click', { selector: '#link', ...how })
      assert.equal(json.newPage.url, site.url('/form'), JSON.stringify(how))
      assert.ok(ms < 5000, `${JSON.stringify(how)}: ${ms} ms`)
      const { pageId } = json.newPage
      await server.ok('wait_for_load', { pageId })
      assert.match(await server.ok('snapshot', { pageId }), /Send/)
    }
    assert.equal(await server.evaluate('document.title'), 'Held')
  })
})
