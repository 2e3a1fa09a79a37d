// Translates the viewer's input on the image of a page into input for the page.
import type { PageInput } from './contract'

const BUTTONS = ['left', 'middle', 'right'] as const
/** CSS pixels of a line, for wheels that report lines (`deltaMode`). */
const LINE = 40
/** How far a finger may move during a tap, in CSS pixels of the dashboard. */
const TAP_RADIUS = 8
/** The maximum time between two taps that are a double click, in ms. */
const DOUBLE_TAP = 300
/** Content of the text field, so that a screen keyboard reports what it deletes. */
const SENTINEL = ' '
const IS_MAC = /Mac|iPhone|iPad/.test(navigator.platform)

export interface Surface {
  /** The image of the page. Receives pointer input. */
  image: HTMLElement
  /** An invisible text field over the image: input methods and paste need one with the focus. */
  keyboard: HTMLTextAreaElement
  /** Returns the page's viewport in CSS pixels. */
  viewport: () => { width: number; height: number }
  send: (events: PageInput[]) => void
}

/** Forwards input until `stop`, which releases the keys and buttons that are still pressed. */
export function forwardInput({ image, keyboard, viewport, send }: Surface) {
  const ended = new AbortController()
  const { signal } = ended
  /** Moves and wheel turns that wait for the next animation frame. */
  let waiting: PageInput[] = []
  let frameRequest = 0
  let isComposing = false
  const keysDown = new Map<string, { key: string; code: string }>()
  const buttonsDown = new Set<(typeof BUTTONS)[number]>()
  let last = { x: 0, y: 0 }

  function flush(): void {
    cancelAnimationFrame(frameRequest)
    frameRequest = 0
    if (waiting.length > 0) send(waiting)
    waiting = []
  }

  function now(...events: PageInput[]): void {
    waiting.push(...events)
    flush()
  }

  /** Sends at the next animation frame. Replaces or extends an event of the same kind. */
  function coalesced(event: PageInput): void {
    const former = waiting.at(-1)
    if (event.kind === 'wheel' && former?.kind === 'wheel') {
      event = { ...event, dx: former.dx + event.dx, dy: former.dy + event.dy }
    }
    if (former?.kind === event.kind) waiting.pop()
    waiting.push(event)
    frameRequest ||= requestAnimationFrame(flush)
  }

  function place({ clientX, clientY }: { clientX: number; clientY: number }) {
    const box = image.getBoundingClientRect()
    const { width, height } = viewport()
    const scaled = (at: number, begin: number, length: number, size: number) =>
      Math.min(Math.max(Math.round(((at - begin) * size * 100) / length) / 100, 0), size - 1)
    return {
      x: scaled(clientX, box.left, box.width, width),
      y: scaled(clientY, box.top, box.height, height)
    }
  }

  function mouse(action: 'move' | 'down' | 'up', event: MouseEvent): PageInput {
    last = place(event)
    const pressed = BUTTONS[event.button] ?? 'left'
    const held = [...buttonsDown][0] ?? 'left'
    const button = action === 'move' ? held : pressed
    const clicks = action === 'move' ? 0 : Math.max(event.detail, 1)
    return { kind: 'mouse', action, ...last, button, clicks, modifiers: modifiersOf(event) }
  }

  /** Focuses the text field at this place, where an input method shows its candidates. */
  function focusAt({ clientX, clientY }: MouseEvent | Touch): void {
    const box = keyboard.offsetParent?.getBoundingClientRect()
    keyboard.style.left = `${clientX - (box?.left ?? 0)}px`
    keyboard.style.top = `${clientY - (box?.top ?? 0)}px`
    keyboard.focus({ preventScroll: true })
  }

  function releaseAll(): void {
    const ups: PageInput[] = []
    for (const { key, code } of keysDown.values())
      ups.push({ kind: 'key', action: 'up', key, code, text: null, modifiers: 0 })
    for (const button of buttonsDown)
      ups.push({ kind: 'mouse', action: 'up', ...last, button, clicks: 1, modifiers: 0 })
    keysDown.clear()
    buttonsDown.clear()
    if (ups.length > 0) now(...ups)
  }

  function on<K extends keyof HTMLElementEventMap>(
    target: HTMLElement | Window,
    type: K,
    listener: (event: HTMLElementEventMap[K]) => void
  ): void {
    target.addEventListener(type, listener as EventListener, { signal, passive: false })
  }

  on(image, 'mousedown', (event) => {
    event.preventDefault()
    focusAt(event)
    const down = mouse('down', event)
    buttonsDown.add(BUTTONS[event.button] ?? 'left')
    now(down)
  })
  on(image, 'mousemove', (event) => {
    if (buttonsDown.size === 0) coalesced(mouse('move', event))
  })
  // A drag continues outside of the image.
  on(window, 'mousemove', (event) => {
    if (buttonsDown.size > 0) coalesced(mouse('move', event))
  })
  on(window, 'mouseup', (event) => {
    if (buttonsDown.delete(BUTTONS[event.button] ?? 'left')) now(mouse('up', event))
  })
  on(image, 'contextmenu', (event) => event.preventDefault())
  on(image, 'wheel', (event) => {
    event.preventDefault()
    const unit = [1, LINE, viewport().height][event.deltaMode] ?? 1
    const turn = { dx: event.deltaX * unit, dy: event.deltaY * unit }
    coalesced({ kind: 'wheel', ...place(event), ...turn, modifiers: modifiersOf(event) })
  })

  /** The touch of one finger: a tap clicks, and a movement scrolls. */
  let touch: { begin: Touch; last: Touch; isScroll: boolean } | null = null
  let lastTap = { time: 0, count: 0, x: 0, y: 0 }

  on(image, 'touchstart', (event) => {
    // Prevents the dashboard from scrolling, and the browser from sending mouse events too.
    event.preventDefault()
    const [finger] = event.targetTouches
    const isOne = event.targetTouches.length === 1
    touch = finger && isOne ? { begin: finger, last: finger, isScroll: false } : null
  })
  on(image, 'touchmove', (event) => {
    event.preventDefault()
    const [finger] = event.targetTouches
    if (!touch || !finger) return
    touch.isScroll ||= distance(touch.begin, finger) > TAP_RADIUS
    if (!touch.isScroll) return
    const [from, to] = [place(touch.last), place(finger)]
    touch.last = finger
    // The content follows the finger.
    const turn = { dx: from.x - to.x, dy: from.y - to.y }
    coalesced({ kind: 'wheel', ...place(touch.begin), ...turn, modifiers: modifiersOf(event) })
  })
  on(image, 'touchend', (event) => {
    event.preventDefault()
    const tapped = touch && !touch.isScroll ? touch.begin : null
    touch = null
    if (!tapped) return
    const { clientX: x, clientY: y } = tapped
    const isNext =
      event.timeStamp - lastTap.time < DOUBLE_TAP && Math.hypot(x - lastTap.x, y - lastTap.y) < 30
    lastTap = { time: event.timeStamp, count: isNext ? lastTap.count + 1 : 1, x, y }
    focusAt(tapped)
    last = place(tapped)
    const click = { kind: 'mouse', ...last, button: 'left', modifiers: modifiersOf(event) } as const
    now(
      { ...click, action: 'move', clicks: 0 },
      { ...click, action: 'down', clicks: lastTap.count },
      { ...click, action: 'up', clicks: lastTap.count }
    )
  })
  on(image, 'touchcancel', () => (touch = null))

  on(keyboard, 'keydown', (event) => {
    if (isLeaveShortcut(event)) {
      event.preventDefault()
      keyboard.blur()
      return
    }
    // An input method handles the key and reports the text afterwards, and so does a paste.
    if (event.isComposing || event.keyCode === 229 || event.key === 'Dead') return
    if (isPasteShortcut(event)) return
    event.preventDefault()
    const { key, code } = event
    keysDown.set(code || key, { key, code })
    const text = textOf(event)
    // With AltGraph, the browser reports Control and Alt, which would make it a shortcut.
    const modifiers = text && hasAltGraph(event) ? 0 : modifiersOf(event)
    now({ kind: 'key', action: 'down', key, code, text, modifiers })
  })
  on(keyboard, 'keyup', (event) => {
    const { key, code } = event
    // While Command is held, macOS reports no release of other keys.
    if (key === 'Meta') return releaseAll()
    if (!keysDown.delete(code || key)) return
    event.preventDefault()
    now({ kind: 'key', action: 'up', key, code, text: null, modifiers: modifiersOf(event) })
  })
  on(keyboard, 'compositionstart', () => (isComposing = true))
  on(keyboard, 'compositionend', (event) => {
    isComposing = false
    clear()
    if (event.data) now({ kind: 'text', text: event.data })
  })
  // Screen keyboards send no usable key events.
  on(keyboard, 'input', (event) => {
    if (isComposing) return
    const { inputType, data } = event as InputEvent
    clear()
    if (inputType.startsWith('delete')) now(...keyPress('Backspace', null))
    else if (inputType === 'insertLineBreak') now(...keyPress('Enter', '\r'))
    else if (data && inputType !== 'insertCompositionText') now({ kind: 'text', text: data })
  })
  on(keyboard, 'paste', (event) => {
    event.preventDefault()
    const text = event.clipboardData?.getData('text/plain')
    if (text) now({ kind: 'text', text })
  })
  on(keyboard, 'blur', releaseAll)

  function clear(): void {
    keyboard.value = SENTINEL
    keyboard.setSelectionRange(SENTINEL.length, SENTINEL.length)
  }

  clear()
  keyboard.focus({ preventScroll: true })
  return {
    stop() {
      releaseAll()
      flush()
      ended.abort()
    }
  }
}

/** The shortcut that moves the focus out of the page. */
export const LEAVE_SHORTCUT = 'Ctrl+Alt+G'

function isLeaveShortcut(event: KeyboardEvent): boolean {
  return event.ctrlKey && event.altKey && event.code === 'KeyG'
}

function isPasteShortcut({ ctrlKey, metaKey, shiftKey, key }: KeyboardEvent): boolean {
  return ((ctrlKey || metaKey) && key.toLowerCase() === 'v') || (shiftKey && key === 'Insert')
}

/** Returns the text that the key types, or null. */
function textOf(event: KeyboardEvent): string | null {
  const isShortcut = event.ctrlKey || event.metaKey || event.altKey
  if (isShortcut && !hasAltGraph(event)) return null
  if (event.key === 'Enter') return '\r'
  return [...event.key].length === 1 ? event.key : null
}

/** Whether a modifier selects the third level of the keyboard. On macOS, that is Option alone. */
function hasAltGraph(event: KeyboardEvent): boolean {
  if (event.getModifierState('AltGraph')) return true
  return IS_MAC && event.altKey && !event.ctrlKey && !event.metaKey
}

function keyPress(key: string, text: string | null): PageInput[] {
  const press = { kind: 'key', key, code: key, modifiers: 0 } as const
  return [
    { ...press, action: 'down', text },
    { ...press, action: 'up', text: null }
  ]
}

function distance(one: Touch, other: Touch): number {
  return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY)
}

function modifiersOf(event: MouseEvent | KeyboardEvent | TouchEvent): number {
  const { altKey, ctrlKey, metaKey, shiftKey } = event
  return Number(altKey) + 2 * Number(ctrlKey) + 4 * Number(metaKey) + 8 * Number(shiftKey)
}
