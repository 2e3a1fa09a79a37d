// JupyterLab from PyPI: an agent opens a notebook, types a cell, runs it and reads the output.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { until } from '../support/wait.mjs'
import { startAgent } from './app.mjs'
import { missingJupyter, startJupyter } from './programs.mjs'

describe('JupyterLab', { timeout: 120_000, skip: missingJupyter() }, () => {
  test('a notebook is opened, a cell typed and run, and its output read', async (t) => {
    const { url, file } = await startJupyter(t)
    const agent = await startAgent(t, url)

    await agent.click(/button "sums\.ipynb"/, { clickCount: 2 })
    const opened = await agent.awaitSnapshot(/heading "Sums"/)
    assert.match(opened, /tab "sums\.ipynb[^"]*" \[selected\]/)

    const code = await agent.ref(/textbox .*\[active\]|generic "Code Cell Content"/)
    await agent.act('click', { selector: code })
    await agent.act('type', {
      selector: await agent.ref(/textbox .*\[active\]/),
      text: 'sum(n * n for n in range(10))'
    })
    assert.match(await agent.see(), /sum\(n \* n for n in range\(10\)\)/)
    await agent.act('press', { key: 'Shift+Enter' })
    await agent.awaitSnapshot(/\b285\b/)

    // The cell below exists and has the focus, also after an error.
    await agent.act('type', { selector: await agent.ref(/textbox .*\[active\]/), text: '1 / 0' })
    await agent.click(/button "Run this cell and advance/)
    await agent.awaitSnapshot(/ZeroDivisionError: division by zero/)

    await agent.act('press', { key: 'ControlOrMeta+S' })
    // It is written in place, so a read may return only a part of it.
    const saved = () => {
      const text = readFileSync(file, 'utf8')
      return (
        text.includes('ZeroDivisionError') &&
        text.trimEnd().endsWith('}') &&
        JSON.parse(text).cells.slice(1, 3)
      )
    }
    const [sum, division] = await until(saved, 'the saved notebook')
    assert.equal(sum.source.join?.('') ?? sum.source, 'sum(n * n for n in range(10))')
    assert.equal(division.outputs[0].ename, 'ZeroDivisionError')
  })
})
