/**
 * Accessible names according to "Accessible Name and Description Computation 1.2" and the HTML
 * accessibility mappings.
 */
import { callCache } from '../dom/call-cache'
import {
  attr,
  byIds,
  eachComposedChild,
  firstChild,
  firstElementChild,
  hasAttr,
  isElement,
  isHtml,
  localName,
  namespaceOf,
  nextSibling,
  nodeType,
  normalize,
  queryAll,
  rootOf,
  shadowRootOf,
  textContent
} from '../dom/composed-tree'
import {
  AFTER,
  BEFORE,
  isBlock,
  isHiddenForAria,
  pseudoText,
  Rendering,
  renderingOf,
  ruleIndexOf
} from '../dom/styles'
import { labelledByElements } from './explicit-name'
import { namedByContent, roleOf } from './roles'

/** How the computation reached an element. */
type ReachedBy = 'itself' | 'content' | 'reference' | 'label'

interface Traversal {
  via: ReachedBy
  /** Whether `aria-labelledby` references the element. If so, its own references are ignored. */
  referenced: boolean
  /** Whether the referenced element is hidden. If so, its hidden contents are part of the name. */
  hidden: boolean
  /** Whether this is the name of a tree item. It does not contain the names of nested items. */
  isTreeItem?: boolean
  visited: Set<Element>
}

/** Returns the accessible name of an element. */
export function nameOf(element: Element, role: string = roleOf(element)): string {
  return normalize(
    computeName(element, role, {
      via: 'itself',
      referenced: false,
      hidden: false,
      isTreeItem: role === 'treeitem',
      visited: new Set()
    })
  )
}

/** Returns the name from labels, attributes and captions, without the element's contents. */
export function authorName(element: Element, role: string): string {
  const traversal: Traversal = {
    via: 'itself',
    referenced: false,
    hidden: false,
    visited: new Set([element])
  }
  return normalize(
    authorLabel(element, traversal) || nativeName(element, role, traversal) || tooltipName(element)
  )
}

/** Returns the name of an element from its contents. */
export function contentName(element: Element): string {
  return normalize(
    fromContent(element, { via: 'content', referenced: false, hidden: false, visited: new Set() })
  )
}

function referencedName(element: Element, visited: Set<Element>): string {
  return computeName(element, roleOf(element), {
    via: 'reference',
    referenced: true,
    hidden: isHiddenForAria(element),
    visited
  })
}

function computeName(element: Element, role: string, traversal: Traversal): string {
  if (traversal.visited.has(element)) return ''
  traversal.visited.add(element)
  const author = authorLabel(element, traversal, role)
  if (author.trim()) return author
  const own = nativeName(element, role, traversal)
  if (own.trim()) return own
  const nested = traversal.via !== 'itself'
  if (traversal.via === 'content' && compositeRoles.has(role)) return tooltipName(element)
  if (nested || namedByContent.has(role)) {
    const content = fromContent(element, traversal)
    if (content.trim()) return content
    if (role !== 'presentation' || nested) return tooltipName(element)
    return ''
  }
  return tooltipName(element)
}

/** Performs the steps "aria-labelledby", "embedded control" and "aria-label" of the computation. */
function authorLabel(element: Element, traversal: Traversal, role = ''): string {
  if (!traversal.referenced) {
    const named = labelledByElements(element)
    if (named.length > 0) {
      // The element may reference itself once: a button can be named by itself and its row.
      const text = named
        .map((each) =>
          each === element ? selfReference(element, role) : referencedName(each, traversal.visited)
        )
        .join(' ')
      if (text.trim()) return text
    }
  }
  if (traversal.via !== 'itself') {
    const value = embeddedValue(element, role, traversal)
    if (value !== null) return value
  }
  const label = attr(element, 'aria-label')
  return label !== null && label.trim() !== '' ? label : ''
}

function selfReference(element: Element, role: string): string {
  return computeName(element, role || roleOf(element), {
    via: 'itself',
    referenced: true,
    hidden: false,
    visited: new Set()
  })
}

const rangeRoles = new Set(['slider', 'spinbutton', 'scrollbar', 'progressbar', 'meter'])

/** Returns the value of a control inside a label, null if the element is not such a control. */
function embeddedValue(element: Element, role: string, traversal: Traversal): string | null {
  switch (role) {
    case 'textbox':
    case 'searchbox':
      if (traversal.via === 'reference' && hasAttr(element, 'aria-label')) return null
      return fieldValue(element) ?? fromContent(element, traversal)
    case 'combobox':
    case 'listbox': {
      if (traversal.via === 'reference' && hasAttr(element, 'aria-label')) return null
      if (element instanceof HTMLSelectElement)
        return Array.from(element.selectedOptions, (option) => option.label).join(' ')
      const value = fieldValue(element)
      if (value !== null) return value
      const list =
        role === 'combobox'
          ? (byIds(element, 'aria-controls')[0] ?? byIds(element, 'aria-owns')[0] ?? element)
          : element
      const chosen = Array.from(list.querySelectorAll('[role=option][aria-selected="true"]'))
      return chosen.length > 0
        ? chosen.map((option) => referencedName(option, new Set())).join(' ')
        : role === 'listbox'
          ? ''
          : fromContent(element, traversal)
    }
    default: {
      if (!rangeRoles.has(role)) return null
      if (traversal.via === 'reference' && hasAttr(element, 'aria-label')) return null
      return (
        attr(element, 'aria-valuetext') ??
        attr(element, 'aria-valuenow') ??
        fieldValue(element) ??
        ''
      )
    }
  }
}

/** Returns the value of a native field, masked for passwords. Null for other elements. */
export function fieldValue(element: Element): string | null {
  if (element instanceof HTMLInputElement) {
    if (element.type === 'password') return element.value === '' ? '' : '••••'
    return element.value
  }
  if (element instanceof HTMLTextAreaElement) return element.value
  if (element instanceof HTMLProgressElement)
    return hasAttr(element, 'value') ? String(element.value) : ''
  if (element instanceof HTMLMeterElement) return String(element.value)
  return null
}

/**
 * Returns whether an element is a visible field, which separates the texts around it even if it is
 * empty.
 */
function isField(element: Element): boolean {
  const tag = localName(element)
  return (
    (tag === 'input' || tag === 'select' || tag === 'textarea') &&
    renderingOf(element, true) === Rendering.Visible
  )
}

const labelable = new Set(['input', 'select', 'textarea', 'button', 'meter', 'progress', 'output'])

/** Returns the name that the HTML accessibility mappings define for the element's tag. */
function nativeName(element: Element, role: string, traversal: Traversal): string {
  const tag = localName(element)
  if (tag === 'div' || tag === 'span' || role === 'presentation') return ''
  if (namespaceOf(element) === 'http://www.w3.org/2000/svg') {
    for (let child = firstElementChild(element); child; child = child.nextElementSibling) {
      if (localName(child) === 'title') return textContent(child)
    }
    return tag === 'a' ? (attr(element, 'xlink:title') ?? '') : ''
  }
  if (labelable.has(tag) || (tag.includes('-') && isHtml(element))) {
    const labels = labelsOf(element)
    if (labels.length > 0 && traversal.via !== 'label') {
      // A hidden label names its control too, like a hidden element referenced by
      // `aria-labelledby`.
      const text = labels
        .map((label) =>
          computeName(label, 'generic', {
            ...traversal,
            via: 'label',
            hidden: isHiddenForAria(label),
            visited: new Set([element])
          })
        )
        .join(' ')
      if (text.trim()) return text
    }
    if (tag === 'input') return inputName(element as HTMLInputElement)
    return ''
  }
  switch (tag) {
    case 'img':
    case 'area':
      return attr(element, 'alt') ?? ''
    case 'fieldset':
      return childText(element, 'legend', traversal)
    case 'figure':
      return childText(element, 'figcaption', traversal)
    case 'table':
      return childText(element, 'caption', traversal)
    case 'optgroup':
      return attr(element, 'label') ?? ''
    case 'option':
      return attr(element, 'label') ?? ''
    default:
      return ''
  }
}

function inputName(input: HTMLInputElement): string {
  switch (input.type) {
    case 'button':
      return input.value
    case 'submit':
      return attr(input, 'value') ?? 'Submit'
    case 'reset':
      return attr(input, 'value') ?? 'Reset'
    case 'image':
      return attr(input, 'alt') || attr(input, 'value') || attr(input, 'title') || 'Submit'
    default:
      return ''
  }
}

/** Returns the `label` elements of a control. */
export function labelsOf(element: Element): HTMLLabelElement[] {
  const cache = callCache()
  if (!cache) {
    const labels = (element as HTMLInputElement).labels as
      NodeListOf<HTMLLabelElement> | null | undefined
    return labels ? Array.from(labels) : []
  }
  // `labels` searches the whole document for each control. Reading `control` of every label once is
  // faster.
  const root = rootOf(element)
  let known = cache.labels.get(root)
  if (!known) {
    known = new Map()
    for (const label of queryAll(root, 'label') as NodeListOf<HTMLLabelElement>) {
      const { control } = label
      if (!control) continue
      const others = known.get(control)
      if (others) others.push(label)
      else known.set(control, [label])
    }
    cache.labels.set(root, known)
  }
  return known.get(element) ?? []
}

function childText(element: Element, tag: string, traversal: Traversal): string {
  for (let child = firstElementChild(element); child; child = child.nextElementSibling) {
    if (localName(child) === tag)
      return computeName(child, 'generic', {
        ...traversal,
        via: 'label',
        visited: new Set([element])
      })
  }
  return ''
}

function tooltipName(element: Element): string {
  const title = attr(element, 'title')
  if (title && title.trim()) return title
  const tag = localName(element)
  if (tag === 'input' || tag === 'textarea')
    return attr(element, 'placeholder') ?? attr(element, 'aria-placeholder') ?? ''
  if (tag === 'table') return attr(element, 'summary') ?? ''
  return attr(element, 'aria-placeholder') ?? ''
}

/** Composite widgets. Their contents are not part of the names of elements around them. */
const compositeRoles = new Set([
  'grid',
  'listbox',
  'menu',
  'menubar',
  'radiogroup',
  'tablist',
  'tree',
  'treegrid'
])

/** Controls: a space separates them from the text around them, even on the same line. */
const controlRoles = new Set([
  'button',
  'checkbox',
  'combobox',
  'listbox',
  'menuitem',
  'menuitemcheckbox',
  'menuitemradio',
  'meter',
  'radio',
  'scrollbar',
  'searchbox',
  'slider',
  'spinbutton',
  'switch',
  'tab',
  'textbox'
])

const isSeparated = (element: Element): boolean =>
  isBlock(element) || controlRoles.has(roleOf(element))

const tagsWithoutText = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'head',
  'title',
  'meta',
  'link'
])

/**
 * Returns the text of the contents: inline parts are joined as they are, blocks are separated by
 * spaces.
 */
function fromContent(element: Element, traversal: Traversal): string {
  const effects = ruleIndexOf(rootOf(element)).of(element)
  const shadow = shadowRootOf(element)
  const slot = localName(element) === 'slot'
  if (
    (effects & (BEFORE | AFTER)) === 0 &&
    shadow === null &&
    !slot &&
    firstElementChild(element) === null &&
    !hasAttr(element, 'aria-owns')
  ) {
    let text = ''
    for (let child = firstChild(element); child; child = nextSibling(child))
      if (nodeType(child) === 3) text += (child as Text).data
    return text
  }
  let text = effects & BEFORE ? pseudoText(element, '::before') : ''
  const inner: Traversal = { ...traversal, via: 'content' }
  let boundary: Element | null = null
  const append = (piece: string): void => {
    if (piece === '') return
    if (boundary && text !== '' && !/\s$/.test(text) && !/^\s/.test(piece) && isSeparated(boundary))
      text += ' '
    boundary = null
    text += piece
  }
  const visit = (child: Node): void => {
    const type = nodeType(child)
    if (type === 3) return append((child as Text).data)
    if (!isElement(child)) return
    const tag = localName(child)
    if (tag === 'br') return append(' ')
    if (tagsWithoutText.has(tag)) return
    const piece = childName(child, inner)
    if (piece === '' && !isField(child)) return
    if (!boundary || !isSeparated(boundary)) boundary = child
    append(piece)
    boundary = child
  }
  eachComposedChild(element, visit)
  for (const owned of byIds(element, 'aria-owns')) visit(owned)
  if (effects & AFTER) append(pseudoText(element, '::after'))
  return text
}

function childName(child: Element, traversal: Traversal): string {
  if (!traversal.hidden) {
    if (attr(child, 'aria-hidden') === 'true') return ''
    const shown = renderingOf(child, true)
    if (shown === Rendering.None) return ''
    if (shown === Rendering.Invisible) return visibleParts(child, traversal)
  }
  const role = roleOf(child)
  return traversal.isTreeItem && (role === 'group' || role === 'treeitem')
    ? ''
    : computeName(child, role, traversal)
}

/** Returns the names of visible descendants of an element with `visibility: hidden`. */
function visibleParts(element: Element, traversal: Traversal): string {
  let text = ''
  eachComposedChild(element, (child) => {
    if (isElement(child)) text += childName(child, traversal)
  })
  return text
}
