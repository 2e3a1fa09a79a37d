/**
 * Guards a click. Between the check of an element and the click, another element may cover or
 * replace it. The click is then canceled before the other element receives it, and that element is
 * reported.
 */
import type { Done } from '../api'
import { restoreWindowListeners } from '../dom/window-listeners'
import { actsOn, describeCover, elementAt } from './hit-target'
import { pointerListener, pressEventTypes } from './pointer-listener'

interface Guard {
  target: Element
  /** The expiry on the page's clock. Later events do not belong to the guarded click. */
  until: number
  /** The element that was hit instead, null if the target was hit, undefined before the click. */
  covered: string | null | undefined
  /** The number of button releases. */
  releases: number
  /** The target was pressed, but moved away from the pointer: the release hit another element. */
  escaped: boolean
}

let guard: Guard | null = null
/** The caller that waits for a number of button releases. */
let releaseWaiter: { releases: number; resolve: () => void } | null = null

/** Maximum ms between the check and the click. */
const maxDelay = 5000

/** Guards the next click, which is intended for `target`. */
export function guardClick(target: Element): void {
  restoreWindowListeners()
  pointerListener().handler = handlePointerEvent
  guard = {
    target,
    until: performance.now() + maxDelay,
    covered: undefined,
    releases: 0,
    escaped: false
  }
}

/**
 * Ends the guard. Returns the element that was hit instead of the target, and whether the target
 * got no click because it moved away from the pointer.
 */
export function endGuard(): { covered?: string; escaped?: boolean } {
  const { covered, escaped, target } = guard ?? {}
  guard = null
  if (typeof covered === 'string') return { covered }
  return escaped && target?.isConnected ? { escaped } : {}
}

/** Resolves after this number of button releases since the check, or at `cancelReleaseWait`. */
export function awaitReleases(releases: number): Promise<void> {
  cancelReleaseWait()
  if (guard === null || guard.releases >= releases) return Promise.resolve()
  return new Promise((resolve) => {
    releaseWaiter = { releases, resolve }
  })
}

/** Ends the wait for button releases, because this document does not receive them. */
export function cancelReleaseWait(): Done {
  releaseWaiter?.resolve()
  releaseWaiter = null
  return { done: true }
}

function handlePointerEvent(event: Event): void {
  if (guard === null || !event.isTrusted) return
  // `pointerup` occurs even if the page prevents mouse events.
  if (event.type === 'pointerup' && ++guard.releases >= (releaseWaiter?.releases ?? Infinity))
    cancelReleaseWait()
  if (guard.covered === undefined) {
    if (!pressEventTypes.includes(event.type)) return
    if (performance.now() > guard.until) {
      guard = null
      return
    }
    guard.covered = elementHitInstead(event as MouseEvent, guard.target)
  }
  // A click whose press has hit the target continues, even if the target is covered afterwards.
  if (guard.covered === null) {
    if (event.type === 'mouseup') guard.escaped = isElsewhere(event, guard.target)
    return
  }
  event.preventDefault()
  event.stopImmediatePropagation()
}

/**
 * Returns whether the release of the button missed the target. Uses only the path of the event: the
 * target may have moved back by now, as with `:active`.
 */
function isElsewhere(release: Event, target: Element): boolean {
  const [released] = release.composedPath()
  if (!(released instanceof Element) || actsOn(released, target)) return false
  // The path ends at the host of a closed shadow root.
  let root = target.getRootNode()
  while (root instanceof ShadowRoot) {
    if (root.host === released) return false
    root = root.host.getRootNode()
  }
  return true
}

function elementHitInstead(event: MouseEvent, target: Element): string | null {
  const [pressed] = event.composedPath()
  if (pressed instanceof Element && actsOn(pressed, target)) return null
  // The composed path does not contain elements in closed shadow roots.
  const hit = elementAt({ x: event.clientX, y: event.clientY })
  return hit === null || actsOn(hit, target) ? null : describeCover(hit, target)
}
