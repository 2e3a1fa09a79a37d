// Takes both snapshots of a page: `playwrightSnapshot`, with child frames inserted as Rust does it,
// and the one of Playwright itself.
import { World } from '../page/world.mjs'

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
   * Takes both snapshots.
   * @param {Options} [options] @returns {Promise<Snapshots>}
   */
  async snapshots({ selector, ...options } = {}) {
    const { page } = this
    const target = selector === undefined ? page : page.locator(selector)
    const world = await this.world()
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
