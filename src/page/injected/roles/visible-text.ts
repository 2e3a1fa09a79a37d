/**
 * The text that users see: `innerText` with shadow roots, slots and the alternative texts of
 * images.
 */
import {
  eachComposedChild,
  elementMatches,
  isElement,
  isHtml,
  localName,
  nodeType,
  queryAll
} from '../dom/composed-tree'
import { shadowRoots } from '../dom/css'
import { isBlock, pseudoText, Rendering, renderingOf } from '../dom/styles'
import { fieldValue, nameOf } from './accessible-name'

/** Images that have an alternative text. */
const pictures = 'img[alt]:not([alt=""]), svg[aria-label], [role="img"][aria-label]'
/**
 * Maximum number of descendants for reading alternative texts. For larger elements, the browser's
 * `innerText` is returned.
 */
const maxElements = 5000

/** Returns the visible text of an element, or the value of a field. */
export function visibleText(element: Element): string {
  const field =
    element instanceof HTMLSelectElement
      ? Array.from(element.selectedOptions, (option) => option.label).join(', ')
      : fieldValue(element)
  if (field !== null) return field
  const isPlain =
    queryAll(element, '*').length > maxElements || queryAll(element, pictures).length === 0
  if (isHtml(element) && shadowRoots(element).length === 0 && isPlain)
    return element.innerText.trim()
  const parts: string[] = []
  collect(element, parts)
  return parts
    .join('')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function collect(element: Element, parts: string[]): void {
  eachComposedChild(element, (child) => {
    if (nodeType(child) === 3) parts.push((child as Text).data.replace(/\s+/g, ' '))
    if (!isElement(child)) return
    const tag = localName(child)
    if (tag === 'br') parts.push('\n')
    const shown = renderingOf(child, true)
    if (shown === Rendering.None || shown === Rendering.Invisible) return
    if (elementMatches(child, pictures)) {
      parts.push(` ${nameOf(child, 'img')} `)
      return
    }
    const block = shown === Rendering.Visible && isBlock(child)
    if (block) parts.push('\n')
    parts.push(pseudoText(child, '::before'))
    collect(child, parts)
    parts.push(pseudoText(child, '::after'))
    if (block) parts.push('\n')
    else if (tag === 'td' || tag === 'th') parts.push('\t')
  })
}
