/**
 * Caches lines between walks. A line can be cached if it depends only on its element's contents and
 * ancestors. The walk selects these elements, and the mutation observer reports their changes.
 * Everything else is walked each time: fields, labels, shadow trees, and effects of style rules or
 * scripts that create no mutation record.
 */
import {
  builtInHosts,
  byTag,
  HAS_FIELD_STATE,
  HAS_HIDING,
  HAS_REFERENCE,
  isElement,
  parentNode,
  shadowRootOf
} from '../dom/composed-tree'
import { handleRecords } from '../dom/mutation-observer'
import type { TreeNode } from './node'

export interface CachedLine {
  node: TreeNode
  /** The state inherited from ancestors. */
  bits: number
  /** Whether each walk has to check that the element is rendered. */
  checksRendering: boolean
  /** The number of elements in the line. */
  elements: number
  /** The number of the walk that cached the line. */
  at: number
}

/** Tags whose lines depend on more than their markup, or on elements elsewhere in the document. */
const uncacheableTags = new Set([
  'area',
  'audio',
  'button',
  'canvas',
  'caption',
  'details',
  'dialog',
  'embed',
  'fieldset',
  'figcaption',
  'frame',
  'frameset',
  'iframe',
  'input',
  'label',
  'legend',
  'map',
  'math',
  'meter',
  'object',
  'optgroup',
  'option',
  'output',
  'progress',
  'select',
  'slot',
  'summary',
  'svg',
  'textarea',
  'th',
  'video'
])

/** Returns whether the line of an element depends only on its own markup and its ancestors. */
export const isSelfContained = (tag: string, attributeKinds: number, effects: number): boolean =>
  effects === 0 &&
  (attributeKinds & (HAS_REFERENCE | HAS_FIELD_STATE | HAS_HIDING)) === 0 &&
  !uncacheableTags.has(tag) &&
  !tag.includes('-')

let lines = new WeakMap<Element, CachedLine>()
/**
 * The walk after which the element itself has changed, which can change the state that descendants
 * inherit.
 */
let ownChanges = new WeakMap<Node, number>()
/** The rule index with which the lines were created. */
let rules: object | null = null
/** Built-in elements that are known to have a shadow root. */
const hosts = new WeakSet<Element>()
let focused: WeakRef<Element> | null = null
/** Counts walks. While it is 0, changes need not be recorded. */
let walks = 0
/** With more mutation records between two walks, the cache is cleared. */
const maxRecords = 5000
let records = 0

function clearCache(): void {
  lines = new WeakMap()
  ownChanges = new WeakMap()
  walks = 0
}

/** Begins a walk that uses the cache. */
export function beginCachedWalk(ruleIndex: object, active: Element | null): void {
  if (rules !== ruleIndex) clearCache()
  rules = ruleIndex
  const before = focused?.deref() ?? null
  if (before !== active) {
    for (const element of [before, active]) if (element) invalidate(element, new Set())
    focused = active && new WeakRef(active)
  }
  findNewRoots()
  records = 0
  walks++
}

/** Finds newly attached shadow roots, which create no mutation record. */
function findNewRoots(): void {
  for (const tag of builtInHosts) {
    const elements = byTag(tag)
    for (let i = 0; i < elements.length; i++) {
      const element = elements[i]
      if (shadowRootOf(element) === null || hosts.has(element)) continue
      hosts.add(element)
      invalidate(element, new Set())
    }
  }
}

/** Removes the lines that mutation records affect. */
function invalidateLines(newRecords: MutationRecord[]): void {
  if (walks === 0) return
  records += newRecords.length
  if (records > maxRecords) {
    clearCache()
    return
  }
  const touched = new Set<Node>()
  for (const { type, target, addedNodes } of newRecords) {
    invalidate(target, touched)
    if (type === 'attributes') ownChanges.set(target, walks)
    for (let i = 0; i < addedNodes.length; i++) {
      const added = addedNodes[i]
      ownChanges.set(added, walks)
      if (isElement(added)) lines.delete(added)
    }
  }
}

/** Removes the lines of a node and its ancestors. */
function invalidate(changed: Node, touched: Set<Node>): void {
  for (
    let node: Node | null = changed;
    node !== null && !touched.has(node);
    node = parentNode(node)
  ) {
    touched.add(node)
    if (isElement(node)) lines.delete(node)
  }
}

/**
 * Returns the walk after which the element itself has changed. Lines of descendants from earlier
 * walks are invalid.
 */
export const ownChangeAt = (element: Element): number => ownChanges.get(element) ?? 0

export const cachedLine = (element: Element): CachedLine | undefined => lines.get(element)

export function cacheLine(
  element: Element,
  node: TreeNode,
  line: Omit<CachedLine, 'node' | 'at'>
): void {
  node.cached = true
  lines.set(element, { node, ...line, at: walks })
}

handleRecords(invalidateLines)
