// Two drag-and-drop boards: jKanban with its own example, which follows the pointer, and a board of
// SortableJS, which listens to HTML's drag events. Both from npm.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serveFiles, startAgent } from './app.mjs'

/**
 * The lines of the snapshot below the line with `pattern`.
 * @param {string} text
 * @param {RegExp} pattern
 */
function below(text, pattern) {
  const lines = text.split('\n')
  const first = lines.findIndex((line) => pattern.test(line))
  const indent = (line) => line.search(/\S/)
  const next = lines.findIndex(
    (line, index) => index > first && indent(line) <= indent(lines[first])
  )
  return lines.slice(first, next < 0 ? undefined : next).join('\n')
}

const SORTABLE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Board</title><link rel="icon" href="data:,">
  <script src="/sortablejs/Sortable.min.js"></script>
  <style>ul { float: left; width: 200px; min-height: 200px; margin: 10px; border: 1px solid }</style>
  <ul id="open" aria-label="Open"><li>Write</li><li>Read</li></ul><ul id="done" aria-label="Done"><li>Think</li></ul>
  <script>for (const id of ['open', 'done']) new Sortable(document.getElementById(id), { group: 'board', animation: 150 })</script>`

describe('drag-and-drop boards', { timeout: 60_000 }, () => {
  test('jKanban: a card is dragged by its handle into the next column', async (t) => {
    const agent = await startAgent(t, `${await serveFiles(t)}/jkanban/example/index.html`)
    await agent.awaitSnapshot(/Working \(Try drag me too\)/)
    await agent.act('drag_and_drop', {
      source: '.kanban-item:has-text("Try drag this") >> .drag_handler >> nth=0',
      target: 'text="Do Something!"'
    })
    const text = await agent.see()
    const [, todo, working] = text.split(/^- banner.*$/m)
    assert.doesNotMatch(todo, /Try drag this/)
    assert.match(working, /Try drag this[^]*Run\?|Run\?[^]*Try drag this/)
  })

  test('jKanban: a card that may not go there stays where it is', async (t) => {
    const agent = await startAgent(t, `${await serveFiles(t)}/jkanban/example/index.html`)
    await agent.awaitSnapshot(/Done \(Can drop item only in working\)/)
    // "To Do (Can drop item only in working)"
    await agent.act('drag_and_drop', {
      source: '.kanban-item:has-text("Try drag this") >> .drag_handler >> nth=0',
      target: 'text="All right"'
    })
    assert.match((await agent.see()).split(/^- banner.*$/m)[1], /Try drag this/)
  })

  test('jKanban: a card is written, another opens a dialog, a board is removed', async (t) => {
    const agent = await startAgent(t, `${await serveFiles(t)}/jkanban/example/index.html`)
    await agent.click(/button "\+ Add New Card"/)
    await agent.act('fill', { selector: await agent.ref(/- textbox/), value: 'Buy milk' })
    await agent.click(/button "Submit"/)
    assert.match((await agent.see()).split(/^- banner.*$/m)[1], /Buy milk/)

    const { dialog } = await agent.act('click', { selector: 'text="Try Click This!"' })
    assert.equal(dialog.message, 'click')
    await agent.act('handle_dialog', { accept: true })

    const { changes } = await agent.click(/button "Remove \\"Done\\" Board"/)
    assert.match(changes, /^-.*Done/m)
    assert.doesNotMatch(await agent.see(), /All right/)
  })

  test('SortableJS: a card is dragged from one list into the other, and the result reports that it has moved', async (t) => {
    const agent = await startAgent(
      t,
      `${await serveFiles(t, { pages: { '/board': SORTABLE } })}/board`
    )
    const write = await agent.ref(/listitem.*Write/)
    await agent.act('drag_and_drop', { source: write, target: await agent.ref(/listitem.*Think/) })
    const text = await agent.see()
    assert.doesNotMatch(below(text, /list "Open"/), /Write/)
    // The element is the same, and so is its ref.
    assert.match(below(text, /list "Done"/), new RegExp(`\\[ref=${write}\\]: Write`))
  })

  test('SortableJS: a card is dragged over others, which make room for it on the way', async (t) => {
    const stacked = SORTABLE.replace('float: left; ', '')
    const agent = await startAgent(
      t,
      `${await serveFiles(t, { pages: { '/board': stacked } })}/board`
    )
    await agent.act('drag_and_drop', {
      source: await agent.ref(/listitem.*Write/),
      target: await agent.ref(/listitem.*Think/)
    })
    assert.match(below(await agent.see(), /list "Done"/), /Write/)
  })

  test('SortableJS: a card is dragged to another place in its list', async (t) => {
    const agent = await startAgent(
      t,
      `${await serveFiles(t, { pages: { '/board': SORTABLE } })}/board`
    )
    await agent.act('drag_and_drop', {
      source: await agent.ref(/listitem.*Read/),
      target: await agent.ref(/listitem.*Write/)
    })
    assert.match(below(await agent.see(), /list "Open"/), /Read\n.*Write/)
  })
})
