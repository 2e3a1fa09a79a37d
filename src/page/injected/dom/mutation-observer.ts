/** The mutation observer: counts the changes of the document and collects the changed nodes. */
import { addWindowListener } from './window-listeners'

/**
 * Added nodes with their subtrees (true), and nodes whose children changed (false). Null: the whole
 * document.
 */
export type ChangedNodes = Map<Node, boolean> | null

/** The number of changes so far. */
export let count = 0
/** When nodes or text were last added (ms since the start of the document), as far as known. */
let lastAddition = 0
/** With more changed nodes, the whole document counts as changed. */
const maxChangedNodes = 200
/** The nodes that have changed since the last `takeChangedNodes`. */
let changedNodes: ChangedNodes = null
let observed = new WeakSet<Node>()
const subscribers = new Set<() => void>()

let recordHandler: ((records: MutationRecord[]) => void) | null = null

/** Sets the function that receives all mutation records. */
export function handleRecords(handler: (records: MutationRecord[]) => void): void {
  recordHandler = handler
}

const observer = new MutationObserver(processRecords)
const allChanges: MutationObserverInit = {
  subtree: true,
  childList: true,
  attributes: true,
  characterData: true
}

function processRecords(records: MutationRecord[]): void {
  if (records.length === 0) return
  recordHandler?.(records)
  for (const { type, target, addedNodes } of records) {
    if (addedNodes.length > 0 || type === 'characterData') lastAddition = performance.now()
    if (changedNodes === null || type !== 'childList') continue
    if (changedNodes.size + addedNodes.length > maxChangedNodes) changedNodes = null
    else {
      if (!changedNodes.has(target)) changedNodes.set(target, false)
      for (let i = 0; i < addedNodes.length; i++) changedNodes.set(addedNodes[i], true)
    }
  }
  countChanges(records.length)
}

function countChanges(by: number): void {
  count += by
  for (const notify of subscribers) notify()
}

/** Counts a change that no observer has reported, without notifying the subscribers. */
export const countUnobservedChange = (): void => void count++

/** Processes the pending mutation records. */
export const processPendingRecords = (): void => processRecords(observer.takeRecords())

/** Returns when nodes or text were last added (ms since the start of the document). */
export function lastAdditionTime(): number {
  processPendingRecords()
  return lastAddition
}

/** Returns the nodes that have changed since the last call. */
export function takeChangedNodes(): ChangedNodes {
  processPendingRecords()
  const taken = changedNodes
  if (changedNodes === null || changedNodes.size > 0) changedNodes = new Map()
  return taken
}

/** Observes a new shadow root, and marks its contents as added. */
export function addShadowRoot(root: Node): void {
  observeRoot(root)
  changedNodes?.set(root, true)
  lastAddition = performance.now()
  countChanges(1)
}

/** Observes a document or shadow root, unless it is observed already. */
export function observeRoot(root: Node): void {
  if (observed.has(root)) return
  observed.add(root)
  observer.observe(root, allChanges)
}

const countedEvents = [
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
export function startObserving(): void {
  observed = new WeakSet()
  changedNodes = null
  lastAddition = performance.now()
  observeRoot(document)
  addWindowListener(countedEvents, countEvent, true)
}

const countEvent = (): void => countChanges(1)

/** Calls `notify` at each change until the returned function is called. */
export function onChange(notify: () => void): () => void {
  subscribers.add(notify)
  return () => void subscribers.delete(notify)
}
