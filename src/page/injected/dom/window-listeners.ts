/** Troupe's listeners on the window. They run before the page's own, and exist as long as the document. */
import { documentElement } from './composed-tree'

const listeners: { types: string[]; listener: (event: Event) => void; passive: boolean }[] = []
/** The root element that they were added beside. */
let root: Element | null = null

/** Adds `listener` for these event types in front of the page's own; a passive one cannot cancel events. */
export function listenTo(
  types: string[],
  listener: (event: Event) => void,
  passive: boolean
): void {
  listeners.push({ types, listener, passive })
  root = documentElement()
  listen(types, listener, passive)
}

/** `document.open` takes all listeners away, and the root element with them: one that is another may be without. */
export function stillListening(): void {
  const now = documentElement()
  if (now === root) return
  root = now
  for (const { types, listener, passive } of listeners) listen(types, listener, passive)
}

/** Said again it does nothing. */
function listen(types: string[], listener: (event: Event) => void, passive: boolean): void {
  for (const type of types) window.addEventListener(type, listener, { capture: true, passive })
}
