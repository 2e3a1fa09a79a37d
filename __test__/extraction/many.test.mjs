// Pages with many frames, and with more elements than a snapshot shows.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'

const FRAMES = `<!doctype html><title>Frames</title><button id="count">Count</button>
<button id="swap">Swap</button>${'<iframe src="/inner" width="60" height="40"></iframe>'.repeat(15)}
<script>
  const frames = document.getElementsByTagName('iframe')
  document.getElementById('count').onclick = () => {
    for (const frame of [3, 12]) frames[frame].contentDocument.body.append('Counted in ' + frame)
  }
  document.getElementById('swap').onclick = () => {
    const other = document.createElement('iframe')
    other.srcdoc = '<p>Swapped in</p>'
    frames[7].replaceWith(other)
  }
</script>`

const GRID = `<!doctype html><title>Grid</title><h1>Grid</h1><button onclick="this.textContent = 'Pressed'">Press</button>
<table></table><script>
  const table = document.querySelector('table')
  for (let row = 0; row < 18000; row++) {
    const line = table.insertRow()
    for (let cell = 0; cell < 10; cell++) line.insertCell().textContent = row + '.' + cell
  }
</script>`

const BLANK = `<!doctype html><title>Blank</title>${'<span style="display: inline-block; width: 9px; height: 9px"></span>'.repeat(1500)}
<div id="host" style="width: 90px; height: 20px"></div><script>
  const outer = document.getElementById('host').attachShadow({ mode: 'closed' })
  outer.innerHTML = '<div style="width: 90px; height: 20px"></div>'
  const inner = outer.firstChild.attachShadow({ mode: 'closed' })
  inner.innerHTML = '<button>Hidden</button>'
  inner.firstChild.onclick = () => (inner.firstChild.textContent = 'Found')
</script>`

describe('large and framed pages', { timeout: 180_000 }, () => {
  const { server, site } = startShared({
    args: ['--result-budget', '5000000'],
    routes: {
      '/frames': FRAMES,
      '/inner': '<!doctype html><p>Inner</p>',
      '/grid': GRID,
      '/blank': BLANK
    }
  })

  test('an action reports what changed in each of 15 iframes', async () => {
    await server.ok('navigate', { url: site.url('/frames') })
    const { changes } = await server.ok('click', { selector: '#count' })
    assert.equal(changes.match(/Counted in/g)?.length, 2, changes)
    assert.match(changes, /Counted in 3[^]*Counted in 12/)
    const snapshot = await server.ok('snapshot')
    assert.equal(snapshot.match(/Inner/g)?.length, 15, snapshot)
    assert.equal(snapshot.match(/- iframe/g)?.length, 15, snapshot)
  })

  test('the frame of an iframe that replaces another is shown', async () => {
    await server.ok('navigate', { url: site.url('/frames') })
    await server.ok('click', { selector: '#swap' })
    await server.ok('wait_for', { text: 'Swapped in' })
    const snapshot = await server.ok('snapshot')
    assert.match(snapshot, /Swapped in/)
    assert.equal(snapshot.match(/Inner/g)?.length, 14, snapshot)
  })

  test('the frames of a page share the budget of a snapshot', async () => {
    await server.ok('navigate', { url: site.url('/frames') })
    const whole = await server.ok('snapshot')
    const cut = await server.ok('snapshot', { budget: 500 })
    assert.ok(cut.length < Math.min(whole.length, 1200), cut)
  })

  test('closed shadow roots are found beside 1,500 blank elements', async () => {
    await server.ok('navigate', { url: site.url('/blank') })
    const { changes } = await server.ok('click', { selector: 'text=Hidden' })
    assert.match(changes, /button "Found"/)
  })

  test('a page of 180,000 cells can be opened, used and read in parts', async () => {
    const opened = await server.ok('navigate', { url: site.url('/grid') })
    assert.equal(opened.title, 'Grid')
    const { changes } = await server.ok('click', { selector: 'button' })
    assert.equal(changes.trim().split('\n').length, 1, changes)
    assert.match(changes, /button "Pressed"/)
    const table = await server.ok('snapshot', { selector: 'table', budget: 5_000_000 })
    assert.match(table, /cut here, in .*: the page has too many elements\. snapshot \{selector\}/)
    assert.match(await server.ok('snapshot', { selector: 'tr:nth-child(18000)' }), /17999\.9/)
  })
})
