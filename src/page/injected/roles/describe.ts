/** One-line descriptions of elements. */
import { attr, localName } from '../dom/composed-tree'
import type { RefAllocator } from '../dom/refs'
import { contentName, nameOf } from './accessible-name'
import { isDisabled, stateText } from './aria-states'
import { roleOf } from './roles'

/**
 * Describes an element in one line, `button "Send" [ref=e5]`. Generic elements are described by
 * their tag.
 */
export function describeElement(element: Element, refs: RefAllocator): string {
  const role = roleOf(element)
  const name = nameOf(element, role)
  const plain = role === 'generic' || role === 'presentation'
  let text = plain ? tagOf(element) : role
  const shown =
    name || (plain || role === 'paragraph' || role === 'listitem' ? contentName(element) : '')
  if (shown) text += ` ${JSON.stringify(shown.length > 80 ? `${shown.slice(0, 80)}…` : shown)}`
  return `${text}${stateText(element, role, isDisabled(element))} [ref=${refs.of(element)}]`
}

/** Describes an element by its start tag: `<div#overlay.modal>`. */
export function tagOf(element: Element): string {
  const id = attr(element, 'id')
  const classes = (attr(element, 'class') ?? '').split(/\s+/).filter(Boolean).slice(0, 3)
  return `<${localName(element)}${id ? `#${id}` : ''}${classes.map((name) => `.${name}`).join('')}>`
}
