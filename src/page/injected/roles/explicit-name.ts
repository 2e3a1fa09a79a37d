/** Explicit names: `aria-labelledby`, `aria-label`, `title`. Some roles depend on them. */
import { attr, byIds, hasAttr } from '../dom/composed-tree'

/**
 * Returns the elements that `aria-labelledby` references. Accepts the spelling `aria-labeledby`
 * too, as browsers do.
 */
export function labelledByElements(element: Element): Element[] {
  return byIds(element, hasAttr(element, 'aria-labelledby') ? 'aria-labelledby' : 'aria-labeledby')
}

/** Returns whether an element has a name that does not come from its contents. */
export function hasExplicitName(element: Element): boolean {
  if (hasAttr(element, 'aria-label') && (attr(element, 'aria-label') as string).trim() !== '')
    return true
  if (labelledByElements(element).length > 0) return true
  return hasAttr(element, 'title') && (attr(element, 'title') as string).trim() !== ''
}
