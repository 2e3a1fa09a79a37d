/** The mutation observer: counts the changes of the document and collects the changed nodes. */
import { listenTo } from './window-listeners'

/**
 * Added nodes with their subtrees (true), and nodes whose children changed (false). Null: the whole
 * document.
 */
export type Grown = Map<Node, boolean> | null

/** The number of changes so far. */
export let count = 0
/** With more changed nodes, the whole document counts as changed. */
const mostGrown = 200
/** The nodes that have changed since the last `takeGrown`. */
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

/** Returns the nodes that have changed since the last call. */
export function takeGrown(): Grown {
  catchUp()
  const taken = grown
  if (grown === null || grown.size > 0) grown = new Map()
  return taken
}

/** Observes a new shadow root, and marks its contents as added. */
export function rootCame(root: Node): void {
  watchRoot(root)
  grown?.set(root, true)
  changed(1)
}

/** Observes a document or shadow root, unless it is observed already. */
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

/** Starts observing the document. The page cannot see listeners of the isolated world. */
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
