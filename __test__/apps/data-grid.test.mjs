// A data grid that draws only the rows in view: Tabulator from npm, with ten thousand rows.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serveFiles, startAgent } from './app.mjs'

const GRID = `<!doctype html><html lang="en"><meta charset="utf-8"><title>People</title><link rel="icon" href="data:,">
  <link rel="stylesheet" href="/tabulator-tables/dist/css/tabulator.min.css">
  <script src="/tabulator-tables/dist/js/tabulator.min.js"></script>
  <h1>People</h1><div id="people"></div><script>
    const people = Array.from({ length: 10_000 }, (_, index) => (
      { id: index + 1, name: 'Person ' + (index + 1), city: ['Oslo', 'Rome', 'Lima'][index % 3], age: 20 + (index * 7) % 60 }))
    new Tabulator('#people', { data: people, height: 400, layout: 'fitColumns', columns: [
      { title: 'Name', field: 'name', editor: 'input', headerFilter: 'input' },
      { title: 'City', field: 'city' }, { title: 'Age', field: 'age', sorter: 'number' }] })
  </script>`

/** @param {{ after: (end: () => unknown) => void }} t */
async function openGrid(t) {
  const origin = await serveFiles(t, { pages: { '/people': GRID } })
  const agent = await startAgent(t, `${origin}/people`)
  await agent.awaitSnapshot(/gridcell "Person 1"/)
  return agent
}

describe('data grid with virtual scrolling', { timeout: 60_000 }, () => {
  test('the rendered rows are read as rows of a grid, and after scrolling down, other rows', async (t) => {
    const agent = await openGrid(t)
    const top = await agent.see()
    assert.match(
      top,
      /- row:\n +- gridcell "Person 1" .*\n +- gridcell "Oslo" .*\n +- gridcell "20"/
    )
    assert.doesNotMatch(top, /Person 9000/)

    await agent.act('scroll', { selector: '.tabulator-tableholder', y: 1_000_000 })
    const bottom = await agent.awaitSnapshot(/gridcell "Person 10000"/, { selector: '#people' })
    assert.doesNotMatch(bottom, /gridcell "Person 1"/)
  })

  test('a click on a header sorts, another the other way round', async (t) => {
    const agent = await openGrid(t)
    const header = await agent
      .ref(/columnheader "Age"/)
      .catch(() => 'role=columnheader[name="Age"]')
    await agent.act('click', { selector: header })
    await agent.awaitSnapshot(/columnheader "Age".*\[sort=ascending\]/)
    assert.match(await agent.see(), /- row:\n +- gridcell "Person \d+" .*\n.*\n +- gridcell "20"/)
    await agent.act('click', { selector: header })
    await agent.awaitSnapshot(/gridcell "79"/)
  })

  test('a filter finds one of ten thousand, and its cell is edited', async (t) => {
    const agent = await openGrid(t)
    await agent.act('type', { selector: await agent.ref(/searchbox/), text: 'Person 7321' })
    await agent.awaitSnapshot(/gridcell "Person 7321"/)
    assert.doesNotMatch(await agent.see(), /gridcell "Person 1"/)

    await agent.click(/gridcell "Person 7321"/)
    const editor = await agent.ref(/textbox .*Person 7321/)
    await agent.act('fill', { selector: editor, value: 'Person 7321 junior' })
    await agent.act('press', { key: 'Enter' })
    await agent.awaitSnapshot(/gridcell "Person 7321 junior"/)
  })
})
