/** Names that the author gave outright: `aria-labelledby`, `aria-label`, `title`. Apart, since roles depend on them. */
import { attr, byIds, hasAttr } from '../dom/composed-tree'

/** What `aria-labelledby` names; the common misspelling is read too, as browsers do. */
export function labellers(element: Element): Element[] {
  return byIds(element, hasAttr(element, 'aria-labelledby') ? 'aria-labelledby' : 'aria-labeledby')
}

/** Whether the author has named the element, so that its name is not from its contents. */
export function hasExplicitName(element: Element): boolean {
  if (hasAttr(element, 'aria-label') && (attr(element, 'aria-label') as string).trim() !== '')
    return true
  if (labellers(element).length > 0) return true
  return hasAttr(element, 'title') && (attr(element, 'title') as string).trim() !== ''
}
