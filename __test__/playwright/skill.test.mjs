// A scripted agent works as prompts and skills for @playwright/mcp describe it: it connects with an
// unchanged client configuration, calls the tools by the names in the package's README, and finds
// refs in snapshots.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { refIn } from '../support/snapshots.mjs'
import { startTroupe } from './servers.mjs'
import { startDifferentialSite } from './site.mjs'

const README = readFileSync(
  fileURLToPath(new URL('../../node_modules/@playwright/mcp/README.md', import.meta.url)),
  'utf8'
)

/**
 * Returns the tools that the README describes: the name, and the parameters that are not optional.
 */
function describedTools() {
  return [...README.matchAll(/^- \*\*(browser_\w+)\*\*\n((?: {2}.*\n)*)/gm)].map(
    ([, name, text]) => ({
      name,
      required: [...text.matchAll(/^ {4}- `(\w+)` \((?!.*optional)/gm)].map(
        ([, parameter]) => parameter
      )
    })
  )
}

/** @param {import('../support/server.mjs').Server} server */
function agentOn(server) {
  /** @param {string} tool @param {object} [given] */
  const call = async (tool, given) => {
    const { text, isError } = await server.call(tool, given)
    assert.ok(!isError, `${tool}: ${text}`)
    return text
  }
  const ref = async (/** @type {RegExp} */ line) => refIn(await call('browser_snapshot'), line)
  return { call, ref }
}

describe('prompts and skills for @playwright/mcp', { timeout: 60_000 }, () => {
  test('every tool in its README is offered with the same required parameters', async (t) => {
    const { server } = await startTroupe(t)
    const { result } = await server.request('tools/list', {})
    const described = describedTools()
    assert.ok(described.length >= 60, `${described.length} tools`)
    for (const { name, required } of described) {
      const tool = result.tools.find((/** @type {{ name: string }} */ tool) => tool.name === name)
      assert.ok(tool, name)
      assert.deepEqual([...(tool.inputSchema.required ?? [])].sort(), [...required].sort(), name)
    }
  })

  test('a form is filled in by refs, submitted, verified and saved', async (t) => {
    const site = await startDifferentialSite(t)
    const { server, directory } = await startTroupe(t)
    const { call, ref } = agentOn(server)

    const opened = await call('browser_navigate', { url: `${site.origin}/text-fields` })
    assert.match(opened, /^- Page Title: text-fields$/m)
    await call('browser_type', {
      element: 'Name field',
      target: await ref(/textbox "Name"/),
      text: 'Ada Lovelace'
    })
    await call('browser_fill_form', {
      fields: [
        { name: 'Note', type: 'textbox', target: await ref(/textbox "Note"/), value: 'first' },
        { name: 'Mail', type: 'textbox', target: await ref(/textbox "Mail"/), value: 'a@b.test' }
      ]
    })
    assert.match(await call('browser_snapshot'), /textbox "Name" \[ref=\w+\]: Ada Lovelace/)
    await call('browser_verify_value', {
      type: 'textbox',
      element: 'Mail field',
      target: await ref(/textbox "Mail"/),
      value: 'a@b.test'
    })

    await call('browser_navigate', { url: `${site.origin}/checkboxes` })
    await call('browser_click', { element: 'News', target: await ref(/checkbox "News"/) })
    assert.match(await call('browser_snapshot'), /checkbox "News" \[checked\]/)
    await call('browser_navigate_back')
    assert.match(await call('browser_console_messages', { level: 'error' }), /Errors: 0/)
    const shot = await call('browser_take_screenshot', { filename: 'form.png' })
    assert.match(shot, /\[Screenshot of viewport\]\(\.\/form\.png\)/)
    assert.equal(readFileSync(join(directory, 'form.png')).readUInt32BE(0), 0x89504e47)
    await call('browser_close')
  })

  test('tabs, a dialog and an upload are handled as the descriptions of the tools say', async (t) => {
    const site = await startDifferentialSite(t)
    const { server } = await startTroupe(t)
    const { call, ref } = agentOn(server)

    await call('browser_navigate', { url: `${site.origin}/file-chooser` })
    const clicked = await call('browser_click', { target: await ref(/button "Files"/) })
    assert.match(clicked, /\[File chooser\]: can be handled by browser_file_upload/)
    await call('browser_file_upload', { paths: ['upload.txt'] })
    await call('browser_wait_for', { text: 'upload.txt' })

    await call('browser_tabs', { action: 'new', url: 'about:blank' })
    await call('browser_evaluate', { function: "() => { setTimeout(() => alert('Hi')) }" })
    const { text } = await server.call('browser_snapshot')
    assert.match(text, /"alert" dialog with message "Hi"/)
    await call('browser_handle_dialog', { accept: true })
    const tabs = await call('browser_tabs', { action: 'list' })
    assert.match(tabs, /^- 0: \[.*\]\(.*file-chooser\)\n- 1: \(current\)/m)
  })
})
