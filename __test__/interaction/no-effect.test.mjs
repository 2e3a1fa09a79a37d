// Actions that change nothing, because the page throws an error or the target moves away.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'

const PAGE = `<title>Cart</title><button id="broken">Buy</button><button id="plain">Plain</button>
  <button id="partial">Partial</button><button id="shy">Shy</button>
  <style>#shy:active { position: relative; left: 300px }</style>
 <button id="noisy">Noisy</button><p id="out"></p>
  <script>
    broken.onclick = () => { cart.add('item') }
    partial.onclick = () => { out.textContent = 'Added'; cart.add('item') }
    noisy.onclick = () => {
      for (let count = 1; count <= 3; count++)
        setTimeout(() => { throw new RangeError('number ' + count + 'x'.repeat(300)) })
    }
  </script>`

describe('an action without effect', { timeout: 60_000 }, () => {
  const { server, site } = startShared({ routes: { '/cart': PAGE } })

  test('reports the uncaught error that it caused', async () => {
    await server.ok('navigate', { url: site.url('/cart') })
    const { message } = await server.ok('click', { selector: '#broken' })
    assert.match(
      message,
      /^Clicked button "Buy".*; the page threw an uncaught error: .*cart.*\(http:.*\/cart:\d+\)$/
    )
    const plain = await server.ok('click', { selector: '#plain' })
    assert.doesNotMatch(plain.message, /error/, 'earlier errors are not repeated')
  })

  test('reports the first of several errors, and truncates it', async () => {
    await server.ok('navigate', { url: site.url('/cart') })
    const { message } = await server.ok('click', { selector: '#noisy' })
    assert.match(message, /RangeError: number 1x+….*, and 2 more$/)
    assert.ok(message.length < 400, message)
  })

  test('reports that the target moved away from the pointer and got no click', async () => {
    await server.ok('navigate', { url: site.url('/cart') })
    const { message } = await server.ok('click', { selector: '#shy' })
    assert.match(message, /moved away from the pointer and got no `click` event: click it again$/)
  })

  test('reports no error if something has changed', async () => {
    await server.ok('navigate', { url: site.url('/cart') })
    const { message, changes } = await server.ok('click', { selector: '#partial' })
    assert.match(changes, /Added/)
    assert.doesNotMatch(message, /error/)
  })
})
