/** Attributes with ids, as Playwright reads them: separated by spaces only. */
import { attr, byId } from '../dom/composed-tree'

/** Returns the elements that an attribute references, each once. */
export function elementsByIds(element: Element, attribute: string): Element[] {
  const value = attr(element, attribute)
  if (!value) return []
  const found: Element[] = []
  for (const id of value.split(' ')) {
    const other = id === '' ? null : byId(element, id)
    if (other && !found.includes(other)) found.push(other)
  }
  return found
}
