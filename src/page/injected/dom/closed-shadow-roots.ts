/**
 * Finds elements that may have a closed shadow root. Scripts cannot see closed roots, so Rust
 * checks the elements over the protocol and passes in the roots.
 *
 * Possible hosts are custom elements, and visible built-in elements with a size but without
 * contents. A built-in element with contents and a closed root counts as one without a root.
 */
import type { UncheckedHosts } from '../api'
import {
  adoptShadowRoot,
  builtInHosts,
  elementMatches,
  firstChild,
  isConnected,
  isElement,
  isShadowRoot,
  localName,
  nextSibling,
  nodeType,
  queryAll,
  type Root,
  shadowRootOf
} from './composed-tree'
import { addShadowRoot, observeRoot, takeChangedNodes } from './mutation-observer'

/**
 * How often an element without a root is checked again after its size has changed or it was
 * upgraded.
 */
const maxChecks = 3

interface HostCheck {
  times: number
  size: number
  defined: boolean
}

const hostChecks = new WeakMap<Element, HostCheck>()
let possibleHosts = new Set<Element>()

/** Adds an element to the possible hosts if it may have a closed root. */
function addIfPossibleHost(element: Element): void {
  const tag = localName(element)
  const custom = tag.includes('-')
  if (!custom && !builtInHosts.has(tag)) return
  const shadow = shadowRootOf(element)
  if (shadow) {
    observeRoot(shadow)
    addPossibleHostsIn(shadow)
  } else if (custom || isBlank(element)) possibleHosts.add(element)
}

function addPossibleHostsIn(root: Root | Element): void {
  const elements = queryAll(root, '*')
  for (let i = 0; i < elements.length; i++) addIfPossibleHost(elements[i])
}

/** Returns whether an element contains only white space, as the host of a declarative root does. */
function isBlank(element: Element): boolean {
  for (let child = firstChild(element); child !== null; child = nextSibling(child)) {
    const type = nodeType(child)
    if (type === 1 || (type === 3 && /\S/.test((child as Text).data))) return false
  }
  return true
}

/** Returns the size of an element as one number, 0 if it has no box. */
const sizeOf = (element: Element): number => {
  const { offsetWidth, offsetHeight } = element as HTMLElement
  return offsetWidth > 0 && offsetHeight > 0 ? offsetWidth * 100_000 + offsetHeight : 0
}

function isUnchecked(element: Element): boolean {
  if (shadowRootOf(element)) return false
  const custom = localName(element).includes('-')
  const check = hostChecks.get(element)
  if (check === undefined) return custom || sizeOf(element) > 0
  if (check.times >= maxChecks) return false
  return (
    sizeOf(element) !== check.size ||
    (custom && !check.defined && elementMatches(element, ':defined'))
  )
}

/** Updates the possible hosts from the changed nodes. */
function refresh(): void {
  const changedNodes = takeChangedNodes()
  if (changedNodes === null) {
    possibleHosts = new Set()
    addPossibleHostsIn(document)
    return
  }
  for (const [node, whole] of changedNodes) {
    if (isElement(node)) addIfPossibleHost(node)
    if (whole && (isElement(node) || isShadowRoot(node))) addPossibleHostsIn(node)
  }
  if (changedNodes.size > 0)
    for (const element of possibleHosts) if (!isConnected(element)) possibleHosts.delete(element)
}

/** Returns whether a possible host has not been checked over the protocol in its current state. */
function hasUncheckedHosts(): boolean {
  refresh()
  for (const element of possibleHosts) if (isUnchecked(element)) return true
  return false
}

/** A search for the closed roots of hosts, until `adoptShadowRoots` is called. */
let search: { end: () => void; ended: Promise<void> } | null = null

/** Resolves when no search for closed roots is running. */
export const endOfRootSearch = async (): Promise<void> => search?.ended

/** Registers the roots that a search has found, as pairs of host and root, and ends the search. */
export function adoptShadowRoots(...hostsAndRoots: (Element | ShadowRoot)[]): void {
  for (let at = 0; at < hostsAndRoots.length; at += 2) {
    const root = hostsAndRoots[at + 1] as ShadowRoot
    adoptShadowRoot(hostsAndRoots[at] as Element, root)
    addShadowRoot(root)
  }
  search?.end()
  search = null
}

function beginSearch(): typeof search {
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  return { end, ended }
}

/**
 * Returns the possible hosts that have not been checked, and marks them as checked. The caller must
 * then call `adoptShadowRoots`.
 */
export function takeUncheckedHosts(): Element[] {
  refresh()
  const unknown = [...possibleHosts].filter(isUnchecked)
  for (const element of unknown)
    hostChecks.set(element, {
      times: (hostChecks.get(element)?.times ?? 0) + 1,
      size: sizeOf(element),
      defined: elementMatches(element, ':defined')
    })
  // A former search has not ended if its call was canceled.
  search?.end()
  search = unknown.length > 0 ? beginSearch() : null
  return unknown
}

/** Whether the caller can pass in roots. */
let canPassRoots = false

/** Returns the answer for a caller that has to check hosts first, null if it need not. */
export function uncheckedHosts(argument: { hosts?: boolean }): UncheckedHosts | null {
  if (!argument.hosts) return null
  canPassRoots = true
  return hasUncheckedHosts() ? { hosts: true } : null
}

/** Returns whether a root may have been attached, which creates no mutation record. */
export const mayHaveNewRoots = (): boolean => canPassRoots && hasUncheckedHosts()

/** Wraps a call: it runs only if all possible hosts have been checked. */
export const afterHostCheck =
  <Argument extends object, Result>(
    run: (argument: Argument) => Result
  ): ((argument: Argument) => Result | UncheckedHosts) =>
  (argument) =>
    uncheckedHosts(argument) ?? run(argument)
