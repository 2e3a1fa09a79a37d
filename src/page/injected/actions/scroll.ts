/**
 * Scrolls by script, or observes the effects of wheel events, because maps and canvases do not
 * scroll by script.
 */
import type {
  Point,
  ElementAtArgument,
  ElementAtResult,
  ScrollArgument,
  ScrollResult,
  WheelEffectResult
} from '../api'
import { bodyOf, composedParent, documentElement, localName } from '../dom/composed-tree'
import { existingRef, RefAllocator } from '../dom/refs'
import { testIdOf } from '../dom/test-ids'
import { describeElement } from '../roles/describe'
import { resolveOne } from '../targets/resolve'
import { bringIntoView, bringPositionIntoView, elementAt, pointsOf } from './hit-target'

/** Maximum ms until the page has handled the wheel event. */
const maxHandlingTime = 300

/** Observes the effects of wheel events, null while none are expected. */
let watch: { scrolled: boolean; event: Event | null; stop: () => void; change: () => void } | null =
  null

const pageElement = (): Element | null => document.scrollingElement ?? documentElement() ?? bodyOf()

export function scroll(argument: ScrollArgument): ScrollResult {
  const refs = new RefAllocator(argument.refs)
  const { target, x, y, position } = argument
  const element = target === undefined ? null : resolveOne(target, refs, true)
  const by = { left: x ?? 0, top: y ?? 0 }
  let moved = true
  let scrolled = pageElement()
  if (element !== null && x === undefined && y === undefined) {
    element.scrollIntoView({
      block: 'center',
      inline: 'nearest',
      behavior: 'instant' as ScrollBehavior
    })
  } else {
    const mover = candidates(element, position).find((candidate) => tryScrollBy(candidate, by))
    moved = mover !== undefined
    scrolled = mover ?? element ?? scrolled
  }
  const result: ScrollResult = {
    moved,
    ...extentOf(scrolled),
    description: nameOf(scrolled, refs),
    next: 0
  }
  if (element !== null)
    Object.assign(result, { ref: existingRef(element), testId: testIdOf(element) })
  if (!moved) Object.assign(result, prepareWheel(wheelPoint(element, position), refs))
  return { ...result, next: refs.next }
}

/** Returns the point for the wheel events, or the frame element at that point. */
function prepareWheel(point: Point, refs: RefAllocator): Pick<ScrollResult, 'point' | 'frame'> {
  const hit = elementAt(point)
  if (hit !== null && /^i?frame$/.test(localName(hit))) return { frame: refs.of(hit) }
  watchWheel()
  return { point }
}

/** Returns the elements to scroll, in the order of the attempts. */
function candidates(element: Element | null, position: Point | undefined): Element[] {
  const page = pageElement()
  const first = element ?? (position ? elementAt(position) : page)
  const found: Element[] = []
  for (let node = first; node; node = composedParent(node))
    if (node === element || node === page || isScrollContainer(node)) found.push(node)
  if (page && !found.includes(page)) found.push(page)
  if (first !== page) return found
  // In many applications, a part of the page scrolls, not the page itself.
  for (let node = elementAt(center()); node; node = composedParent(node))
    if (node !== page && isScrollContainer(node)) found.push(node)
  return found
}

function isScrollContainer(element: Element): boolean {
  if (element.scrollHeight <= element.clientHeight && element.scrollWidth <= element.clientWidth)
    return false
  const { overflowX, overflowY } = getComputedStyle(element)
  return /auto|scroll|overlay/.test(overflowX + overflowY)
}

function tryScrollBy(element: Element, by: { left: number; top: number }): boolean {
  const { scrollLeft, scrollTop } = element
  element.scrollBy({ ...by, behavior: 'instant' as ScrollBehavior })
  return element.scrollLeft !== scrollLeft || element.scrollTop !== scrollTop
}

const center = (): Point => ({ x: window.innerWidth / 2, y: window.innerHeight / 2 })

function wheelPoint(element: Element | null, position: Point | undefined): Point {
  if (!element) return position ?? center()
  const points = (): Point[] => pointsOf(element, position)
  if (points().length === 0) {
    if (position) bringPositionIntoView(element, position, 0)
    else bringIntoView(element, 0)
  }
  return points()[0] ?? center()
}

function extentOf(element: Element | null): Pick<ScrollResult, 'x' | 'y' | 'maxX' | 'maxY'> {
  if (!element) return { x: 0, y: 0, maxX: 0, maxY: 0 }
  return {
    x: Math.round(element.scrollLeft),
    y: Math.round(element.scrollTop),
    maxX: element.scrollWidth - element.clientWidth,
    maxY: element.scrollHeight - element.clientHeight
  }
}

const nameOf = (element: Element | null, refs: RefAllocator): string =>
  element === null || element === pageElement() ? 'the page' : describeElement(element, refs)

function watchWheel(): void {
  watch?.stop()
  const onWheel = (event: Event): void => {
    if (watch) watch.event = event
    watch?.change()
  }
  const onScroll = (): void => {
    if (watch) watch.scrolled = true
    watch?.change()
  }
  window.addEventListener('wheel', onWheel, { capture: true, passive: true })
  window.addEventListener('scroll', onScroll, { capture: true, passive: true })
  const stop = (): void => {
    window.removeEventListener('wheel', onWheel, { capture: true })
    window.removeEventListener('scroll', onScroll, { capture: true })
  }
  watch = { scrolled: false, event: null, stop, change: () => {} }
}

export async function wheelEffect(): Promise<WheelEffectResult> {
  const watched = watch
  if (!watched) return { moved: false }
  const hasMoved = (): boolean => watched.scrolled || watched.event?.defaultPrevented === true
  // The page's own listeners run later and may handle the event.
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, maxHandlingTime)
    const check = (): void => {
      if (!hasMoved()) return
      clearTimeout(timer)
      resolve()
    }
    watched.change = () => setTimeout(check, 0)
    check()
  })
  watched.stop()
  if (watch === watched) watch = null
  return { moved: hasMoved() }
}

export function elementAtPoint(argument: ElementAtArgument): ElementAtResult {
  const refs = new RefAllocator(argument.refs)
  const element = elementAt(argument)
  const result: ElementAtResult = { width: window.innerWidth, height: window.innerHeight, next: 0 }
  if (element !== null)
    result.description =
      element === bodyOf() || element === documentElement()
        ? 'the page'
        : describeElement(element, refs)
  return { ...result, next: refs.next }
}
