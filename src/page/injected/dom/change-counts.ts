/**
 * Counts the changes of a document, to find out cheaply whether it has changed since the last
 * snapshot.
 */
import type { ChangeCounts, InnerCounts, MutationsResult } from '../api'
import { mayHaveNewRoots } from './closed-shadow-roots'
import { activeElement, byTag } from './composed-tree'
import { memo } from './memo'
import { catchUp, count, countUnobserved } from './mutation-observer'
import { styleSignature } from './styles'
import { stillListening } from './window-listeners'

let signature = 0
let atSnapshot = -1

/**
 * Hashes state that scripts can set without an event or mutation: values, selections, style rules,
 * the focus.
 */
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

/** Returns the change count. All changes without a mutation record count as one. */
export function mutations(): MutationsResult {
  if (memo()?.counted !== true) countUp()
  return { count, mutations: count, changed: count !== atSnapshot }
}

/** Identifies this document among those of the page. */
export const documentName = Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) =>
  part.toString(36)
).join('')

/** The maximum number of frames that are read here. Rust reads the others one by one. */
const mostFrames = 200

/** Returns the counts of the documents in same-origin frames. */
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
      // A cross-origin frame.
    }
  }
  return counts
}

export const countsByDocument = (): InnerCounts => ({
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

function countUp(): void {
  catchUp()
  const now = quietState()
  if (now !== signature || mayHaveNewRoots()) {
    signature = now
    countUnobserved()
  }
  const kept = memo()
  if (kept) kept.counted = true
}

/** Records the change count of a new snapshot, to which `mutations` compares later counts. */
export function noteSnapshot(): number {
  stillListening()
  atSnapshot = mutations().count
  return atSnapshot
}
