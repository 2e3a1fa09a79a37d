/** Finds elements by their accessible names, placeholders, values and titles. */
import { attr, normalize, type Root } from '../dom/composed-tree'
import { everywhere } from '../dom/test-ids'
import type { TextMatcher } from '../dom/text-matcher'
import { isVisible } from '../dom/visibility'
import { fieldValue, nameOf } from '../roles/accessible-name'

export interface Said {
  element: Element
  /** The attribute that matches. */
  as: 'name' | 'placeholder' | 'value' | 'title'
}

const holders =
  'input, select, textarea, img, area, [aria-label], [aria-labelledby], [alt], [title], [placeholder]'

/** Returns the visible elements with a matching text, in document order. */
export function querySaid(matcher: TextMatcher, scope: Root | Element): Said[] {
  const found: Said[] = []
  for (const element of everywhere(holders, scope)) {
    if (!isVisible(element)) continue
    const texts: [Said['as'], string | null][] = [
      ['name', nameOf(element)],
      ['placeholder', attr(element, 'placeholder')],
      ['value', fieldValue(element)],
      ['title', attr(element, 'title')]
    ]
    const match = texts.find(([, text]) => text !== null && matcher.test(normalize(text)))
    if (match) found.push({ element, as: match[0] })
  }
  return found
}
