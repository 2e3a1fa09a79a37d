/** The disabled state by Playwright's rules. */
import {
  attr,
  elementClosest,
  firstElementChild,
  HAS_ARIA,
  hasAttr,
  localName
} from '../dom/composed-tree'
import { parentAcross } from '../dom/css'
import { elementFacts } from './element-facts'

const nativeControls = new Set(['button', 'input', 'select', 'textarea', 'option', 'optgroup'])

/** Returns whether a native control is disabled by itself, its group or its fieldset. */
export function isNativelyDisabled(element: Element): boolean {
  const tag = localName(element)
  return (
    nativeControls.has(tag) &&
    (hasAttr(element, 'disabled') ||
      (tag === 'option' && elementClosest(element, 'optgroup[disabled]') !== null) ||
      isInDisabledFieldset(element))
  )
}

/** The controls in the first legend of a disabled fieldset stay enabled. */
function isInDisabledFieldset(element: Element): boolean {
  const fieldset = elementClosest(element, 'fieldset[disabled]')
  if (!fieldset) return false
  for (let child = firstElementChild(fieldset); child; child = child.nextElementSibling)
    if (localName(child) === 'legend') return !child.contains(element)
  return true
}

/** Returns the value of the closest `aria-disabled`, false without one. */
export function isAriaDisabled(element: Element): boolean {
  const facts = elementFacts(element)
  if (facts.ariaDisabled === undefined) {
    const value =
      facts.attributes & HAS_ARIA ? attr(element, 'aria-disabled')?.toLowerCase() : undefined
    const parent =
      value === 'true' || value === 'false' ? null : (facts.outer?.element ?? parentAcross(element))
    facts.ariaDisabled = parent ? isAriaDisabled(parent) : value === 'true'
  }
  return facts.ariaDisabled
}
