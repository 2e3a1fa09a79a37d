/**
 * Troupe's event listeners on the window. They run before the page's own listeners, and are removed
 * with the document.
 */
import { documentElement } from './composed-tree'

const listeners: { types: string[]; listener: (event: Event) => void; passive: boolean }[] = []
/** The document element at the time when the listeners were added. */
let root: Element | null = null

/** Adds a capturing listener for these event types. A passive one cannot cancel events. */
export function addWindowListener(
  types: string[],
  listener: (event: Event) => void,
  passive: boolean
): void {
  listeners.push({ types, listener, passive })
  root = documentElement()
  addListener(types, listener, passive)
}

/**
 * Adds the listeners again if the document element is a new one: `document.open` removes all
 * listeners.
 */
export function restoreWindowListeners(): void {
  const now = documentElement()
  if (now === root) return
  root = now
  for (const { types, listener, passive } of listeners) addListener(types, listener, passive)
}

/** Adds a listener. Adding it twice has no effect. */
function addListener(types: string[], listener: (event: Event) => void, passive: boolean): void {
  for (const type of types) window.addEventListener(type, listener, { capture: true, passive })
}
