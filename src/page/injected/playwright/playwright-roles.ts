/**
 * Roles by Playwright's rules. They differ from `roles.ts` in the tags that depend on their
 * context, and in how `presentation` is inherited and ignored.
 */
import {
  attr,
  elementClosest,
  firstElementChild,
  HAS_ROLE,
  hasAttr,
  localName,
  nextElement,
  previousElement,
  textContent
} from '../dom/composed-tree'
import { parentAcross } from '../dom/css'
import { inputRoles, knownRoles, plainRoles } from '../roles/roles'
import { isNativelyDisabled } from './disabled'
import { type ElementFacts, elementFacts } from './element-facts'
import { elementsByIds } from './id-references'

/** Known roles that Playwright does not know, besides those with a hyphen. */
const laterRoles = new Set(['comment', 'image', 'sectionfooter', 'sectionheader', 'suggestion'])

/** Tags without a role in Playwright. */
const tagsWithoutRole = new Set([
  'address',
  'audio',
  'canvas',
  'embed',
  'frame',
  'hgroup',
  'iframe',
  'object',
  's',
  'video'
])

const noNameRoles = [
  'caption',
  'code',
  'deletion',
  'emphasis',
  'generic',
  'insertion',
  'paragraph',
  'presentation',
  'strong',
  'subscript',
  'superscript'
]

/** Global ARIA attributes, with the roles for which they do not cancel `presentation`. */
const globalAttributes: [string, string[]][] = [
  ['aria-atomic', []],
  ['aria-busy', []],
  ['aria-controls', []],
  ['aria-current', []],
  ['aria-describedby', []],
  ['aria-details', []],
  ['aria-dropeffect', []],
  ['aria-flowto', []],
  ['aria-grabbed', []],
  ['aria-hidden', []],
  ['aria-keyshortcuts', []],
  ['aria-label', noNameRoles],
  ['aria-labelledby', noNameRoles],
  ['aria-live', []],
  ['aria-owns', []],
  ['aria-relevant', []],
  ['aria-roledescription', ['generic']]
]

const hasGlobalAttribute = (element: Element, role: string | null): boolean =>
  globalAttributes.some(
    ([name, exceptions]) => hasAttr(element, name) && !exceptions.includes(role ?? '')
  )

const hasTabIndex = (element: Element): boolean =>
  !Number.isNaN(Number(attr(element, 'tabindex') ?? NaN))

function isNativelyFocusable(element: Element): boolean {
  switch (localName(element)) {
    case 'button':
    case 'details':
    case 'select':
    case 'textarea':
      return true
    case 'a':
    case 'area':
      return hasAttr(element, 'href')
    case 'input':
      return !hasAttr(element, 'hidden')
    default:
      return false
  }
}

const presentationIsIgnored = (element: Element, role: string | null): boolean =>
  hasGlobalAttribute(element, role) ||
  (!isNativelyDisabled(element) && (isNativelyFocusable(element) || hasTabIndex(element)))

const isPresentation = (role: string | null): boolean => role === 'presentation' || role === 'none'

/** Returns the first role of the `role` attribute that Playwright knows. */
function explicitRole(element: Element): string | null {
  const value = attr(element, 'role')
  if (!value) return null
  for (const part of value.split(' ')) {
    const role = part.trim()
    if (knownRoles.has(role) && !laterRoles.has(role) && !role.includes('-')) return role
  }
  return null
}

/** Returns the role of an element, null if it has none. `none` and `presentation` are roles. */
export function playwrightRole(element: Element): string | null {
  const facts = elementFacts(element)
  return roleByFacts(element, facts)
}

/** Like `playwrightRole`, for an element whose facts are known. */
export function roleByFacts(element: Element, facts: ElementFacts): string | null {
  if (facts.role === undefined) facts.role = computeRole(element, facts)
  return facts.role
}

function computeRole(element: Element, facts: ElementFacts): string | null {
  const explicit = facts.attributes & HAS_ROLE ? explicitRole(element) : null
  if (explicit === null) return implicitRole(element, facts)
  if (isPresentation(explicit)) {
    const implicit = implicitRole(element, facts)
    if (presentationIsIgnored(element, implicit)) return implicit
  }
  return explicit
}

/** Parents from which a tag inherits `presentation`. */
const presentationParents = new Map<string, string[]>(
  Object.entries({
    dd: ['dl', 'div'],
    div: ['dl'],
    dt: ['dl', 'div'],
    li: ['ol', 'ul'],
    tbody: ['table'],
    td: ['tr'],
    tfoot: ['table'],
    th: ['tr'],
    thead: ['table'],
    tr: ['thead', 'tbody', 'tfoot', 'table']
  })
)

function implicitRole(element: Element, facts: ElementFacts): string | null {
  const role = roleOfTag(element, facts)
  if (role === null) return role
  for (let child = facts; ;) {
    const tags = presentationParents.get(child.tag)
    const parent = tags === undefined ? null : parentFacts(child)
    if (parent === null || !tags?.includes(parent.tag)) return role
    const explicit = parent.attributes & HAS_ROLE ? explicitRole(parent.element) : null
    if (isPresentation(explicit) && !presentationIsIgnored(parent.element, explicit))
      return explicit
    child = parent
  }
}

function parentFacts({ outer, element }: ElementFacts): ElementFacts | null {
  if (outer) return outer
  const parent = parentAcross(element)
  return parent && elementFacts(parent)
}

function roleOfTag(element: Element, facts: ElementFacts): string | null {
  const { tag } = facts
  switch (tag) {
    case 'div':
    case 'span':
      return null
    case 'a':
    case 'area':
      return hasAttr(element, 'href') ? 'link' : null
    case 'aside':
      return 'complementary'
    case 'footer':
      return isInSection(element) ? null : 'contentinfo'
    case 'header':
      return isInSection(element) ? null : 'banner'
    case 'form':
      return hasNameAttribute(element) ? 'form' : null
    case 'section':
      return hasNameAttribute(element) ? 'region' : null
    case 'img':
      return attr(element, 'alt') === '' &&
        !attr(element, 'title') &&
        !hasGlobalAttribute(element, null) &&
        !hasTabIndex(element)
        ? 'presentation'
        : 'img'
    case 'input':
      return inputRole(element as HTMLInputElement)
    case 'li':
      return 'listitem'
    case 'select':
      return (element as HTMLSelectElement).multiple || (element as HTMLSelectElement).size > 1
        ? 'listbox'
        : 'combobox'
    case 'tbody':
    case 'tfoot':
    case 'thead':
      return 'rowgroup'
    case 'td':
      return facts.outer ? (facts.outer.cellRole ??= cellRole(element)) : cellRole(element)
    case 'th':
      return headerCellRole(element)
    case 'tr':
      return 'row'
    default:
      return tagsWithoutRole.has(tag) ? null : (plainRoles.get(tag) ?? null)
  }
}

const hasNameAttribute = (element: Element): boolean =>
  hasAttr(element, 'aria-label') || hasAttr(element, 'aria-labelledby')

const sections =
  'article:not([role]), aside:not([role]), main:not([role]), nav:not([role]), section:not([role]), [role=article], [role=complementary], [role=main], [role=navigation], [role=region]'

/** Returns the closest ancestor that matches, outside of shadow roots too. */
function closestAcross(element: Element, selector: string): Element | null {
  for (let start: Element | null = element; start;) {
    const found = elementClosest(start, selector)
    if (found) return found
    const root = start.getRootNode()
    start = root instanceof ShadowRoot ? root.host : null
  }
  return null
}

const isInSection = (element: Element): boolean => closestAcross(element, sections) !== null

function inputRole(input: HTMLInputElement): string | null {
  const type = input.type
  switch (type) {
    case 'hidden':
      return null
    case 'color':
      return 'textbox'
    case 'email':
    case 'search':
    case 'tel':
    case 'text':
    case 'url': {
      const [list] = elementsByIds(input, 'list')
      if (list && localName(list) === 'datalist') return 'combobox'
      return type === 'search' ? 'searchbox' : 'textbox'
    }
    default:
      return inputRoles[type] ?? 'textbox'
  }
}

function cellRole(cell: Element): string {
  const table = closestAcross(cell, 'table')
  const role = table && explicitRole(table)
  return role === 'grid' || role === 'treegrid' ? 'gridcell' : 'cell'
}

function headerCellRole(cell: Element): string | null {
  const scope = attr(cell, 'scope')
  if (scope === 'col' || scope === 'colgroup') return 'columnheader'
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader'
  const before = previousElement(cell)
  const after = nextElement(cell)
  if (!before && !after) {
    const row = cell.parentElement
    const table = row && localName(row) === 'tr' ? closestAcross(row, 'table') : null
    return table && (table as HTMLTableElement).rows.length <= 1 ? null : 'columnheader'
  }
  if (isHeaderCell(before) && isHeaderCell(after)) return 'columnheader'
  return isFilledCell(before) || isFilledCell(after) ? 'rowheader' : 'columnheader'
}

const isHeaderCell = (cell: Element | null): boolean => cell !== null && localName(cell) === 'th'

const isFilledCell = (cell: Element | null): boolean =>
  cell !== null &&
  localName(cell) === 'td' &&
  (textContent(cell).trim() !== '' || firstElementChild(cell) !== null)
