// Compares the locators of src/page/injected/playwright/locators with those of playwright-core: how
// targets are parsed, printed and resolved, and which locator is generated for an element.
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ROOT } from '../../scripts/run.mjs'
import { PAGES as MINIWOB, startScript } from '../miniwob/episodes.mjs'
import { DEBIAN_PAGES, NPM_PAGES } from '../page/oracle-pages.mjs'
import { World, bundle, launchChromium } from '../page/world.mjs'
import { PAGES } from '../support/pages.mjs'
import { shared } from '../support/scope.mjs'
import { LocatorComparison, printedByPlaywright } from './locator-comparison.mjs'
import { LOCATOR_PAGES, TARGETS, TARGET_PAGE } from './locator-pages.mjs'

/** The proportion of equal locators. */
const GOAL = 0.995
const CONCURRENCY = 3
const ATTEMPTS = 3
const MAX_ELEMENTS = 40
const MAX_ELEMENTS_OF_EPISODES = 10
/** On large pages, Playwright needs up to a second for each element. */
const MAX_ELEMENTS_OF_REAL_PAGES = 8
const LARGE = /flask-doc\/html\/api|R-ints|R-lang|usage\/configuration/

/** Pages that open a dialog or never end to load or to run. */
const ENDLESS = new Set(['/alert-on-load', '/busy', '/loading'])

/** Some episodes change the page all the time. */
const STOP_TIMERS = `{
  for (let id = setTimeout(() => {}); id > 0; id--) clearTimeout(id)
}`

/** @typedef {(page: import('playwright-core').Page) => Promise<unknown>} Open */

/** @param {string} html @returns {Open} */
const withContent = (html) => (page) => {
  const document = `<!doctype html><html lang="en"><title>Test</title>${html}`
  return page.goto(`data:text/html;charset=utf-8,${encodeURIComponent(document)}`)
}

/** @param {string} path @returns {Open} */
const ofFile = (path) => (page) => page.goto(`file://${path}`, { waitUntil: 'load' })

describe('locators of the Playwright tools', { timeout: 240_000 }, () => {
  const scope = shared()
  const source = bundle('src/page/injected/playwright.ts')
  /** @type {Promise<import('playwright-core').Browser> | undefined} */
  let browser
  const newPage = async () =>
    (await (browser ??= launchChromium(scope))).newPage({ viewport: { width: 1280, height: 800 } })

  /**
   * Compares the generated locators on all pages. Each worker has its own tab.
   * @param {import('node:test').TestContext} t
   * @param {[string, Open][]} pages
   * @param {number} limit
   */
  async function compareGenerated(t, pages, limit) {
    const queue = [...pages]
    const all = []
    const work = async () => {
      const page = await newPage()
      const comparison = new LocatorComparison(page, source)
      for (let next = queue.shift(); next; next = queue.shift()) {
        const [name, open] = next
        let pairs = []
        // The page may change between both snapshots, which then number its elements differently.
        for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
          await open(page)
          if (attempt > 0) await page.waitForLoadState('networkidle')
          pairs = await comparison.generated(limit)
          if (pairs.every(({ actual, expected }) => actual === expected)) break
        }
        all.push(...pairs.map((pair) => ({ name, ...pair })))
      }
      await page.close()
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
    const different = all.filter(({ actual, expected }) => actual !== expected)
    const equal = all.length - different.length
    t.diagnostic(`${pages.length} pages, ${equal} of ${all.length} locators are equal`)
    for (const { name, target, actual, expected } of different)
      t.diagnostic(`${name} ${target}: ${actual}, in Playwright ${expected}`)
    assert.ok(all.length > 0)
    assert.ok(equal >= GOAL * all.length, `${equal} of ${all.length} locators are equal`)
  }

  test('are generated as by Playwright on pages about each rule', async (t) => {
    const pages = Object.entries(LOCATOR_PAGES).flatMap(([group, list]) =>
      list.map(
        (html, index) => /** @type {[string, Open]} */ ([`${group} ${index}`, withContent(html)])
      )
    )
    for (const [path, html] of Object.entries(PAGES))
      if (!ENDLESS.has(path)) pages.push([path, withContent(html)])
    await compareGenerated(t, pages, MAX_ELEMENTS)
  })

  test('are generated as by Playwright on the pages of MiniWoB++', async (t) => {
    if (!existsSync(MINIWOB)) return t.skip('run `npm run setup`')
    const files = readdirSync(`${MINIWOB}/miniwob`)
    const pages = files.map((file) => {
      const start = async (/** @type {import('playwright-core').Page} */ page) => {
        await ofFile(`${MINIWOB}/miniwob/${file}`)(page)
        await page.evaluate(`(${startScript('locators')})()`)
        await page.evaluate(STOP_TIMERS)
      }
      return /** @type {[string, Open]} */ ([file, start])
    })
    await compareGenerated(t, pages, MAX_ELEMENTS_OF_EPISODES)
  })

  test('are generated as by Playwright on real pages', async (t) => {
    const paths = [...NPM_PAGES, ...DEBIAN_PAGES].filter(
      (path, index) => index % 3 === 0 && existsSync(join(ROOT, path)) && !LARGE.test(path)
    )
    const pages = paths.map((path) => [path, ofFile(join(ROOT, path))])
    await compareGenerated(t, /** @type {[string, Open][]} */ (pages), MAX_ELEMENTS_OF_REAL_PAGES)
  })

  test('of agents are parsed, printed and resolved as by Playwright', async (t) => {
    const page = await newPage()
    await withContent(TARGET_PAGE)(page)
    const pairs = await new LocatorComparison(page, source).resolved(TARGETS)
    await page.close()
    const different = pairs.filter(({ actual, expected }) => actual !== expected)
    t.diagnostic(`${pairs.length - different.length} of ${pairs.length} targets are equal`)
    assert.deepEqual(different, [])
  })

  /** Opens a page and a function that calls `playwrightTarget` on it. @param {string} html */
  async function openTarget(html) {
    const page = await newPage()
    await withContent(html)(page)
    const world = await World.of(page, source)
    return {
      page,
      world,
      /** @param {string} target @param {object} [options] */
      find: (target, options) =>
        world.call('playwrightTarget', { target, framePrefix: '', ...options })
    }
  }

  test('of clicks are checked if they are the only match', async () => {
    const { page, world } = await openTarget(
      '<button>Save</button><button disabled>Send</button><i>x</i><i>y</i>'
    )
    const check = { action: 'click', force: false, guard: false, timeout: 0 }
    /** @param {string} target */
    const find = (target) => world.call('playwrightClickTarget', { target, framePrefix: '', check })
    const save = await find('text=Save')
    assert.equal(save.actionable.ok, true)
    assert.equal(save.actionable.ref, save.ref)
    for (const [target, count] of /** @type {const} */ ([
      ['text=Send', 1],
      ['i', 2]
    ])) {
      const { actionable, ...found } = await find(target)
      assert.deepEqual([found.count, actionable], [count, undefined])
    }
    assert.equal((await find('#none')).error.code, 'ELEMENT_NOT_FOUND')
    await page.close()
  })

  test('lead into child frames', async () => {
    const { page, find } = await openTarget(
      '<p>x</p><iframe name="inner" srcdoc="<p>y</p>"></iframe>'
    )
    for (const [target, rest] of [
      ["frameLocator('iframe').getByText('y')", 'internal:text="y"i'],
      ["locator('iframe').contentFrame().locator('p').first()", 'p >> nth=0'],
      ['iframe >> nth=0 >> internal:control=enter-frame >> p', 'p'],
      ["page.frameLocator('iframe').first().getByRole('paragraph')", 'internal:role=paragraph']
    ]) {
      const answer = await find(target)
      assert.equal(answer.rest, rest)
      const inner = printedByPlaywright(rest)
      assert.equal(`${answer.locator}.${inner}`, printedByPlaywright(target.replace('page.', '')))
      assert.match(answer.frame, /^e\d+$/)
      const generated = await find(target, { generate: true })
      assert.equal(generated.locator, `locator('iframe[name="inner"]').contentFrame()`)
    }
    assert.equal((await find("frameLocator('p').getByText('y')")).error.code, 'INVALID_SELECTOR')
    assert.equal((await find("locator('iframe').contentFrame()")).error.code, 'INVALID_SELECTOR')
    await page.close()
  })

  test('search in an element, in closed shadow roots and by another test id attribute', async () => {
    const html = `<div id="a"><b>x</b></div><div id="b"><b data-qa="q">x</b></div>
      <div id="host"><template shadowrootmode="closed"><button>Closed</button></template></div>`
    const { page, world, find } = await openTarget(html)
    const { ref } = await find('#b')
    const inB = await find('b', { within: ref })
    assert.equal(inB.count, 1)
    assert.equal((await find('b')).count, 2)
    const testIdAttribute = 'data-qa'
    assert.equal((await find("getByTestId('q')", { testIdAttribute })).ref, inB.ref)
    const byTestId = await find('#b b', { generate: true, testIdAttribute })
    assert.equal(byTestId.locator, "getByTestId('q')")
    const { root } = await world.cdp.send('DOM.getDocument', { depth: -1, pierce: true })
    const { nodeId } = await world.cdp.send('DOM.querySelector', {
      nodeId: root.nodeId,
      selector: '#host'
    })
    const { node } = await world.cdp.send('DOM.describeNode', { nodeId, pierce: true })
    const resolve = async (backendNodeId) =>
      (
        await world.cdp.send('DOM.resolveNode', {
          backendNodeId,
          executionContextId: world.context
        })
      ).object.objectId
    await world.cdp.send('Runtime.callFunctionOn', {
      functionDeclaration: 'function (root) { __troupe.adoptShadowRoots(this, root) }',
      objectId: await resolve(node.backendNodeId),
      arguments: [{ objectId: await resolve(node.shadowRoots[0].backendNodeId) }]
    })
    assert.equal((await find("getByRole('button', { name: 'Closed' })")).count, 1)
    assert.equal((await find('#host button')).locator, "locator('#host button')")
    await page.close()
  })

  test('that match nothing are reported with the messages of @playwright/mcp', async () => {
    const { page, find } = await openTarget('<p>x</p>')
    const messageOf = async (target) => (await find(target)).error.message
    assert.equal(await messageOf('#x'), '"#x" does not match any elements.')
    assert.equal(
      await messageOf('e5'),
      'Ref e5 not found in the current page snapshot. Try capturing new snapshot.'
    )
    assert.match(await messageOf("getByRole('button', { nme: 'x' })"), /unsupported option nme/)
    await page.close()
  })
})
