/** A cheap answer to "did anything change since the last snapshot?". */
import type { ChangeCounts, InnerCounts, MutationsResult } from './api'
import { mayHaveNewRoots } from './closed'
import { activeElement, byTag } from './dom'
import { noteRecords } from './kept'
import { listenTo, stillListening } from './listening'
import { memo } from './memo'
import { styleSignature } from './styles'

export type Grown = Map<Node, boolean> | null

let count = 0
/** More is looked at as a whole again. */
const mostGrown = 200
/** What has come since it was last asked (true), or has got or lost children (false); null: everything. */
let grown: Grown = null
let signature = 0
let atSnapshot = -1
let watched = new WeakSet<Node>()
const watchers = new Set<() => void>()

const observer = new MutationObserver(seen)
const everything: MutationObserverInit = {
  subtree: true,
  childList: true,
  attributes: true,
  characterData: true
}

function seen(records: MutationRecord[]): void {
  if (records.length === 0) return
  noteRecords(records)
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

/** What scripts set without an event and without a mutation: values, checks, selections, style rules, the focus. */
function quietState(): number {
  let hash = styleSignature()
  const mix = (text: string | number): void => {
    const value = typeof text === 'string' ? text : String(text)
    hash = (hash * 31 + value.length) | 0
    for (let i = 0; i < value.length; i += 1 + (value.length >> 6))
      hash = (hash * 31 + value.charCodeAt(i)) | 0
  }
  for (const field of byTag('input')) {
    if (!(field instanceof HTMLInputElement)) continue
    if (field.type === 'checkbox' || field.type === 'radio')
      mix((field.checked ? 1 : 0) + (field.indeterminate ? 2 : 0))
    else mix(field.value)
  }
  for (const field of byTag('select'))
    if (field instanceof HTMLSelectElement) mix(field.selectedIndex)
  for (const field of byTag('textarea')) if (field instanceof HTMLTextAreaElement) mix(field.value)
  const active = activeElement()
  if (active) mix(active.id + active.className)
  mix(location.href)
  return hash
}

/** The counter: it grows with every change, those not seen by an observer counted as one. */
export function mutations(): MutationsResult {
  if (memo()?.counted !== true) countUp()
  return { count, mutations: count, changed: count !== atSnapshot }
}

/** Names this document among those of the page. */
export const documentName = Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) =>
  part.toString(36)
).join('')

/** Frames of one document that are asked; the others are asked one by one from outside. */
const mostFrames = 200

/** The counts of the documents in the frames of this one. A frame of another origin cannot be asked from here. */
function innerCounts(): InnerCounts {
  const counts: InnerCounts = {}
  for (let i = 0; i < window.length && i < mostFrames; i++) {
    try {
      Object.assign(
        counts,
        (
          window[i] as Window & { __troupe?: { countsByDocument(): InnerCounts } }
        ).__troupe?.countsByDocument()
      )
    } catch {
      // Of another origin.
    }
  }
  return counts
}

export const countsByDocument = (): InnerCounts => ({
  [documentName]: mutations().count,
  ...innerCounts()
})

/** The counter, with those of the documents in this one: whoever asks here need not ask there. */
export function changeCounts(): ChangeCounts {
  const counted = { mutations: mutations().count, document: documentName }
  if (window.length === 0) return counted
  const inner = innerCounts()
  return Object.keys(inner).length > 0 ? { ...counted, inner } : counted
}

function countUp(): void {
  catchUp()
  const now = quietState()
  if (now !== signature || mayHaveNewRoots()) {
    signature = now
    count++
  }
  const kept = memo()
  if (kept) kept.counted = true
}

/** The snapshot that was just taken is what `changed` compares with. */
export function noteSnapshot(): number {
  stillListening()
  atSnapshot = mutations().count
  return atSnapshot
}
