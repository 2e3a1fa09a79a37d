/** Hears of the presses of the pointer before the page does; what is done about them is `guard`'s. */

export const presses = ["pointerdown", "mousedown"];
const types = [...presses, "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu"];

interface Listener {
  heard: ((event: Event) => void) | null;
  listen: (event: Event) => void;
}

const world = globalThis as { __troupePresses?: Listener };

/** Said again it does nothing, but after `document.open`, which has taken the listeners away. */
export function listenToPresses(): Listener {
  const listener: Listener = (world.__troupePresses ??= { heard: null, listen: (event) => listener.heard?.(event) });
  for (const type of types) window.addEventListener(type, listener.listen, { capture: true });
  return listener;
}
