// Compares locators with those of playwright-core, on the page that is open.
import { createRequire } from 'node:module'
import { World } from '../page/world.mjs'

/** @typedef {{ target: string, actual: string, expected: string }} Pair */

const { iso } = createRequire(import.meta.url)('playwright-core/lib/coreBundle')

/**
 * Picks at most `limit` items, evenly spaced.
 * @template Item
 * @param {Item[]} items
 * @param {number} limit
 */
function sample(items, limit) {
  if (items.length <= limit) return items
  return Array.from({ length: limit }, (_, i) => items[Math.floor((i * items.length) / limit)])
}

/** Describes the position of an element in the document. Runs in the page. */
function positionOf(element) {
  let position = ''
  for (let node = element; node.parentNode; node = node.parentNode) {
    const index = Array.prototype.indexOf.call(node.parentNode.children, node)
    position = `/${node.localName}${index}${position}`
    if (node.parentNode.host) {
      node = { parentNode: node.parentNode.host }
      position = `#${position}`
    }
  }
  return position
}

export class LocatorComparison {
  /**
   * @param {import('playwright-core').Page} page
   * @param {string} source the bundle of src/page/injected/playwright.ts
   */
  constructor(page, source) {
    this.page = page
    this.source = source
  }

  /**
   * Returns the generated locators of elements in the last snapshot, from both sides.
   * @param {number} limit the maximum number of elements
   * @returns {Promise<Pair[]>}
   */
  async generated(limit) {
    const world = await World.of(this.page, this.source)
    try {
      const snapshot = await this.page.ariaSnapshot({ mode: 'ai' })
      return await this.#generatedFor(world, snapshot, limit)
    } finally {
      await world.close()
    }
  }

  /** @param {World} world @param {string} snapshot @param {number} limit */
  async #generatedFor(world, snapshot, limit) {
    const found = [...snapshot.matchAll(/\[ref=((f\d+)?e\d+)\]/g)]
    if (found.length === 0) return []
    const framePrefix = found[0][2] ?? ''
    // Child frames have other prefixes.
    const own = found.filter((match) => (match[2] ?? '') === framePrefix)
    const refs = sample(
      own.map((match) => match[1]),
      limit
    )
    await world.call('playwrightSnapshot', { framePrefix })
    const answers = await world.evaluate(`${JSON.stringify(refs)}.map((target) =>
      JSON.parse(__troupe.playwrightTarget({
        refs: { prefix: 'e', next: 1 }, target, framePrefix: ${JSON.stringify(framePrefix)}
      })))`)
    const expected = await Promise.all(
      refs.map((ref) =>
        this.page
          .locator(`aria-ref=${ref}`)
          .normalize()
          .then(String, (error) => `error: ${error.message.split('\n')[0]}`)
      )
    )
    return refs.map((target, index) => ({
      target,
      actual: answers[index].locator ?? JSON.stringify(answers[index].error),
      expected: expected[index]
    }))
  }

  /**
   * Resolves targets on both sides: the printed locator, the selector, the number of elements and
   * the position of the first one.
   * @param {string[]} targets
   * @returns {Promise<Pair[]>}
   */
  async resolved(targets) {
    const world = await World.of(this.page, this.source)
    const pairs = []
    for (const target of targets) {
      const answer = await world.call('playwrightTarget', { target, framePrefix: '' })
      const actual =
        answer.error?.code === 'ELEMENT_NOT_FOUND'
          ? 'none'
          : answer.error
            ? 'error'
            : [
                answer.locator,
                answer.selector,
                answer.count,
                await world.evaluate(
                  `(${positionOf})(__troupe.element(${JSON.stringify(answer.ref)}))`
                )
              ].join('  ')
      pairs.push({ target, actual, expected: await this.#resolvedByPlaywright(target) })
    }
    await world.close()
    return pairs
  }

  /** @param {string} target */
  async #resolvedByPlaywright(target) {
    // Troupe also accepts what agents copy from scripts.
    const locator = target.replace(/(^|[ (])page\./g, '$1').replace(/;$/, '')
    const selector = iso.locatorOrSelectorAsSelector('javascript', locator, 'data-testid')
    if (!selector) return 'error'
    const found = this.page.locator(selector)
    try {
      const [count, position] = await found.evaluateAll(
        ([first, ...others], source) => [
          first ? 1 + others.length : 0,
          first ? eval(`(${source})`)(first) : ''
        ],
        String(positionOf)
      )
      if (count === 0) return 'none'
      return [iso.asLocator('javascript', selector), selector, count, position].join('  ')
    } catch {
      return 'error'
    }
  }
}

/** Returns the locator that playwright-core prints for a target. @param {string} target */
export const printedByPlaywright = (target) =>
  iso.asLocator('javascript', iso.locatorOrSelectorAsSelector('javascript', target))
