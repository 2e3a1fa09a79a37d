/**
 * Maps points between an element's own coordinates and the viewport, through transforms and zoom.
 */
import type { Box, Point } from '../api'
import { composedParent } from './composed-tree'

export const boxOf = (element: Element): Box => {
  const { x, y, width, height } = element.getBoundingClientRect()
  return { x, y, width, height }
}

export const isSameBox = (left: Box, right: Box): boolean =>
  left.x === right.x &&
  left.y === right.y &&
  left.width === right.width &&
  left.height === right.height

const isSet = (value: string | undefined): value is string =>
  value !== undefined && value !== '' && value !== 'none'

/**
 * Returns the linear part of an element's own transform, without perspective. Null if it has none.
 */
function ownTransform({ rotate, scale, transform }: CSSStyleDeclaration): DOMMatrix | null {
  if (!isSet(rotate) && !isSet(scale) && !isSet(transform)) return null
  const matrix = new DOMMatrix()
  if (isSet(rotate)) {
    const parts = rotate.split(' ')
    const angle = parseFloat(parts.pop() ?? '')
    const [x, y, z] =
      parts.length === 3
        ? parts.map(Number)
        : ['x', 'y', 'z'].map((axis) => Number(axis === (parts[0] ?? 'z')))
    matrix.rotateAxisAngleSelf(x, y, z, angle)
  }
  if (isSet(scale)) {
    const [x, y = x, z = 1] = scale.split(' ').map(Number)
    matrix.scaleSelf(x, y, z)
  }
  if (isSet(transform)) {
    const own = new DOMMatrix(transform)
    if (own.is2D) matrix.multiplySelf(new DOMMatrix([own.a, own.b, own.c, own.d, 0, 0]))
    else
      matrix.multiplySelf(
        new DOMMatrix([
          own.m11,
          own.m12,
          own.m13,
          0,
          own.m21,
          own.m22,
          own.m23,
          0,
          own.m31,
          own.m32,
          own.m33,
          0,
          0,
          0,
          0,
          1
        ])
      )
  }
  return matrix
}

/** Returns the linear part of the transform from an element to the viewport. */
function linearPart(element: Element): DOMMatrix {
  let linear = new DOMMatrix()
  for (let node: Element | null = element; node; node = composedParent(node)) {
    const style = getComputedStyle(node)
    // Transforms apply neither to inline boxes nor to elements without a box.
    const applies = node === element || (style.display !== 'inline' && style.display !== 'contents')
    const own = applies ? ownTransform(style) : null
    if (own) linear = own.multiply(linear)
    const parent = composedParent(node)
    if (linear.is2D || (parent && getComputedStyle(parent).transformStyle === 'preserve-3d'))
      continue
    linear = new DOMMatrix([linear.m11, linear.m12, linear.m21, linear.m22, 0, 0])
  }
  return linear
}

const px = (value: string): number => parseFloat(value) || 0

/**
 * Returns the untransformed size of the border box, with the fractions that `offsetWidth` rounds
 * away.
 */
function ownSize(element: Element, style: CSSStyleDeclaration): [number, number] {
  const { offsetWidth = 0, offsetHeight = 0 } = element as HTMLElement
  const edges =
    style.boxSizing === 'border-box'
      ? [0, 0]
      : [
          px(style.borderLeftWidth) +
            px(style.paddingLeft) +
            px(style.paddingRight) +
            px(style.borderRightWidth),
          px(style.borderTopWidth) +
            px(style.paddingTop) +
            px(style.paddingBottom) +
            px(style.borderBottomWidth)
        ]
  const exact = (size: string, edge: number, rounded: number): number => {
    const whole = parseFloat(size) + edge
    return Math.abs(whole - rounded) <= 1 ? whole : rounded
  }
  return [exact(style.width, edges[0], offsetWidth), exact(style.height, edges[1], offsetHeight)]
}

/** Maps an element's border box, from its top left corner in its own CSS px, to the viewport. */
export function boxMatrix(element: Element, style = getComputedStyle(element)): DOMMatrix {
  const { left, top, width, height } = element.getBoundingClientRect()
  const [ownWidth, ownHeight] = ownSize(element, style)
  const linear = linearPart(element)
  const across = Math.abs(linear.a) * ownWidth + Math.abs(linear.c) * ownHeight
  const down = Math.abs(linear.b) * ownWidth + Math.abs(linear.d) * ownHeight
  const zoom = across > 0 ? width / across : 1
  // Under perspective the map is not affine: its bounding box is the best approximation.
  const isAffine = Math.abs(down * zoom - height) <= 1 + height / 100
  const matrix = isAffine
    ? linear.scale(zoom)
    : new DOMMatrix([width / ownWidth, 0, 0, height / ownHeight, 0, 0])
  const center = matrix.transformPoint({ x: ownWidth / 2, y: ownHeight / 2 })
  return new DOMMatrix([
    matrix.a,
    matrix.b,
    matrix.c,
    matrix.d,
    left + width / 2 - center.x,
    top + height / 2 - center.y
  ])
}

/** Maps the viewport of the document in a frame element to the viewport around it. */
export function contentMatrix(frame: Element): DOMMatrix {
  const style = getComputedStyle(frame)
  return boxMatrix(frame, style).translateSelf(
    px(style.borderLeftWidth) + px(style.paddingLeft),
    px(style.borderTopWidth) + px(style.paddingTop)
  )
}

export const coefficients = ({ a, b, c, d, e, f }: DOMMatrix): number[] => [a, b, c, d, e, f]

/** Positions of a point in its scroll container, as shares of the container's size. */
const alignments = [0.5, 0.9, 0.1]

/**
 * Scrolls a point of an element into view: first its scroll containers from the inside out, then
 * the document. `inViewport` returns the current position of the point. Each attempt aligns it
 * differently, because a sticky header may cover it.
 */
export function bringPointIntoView(
  element: Element,
  inViewport: () => Point,
  attempt: number
): void {
  const share = alignments[attempt % alignments.length]
  const page = document.scrollingElement
  const scroll = (box: Element | Window, left: number, top: number): void =>
    box.scrollBy({ left, top, behavior: 'instant' as ScrollBehavior })
  for (let box = composedParent(element); box; box = composedParent(box)) {
    if (
      box === page ||
      (box.scrollHeight <= box.clientHeight && box.scrollWidth <= box.clientWidth)
    )
      continue
    const { x, y } = boxMatrix(box).inverse().transformPoint(inViewport())
    scroll(
      box,
      x - box.clientLeft - box.clientWidth * share,
      y - box.clientTop - box.clientHeight * share
    )
  }
  const { x, y } = inViewport()
  scroll(window, x - innerWidth * share, y - innerHeight * share)
}
