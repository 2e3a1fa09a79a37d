/** Receives pointer events before the page does, for `click-guard.ts`. */

export const pressEventTypes = ['pointerdown', 'mousedown']
export const pointerEventTypes = [
  ...pressEventTypes,
  'pointerup',
  'mouseup',
  'click',
  'auxclick',
  'dblclick',
  'contextmenu'
]

interface Listener {
  handler: ((event: Event) => void) | null
  listen: (event: Event) => void
}

const world = globalThis as { __troupePresses?: Listener }

/** Returns the listener, which `prelude.ts` and `index.ts` share. */
export function pointerListener(): Listener {
  const listener: Listener = (world.__troupePresses ??= {
    handler: null,
    listen: (event) => listener.handler?.(event)
  })
  return listener
}
