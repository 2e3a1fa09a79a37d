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
import { queryAllDeep } from '../dom/test-ids'
import { isBlock, pseudoText, Rendering, renderingOf } from '../dom/styles'
import { fieldValue, nameOf } from './accessible-name'

/** Images that have an alternative text. */
const pictures = 'img[alt]:not([alt=""]), svg[aria-label], [role="img"][aria-label]'
const fields = 'input, select, textarea, progress, meter'
/**
 * Maximum number of descendants for reading alternative texts. For larger elements without shadow
 * roots, the browser's `innerText` is returned.
 */
const maxElements = 5000

/** Returns the visible text of an element, or the value of a field. */
export function visibleText(element: Element): string {
  const field = fieldText(element)
  if (field !== null) return field
  const isPlain =
    queryAll(element, '*').length > maxElements || queryAll(element, pictures).length === 0
  if (isHtml(element) && shadowRoots(element).length === 0 && isPlain)
    return element.innerText.trim()
  return collectedText(element, false)
}

/** Returns the visible text of an element with the values of its fields and the checked states. */
export function textWithFields(element: Element): string {
  return queryAllDeep(fields, element).length === 0
    ? visibleText(element)
    : collectedText(element, true)
}

/** Returns the selected options or the value of a field, null for other elements. */
function fieldText(element: Element): string | null {
  return element instanceof HTMLSelectElement
    ? Array.from(element.selectedOptions, (option) => option.label).join(', ')
    : fieldValue(element)
}

/** Returns the value of a field, or whether a checkbox or radio button is checked. */
function fieldState(element: Element): string | null {
  if (element instanceof HTMLInputElement && /^(checkbox|radio)$/.test(element.type))
    return element.checked ? 'checked' : 'unchecked'
  return fieldText(element)
}

function collectedText(element: Element, withFields: boolean): string {
  const parts: string[] = []
  collect(element, parts, { withFields, isVisible: true })
  return parts
    .join('')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

interface CollectOptions {
  withFields: boolean
  /** False in an invisible element, which can have visible descendants. */
  isVisible: boolean
}

function collect(element: Element, parts: string[], options: CollectOptions): void {
  const { withFields, isVisible } = options
  eachComposedChild(element, (child) => {
    if (nodeType(child) === 3 && isVisible) parts.push((child as Text).data.replace(/\s+/g, ' '))
    if (!isElement(child)) return
    const tag = localName(child)
    if (tag === 'br') parts.push('\n')
    const shown = renderingOf(child, true)
    if (shown === Rendering.None) return
    if (shown === Rendering.Invisible) {
      collect(child, parts, { withFields, isVisible: false })
      return
    }
    if (elementMatches(child, pictures)) {
      parts.push(` ${nameOf(child, 'img')} `)
      return
    }
    const state = withFields ? fieldState(child) : null
    if (state !== null) {
      parts.push(` ${state} `)
      return
    }
    const block = shown === Rendering.Visible && isBlock(child)
    if (block) parts.push('\n')
    parts.push(pseudoText(child, '::before'))
    collect(child, parts, { withFields, isVisible: true })
    parts.push(pseudoText(child, '::after'))
    if (block) parts.push('\n')
    else if (tag === 'td' || tag === 'th') parts.push('\t')
  })
}
