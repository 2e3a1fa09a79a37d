/** Hints for controls without a name, and selected elements that ARIA does not mark. */
import { attr, hasAttr, localName, normalize, queryAll, textContent } from '../dom/composed-tree'

const tooltips = [
  'data-tooltip',
  'data-title',
  'data-original-title',
  'data-bs-original-title',
  'data-tip',
  'aria-description',
  'data-label',
  'data-name'
]
const identifyingAttributes = [
  'data-action',
  'data-command',
  'data-icon',
  'data-testid',
  'data-test',
  'data-id',
  'data-key',
  'data-value',
  'name',
  'id'
]
/** Classes of icon fonts: a prefix and the name of the icon. */
const iconClass =
  /^(?:fa|fas|far|icon|mdi|bi|glyphicon|ri|ti|la|pi|codicon|lucide|anticon|el-icon|octicon|svg|i)[-_]+([a-z][\w-]*)$/i
/** Classes for the appearance of an icon, such as its size. */
const appearanceClass =
  /^(?:fw|lg|sm|xs|\d*x|spin|pulse|fixed|inverse|stack|solid|regular|light|icon|btn|button|small|large|medium|left|right)$/i
const maxHintLength = 40

/** Returns a hint such as ` (trash)`, empty if there is none. */
export function hintOf(element: Element): string {
  const hint =
    titleOf(element) ??
    tooltipOf(element) ??
    iconOf(element) ??
    identifyingAttributeOf(element) ??
    classOf(element) ??
    shapeOf(element)
  return hint ? ` (${hint.length > maxHintLength ? `${hint.slice(0, maxHintLength)}…` : hint})` : ''
}

const readableHint = (element: Element, name: string): string | null =>
  attr(element, name)?.trim().replace(/\s+/g, ' ') || null

/** Returns the title of an SVG shape or group. */
function titleOf(element: Element): string | null {
  if (!(element instanceof SVGElement)) return null
  const title = Array.from(element.children).find((child) => localName(child) === 'title')
  return title ? normalize(textContent(title)) || null : null
}

/** Returns the tag of an SVG shape, or of the first shape in a group. */
function shapeOf(element: Element): string | null {
  if (!(element instanceof SVGElement)) return null
  const shape =
    localName(element) === 'g'
      ? queryAll(element, 'path, rect, circle, ellipse, line, polygon, polyline, image')[0]
      : element
  return shape === undefined ? null : localName(shape)
}

function tooltipOf(element: Element): string | null {
  for (const name of tooltips) {
    const text = readableHint(element, name)
    if (text) return text
  }
  return null
}

/** Returns the name of the icon in an element, from an icon font, a sprite or a file. */
function iconOf(element: Element): string | null {
  const inside = Array.from(queryAll(element, 'i, svg, span, use, img')).slice(0, 5)
  for (const part of [element, ...inside]) {
    const tag = localName(part)
    const address =
      tag === 'use'
        ? (attr(part, 'href') ?? attr(part, 'xlink:href'))
        : tag === 'img'
          ? attr(part, 'src')
          : null
    const file =
      address && !address.startsWith('data:')
        ? /([\w-]+)(?:\.\w+)?(?:[?#][^/]*)?$/.exec(
            tag === 'use' ? address.replace(/^.*#/, '') : address
          )
        : null
    if (file) return file[1]
    for (const name of (attr(part, 'class') ?? '').split(/\s+/)) {
      const icon = iconClass.exec(name)?.[1]
      if (icon && !appearanceClass.test(icon)) return icon
    }
  }
  return null
}

/** Returns the first attribute whose value does not look generated. */
function identifyingAttributeOf(element: Element): string | null {
  for (const name of identifyingAttributes) {
    const text = readableHint(element, name)
    if (text && !/\d{3}|^[\d\W]+$|^:/.test(text))
      return name === 'id' ? `#${text}` : name.startsWith('data-') ? `${name}=${text}` : text
  }
  if (localName(element) !== 'a') return null
  const path = /([^/?#]+)\/?(?:[?#].*)?$/.exec(attr(element, 'href') ?? '')
  return path && !path[1].startsWith('javascript:') ? path[1] : null
}

const classOf = (element: Element): string | null => {
  const name = (attr(element, 'class') ?? '')
    .split(/\s+/)
    .find((each) => /^[a-z][a-z_-]{2,}$/i.test(each) && !appearanceClass.test(each))
  return name ? `.${name}` : null
}

const selectedClass = /(?:^|\s)(?:[\w-]*(?:--|__|-))?(?:active|selected|current)(?:\s|$)/i
const maxSiblings = 100
const selectableRoles = new Set([
  'tab',
  'option',
  'menuitem',
  'treeitem',
  'link',
  'button',
  'listitem'
])

/**
 * Returns whether a class such as `active` marks the element but none of its siblings. False if the
 * element has an ARIA state, which takes precedence.
 */
export function seemsSelected(element: Element, role: string): boolean {
  if (
    !selectableRoles.has(role) ||
    ['aria-selected', 'aria-current', 'aria-pressed', 'aria-checked'].some((name) =>
      hasAttr(element, name)
    )
  )
    return false
  const siblings = isMarked(element) ? element.parentElement?.children : undefined
  if (!siblings || siblings.length < 2 || siblings.length > maxSiblings) return false
  return Array.from(siblings).every(
    (sibling) =>
      sibling === element || (localName(sibling) === localName(element) && !isMarked(sibling))
  )
}

const isMarked = (element: Element): boolean => selectedClass.test(attr(element, 'class') ?? '')
