/** The engines `role` and `internal:role`, which is `getByRole`. */
import { attr, localName } from '../../dom/composed-tree'
import { checkedOf } from '../../roles/aria-states'
import { inputRoles, plainRoles } from '../../roles/roles'
import { isAriaDisabled, isNativelyDisabled } from '../disabled'
import { playwrightDescription, playwrightName } from '../playwright-names'
import { playwrightRole } from '../playwright-roles'
import {
  checkableRoles,
  rolesWithDisabled,
  expandableRoles,
  leveledRoles,
  playwrightLevel,
  selectableRoles
} from '../playwright-states'
import { isHiddenFromAria } from '../playwright-visibility'
import { collapseWhiteSpace } from '../white-space'
import { type AttributeCondition, parseAttributeSelector } from './attribute-selector'
import { matchesCondition } from './conditions'
import { NameFilter } from './name-filter'
import type { PiercingQuery, Scope } from './scope'

/** Tags whose role depends on their context, besides those of `plainRoles`. */
const contextualTags: Record<string, string> = {
  banner: 'header',
  button: 'summary, input',
  cell: 'td, th',
  checkbox: 'input',
  columnheader: 'th',
  combobox: 'input, select',
  complementary: 'aside',
  contentinfo: 'footer',
  form: 'form',
  gridcell: 'td, th',
  img: 'img',
  link: 'a, area',
  listbox: 'select',
  listitem: 'li',
  radio: 'input',
  region: 'section',
  row: 'tr',
  rowgroup: 'tbody, thead, tfoot',
  rowheader: 'th',
  searchbox: 'input',
  slider: 'input',
  spinbutton: 'input',
  textbox: 'input'
}

const selectorsByRole = new Map<string, string>()

/** Returns a CSS selector for all elements that may have a role. */
function selectorOfRole(role: string): string {
  if (role === 'none' || role === 'presentation' || !/^[a-z]+$/.test(role)) return '*'
  let selector = selectorsByRole.get(role)
  if (selector === undefined) {
    const tags = [...plainRoles].filter(([, each]) => each === role).map(([tag]) => tag)
    if (Object.values(inputRoles).includes(role)) tags.push('input')
    if (role in contextualTags) tags.push(contextualTags[role])
    selector = [...tags, `[role~="${role}"]`].join(', ')
    selectorsByRole.set(role, selector)
  }
  return selector
}

/** Finds elements by their roles and names, for one call. */
export class RoleQuery {
  private readonly query: PiercingQuery
  private readonly filter: NameFilter
  private readonly names = new Map<Element, string>()

  constructor(query: PiercingQuery) {
    this.query = query
    this.filter = new NameFilter(query)
  }

  /** Returns the elements in a scope that may have a role. */
  candidates(scope: Scope, role: string): Element[] {
    return this.query.all(scope, selectorOfRole(role))
  }

  /** Returns the accessible name of an element, without hidden elements. */
  nameOf(element: Element): string {
    let name = this.names.get(element)
    if (name === undefined) this.names.set(element, (name = playwrightName(element).text))
    return name
  }

  mayBeNamed(element: Element, text: string): boolean {
    return this.names.has(element) || this.filter.mayBeNamed(element, text)
  }
}

const rolesOfState: Record<string, ReadonlySet<string>> = {
  checked: checkableRoles,
  pressed: new Set(['button']),
  selected: selectableRoles,
  expanded: expandableRoles,
  level: leveledRoles
}

/** A parsed role selector. */
export interface RoleMatcher {
  role: string
  matches: (element: Element) => boolean
}

/** Parses `button[name="Save"i]`. */
export function roleMatcher(roles: RoleQuery, body: string, isInternal: boolean): RoleMatcher {
  const { name, conditions } = parseAttributeSelector(body)
  const role = name.toLowerCase()
  if (role === '') throw new Error('Role must not be empty')
  for (const condition of conditions) checkCondition(condition, role)
  const hidden = conditions.find(({ name: each }) => each === 'include-hidden')
  const includeHidden = hidden !== undefined && hidden.value !== false
  const tests = conditions.map((condition) =>
    roleTest(roles, role, condition, includeHidden, isInternal)
  )
  const nameValue = conditions.find(({ name: each }) => each === 'name')?.value
  const text = typeof nameValue === 'string' ? collapseWhiteSpace(nameValue) : null
  const matches = (element: Element): boolean =>
    (text === null || roles.mayBeNamed(element, text)) &&
    playwrightRole(element) === role &&
    (includeHidden || !isHiddenFromAria(element)) &&
    tests.every((test) => test(element))
  return { role, matches }
}

/** Returns the elements in a scope that match a role selector. */
export function queryRole(
  roles: RoleQuery,
  scope: Scope,
  body: string,
  isInternal: boolean
): Element[] {
  const { role, matches } = roleMatcher(roles, body, isInternal)
  return roles.candidates(scope, role).filter(matches)
}

function checkCondition({ name, operator, value }: AttributeCondition, role: string): void {
  const allowed = rolesOfState[name] as ReadonlySet<string> | undefined
  if (allowed && !allowed.has(role))
    throw new Error(
      `"${name}" attribute is only supported for roles: ${[...allowed].sort().join(', ')}`
    )
  if (operator === null && name !== 'name' && name !== 'description' && name !== 'level') return
  switch (name) {
    case 'name':
    case 'description':
      if (typeof value !== 'string' && !(value instanceof RegExp))
        throw new Error(`"${name}" attribute must be a string or a regular expression`)
      return
    case 'level':
      if (operator !== '=' || typeof value !== 'string' || Number.isNaN(Number(value)))
        throw new Error('"level" attribute must be compared to a number')
      return
    case 'checked':
    case 'pressed':
      if (value === 'mixed' && operator === '=') return
      break
    case 'selected':
    case 'expanded':
    case 'disabled':
    case 'include-hidden':
      break
    default:
      throw new Error(`Unknown attribute "${name}"`)
  }
  if (typeof value !== 'boolean') throw new Error(`"${name}" must be true or false`)
}

function roleTest(
  roles: RoleQuery,
  role: string,
  condition: AttributeCondition,
  includeHidden: boolean,
  isInternal: boolean
): (element: Element) => boolean {
  const { name, value } = condition
  const expected = condition.operator === null ? true : value
  switch (name) {
    case 'name':
    case 'description': {
      const text = {
        ...condition,
        value: typeof value === 'string' ? collapseWhiteSpace(value) : value,
        operator:
          isInternal && !condition.caseSensitive && condition.operator === '='
            ? '*='
            : condition.operator
      }
      if (name === 'description')
        return (element) =>
          matchesCondition(
            collapseWhiteSpace(playwrightDescription(element, includeHidden).text),
            text
          )
      return (element) =>
        matchesCondition(
          includeHidden ? playwrightName(element, true).text : roles.nameOf(element),
          text
        )
    }
    case 'checked':
      return (element) => (checkedOf(element, role) ?? false) === expected
    case 'pressed':
      return (element) => {
        const pressed = attr(element, 'aria-pressed')
        return (pressed === 'mixed' ? pressed : pressed === 'true') === expected
      }
    case 'selected':
      return (element) =>
        (localName(element) === 'option'
          ? (element as HTMLOptionElement).selected
          : attr(element, 'aria-selected')?.toLowerCase() === 'true') === expected
    case 'expanded':
      return (element) => expandedOf(element) === expected
    case 'level':
      return (element) => playwrightLevel(element, localName(element)) === Number(expected)
    case 'disabled':
      return (element) =>
        (isNativelyDisabled(element) ||
          (rolesWithDisabled.has(role) && isAriaDisabled(element))) === expected
    default:
      return () => true
  }
}

function expandedOf(element: Element): boolean | null {
  if (localName(element) === 'details') return (element as HTMLDetailsElement).open
  const value = attr(element, 'aria-expanded')
  return value === null ? null : value === 'true'
}
