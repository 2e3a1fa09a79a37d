/** Finds elements by their accessible names, placeholders, values and titles. */
import { attr, normalize, type Root } from '../dom/composed-tree'
import { queryAllDeep } from '../dom/test-ids'
import type { TextMatcher } from '../dom/text-matcher'
import { isVisible } from '../dom/visibility'
import { fieldValue, nameOf } from '../roles/accessible-name'

export interface TextAttributeMatch {
  element: Element
  /** The attribute that matches. */
  as: 'name' | 'placeholder' | 'value' | 'title'
}

const selectorOfAttributes =
  'input, select, textarea, img, area, [aria-label], [aria-labelledby], [alt], [title], [placeholder]'

/** Returns the visible elements with a matching text, in document order. */
export function queryTextAttributes(
  matcher: TextMatcher,
  scope: Root | Element
): TextAttributeMatch[] {
  const found: TextAttributeMatch[] = []
  for (const element of queryAllDeep(selectorOfAttributes, scope)) {
    if (!isVisible(element)) continue
    const texts: [TextAttributeMatch['as'], string | null][] = [
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
