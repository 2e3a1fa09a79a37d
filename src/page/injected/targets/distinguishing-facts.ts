/** Facts that distinguish similar elements: URL, value, row and landmark. */
import { attr, composedParent, localName } from '../dom/composed-tree'
import { elementText } from '../dom/text'
import { nameOf } from '../roles/accessible-name'
import { landmarkRoles, roleOf } from '../roles/roles'

const entries = new Set(['row', 'listitem', 'article', 'option', 'treeitem', 'definition'])
const areas = new Set([
  ...landmarkRoles,
  'dialog',
  'alertdialog',
  'group',
  'tabpanel',
  'toolbar',
  'menu',
  'table',
  'list'
])
const maxFactLength = 60

const quoted = (text: string): string =>
  JSON.stringify(text.length > maxFactLength ? `${text.slice(0, maxFactLength)}…` : text)

/**
 * Returns for each element how it differs from the others, as ` (/users/1, in row "Alice")`, or an
 * empty string.
 */
export function distinguishingFacts(elements: Element[]): string[] {
  const facts = [addressOf, valueOf, entryOf, areaOf].map((factOf) => elements.map(factOf))
  const distinguishing = facts.filter((values) => new Set(values).size > 1)
  return elements.map((_, index) => {
    const own = distinguishing.map((values) => values[index]).filter((fact) => fact !== '')
    return own.length > 0 ? ` (${own.join(', ')})` : ''
  })
}

const addressOf = (element: Element): string =>
  localName(element) === 'a' ? (attr(element, 'href') ?? '') : ''

function valueOf(element: Element): string {
  if (element instanceof HTMLInputElement && element.type === 'password') return ''
  const isField =
    element instanceof HTMLInputElement ||
    element instanceof HTMLTextAreaElement ||
    element instanceof HTMLSelectElement
  return isField && element.value !== '' ? `value ${quoted(element.value)}` : ''
}

/** Describes the row or item that contains an element. */
const entryOf = (element: Element): string =>
  ancestorOf(element, entries, (entry, role) => nameOf(entry, role) || elementText(entry))

/** Describes the landmark, dialog or other area that contains an element. */
const areaOf = (element: Element): string => ancestorOf(element, areas, nameOf)

function ancestorOf(
  element: Element,
  roles: Set<string>,
  nameIn: (ancestor: Element, role: string) => string
): string {
  for (let node = composedParent(element); node; node = composedParent(node)) {
    const role = roleOf(node)
    if (!roles.has(role)) continue
    const name = nameIn(node, role)
    return name === '' ? `in ${role}` : `in ${role} ${quoted(name)}`
  }
  return ''
}
