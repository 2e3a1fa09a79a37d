/** Visibility, and hiding from assistive technology, by Playwright's rules. */
import {
  assignedSlotOf,
  attr,
  elementClosest,
  firstChild,
  HAS_ARIA,
  isElement,
  nextSibling,
  nodeType,
  parentNode,
  shadowRootOf
} from '../dom/composed-tree'
import { parentAcross } from '../dom/css'
import { textHasBox } from '../dom/visibility'
import { type ElementBox, type ElementFacts, elementFacts } from './element-facts'

const ignoredTags = new Set(['style', 'script', 'noscript', 'template'])

/** Returns whether elements with a tag never have contents for users. */
export const isIgnored = (tag: string): boolean => ignoredTags.has(tag)

const invisibleBox: ElementBox = { visible: false, inline: false }
const visibleBox: ElementBox = { visible: true, inline: false }
const visibleInlineBox: ElementBox = { visible: true, inline: true }
const emptyInlineBox: ElementBox = { visible: false, inline: true }

/** Returns whether an element has a visible box, and whether the box is inline. */
export function boxOf(element: Element, facts = elementFacts(element)): ElementBox {
  return (facts.box ??= computeBox(element, facts))
}

function computeBox(element: Element, { display, isRendered }: ElementFacts): ElementBox {
  if (display === 'contents') {
    for (let child = firstChild(element); child; child = nextSibling(child)) {
      if (isElement(child) && boxOf(child).visible) return visibleBox
      if (nodeType(child) === 3 && textHasBox(child as Text)) return visibleInlineBox
    }
    return invisibleBox
  }
  if (!isRendered) return invisibleBox
  const { width, height } = element.getBoundingClientRect()
  const visible = width > 0 && height > 0
  if (display === 'inline') return visible ? visibleInlineBox : emptyInlineBox
  return visible ? visibleBox : invisibleBox
}

/** Returns whether an element is hidden from assistive technology. */
export function isHiddenFromAria(element: Element, facts = elementFacts(element)): boolean {
  return (facts.hidden ??= computeHidden(element, facts))
}

function computeHidden(element: Element, facts: ElementFacts): boolean {
  const { tag, display } = facts
  if (ignoredTags.has(tag)) return true
  if (display === 'contents' && tag !== 'slot') {
    for (let child = firstChild(element); child; child = nextSibling(child)) {
      if (isElement(child) && !isHiddenFromAria(child)) return false
      if (nodeType(child) === 3 && textHasBox(child as Text)) return false
    }
    return true
  }
  if (
    tag !== 'slot' &&
    !facts.isRendered &&
    !(tag === 'option' && elementClosest(element, 'select') !== null)
  )
    return true
  return isInHiddenTree(element, facts)
}

function isInHiddenTree(element: Element, facts: ElementFacts): boolean {
  if (facts.inHiddenTree === undefined) {
    const { outer } = facts
    const parent = outer ? null : parentAcross(element)
    facts.inHiddenTree =
      facts.display === 'none' ||
      isAriaHidden(element, facts) ||
      (outer !== null && isInHiddenTree(outer.element, outer)) ||
      (parent !== null && (isNotSlotted(element) || isInHiddenTree(parent, elementFacts(parent))))
  }
  return facts.inHiddenTree
}

/** Returns whether an element has `aria-hidden` itself. */
export const isAriaHidden = (element: Element, { attributes }: ElementFacts): boolean =>
  (attributes & HAS_ARIA) !== 0 && attr(element, 'aria-hidden')?.toLowerCase() === 'true'

/** Returns whether an element is a child of a shadow host, and no slot contains it. */
function isNotSlotted(element: Element): boolean {
  const parent = parentNode(element)
  return isElement(parent) && shadowRootOf(parent) !== null && assignedSlotOf(element) === null
}
