/** ARIA states, in the notation of snapshots. */
import { attr, elementMatches, hasAttr, isHtml, localName } from '../dom/composed-tree'

const checkable = new Set([
  'checkbox',
  'radio',
  'switch',
  'menuitemcheckbox',
  'menuitemradio',
  'option',
  'treeitem'
])
const selectable = new Set([
  'option',
  'tab',
  'row',
  'gridcell',
  'cell',
  'columnheader',
  'rowheader',
  'treeitem'
])
/** Roles whose elements are not all selectable. `[selected=false]` marks those that are. */
const optionallySelectable = new Set(['row', 'treeitem'])
const formTags = new Set([
  'button',
  'input',
  'select',
  'textarea',
  'optgroup',
  'option',
  'fieldset'
])
const valueRoles = new Set([
  'textbox',
  'searchbox',
  'combobox',
  'listbox',
  'spinbutton',
  'slider',
  'checkbox',
  'radio',
  'radiogroup',
  'switch',
  'gridcell',
  'tree'
])

export type Checked = boolean | 'mixed'

/** Returns the checked state, null if the role has none. */
export function checkedOf(element: Element, role: string): Checked | null {
  if (localName(element) === 'input') {
    const input = element as HTMLInputElement
    if (input.type === 'checkbox' || input.type === 'radio')
      return input.indeterminate && input.type === 'checkbox' ? 'mixed' : input.checked
  }
  if (!checkable.has(role)) return null
  const value = attr(element, 'aria-checked')
  if (value === null) return role === 'option' || role === 'treeitem' ? null : false
  return value === 'mixed' ? 'mixed' : value === 'true'
}

/** Returns whether an element is disabled. Ignores `aria-disabled` on its ancestors. */
export function isDisabled(element: Element, tag = localName(element)): boolean {
  if (formTags.has(tag) && elementMatches(element, ':disabled')) return true
  return attr(element, 'aria-disabled') === 'true'
}

/** Returns the expanded state, null if there is none. A `details` has it at its `summary`. */
export function expandedOf(element: Element): boolean | null {
  const tag = localName(element)
  if (tag === 'details') return null
  if (tag === 'summary') {
    const parent = element.parentElement
    if (parent && localName(parent) === 'details') return hasAttr(parent, 'open')
  }
  const value = attr(element, 'aria-expanded')
  return value === 'true' ? true : value === 'false' ? false : null
}

/** Returns the level of a heading, list item, row or tree item, 0 if it has none. */
export function levelOf(element: Element, role: string): number {
  if (role !== 'heading' && role !== 'listitem' && role !== 'row' && role !== 'treeitem') return 0
  const value = parseInt(attr(element, 'aria-level') ?? '', 10)
  if (value > 0) return value
  if (role !== 'heading') return 0
  const match = /^h([1-6])$/.exec(localName(element))
  return match ? Number(match[1]) : 2
}

/** Returns the states as text: ` [checked] [expanded=false]`. */
export function stateText(
  element: Element,
  role: string,
  disabled: boolean,
  active = false
): string {
  let text = ''
  const checked = checkedOf(element, role)
  if (checked === false) text += role === 'option' || role === 'treeitem' ? ' [checked=false]' : ''
  else if (checked !== null) text += checked === 'mixed' ? ' [checked=mixed]' : ' [checked]'
  if (disabled) text += ' [disabled]'
  const expanded = expandedOf(element)
  if (expanded !== null) text += expanded ? ' [expanded]' : ' [expanded=false]'
  if (active) text += ' [active]'
  const level = levelOf(element, role)
  if (level > 0) text += ` [level=${level}]`
  const pressed = attr(element, 'aria-pressed')
  if (pressed === 'true') text += ' [pressed]'
  else if (pressed === 'mixed' || pressed === 'false') text += ` [pressed=${pressed}]`
  if (selectable.has(role)) {
    const selected =
      localName(element) === 'option'
        ? String((element as HTMLOptionElement).selected)
        : attr(element, 'aria-selected')
    if (selected === 'true') text += ' [selected]'
    else if (selected === 'false' && optionallySelectable.has(role)) text += ' [selected=false]'
  }
  if (valueRoles.has(role)) {
    if (isInvalid(element)) text += ' [invalid]'
    if (hasAttr(element, 'required') || attr(element, 'aria-required') === 'true')
      text += ' [required]'
    if (
      (hasAttr(element, 'readonly') && isHtml(element)) ||
      attr(element, 'aria-readonly') === 'true'
    )
      text += ' [readonly]'
  }
  const sort = role === 'columnheader' || role === 'rowheader' ? attr(element, 'aria-sort') : null
  if (sort && sort !== 'none') text += ` [sort=${sort}]`
  const current = attr(element, 'aria-current')
  if (current && current !== 'false')
    text += current === 'true' ? ' [current]' : ` [current=${current}]`
  return text
}

function isInvalid(element: Element): boolean {
  const value = attr(element, 'aria-invalid')
  if (value !== null) return value !== '' && value !== 'false'
  try {
    return elementMatches(element, ':user-invalid')
  } catch {
    return false
  }
}

/** Returns whether an element is selected, checked or current. Such elements are never folded. */
export function isSelected(element: Element): boolean {
  if (localName(element) === 'option') return (element as HTMLOptionElement).selected
  const truthy = (name: string): boolean => {
    const value = attr(element, name)
    return value !== null && value !== 'false' && value !== ''
  }
  return truthy('aria-selected') || truthy('aria-checked') || truthy('aria-current')
}
