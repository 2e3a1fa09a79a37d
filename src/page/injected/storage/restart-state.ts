/**
 * The state of a document that survives a restart: unsent form data, scroll positions, refs,
 * storage.
 */
import type {
  RestoreStateArgument,
  RestoreStateResult,
  FieldState,
  SaveStateArgument,
  SaveStateResult,
  RefState,
  ScrollState,
  UncheckedHosts,
  FramePositionResult
} from '../api'
import { nextChange } from '../actions/actionability'
import { withCallCache } from '../dom/call-cache'
import { mutations } from '../dom/change-counts'
import { uncheckedHosts } from '../dom/closed-shadow-roots'
import { attr, isConnected, isElement, queryAll } from '../dom/composed-tree'
import { shadowRoots } from '../dom/css'
import { Paths } from '../dom/css-path'
import { nextTask } from '../dom/event-loop'
import { claimRef, connectedRefs, nextRef } from '../dom/refs'
import { addWindowListener } from '../dom/window-listeners'
import { nameOf } from '../roles/accessible-name'
import { roleOf } from '../roles/roles'
import { findAll } from '../targets/targets'
import { hash } from './hash'
import { readDatabases } from './indexed-db'
import { items } from './web-storage'

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

const unsavedTypes = /^(password|file|hidden|submit|button|reset|image)$/
/** Maximum number of saved refs in a document. The newest ones are saved. */
const maxRefs = 2000
/** Maximum ms of one task that reads refs. */
const maxTaskTime = 2

/** Returns whether a field contains a secret, which is never saved, even if it is shown as text. */
const isSecret = (field: Field): boolean =>
  /\b(current-password|new-password|one-time-code|cc-csc)\b/.test(attr(field, 'autocomplete') ?? '')

const isSaved = (field: Field): boolean =>
  !(field instanceof HTMLInputElement && unsavedTypes.test(field.type)) && !isSecret(field)

/** Returns the fields whose values differ from their defaults. */
function changedFields(paths: Paths): FieldState[] {
  const fields: FieldState[] = []
  for (const root of [document, ...shadowRoots(document)]) {
    for (const field of queryAll(root, 'input, textarea, select') as NodeListOf<Field>) {
      if (!isSaved(field)) continue
      if (field instanceof HTMLSelectElement) {
        const options = Array.from(field.options)
        if (options.some((option) => option.selected !== option.defaultSelected))
          fields.push({
            path: paths.of(field),
            selected: options.flatMap((option, index) => (option.selected ? [index] : []))
          })
      } else if (
        field instanceof HTMLInputElement &&
        (field.type === 'checkbox' || field.type === 'radio')
      ) {
        if (field.checked !== field.defaultChecked)
          fields.push({ path: paths.of(field), checked: field.checked })
      } else if (field.value !== field.defaultValue) {
        fields.push({ path: paths.of(field), value: field.value })
      }
    }
  }
  return fields
}

/** Scrolled elements, without the document. */
const scrolled = new Set<WeakRef<Element>>()

export function recordScrolls(): void {
  const known = new WeakSet<Element>()
  const recordTarget = ({ target }: Event): void => {
    if (!isElement(target as Node | null) || known.has(target as Element)) return
    known.add(target as Element)
    scrolled.add(new WeakRef(target as Element))
  }
  addWindowListener(['scroll'], recordTarget, true)
}

function scrollPositions(paths: Paths): ScrollState[] {
  const scrolls: ScrollState[] = []
  for (const weak of scrolled) {
    const element = weak.deref()
    if (!element) scrolled.delete(weak)
    else if (element.isConnected && (element.scrollLeft !== 0 || element.scrollTop !== 0))
      scrolls.push({ path: paths.of(element), x: element.scrollLeft, y: element.scrollTop })
  }
  return scrolls
}

/** Reads the refs in several tasks, so that an agent's next call does not wait for a large page. */
async function readRefs(): Promise<RefState[]> {
  const refs = Array.from(connectedRefs()).slice(-maxRefs)
  const result: RefState[] = []
  while (refs.length > 0) {
    const until = performance.now() + maxTaskTime
    withCallCache(() => {
      const paths = new Paths()
      do {
        const [ref, element] = refs.shift()!
        if (!isConnected(element)) continue
        const role = roleOf(element)
        result.push({ ref, role, name: nameOf(element, role), path: paths.of(element) })
      } while (refs.length > 0 && performance.now() < until)
    })
    if (refs.length > 0) await nextTask()
  }
  return result
}

/**
 * Returns the path to this document's frame: its index among the child frames of each frame, from
 * the main frame inward.
 */
function framePath(): number[] {
  const path: number[] = []
  for (let inner: Window = window; inner !== inner.parent; inner = inner.parent) {
    let index = 0
    while (index < inner.parent.length && inner.parent[index] !== inner) index++
    path.unshift(index)
  }
  return path
}

export const framePosition = (): FramePositionResult => ({ url: location.href, place: framePath() })

/**
 * Reads the state. If the version of the document is still `known`, returns only the storage.
 */
export async function saveState(argument: SaveStateArgument): Promise<SaveStateResult> {
  const version = `${mutations().count} ${nextRef()} ${scrollX} ${scrollY}`
  const result: SaveStateResult = { url: location.href, origin: location.origin, version }
  if (version !== argument.known) {
    const paths = new Paths()
    result.document = {
      place: framePath(),
      scroll: { x: Math.round(scrollX), y: Math.round(scrollY) },
      scrolls: scrollPositions(paths),
      fields: changedFields(paths),
      refs: await readRefs()
    }
  }
  const [local, session] = [items(() => localStorage), items(() => sessionStorage)]
  if (local) result.localStorage = local
  if (session) result.sessionStorage = session
  if (argument.indexedDB && local) {
    const begun = performance.now()
    // IndexedDB may be disabled.
    const read = await readDatabases().catch(() => null)
    if (read) {
      const text = JSON.stringify(read.databases)
      result.databases = await hash(text)
      if (result.databases !== argument.indexedDB.known) result.indexedDB = text
      if (read.skipped.length > 0) result.skipped = read.skipped
    }
    result.readTime = performance.now() - begun
  }
  return result
}

function findPath(path: string): Element | null {
  try {
    const found = findAll(path)
    return found.length === 1 ? found[0] : null
  } catch {
    return null
  }
}

function restoreField(saved: FieldState): boolean {
  const field = findPath(saved.path) as Field | null
  if (!field) return false
  if (saved.selected !== undefined && field instanceof HTMLSelectElement) {
    Array.from(field.options).forEach(
      (option, index) => (option.selected = saved.selected!.includes(index))
    )
  } else if (saved.checked !== undefined && field instanceof HTMLInputElement)
    field.checked = saved.checked
  else if (saved.value !== undefined && 'value' in field && isSaved(field))
    field.value = saved.value
  else return false
  field.dispatchEvent(new Event('input', { bubbles: true, composed: true }))
  field.dispatchEvent(new Event('change', { bubbles: true }))
  return true
}

/** Restores a ref if exactly one element with its role and name is at its path. */
function restoreRef({ ref, role, name, path }: RefState): boolean {
  const element = findPath(path)
  return (
    element !== null &&
    roleOf(element) === role &&
    nameOf(element, role) === name &&
    claimRef(ref, element)
  )
}

function restoreScroll({ path, x, y }: ScrollState): boolean {
  const element = findPath(path)
  element?.scrollTo({ left: x, top: y, behavior: 'instant' as ScrollBehavior })
  return element !== null
}

/**
 * Restores the state. Searches for missing elements until `searchTimeout` has passed, because pages
 * render late.
 */
export async function restoreState(
  argument: RestoreStateArgument
): Promise<RestoreStateResult | UncheckedHosts> {
  const hosts = uncheckedHosts(argument)
  if (hosts) return hosts
  const until = performance.now() + argument.searchTimeout
  let { fields, savedRefs, scrolls } = argument
  const scrollPage = (): void =>
    scrollTo({
      left: argument.scroll.x,
      top: argument.scroll.y,
      behavior: 'instant' as ScrollBehavior
    })
  for (;;) {
    fields = fields.filter((field) => !restoreField(field))
    savedRefs = withCallCache(() => savedRefs.filter((saved) => !restoreRef(saved)))
    scrolls = scrolls.filter((saved) => !restoreScroll(saved))
    scrollPage()
    const isScrolled =
      Math.abs(scrollY - argument.scroll.y) < 2 && Math.abs(scrollX - argument.scroll.x) < 2
    if (
      (fields.length + savedRefs.length + scrolls.length === 0 && isScrolled) ||
      performance.now() >= until
    )
      break
    await nextChange(false, until)
  }
  return {
    fields: argument.fields.length - fields.length,
    missing: fields.length,
    refs: argument.savedRefs.length - savedRefs.length,
    stale: savedRefs.map(({ ref }) => ref)
  }
}
