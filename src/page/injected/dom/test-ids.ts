/** Finds test ids: attributes for tests, by which an exported script finds an element again. */
import type { TestId } from '../api'
import { attr, composedParent, queryAll, type Root } from './composed-tree'
import { shadowRoots } from './css'
import { existingRef } from './refs'

/** The attributes in order of preference. Each is also a target engine. */
const attributes = ['data-testid', 'data-test-id', 'data-test']

/** Returns the elements that match a selector in a scope and in all shadow roots in it. */
export function queryAllDeep(selector: string, scope: Root | Element): Element[] {
  const found = Array.from(queryAll(scope, selector))
  for (const root of shadowRoots(scope)) found.push(...queryAll(root, selector))
  return found
}

/** Returns the role of a list item or table row. Snapshots show most of these without a ref. */
function itemRole(element: Element): TestId['item'] {
  if (element.matches('li, [role=listitem]')) return 'listitem'
  return element.matches('tr, [role=row]') ? 'row' : undefined
}

/**
 * Returns the test id of an element if it is unique in the document, in an ancestor that has a ref
 * or in an item of a list or table.
 */
export function testIdOf(element: Element): TestId | undefined {
  for (const attribute of attributes) {
    const value = attr(element, attribute)
    if (!value) continue
    const selector = `[${attribute}="${CSS.escape(value)}"]`
    if (queryAllDeep(selector, document).length === 1) return { attribute, value }
    let within: string | undefined
    let item: TestId['item']
    for (
      let node = composedParent(element);
      node && queryAllDeep(selector, node).length <= 1;
      node = composedParent(node)
    ) {
      within = existingRef(node) ?? within
      item ??= itemRole(node)
    }
    if (within !== undefined || item) return { attribute, value, within, item }
  }
  return undefined
}
