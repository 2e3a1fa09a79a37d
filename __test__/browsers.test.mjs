// The table of browsers (`support/browsers.mjs`) names files and tests that exist.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ALONE, BROWSERS, FULL_ONLY, NOT_IN_CI } from './support/browsers.mjs'

const HERE = fileURLToPath(new URL('.', import.meta.url))

/** The first argument of `test` or `describe`. */
const NAME = /\b(?:test|describe)\(\s*(['"`])((?:\\.|(?!\1)[^])*)\1/g

/** @param {string} text */
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Returns the files at a path of the table. @param {string} path @returns {string[]} */
function filesAt(path) {
  const full = HERE + path
  if (!existsSync(full)) return []
  if (!statSync(full).isDirectory()) return [full]
  return readdirSync(full)
    .filter((name) => name.endsWith('.test.mjs'))
    .map((name) => `${full}${name}`)
}

/** Returns patterns of the names of all tests in a file. @param {string} file */
function namesIn(file) {
  return [...readFileSync(file, 'utf8').matchAll(NAME)].map(([, quote, text]) => {
    const name = text.replace(/\\(['"`\\])/g, '$1')
    const parts = quote === '`' ? name.split(/\$\{[^}]*\}/) : [name]
    return new RegExp(`^${parts.map((part) => escaped(part)).join('.+')}$`)
  })
}

describe('the table of browsers', () => {
  test('names only files that exist', () => {
    const rows = Object.values(BROWSERS)
    const paths = [
      ...[...ALONE, ...FULL_ONLY, ...NOT_IN_CI],
      ...rows.flatMap(({ onlyFiles = [], restFiles = [], unsupported }) => [
        ...[...onlyFiles, ...restFiles],
        ...Object.keys(unsupported)
      ])
    ]
    assert.deepEqual(
      paths.filter((path) => filesAt(path).length === 0),
      []
    )
  })

  test('names only tests that exist', () => {
    const stale = Object.entries(BROWSERS).flatMap(([browser, { unsupported }]) =>
      Object.entries(unsupported).flatMap(([path, reasons]) => {
        const known = filesAt(path).flatMap(namesIn)
        return Object.keys(reasons)
          .filter((name) => name !== '*' && !known.some((pattern) => pattern.test(name)))
          .map((name) => `${browser}: ${path}: ${name}`)
      })
    )
    assert.deepEqual(stale, [])
  })
})
