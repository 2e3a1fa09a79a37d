/** ARIA states as Playwright prints them. */
import { attr, localName } from '../dom/composed-tree'
import { words } from '../dom/words'
import { checkedOf } from '../roles/aria-states'
import { isAriaDisabled, isNativelyDisabled } from './disabled'

const checkable = words('checkbox menuitemcheckbox menuitemradio option radio switch treeitem')
const canBeDisabled = words(
  'application button checkbox columnheader combobox grid gridcell group link listbox menu menubar menuitem menuitemcheckbox menuitemradio option radio radiogroup row rowheader scrollbar searchbox separator slider spinbutton switch tab tablist textbox toolbar tree treegrid treeitem'
)
const expandable = words(
  'application button checkbox columnheader combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio row rowheader switch tab treeitem'
)
const validated = words(
  'application checkbox columnheader combobox gridcell listbox radiogroup rowheader searchbox slider spinbutton switch textbox tree'
)
const leveled = words('heading listitem row treeitem')
const selectable = words('columnheader gridcell option row rowheader tab treeitem')

/** Roles that can have any of the states. */
const rolesWithStates = new Set([
  ...checkable,
  ...canBeDisabled,
  ...expandable,
  ...validated,
  ...leveled,
  ...selectable
])

/** Returns the states in a line: ` [checked] [disabled] [level=2]`. */
export function playwrightStates(element: Element, role: string, isActive: boolean): string {
  if (!rolesWithStates.has(role)) return isActive ? ' [active]' : ''
  const tag = localName(element)
  let text = ''
  const checked = checkable.has(role) ? checkedOf(element, role) : null
  if (checked) text += checked === 'mixed' ? ' [checked=mixed]' : ' [checked]'
  if (canBeDisabled.has(role) && (isNativelyDisabled(element) || isAriaDisabled(element)))
    text += ' [disabled]'
  if (
    expandable.has(role) &&
    (tag === 'details'
      ? (element as HTMLDetailsElement).open
      : attr(element, 'aria-expanded') === 'true')
  )
    text += ' [expanded]'
  if (isActive) text += ' [active]'
  if (validated.has(role)) text += invalidState(attr(element, 'aria-invalid'))
  const level = leveled.has(role) ? levelOf(element, tag) : 0
  if (level > 0) text += ` [level=${level}]`
  const pressed = role === 'button' ? attr(element, 'aria-pressed') : null
  if (pressed === 'mixed') text += ' [pressed=mixed]'
  else if (pressed === 'true') text += ' [pressed]'
  if (
    selectable.has(role) &&
    (tag === 'option'
      ? (element as HTMLOptionElement).selected
      : attr(element, 'aria-selected')?.toLowerCase() === 'true')
  )
    text += ' [selected]'
  return text
}

function invalidState(value: string | null): string {
  if (value === null || value.trim() === '' || value.toLowerCase() === 'false') return ''
  return value === 'grammar' || value === 'spelling' ? ` [invalid=${value}]` : ' [invalid]'
}

function levelOf(element: Element, tag: string): number {
  if (/^h[1-6]$/.test(tag)) return Number(tag[1])
  const level = Number(attr(element, 'aria-level') ?? NaN)
  return Number.isInteger(level) && level >= 1 ? level : 0
}

export {
  checkable as checkableRoles,
  canBeDisabled as rolesWithDisabled,
  expandable as expandableRoles,
  leveled as leveledRoles,
  selectable as selectableRoles,
  levelOf as playwrightLevel
}
