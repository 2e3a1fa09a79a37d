/** Action points of elements, and their hit targets. */
import type { Box, Point } from '../api'
import {
  composedContains,
  composedParent,
  elementClosest,
  localName,
  queryAll,
  shadowRootOf
} from '../dom/composed-tree'
import { boxOf, bringPointIntoView } from '../dom/geometry'
import { tagOf } from '../roles/describe'
import { roleOf } from '../roles/roles'

/** Returns the part of a rectangle inside the viewport, or null. */
function insideViewport(rect: DOMRect): Box | null {
  const right = Math.min(rect.right, window.innerWidth)
  const bottom = Math.min(rect.bottom, window.innerHeight)
  const x = Math.max(rect.left, 0)
  const y = Math.max(rect.top, 0)
  return right - x >= 1 && bottom - y >= 1 ? { x, y, width: right - x, height: bottom - y } : null
}

/** Returns the rectangles of an element, or of its children if it has `display: contents`. */
function rectsOf(element: Element): DOMRect[] {
  const rects = Array.from(element.getClientRects()).filter(
    (rect) => rect.width > 0 && rect.height > 0
  )
  if (rects.length > 0) return rects
  const range = document.createRange()
  range.selectNodeContents(element)
  return Array.from(range.getClientRects()).filter((rect) => rect.width > 0 && rect.height > 0)
}

export const isInViewport = ({ x, y }: Point): boolean =>
  x >= 0 && y >= 0 && x < window.innerWidth && y < window.innerHeight

/** Returns the centers of the visible parts of an element, or the point at `position`. */
export function pointsOf(element: Element, position: Point | undefined): Point[] {
  if (position) {
    const { x, y } = element.getBoundingClientRect()
    const point = { x: x + position.x, y: y + position.y }
    return isInViewport(point) ? [point] : []
  }
  const points: Point[] = []
  for (const rect of rectsOf(element)) {
    const part = insideViewport(rect)
    if (part) points.push({ x: part.x + part.width / 2, y: part.y + part.height / 2 })
    if (points.length === 4) break
  }
  return points
}

/** Returns the innermost element at a point, inside shadow roots too. */
export function elementAt(point: Point): Element | null {
  let element = document.elementFromPoint(point.x, point.y)
  while (element) {
    const inner: Element | null = shadowRootOf(element)?.elementFromPoint(point.x, point.y) ?? null
    if (!inner || inner === element) break
    element = inner
  }
  return element
}

/** Returns whether a click on `hit` acts on `target`. */
export function actsOn(hit: Element, target: Element): boolean {
  if (composedContains(target, hit)) return true
  // A click on a label acts on its control, and a click on a button acts on the elements in it.
  const label = elementClosest(hit, 'label') as HTMLLabelElement | null
  if (label?.control === target) return true
  const owner = elementClosest(
    target,
    'button, a, [role="button"], [role="link"], label, summary, option, select'
  )
  if (
    owner !== null &&
    owner !== target &&
    (owner === hit || (localName(owner) !== 'label' && composedContains(owner, hit)))
  )
    return true
  if (localName(target) === 'option' && elementClosest(target, 'select') === hit) return true
  const widget = widgetOf(target)
  return widget !== null && composedContains(widget, hit)
}

/** Roles of controls that pages render with their own elements above or around them. */
const renderedByPage = new Set([
  'checkbox',
  'radio',
  'switch',
  'slider',
  'combobox',
  'textbox',
  'searchbox',
  'spinbutton'
])
const controls =
  'a[href], button, input:not([type="hidden"]), select, textarea, iframe, [tabindex], [contenteditable], [role="button"], [role="link"], [role="dialog"], [role="status"], [role="alert"]'
/** Maximum height, in CSS px, of an element that counts as a part of the control in it. */
const maxWidgetHeight = 64
const maxWidgetDepth = 3

/**
 * Returns the outermost element that contains this control and no other one, such as the box of a
 * checkbox or the track of a slider. A click on any part of it acts on the control.
 */
function widgetOf(control: Element): Element | null {
  if (!renderedByPage.has(roleOf(control))) return null
  const height = Math.max(maxWidgetHeight, boxOf(control).height * 1.5)
  let widget: Element | null = null
  let around = composedParent(control)
  for (let level = 0; around && level < maxWidgetDepth; level++, around = composedParent(around)) {
    if (
      boxOf(around).height > height ||
      Array.from(queryAll(around, controls)).some(
        (other) => other !== control && !isThumb(other, control)
      )
    )
      break
    widget = around
  }
  return widget
}

/** Returns whether both elements are thumbs: a slider for a range has two. */
const isThumb = (other: Element, control: Element): boolean =>
  roleOf(control) === 'slider' && roleOf(other) === 'slider'

/** Describes the hit element and the outermost element around it that covers the target. */
export function describeCover(hit: Element, target: Element): string {
  let cover = hit
  for (
    let parent = composedParent(cover);
    parent && !composedContains(parent, target);
    parent = composedParent(parent)
  ) {
    if (localName(parent) === 'body' || localName(parent) === 'html') break
    cover = parent
  }
  return cover === hit ? tagOf(hit) : `${tagOf(hit)} in ${tagOf(cover)}`
}

const alignments: ScrollLogicalPosition[] = ['center', 'end', 'start', 'nearest']

/**
 * Scrolls an element into view. Each attempt aligns it differently, because a sticky header may
 * cover it.
 */
export function bringIntoView(element: Element, attempt: number): void {
  const align = alignments[attempt % alignments.length]
  element.scrollIntoView({ block: align, inline: align, behavior: 'instant' as ScrollBehavior })
}

/**
 * Scrolls a position in an element's box into view. The element may be larger than the viewport.
 */
export function bringPositionIntoView(element: Element, position: Point, attempt: number): void {
  const inViewport = (): Point => {
    const { x, y } = element.getBoundingClientRect()
    return { x: x + position.x, y: y + position.y }
  }
  bringPointIntoView(element, inViewport, attempt)
}

/** Properties that do not move an element. */
const paintOnly =
  /^(offset|computedOffset|easing|composite|opacity|visibility|filter|backdropFilter|fill|stroke|outline.*|textShadow|boxShadow|.*[cC]olor|background.*|cursor)$/

/**
 * Returns whether an animation of the element or an ancestor may move the element. Animations of
 * paint properties do not. With `pending`, only animations that have not started count, whose
 * elements do not move yet.
 */
export function isAnimated(element: Element, pending = false): boolean {
  const animations = document.getAnimations?.() ?? []
  for (const animation of animations) {
    // An animation on an inactive timeline (of a box that does not scroll) stays pending.
    if (pending && (!animation.pending || (animation.timeline?.currentTime ?? null) === null))
      continue
    if (animation.playState !== 'running' && !animation.pending) continue
    const effect = animation.effect as KeyframeEffect | null
    const target = effect?.target
    if (!effect || !target || !composedContains(target, element)) continue
    if (effect.pseudoElement) continue
    if (
      effect
        .getKeyframes()
        .some((frame) => Object.keys(frame).some((property) => !paintOnly.test(property)))
    )
      return true
  }
  return false
}
