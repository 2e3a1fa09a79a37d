/**
 * Guards a press: between the check of an element and the press, another element may move over it or replace it. The
 * press is then canceled before that element receives it, and reported as missed.
 */
import type { Done } from '../api'
import { stillListening } from '../dom/window-listeners'
import { actsOn, coverName, elementAt } from './hit-target'
import { presses, pressListener } from './pointer-listener'

interface Guard {
  target: Element
  /** On the page's clock: a press that comes later is somebody else's. */
  until: number
  /** What is pressed instead; null where the target is, undefined before the press. */
  covered: string | null | undefined
  /** How often the button has been let go. */
  releases: number
}

let guard: Guard | null = null
/** Callers that wait until the button was released a number of times. */
let awaiting: { releases: number; go: () => void } | null = null

/** ms from the look to the press; more only where the machine is busy. */
const longest = 5000

/** The next press is meant for `target`. */
export function guardPress(target: Element): void {
  stillListening()
  pressListener().heard = heard
  guard = { target, until: performance.now() + longest, covered: undefined, releases: 0 }
}

/** What was pressed in place of the target, if anything was; nothing is guarded any more. */
export function guardedFrom(): string | undefined {
  const covered = guard?.covered ?? undefined
  guard = null
  return covered
}

/** Resolves when the button has been let go so many times since the look, or nobody waits for that any more. */
export function released(releases: number): Promise<void> {
  giveUpRelease()
  if (guard === null || guard.releases >= releases) return Promise.resolve()
  return new Promise((go) => {
    awaiting = { releases, go }
  })
}

/** What was pressed does not let this document hear of it: nobody waits for that any more. */
export function giveUpRelease(): Done {
  awaiting?.go()
  awaiting = null
  return { done: true }
}

function heard(event: Event): void {
  if (guard === null || !event.isTrusted) return
  // It comes also where the page has prevented the mouse's own events.
  if (event.type === 'pointerup' && ++guard.releases >= (awaiting?.releases ?? Infinity))
    giveUpRelease()
  if (guard.covered === undefined) {
    if (!presses.includes(event.type)) return
    if (performance.now() > guard.until) {
      guard = null
      return
    }
    guard.covered = pressedInstead(event as MouseEvent, guard.target)
  }
  // What a press on the target itself brings over it does not matter.
  if (guard.covered === null) return
  event.preventDefault()
  event.stopImmediatePropagation()
}

function pressedInstead(event: MouseEvent, target: Element): string | null {
  const [pressed] = event.composedPath()
  if (pressed instanceof Element && actsOn(pressed, target)) return null
  // The path ends before closed shadow roots.
  const hit = elementAt({ x: event.clientX, y: event.clientY })
  return hit === null || actsOn(hit, target) ? null : coverName(hit, target)
}
