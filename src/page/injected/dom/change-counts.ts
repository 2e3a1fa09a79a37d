/**
 * Counts the changes of a document. The count shows whether the document has changed since the last
 * snapshot.
 */
import type { ChangeCounts, DocumentCounts, MutationsResult } from '../api'
import { callCache } from './call-cache'
import { mayHaveNewRoots } from './closed-shadow-roots'
import { activeElement, byTag } from './composed-tree'
import { count, countUnobservedChange, processPendingRecords } from './mutation-observer'
import { styleSignature } from './styles'
import { restoreWindowListeners } from './window-listeners'

let signature = 0
let countAtSnapshot = -1

/**
 * Hashes state that scripts can set without an event or mutation: values, selections, style rules,
 * the focus.
 */
function hashUnobservedState(): number {
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

/** Returns the change count. All changes without a mutation record count as one. */
export function mutations(): MutationsResult {
  if (callCache()?.changesCounted !== true) countUnobservedChanges()
  return { count, mutations: count, changed: count !== countAtSnapshot }
}

/** Identifies this document among those of the page. */
export const documentName = Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) =>
  part.toString(36)
).join('')

/** Maximum number of frames that are read here. Rust reads the others one by one. */
const maxFrames = 200

/** Returns the counts of the documents in same-origin frames. */
function innerCounts(): DocumentCounts {
  const counts: DocumentCounts = {}
  for (let i = 0; i < window.length && i < maxFrames; i++) {
    try {
      Object.assign(
        counts,
        (
          window[i] as Window & { __troupe?: { countsByDocument(): DocumentCounts } }
        ).__troupe?.countsByDocument()
      )
    } catch {
      // A cross-origin frame.
    }
  }
  return counts
}

export const countsByDocument = (): DocumentCounts => ({
  [documentName]: mutations().count,
  ...innerCounts()
})

/**
 * Returns the change count with those of the documents in same-origin frames, which saves a call to
 * each.
 */
export function changeCounts(): ChangeCounts {
  const counted = { mutations: mutations().count, document: documentName }
  if (window.length === 0) return counted
  const inner = innerCounts()
  return Object.keys(inner).length > 0 ? { ...counted, inner } : counted
}

function countUnobservedChanges(): void {
  processPendingRecords()
  const now = hashUnobservedState()
  if (now !== signature || mayHaveNewRoots()) {
    signature = now
    countUnobservedChange()
  }
  const cache = callCache()
  if (cache) cache.changesCounted = true
}

/** Records the change count of a new snapshot, to which `mutations` compares later counts. */
export function recordSnapshot(): number {
  restoreWindowListeners()
  countAtSnapshot = mutations().count
  return countAtSnapshot
}
