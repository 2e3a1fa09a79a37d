// Takes both snapshots of a page: `playwrightSnapshot`, with child frames inserted as Rust does it,
// and the one of Playwright itself.
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { World, bundle, launchChromium } from '../page/world.mjs'

/** The percentage of lines that must be equal on pages of other projects. */
const GOAL = 99.5

/** The number of pages that are compared at the same time. */
const CONCURRENCY = 2

/** How often a page that changes while it is compared is opened. */
const ATTEMPTS = 3

/**
 * @typedef {{
 *   label: string, open: (comparison: Comparison) => Promise<unknown>, options?: object
 * }} Item
 */

/** Compares the snapshots of many pages, in the pages of one browser. */
export class PageComparisons {
  /** @type {Promise<Comparison[]> | undefined} */
  #opened

  /** @param {{ after: (end: () => unknown) => void }} scope */
  constructor(scope) {
    this.scope = scope
  }

  /** Returns the open pages. */
  opened() {
    return (this.#opened ??= this.#open())
  }

  async #open() {
    const browser = await launchChromium(this.scope)
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
  async compare(items) {
    const queue = [...items]
    const result = { lines: 0, equal: 0, different: /** @type {object[]} */ ([]) }
    const work = async (/** @type {Comparison} */ comparison) => {
      await comparison.open()
      for (let item = queue.shift(); item; item = queue.shift()) {
        const { found, ...snapshots } = await comparison.compare(item)
        const lines = Math.max(snapshots.ours.length, snapshots.theirs.length)
        result.lines += lines
        result.equal += lines - found.length
        if (found.length > 0) result.different.push({ page: item.label, first: found.slice(0, 3) })
      }
    }
    await Promise.all((await this.opened()).map(work))
    return result
  }

  /**
   * Fails if less than 99.5 % of the lines are equal.
   * @param {import('node:test').TestContext} t @param {Item[]} items
   */
  async assertGoal(t, items) {
    const { lines, equal, different } = await this.compare(items)
    const rate = (100 * equal) / lines
    t.diagnostic(`${items.length} pages, ${equal} of ${lines} lines: ${rate.toFixed(2)} %`)
    for (const each of different) t.diagnostic(JSON.stringify(each))
    assert.ok(rate >= GOAL, `${rate.toFixed(2)} % of the lines are equal`)
  }
}

/**
 * @typedef {{ depth?: number, boxes?: boolean, selector?: string }} Options
 * @typedef {{ ours: string[], theirs: string[] }} Snapshots
 */

export class Comparison {
  /** @type {World | undefined} */
  #world

  /**
   * @param {import('playwright-core').Page} page
   * @param {string} source the bundle of src/page/injected/playwright.ts
   */
  constructor(page, source) {
    this.page = page
    this.source = source
  }

  /** Opens a new document, in which both sides count their refs from 1. @param {string} url */
  async open(url = 'about:blank') {
    await this.#world?.close()
    this.#world = undefined
    await this.page.goto(url, { waitUntil: 'load' })
  }

  /** The world of the main frame. */
  async world() {
    return (this.#world ??= await World.of(this.page, this.source))
  }

  /**
   * Opens a page and compares its snapshots. If they differ because the page has changed between
   * them, opens it again.
   * @param {Item} item
   */
  async compare(item) {
    for (let attempt = 1; ; attempt++) {
      await item.open(this)
      const snapshots = await this.snapshots(item.options)
      const found = differences(snapshots)
      if (found.length === 0) return { ...snapshots, found }
      const later = await this.snapshots(item.options)
      // A difference can shift the numbers of all later refs in the document.
      await this.open()
      if (isDeepStrictEqual(later.theirs, snapshots.theirs) || attempt === ATTEMPTS)
        return { ...snapshots, found }
    }
  }

  /**
   * Takes both snapshots.
   * @param {Options} [options] @returns {Promise<Snapshots>}
   */
  async snapshots({ selector, ...options } = {}) {
    const { page } = this
    const target = selector === undefined ? page : page.locator(selector)
    const world = await this.world()
    // Animations, too, would change it: elements without a size have no ref.
    await Promise.all(page.frames().map((frame) => frame.evaluate(finishAnimations)))
    // Timers of the page would change it between the two snapshots.
    await world.cdp.send('Emulation.setScriptExecutionDisabled', { value: true })
    const text = await target.ariaSnapshot({ mode: 'ai', timeout: 5000, ...options })
    const theirs = text.split('\n')
    // The caller numbers the frames: the numbers are taken from the other snapshot. Playwright also
    // numbers the main frame, once it has navigated from another page.
    const prefixes = [...new Set(theirs.flatMap((line) => /\[ref=(f\d+|)e/.exec(line)?.[1] ?? []))]
    const framePrefix = prefixes.shift() ?? ''
    const root =
      selector === undefined ? undefined : (await world.call('resolve', { target: selector })).ref
    const ours = await this.#linesOf(world, prefixes, { ...options, root, framePrefix })
    await world.cdp.send('Emulation.setScriptExecutionDisabled', { value: false })
    return { ours: ours.length === 0 ? [''] : ours, theirs }
  }

  /**
   * Returns the lines of a frame and of the frames in it.
   * @param {World} world @param {string[]} prefixes @param {object} argument
   * @returns {Promise<string[]>}
   */
  async #linesOf(world, prefixes, argument) {
    const answer = await world.call('playwrightSnapshot', argument)
    if (answer.error) throw new Error(JSON.stringify(answer.error))
    /** @type {string[]} */
    const lines = answer.text === '' ? [] : answer.text.split('\n')
    const inserted = []
    for (const { ref, line, indent, depth } of answer.frames) {
      const inner = await this.#worldIn(world, ref)
      if (!inner) continue
      const framePrefix = prefixes.shift() ?? 'f?'
      const other = { ...argument, root: undefined, depth, framePrefix }
      const child = await this.#linesOf(inner, prefixes, other)
      inserted.push({ line, child: child.map((each) => ' '.repeat(indent + 2) + each) })
    }
    for (const { line, child } of inserted.reverse())
      if (child.length > 0) lines.splice(line, 1, `${lines[line]}:`, ...child)
    return lines
  }

  /**
   * Returns a new world in the frame of an element, nothing for another process.
   * @param {World} world @param {string} ref
   */
  async #worldIn({ cdp, context, page }, ref) {
    const { result } = await cdp.send('Runtime.evaluate', {
      expression: `__troupe.element(${JSON.stringify(ref)})`,
      contextId: context
    })
    const { node } = await cdp.send('DOM.describeNode', { objectId: result.objectId ?? '' })
    if (!node.frameId) return undefined
    const made = await cdp.send('Page.createIsolatedWorld', {
      frameId: node.frameId,
      worldName: 'troupe-test'
    })
    const inner = new World(page, cdp, made.executionContextId)
    await inner.evaluate(`globalThis.__troupe || (() => {${this.source}})()`)
    return inner
  }
}

/** Runs in the page. Animations without an end keep running. */
function finishAnimations() {
  for (const animation of document.getAnimations())
    if (animation.effect?.getComputedTiming().endTime !== Infinity) animation.finish()
}

/**
 * Returns the lines that are at the same place in only one of the snapshots.
 * @param {Snapshots} snapshots
 */
export function differences({ ours, theirs }) {
  const found = []
  for (let i = 0; i < Math.max(ours.length, theirs.length); i++) {
    if (!isSame(ours[i], theirs[i]))
      found.push({ line: i + 1, ours: ours[i] ?? '', theirs: theirs[i] ?? '' })
  }
  return found
}

/**
 * Returns whether two lines are equal. The value of a password field is masked in ours.
 * @param {string | undefined} ours @param {string | undefined} theirs
 */
function isSame(ours, theirs) {
  const masked = / ••••$/.exec(ours ?? '')
  return ours === theirs || (masked !== null && theirs?.startsWith(`${ours?.slice(0, -4)}`))
}
