// The documents for contributors name files and functions that exist.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ROOT } from '../../scripts/run.mjs'
import { DOCUMENTS } from '../support/documents.mjs'

/** The folders to which paths in the documents are relative. */
const FOLDERS = [
  '',
  'src',
  'src/config',
  'src/page/injected',
  'src/page/injected/playwright',
  'src/server',
  'scripts',
  'benches',
  '__test__',
  '__test__/playwright',
  '__test__/miniwob'
]

const isPath = (name) => /^[\w./-]+\.(rs|ts|mjs)$/.test(name)
const quoted = (line) => [...line.matchAll(/`([^`\s]+)`/g)].map(([, name]) => name)
const find = (path) =>
  FOLDERS.map((folder) => join(ROOT, folder, path)).find((file) => existsSync(file))

describe('documents for contributors', () => {
  const documents = Object.entries(DOCUMENTS).filter(([path]) =>
    /^(docs\/internals\/|docs\/architecture\.md|AGENTS\.md|CONTRIBUTING\.md)/.test(path)
  )

  test('every file that they name exists', () => {
    for (const [document, text] of documents)
      for (const path of quoted(text.replace(/^```[^]*?^```/gm, '')).filter(isPath))
        assert.ok(find(path), `${document}: ${path}`)
  })

  for (const name of ['click', 'fast-paths'])
    test(`the functions in ${name}.md are in the files of their rows`, () => {
      const rows = DOCUMENTS[`docs/internals/${name}.md`]
        .split('\n')
        .filter((line) => line.startsWith('| ') && quoted(line).some(isPath))
      assert.ok(rows.length > 10)
      for (const row of rows) {
        const files = quoted(row).filter(isPath).map(find)
        const sources = files.filter((file) => statSync(file).isFile())
        if (sources.length < files.length) continue
        const text = sources.map((file) => readFileSync(file, 'utf8')).join('\n')
        for (const name of quoted(row).filter((name) => /^[a-z]\w*[a-z]$/i.test(name)))
          assert.match(text, new RegExp(`\\b${name}\\b`), row)
      }
    })
})
