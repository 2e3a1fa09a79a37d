/**
 * Finds elements that may have a closed shadow root. Scripts cannot see closed roots: Rust checks
 * the elements over the protocol and passes in the roots.
 *
 * Possible hosts are custom elements, and visible built-in elements with a size but without
 * contents. A built-in element with contents and a closed root counts as one without a root.
 */
import type { Hosts } from '../api'
import {
  elementMatches,
  firstChild,
  isConnected,
  isElement,
  isShadowRoot,
  localName,
  nextSibling,
  nodeType,
  plainHosts,
  queryAll,
  type Root,
  shadowRootOf
} from './composed-tree'
import { takeGrown, watchRoot } from './mutation-observer'

/**
 * How often an element without a root is checked again after its size has changed or it was
 * upgraded.
 */
const mostLooks = 3

interface Look {
  times: number
  size: number
  defined: boolean
}

const looks = new WeakMap<Element, Look>()
let possible = new Set<Element>()

/** Adds an element to the possible hosts if it may have a closed root. */
function consider(element: Element): void {
  const tag = localName(element)
  const custom = tag.includes('-')
  if (!custom && !plainHosts.has(tag)) return
  const shadow = shadowRootOf(element)
  if (shadow) {
    watchRoot(shadow)
    considerIn(shadow)
  } else if (custom || isBlank(element)) possible.add(element)
}

function considerIn(root: Root | Element): void {
  const elements = queryAll(root, '*')
  for (let i = 0; i < elements.length; i++) consider(elements[i])
}

/** Returns whether an element contains only white space, as a declarative shadow root leaves it. */
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

function isUnknown(element: Element): boolean {
  if (shadowRootOf(element)) return false
  const custom = localName(element).includes('-')
  const look = looks.get(element)
  if (look === undefined) return custom || sizeOf(element) > 0
  if (look.times >= mostLooks) return false
  return (
    sizeOf(element) !== look.size ||
    (custom && !look.defined && elementMatches(element, ':defined'))
  )
}

/** Updates the possible hosts from the changed nodes. */
function refresh(): void {
  const grown = takeGrown()
  if (grown === null) {
    possible = new Set()
    considerIn(document)
    return
  }
  for (const [node, whole] of grown) {
    if (isElement(node)) consider(node)
    if (whole && (isElement(node) || isShadowRoot(node))) considerIn(node)
  }
  if (grown.size > 0)
    for (const element of possible) if (!isConnected(element)) possible.delete(element)
}

/** Returns whether a possible host has not been checked over the protocol in its current state. */
function hasUnknownHosts(): boolean {
  refresh()
  for (const element of possible) if (isUnknown(element)) return true
  return false
}

/** Returns those hosts, and marks them as checked. */
export function closedCandidates(): Element[] {
  refresh()
  const unknown = [...possible].filter(isUnknown)
  for (const element of unknown)
    looks.set(element, {
      times: (looks.get(element)?.times ?? 0) + 1,
      size: sizeOf(element),
      defined: elementMatches(element, ':defined')
    })
  return unknown
}

/** Whether the caller can pass in roots. */
let looked = false

/** Returns the answer for a caller that has to check hosts first, null if it need not. */
export function unknownHosts(argument: { hosts?: boolean }): Hosts | null {
  if (!argument.hosts) return null
  looked = true
  return hasUnknownHosts() ? { hosts: true } : null
}

/** Returns whether a root may have been attached, which creates no mutation record. */
export const mayHaveNewRoots = (): boolean => looked && hasUnknownHosts()

/** Wraps a call: it runs only if all possible hosts have been checked. */
export const known =
  <Argument extends object, Result>(
    run: (argument: Argument) => Result
  ): ((argument: Argument) => Result | Hosts) =>
  (argument) =>
    unknownHosts(argument) ?? run(argument)
