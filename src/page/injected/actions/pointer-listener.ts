/** Receives pointer events before the page does, for `click-guard.ts`. */

export const presses = ['pointerdown', 'mousedown']
export const pressTypes = [
  ...presses,
  'pointerup',
  'mouseup',
  'click',
  'auxclick',
  'dblclick',
  'contextmenu'
]

interface Listener {
  heard: ((event: Event) => void) | null
  listen: (event: Event) => void
}

const world = globalThis as { __troupePresses?: Listener }

/** Returns the listener, which all scripts of this world share. */
export function pressListener(): Listener {
  const listener: Listener = (world.__troupePresses ??= {
    heard: null,
    listen: (event) => listener.heard?.(event)
  })
  return listener
}
