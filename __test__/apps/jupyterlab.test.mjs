// JupyterLab from PyPI: an agent opens a notebook, types a cell, runs it and reads the output.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../support/wait.mjs'
import { startAgent, startProgram } from './app.mjs'

const JUPYTER = fileURLToPath(new URL('../../.cache/venv/bin/jupyter', import.meta.url))

const cell = (type, source, more) => ({ cell_type: type, id: type, metadata: {}, source, ...more })
const NOTEBOOK = {
  nbformat: 4,
  nbformat_minor: 5,
  metadata: {
    kernelspec: { name: 'python3', display_name: 'Python 3 (ipykernel)', language: 'python' }
  },
  cells: [cell('markdown', '# Sums'), cell('code', '', { outputs: [], execution_count: null })]
}

/**
 * A JupyterLab server with all its files in one folder.
 * @param {{ after: (end: () => unknown) => void }} t
 */
async function startJupyter(t) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-jupyter-'))
  writeFileSync(join(folder, 'sums.ipynb'), JSON.stringify(NOTEBOOK))
  const names = {
    HOME: '',
    JUPYTER_CONFIG_DIR: 'config',
    JUPYTER_DATA_DIR: 'data',
    JUPYTER_RUNTIME_DIR: 'run',
    IPYTHONDIR: 'ipython'
  }
  const own = Object.entries(names).map(([name, path]) => [name, join(folder, '.jupyter', path)])
  const options = [
    '--no-browser',
    '--allow-root',
    '--port=0',
    '--ServerApp.token=',
    '--ServerApp.password='
  ]
  const { output } = startProgram(
    t,
    JUPYTER,
    ['lab', ...options, '--LabApp.news_url=', `--ServerApp.root_dir=${folder}`],
    {
      cwd: folder,
      env: { ...process.env, ...Object.fromEntries(own) }
    }
  )
  // Hooks run in order: nothing writes to the folder any more.
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const address = () => /http:\/\/127\.0\.0\.1:\d+\/lab/.exec(output())?.[0]
  const url = await until(address, 'the address of JupyterLab', 60_000).catch((error) => {
    throw new Error(`${error.message}; it says\n${output()}`)
  })
  return { url, file: join(folder, 'sums.ipynb') }
}

describe(
  'JupyterLab',
  { timeout: 120_000, skip: existsSync(JUPYTER) ? false : 'it is not installed: `npm run setup`' },
  () => {
    test('a notebook is opened, a cell typed and run, and its output read', async (t) => {
      const { url, file } = await startJupyter(t)
      const agent = await startAgent(t, url)

      await agent.click(/button "sums\.ipynb"/, { clickCount: 2 })
      const opened = await agent.seeing(/heading "Sums"/)
      assert.match(opened, /tab "sums\.ipynb[^"]*" \[selected\]/)

      const code = await agent.ref(/textbox .*\[active\]|generic "Code Cell Content"/)
      await agent.act('click', { selector: code })
      await agent.act('type', {
        selector: await agent.ref(/textbox .*\[active\]/),
        text: 'sum(n * n for n in range(10))'
      })
      assert.match(await agent.see(), /sum\(n \* n for n in range\(10\)\)/)
      await agent.act('press', { key: 'Shift+Enter' })
      await agent.seeing(/\b285\b/)

      // The cell below exists and has the focus, also after an error.
      await agent.act('type', { selector: await agent.ref(/textbox .*\[active\]/), text: '1 / 0' })
      await agent.click(/button "Run this cell and advance/)
      await agent.seeing(/ZeroDivisionError: division by zero/)

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
  }
)
