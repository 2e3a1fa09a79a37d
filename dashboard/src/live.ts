// The WebSocket of this page: sessions and their images as they change, and the viewer's input.
import { effect, signal } from '@preact/signals'
import { apiUrl } from './api'
import type {
  Call,
  Failure,
  FrameHeader,
  FromServer,
  Holder,
  PageDialog,
  PageFileChooser,
  PageSelect,
  Session,
  ToServer,
  WatchTarget
} from './contract'

const FIRST_RETRY = 500
const LAST_RETRY = 15_000

export type Connection =
  | { state: 'connecting' }
  | { state: 'open' }
  /** `retryAt`: when the page connects again (ms since 1970). */
  | { state: 'lost'; retryAt: number }

export const connection = signal<Connection>({ state: 'connecting' })
/** The sessions that run, or null before the first message. */
export const liveSessions = signal<Session[] | null>(null)
export const holders = signal<Record<string, Holder>>({})
export const dialogs = signal<Record<string, PageDialog | null>>({})
export const choosers = signal<Record<string, PageFileChooser | null>>({})
/** The dropdown list that the viewer has opened in a page. */
export const selects = signal<Record<string, PageSelect | null>>({})
/** The last error that the server reported on the WebSocket. */
export const failure = signal<{ id: string | null; error: Failure } | null>(null)
/**
 * Increases when messages arrive after an interruption. Views then reload the data of which they
 * may have missed changes.
 */
export const resumption = signal(0)

/** Draws a frame. */
export type DrawFrame = (image: ImageBitmap, header: FrameHeader) => void

interface Watcher extends WatchTarget {
  draw: DrawFrame
}

const watchers = new Set<Watcher>()
const callListeners = new Set<(call: Call) => void>()
let socket: WebSocket | null = null
let retries = 0
let retryTimer = 0
let watchScheduled = false
let onLost: () => void = () => {}

/** Connects, and connects again with back-off. `lost` is called each time the connection ends. */
export function connect(lost: () => void): void {
  onLost = lost
  open()
}

/** Connects now instead of at the end of the back-off. */
export function reconnectNow(): void {
  if (connection.value.state !== 'lost') return
  retries = 0
  open()
}

/** Closes the connection. `connect` opens it again. */
export function disconnect(): void {
  clearTimeout(retryTimer)
  const ended = socket
  socket = null
  ended?.close()
}

function open(): void {
  clearTimeout(retryTimer)
  connection.value = { state: 'connecting' }
  const opened = new WebSocket(apiUrl('live').replace(/^http/, 'ws'))
  opened.binaryType = 'arraybuffer'
  socket = opened
  opened.onopen = () => {
    retries = 0
    connection.value = { state: 'open' }
    if (watchers.size > 0) sendWatched()
    resumption.value++
  }
  opened.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) void receiveFrame(data)
    else receive(JSON.parse(data as string) as FromServer)
  }
  opened.onclose = () => {
    if (socket !== opened) return
    socket = null
    holders.value = {}
    dialogs.value = {}
    choosers.value = {}
    selects.value = {}
    // Half of the delay is random, so that many pages do not connect at the same time.
    const delay = Math.min(FIRST_RETRY * 2 ** retries++, LAST_RETRY) * (0.5 + Math.random() / 2)
    connection.value = { state: 'lost', retryAt: Date.now() + delay }
    retryTimer = window.setTimeout(open, delay)
    onLost()
  }
}

/** Sends a message. Returns false if there is no connection. */
export function send(message: ToServer): boolean {
  if (socket?.readyState !== WebSocket.OPEN) return false
  socket.send(JSON.stringify(message))
  return true
}

/** Closes the list of a page, with the index of the chosen option or without a choice. */
export function closeSelect(id: string, index: number | null): void {
  if (!selects.peek()[id]) return
  selects.value = { ...selects.peek(), [id]: null }
  send({ type: 'choose', id, index })
}

function receive(message: FromServer): void {
  switch (message.type) {
    case 'sessions':
      liveSessions.value = message.sessions.filter(({ state }) => state === 'active')
      break
    case 'call':
      for (const listener of callListeners) listener(message.call)
      break
    case 'held':
      holders.value = { ...holders.value, [message.id]: message.by }
      if (message.by !== 'you') selects.value = { ...selects.value, [message.id]: null }
      // The next list of sessions contains the holder too.
      liveSessions.value =
        liveSessions.value?.map((session) =>
          session.id === message.id ? { ...session, heldBy: message.by && 'viewer' } : session
        ) ?? null
      break
    case 'dialog':
      dialogs.value = { ...dialogs.value, [message.id]: message.dialog }
      break
    case 'chooser':
      choosers.value = { ...choosers.value, [message.id]: message.chooser }
      break
    case 'select':
      selects.value = { ...selects.value, [message.id]: message.select }
      break
    case 'gone':
      liveSessions.value = liveSessions.value?.filter(({ id }) => id !== message.id) ?? null
      break
    case 'error':
      failure.value = { id: message.id ?? null, error: message.error }
      break
  }
}

async function receiveFrame(data: ArrayBuffer): Promise<void> {
  const length = new DataView(data).getUint32(0)
  const header = JSON.parse(
    new TextDecoder().decode(new Uint8Array(data, 4, length))
  ) as FrameHeader
  const shown = [...watchers].filter(({ id }) => id === header.id)
  try {
    const jpeg = new Blob([new Uint8Array(data, 4 + length)], { type: 'image/jpeg' })
    const image = await createImageBitmap(jpeg)
    for (const { draw } of shown) draw(image, header)
    image.close()
  } catch {
    // A damaged image is skipped: the next one replaces it.
  }
  send({ type: 'ack', id: header.id, frame: header.frame })
}

/** Watches a session until `stop`. `resize` changes the size of its images (device pixels). */
export function watch(id: string, calls: boolean, draw: DrawFrame) {
  const watcher: Watcher = { id, calls, draw, width: 0, height: 0 }
  return {
    resize(width: number, height: number) {
      if (watchers.has(watcher) && watcher.width === width && watcher.height === height) return
      Object.assign(watcher, { width, height })
      watchers.add(watcher)
      scheduleWatched()
    },
    stop() {
      if (watchers.delete(watcher)) scheduleWatched()
    }
  }
}

/** Calls `listener` for each call of a watched session. Returns a function that stops this. */
export function listenToCalls(listener: (call: Call) => void): () => void {
  callListeners.add(listener)
  return () => void callListeners.delete(listener)
}

/** Combines the changes of one task of the event loop into one message. */
function scheduleWatched(): void {
  if (watchScheduled) return
  watchScheduled = true
  setTimeout(() => {
    watchScheduled = false
    sendWatched()
  })
}

function sendWatched(): void {
  const byId = new Map<string, WatchTarget>()
  for (const { id, width, height, calls } of document.hidden ? [] : watchers) {
    const other = byId.get(id)
    byId.set(id, {
      id,
      width: Math.max(width, other?.width ?? 0),
      height: Math.max(height, other?.height ?? 0),
      ...(calls || other?.calls ? { calls: true } : {})
    })
  }
  send({ type: 'watch', sessions: [...byId.values()] })
}

document.addEventListener('visibilitychange', () => {
  sendWatched()
  if (!document.hidden) resumption.value++
})
// The network is available again, for example after the computer was asleep.
window.addEventListener('online', reconnectNow)
// A gone session has no holder, no dialog, no file chooser and no list.
effect(() => {
  const live = liveSessions.value
  if (!live) return
  const ids = new Set(live.map(({ id }) => id))
  for (const state of [holders, dialogs, choosers, selects]) {
    const kept = Object.entries(state.peek()).filter(([id]) => ids.has(id))
    if (kept.length < Object.keys(state.peek()).length)
      (state.value as Record<string, unknown>) = Object.fromEntries(kept)
  }
})
