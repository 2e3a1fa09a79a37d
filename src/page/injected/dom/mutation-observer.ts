/** Observes the page: counts its changes and records the changed parts. */
import { listenTo } from './window-listeners'

export type Grown = Map<Node, boolean> | null

/** The number of changes so far. */
export let count = 0
/** More is looked at as a whole again. */
const mostGrown = 200
/** What has come since it was last asked (true), or has got or lost children (false); null: everything. */
let grown: Grown = null
let watched = new WeakSet<Node>()
const watchers = new Set<() => void>()

let recordHandler: ((records: MutationRecord[]) => void) | null = null

/** Sets the function that receives all mutation records. */
export function handleRecords(handler: (records: MutationRecord[]) => void): void {
  recordHandler = handler
}

const observer = new MutationObserver(seen)
const everything: MutationObserverInit = {
  subtree: true,
  childList: true,
  attributes: true,
  characterData: true
}

function seen(records: MutationRecord[]): void {
  if (records.length === 0) return
  recordHandler?.(records)
  for (const { type, target, addedNodes } of records) {
    if (grown === null || type !== 'childList') continue
    if (grown.size + addedNodes.length > mostGrown) grown = null
    else {
      if (!grown.has(target)) grown.set(target, false)
      for (let i = 0; i < addedNodes.length; i++) grown.set(addedNodes[i], true)
    }
  }
  changed(records.length)
}

function changed(by: number): void {
  count += by
  for (const notify of watchers) notify()
}

/** Counts a change that no observer has reported, without notifying anyone. */
export const countUnobserved = (): void => void count++

/** Processes the pending mutation records. */
export const catchUp = (): void => seen(observer.takeRecords())

/** What has come since this was last called, with all that is in it (true), or has got or lost children (false); null: everything. */
export function takeGrown(): Grown {
  catchUp()
  const taken = grown
  if (grown === null || grown.size > 0) grown = new Map()
  return taken
}

/** Adds a shadow root: its contents are new. */
export function rootCame(root: Node): void {
  watchRoot(root)
  grown?.set(root, true)
  changed(1)
}

/** Observes a document or shadow root; asked again it does nothing. */
export function watchRoot(root: Node): void {
  if (watched.has(root)) return
  watched.add(root)
  observer.observe(root, everything)
}

const events = [
  'input',
  'change',
  'reset',
  'focusin',
  'focusout',
  'scroll',
  'toggle',
  'resize',
  'load',
  'error',
  'transitionrun',
  'transitionend',
  'transitioncancel',
  'animationstart',
  'animationend',
  'animationcancel',
  'mouseover',
  'fullscreenchange',
  'slotchange',
  'close',
  'cancel',
  'beforetoggle',
  'invalid',
  'selectionchange'
]

/** Starts observing the document. Listeners live in the isolated world and are no part of the page. */
export function startWatching(): void {
  watched = new WeakSet()
  grown = null
  watchRoot(document)
  listenTo(events, note, true)
}

const note = (): void => changed(1)

/** Calls `notify` at each change until the returned function is called. */
export function onChange(notify: () => void): () => void {
  watchers.add(notify)
  return () => void watchers.delete(notify)
}
