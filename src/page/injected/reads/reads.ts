/** Reads of single elements: text, attributes, values, states, descriptions. */
import type {
  AttributeArgument,
  AttributeResult,
  DescribeResult,
  ListArgument,
  ListResult,
  RefArgument,
  StateResult,
  TargetArgument,
  TextArgument,
  TextResult,
  ValueResult
} from '../api'
import { disabledBy, editProblem } from '../actions/actionability'
import { attr, bodyOf, documentElement, attributeKindsOf, localName } from '../dom/composed-tree'
import { pathOf } from '../dom/css-path'
import { boxOf } from '../dom/geometry'
import { elementByRef, isRef, RefAllocator } from '../dom/refs'
import { hiddenReason, isVisible } from '../dom/visibility'
import { fieldValue, nameOf } from '../roles/accessible-name'
import { checkedOf } from '../roles/aria-states'
import { roleOf } from '../roles/roles'
import { visibleText } from '../roles/visible-text'
import { matchOf, requireRef, resolveMany } from '../targets/resolve'
import { findAll } from '../targets/targets'

function attributesOf(element: Element): Record<string, string> {
  const attributes: Record<string, string> = {}
  if (attributeKindsOf(element) === 0) return attributes
  for (const name of Element.prototype.getAttributeNames.call(element)) {
    const value = attr(element, name) ?? ''
    if (name === 'value' && (element as HTMLInputElement).type === 'password') continue
    attributes[name] = value.length > 500 ? `${value.slice(0, 500)}…` : value
  }
  return attributes
}

const isEnabled = (element: Element): boolean => disabledBy(element) === null

/** Returns the visible text of the page, of the first match, or of all matches. */
export function text(argument: TextArgument): TextResult {
  const refs = new RefAllocator(argument.refs)
  if (argument.target === undefined) {
    const body = bodyOf() ?? documentElement()
    return { text: body ? visibleText(body) : '', count: 1, next: refs.next }
  }
  if (argument.all) {
    const found = isRef(argument.target.trim())
      ? [requireRef(argument.target)]
      : findAll(argument.target)
    const texts = found.map(visibleText)
    return { text: texts.join('\n'), texts, count: found.length, next: refs.next }
  }
  const { element, count } = resolveMany(argument.target, refs, false)
  return { text: visibleText(element), count, next: refs.next }
}

/** Returns an attribute of an element, null if it is not set. Passwords are masked. */
export function attribute(argument: AttributeArgument): AttributeResult {
  const refs = new RefAllocator(argument.refs)
  const { element } = resolveMany(argument.target, refs, argument.strict ?? false)
  const isPassword =
    argument.attribute.toLowerCase() === 'value' &&
    element instanceof HTMLInputElement &&
    element.type === 'password'
  const value = attr(element, argument.attribute)
  return { value: isPassword && value ? '••••' : value, ref: refs.of(element), next: refs.next }
}

/** Returns the value of a field, or of the field of a label. Passwords are masked. */
export function value(argument: TargetArgument): ValueResult {
  const refs = new RefAllocator(argument.refs)
  let { element } = resolveMany(argument.target, refs, argument.strict ?? false)
  if (localName(element) === 'label') element = (element as HTMLLabelElement).control ?? element
  const role = roleOf(element)
  const result: ValueResult = {
    value: fieldValue(element),
    password: element instanceof HTMLInputElement && element.type === 'password',
    ref: refs.of(element),
    next: 0
  }
  if (element instanceof HTMLSelectElement) {
    result.value = element.value
    if (element.multiple)
      result.values = Array.from(element.selectedOptions, (option) => option.value)
  } else if (result.value === null) {
    const editable = (element as HTMLElement).isContentEditable
    result.value = editable
      ? visibleText(element)
      : (attr(element, 'aria-valuetext') ??
        attr(element, 'aria-valuenow') ??
        attr(element, 'value'))
  }
  const checked = checkedOf(element, role)
  if (checked !== null) result.checked = checked
  result.next = refs.next
  return result
}

/** Returns the states of the first match. If nothing matches, `exists` is false. */
export function state(argument: TargetArgument): StateResult {
  const refs = new RefAllocator(argument.refs)
  const target = argument.target.trim()
  const single = isRef(target) ? elementByRef(target) : null
  const found = isRef(target) ? (single ? [single] : []) : findAll(target)
  const element = found[0]
  if (!element)
    return {
      exists: false,
      visible: false,
      enabled: false,
      editable: false,
      count: 0,
      next: refs.next
    }
  const reason = hiddenReason(element)
  const match = matchOf(element, refs)
  const result: StateResult = {
    exists: true,
    visible: reason === null,
    enabled: isEnabled(element),
    editable: isEnabled(element) && editProblem(element, 'fill') === null,
    count: found.length,
    ...match,
    next: refs.next
  }
  if (reason !== null) result.hiddenBecause = reason
  return result
}

/** Returns the matching elements, at most `limit` (default: 100), and the number of all. */
export function list(argument: ListArgument): ListResult {
  const refs = new RefAllocator(argument.refs)
  const target = argument.target.trim()
  const found = isRef(target) ? [requireRef(target)] : findAll(target)
  const elements = found.slice(0, argument.limit ?? 100).map((element) => {
    const shown = visibleText(element)
    return {
      ...matchOf(element, refs),
      tag: localName(element),
      text: shown.length > 200 ? `${shown.slice(0, 200)}…` : shown,
      visible: isVisible(element),
      attributes: attributesOf(element)
    }
  })
  return { elements, count: found.length, next: refs.next }
}

/** Describes the element that has a ref. */
export function describe(argument: RefArgument): DescribeResult {
  const element = requireRef(argument.ref)
  const refs = new RefAllocator(undefined)
  const role = roleOf(element)
  const shown = visibleText(element)
  const result: DescribeResult = {
    ...matchOf(element, refs),
    role,
    name: nameOf(element, role),
    tag: localName(element),
    text: shown.length > 2000 ? `${shown.slice(0, 2000)}…` : shown,
    attributes: attributesOf(element),
    box: boxOf(element),
    visible: isVisible(element),
    enabled: isEnabled(element),
    path: pathOf(element)
  }
  const value = fieldValue(element)
  if (value !== null) result.value = value
  const checked = checkedOf(element, role)
  if (checked !== null) result.checked = checked
  return result
}
