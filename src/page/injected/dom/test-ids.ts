/** Test ids: attributes that their authors keep the same, by which an exported script finds an element again. */
import type { TestId } from '../api'
import { attr, composedParent, queryAll, type Root } from './composed-tree'
import { shadowRoots } from './css'
import { givenRef } from './refs'

/** In the order of preference; each is also the engine of a target. */
const attributes = ['data-testid', 'data-test-id', 'data-test']

/** Elements of a root and of every shadow root below. */
export function everywhere(selector: string, scope: Root | Element): Element[] {
  const found = Array.from(queryAll(scope, selector))
  for (const root of shadowRoots(scope)) found.push(...queryAll(root, selector))
  return found
}

/** The test id of an element, unless neither it nor an element with a ref around it can be told from others by it. */
export function testIdOf(element: Element): TestId | undefined {
  for (const attribute of attributes) {
    const value = attr(element, attribute)
    if (!value) continue
    const selector = `[${attribute}="${CSS.escape(value)}"]`
    if (everywhere(selector, document).length === 1) return { attribute, value }
    let within: string | undefined
    for (
      let node = composedParent(element);
      node && everywhere(selector, node).length <= 1;
      node = composedParent(node)
    )
      within = givenRef(node) ?? within
    if (within !== undefined) return { attribute, value, within }
  }
  return undefined
}
