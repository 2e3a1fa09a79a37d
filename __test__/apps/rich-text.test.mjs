// CKEditor 4 with its own sample page: a rich-text editor whose text is in a frame, with toolbars,
// menus and dialogs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serveFiles, startAgent } from './app.mjs'

/**
 * On the sample, with the ref of the editor's text.
 * @param {{ after: (end: () => unknown) => void }} t
 */
async function openEditor(t) {
  const agent = await startAgent(t, `${await serveFiles(t)}/ckeditor4/samples/index.html`)
  // The field is the whole body of the frame.
  const field = await agent.ref(/textbox .*ref=f1e/)
  return { agent, field }
}

describe('rich-text editor', { timeout: 60_000 }, () => {
  test('the text in the frame is read, replaced and formatted', async (t) => {
    const { agent, field } = await openEditor(t)
    const before = await agent.awaitSnapshot(/heading "Hello world!" .*ref=f1e/)
    assert.match(before, /I'm an instance of/)

    await agent.act('click', { selector: field })
    await agent.act('press', { key: 'ControlOrMeta+A' })
    await agent.click(/button "Bold"/)
    await agent.act('type', { selector: field, text: 'Written by an agent' })
    await agent.awaitSnapshot(/Written by an agent/)
    assert.doesNotMatch(await agent.see(), /Hello world!/)

    // Formatting, in the editor's source view.
    await agent.click(/button "Source"/)
    const source = await agent.awaitSnapshot(/textbox "[^"]*[Ee]ditor[^"]*" .*Written by an agent/)
    assert.match(source, /<strong>Written by an agent<\/strong>/)
  })

  test('a menu sets a heading, and a list is undone', async (t) => {
    const { agent, field } = await openEditor(t)
    await agent.act('click', { selector: field })
    await agent.act('press', { key: 'ControlOrMeta+A' })
    await agent.act('type', { selector: field, text: 'A title' })
    await agent.click(/button "[^"]*\bFormat" \[expanded=false\]/)
    // The menu is in a separate frame.
    await agent.click(/option "Heading 2"/)
    await agent.awaitSnapshot(/heading "A title" \[level=2\]/)

    await agent.click(/button "Insert\/Remove Bulleted List"/)
    await agent.awaitSnapshot(/listitem:\n +- heading "A title"/)
    await agent.click(/button "Undo" \[ref/)
    assert.doesNotMatch(await agent.see(), /listitem:\n +- heading "A title"/)
  })

  test('a dialog puts a link into the text', async (t) => {
    const { agent, field } = await openEditor(t)
    await agent.act('click', { selector: field })
    await agent.act('press', { key: 'ControlOrMeta+A' })
    await agent.click(/button "Link" \[ref/)
    await agent.act('fill', {
      selector: await agent.ref(/textbox "URL/),
      value: 'example.org/docs'
    })
    await agent.click(/button "OK"/)
    assert.match(
      await agent.awaitSnapshot(/\/url: http:\/\/example\.org\/docs/),
      /link "I'm an instance of CKEditor\."|link "Hello world!"/
    )
  })
})
