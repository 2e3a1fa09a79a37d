// Pages that are too large for a complete snapshot: the walk stops at a limit and reports it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedPage } from './world.mjs'

const GRID = `<h1>Grid</h1><script>
  const table = document.body.appendChild(document.createElement('table'))
  for (let row = 0; row < 18000; row++) {
    const line = table.insertRow()
    for (let cell = 0; cell < 10; cell++) line.insertCell().textContent = row + '.' + cell
  }
</script>`

test('a snapshot of 180,000 cells ends at its limit and says how to read the rest', async (t) => {
  const world = await sharedPage(t).open(GRID)
  const begun = performance.now()
  const whole = await world.call('snapshot', { fold: 0 })
  assert.ok(performance.now() - begun < 5000)
  assert.match(whole.text, /cell "0\.9"/)
  assert.doesNotMatch(whole.text, /17999\.9/)
  assert.match(
    whole.text,
    /\n- … cut here, in (row|table) .*\[ref=e\d+\]: the page has too many elements\. snapshot \{selector\}[^\n]*$/
  )
  assert.equal(whole.cut, true)
  const part = await world.call('snapshot', { selector: 'tr:nth-child(18000)' })
  assert.match(part.text, /17999\.9/)
  assert.equal(part.cut, false)
})

test('a second walk of a large page ends at the same element', async (t) => {
  const world = await sharedPage(t).open(GRID)
  const first = await world.call('snapshot', { fold: 0 })
  assert.equal((await world.call('snapshot', { fold: 0 })).text, first.text)
  await world.page.evaluate(() => (document.querySelector('h1').textContent = 'Other'))
  assert.equal(
    (await world.call('snapshot', { fold: 0 })).text,
    first.text.replace('Grid', 'Other')
  )
})

test('all folded rows are counted', async (t) => {
  const { text, cut } = await (await sharedPage(t).open(GRID)).call('snapshot')
  assert.match(text, /… 17980 more rows/)
  assert.equal(cut, false)
})
