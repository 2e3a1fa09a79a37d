/**
 * The elements that may have a closed shadow root. Scripts cannot see one; Rust checks over the protocol and passes in
 * the roots.
 *
 * Possible hosts are custom elements, and visible plain ones with a size but without contents. A plain element that
 * has contents as well as a closed root is treated as one without a root: only its contents are seen.
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

/** An element without a root is looked at again when it has another size or is upgraded, but not for ever. */
const mostLooks = 3

interface Look {
  times: number
  size: number
  defined: boolean
}

const looks = new WeakMap<Element, Look>()
let possible = new Set<Element>()

/** Takes in an element, if a shadow root may be in it. */
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

/** Contains only white space, as a `template` with a shadow root leaves it. */
function isBlank(element: Element): boolean {
  for (let child = firstChild(element); child !== null; child = nextSibling(child)) {
    const type = nodeType(child)
    if (type === 1 || (type === 3 && /\S/.test((child as Text).data))) return false
  }
  return true
}

/** The size of an element as one number; 0 where it has none. */
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

/** Visits only added or changed elements. */
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

/** Whether there are possible hosts that were not checked over the protocol in their current state. */
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

/** Somebody hands in roots. */
let looked = false

/** The answer for a caller that can pass in roots while there are unchecked hosts. */
export function unknownHosts(argument: { hosts?: boolean }): Hosts | null {
  if (!argument.hosts) return null
  looked = true
  return hasUnknownHosts() ? { hosts: true } : null
}

/** A root that was attached makes no mutation: where one may have been, something may have changed. */
export const mayHaveNewRoots = (): boolean => looked && hasUnknownHosts()

/** `run` over a page whose hosts are known. */
export const known =
  <Argument extends object, Result>(
    run: (argument: Argument) => Result
  ): ((argument: Argument) => Result | Hosts) =>
  (argument) =>
    unknownHosts(argument) ?? run(argument)
