/**
 * A cache of lines from one walk to the next: lines that depend only on their element's contents and ancestors, as
 * long as these have not changed. The walk decides which elements are cached, and a mutation observer reports changes.
 * Everything else (fields, labels, shadow trees, and effects of style rules or scripts that the observer does not
 * report) is walked each time.
 */
import {
  byTag,
  HAS_FIELD_STATE,
  HAS_HIDING,
  HAS_REFERENCE,
  isElement,
  parentNode,
  plainHosts,
  shadowRootOf
} from '../dom/composed-tree'
import { handleRecords } from '../dom/mutation-observer'
import type { TreeNode } from './node'

export interface KeptLine {
  node: TreeNode
  /** What it inherited from above. */
  bits: number
  /** Whether it has to be asked each time if it is shown. */
  asks: boolean
  /** How many elements it stands for. */
  elements: number
  at: number
}

/** What stands for more than its markup says, and what is read with something elsewhere in the document. */
const special = new Set([
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

/** Of an element with these facts and effects of rules: whether its line follows from its own markup and what is above it. */
export const speaksForItself = (tag: string, facts: number, effects: number): boolean =>
  effects === 0 &&
  (facts & (HAS_REFERENCE | HAS_FIELD_STATE | HAS_HIDING)) === 0 &&
  !special.has(tag) &&
  !tag.includes('-')

let lines = new WeakMap<Element, KeptLine>()
/** When something about the element itself changed: what it hands down to those below it may be other. */
let turned = new WeakMap<Node, number>()
/** The rules by which the lines were made. */
let rules: object | null = null
/** Plain elements known to have a shadow root. */
const hosts = new WeakSet<Element>()
let focused: WeakRef<Element> | null = null
/** Counts walks; 0 before the first one, and nothing has to be noted. */
let clock = 0
/** More than this between two walks is not gone through. */
const mostRecords = 5000
let records = 0

function forget(): void {
  lines = new WeakMap()
  turned = new WeakMap()
  clock = 0
}

/** A walk begins that keeps lines. */
export function beginKeeping(by: object, active: Element | null): void {
  if (rules !== by) forget()
  rules = by
  const before = focused?.deref() ?? null
  if (before !== active) {
    for (const element of [before, active]) if (element) touch(element, new Set())
    focused = active && new WeakRef(active)
  }
  lookForRoots()
  records = 0
  clock++
}

/** A root that was attached makes no record. */
function lookForRoots(): void {
  for (const tag of plainHosts) {
    const elements = byTag(tag)
    for (let i = 0; i < elements.length; i++) {
      const element = elements[i]
      if (shadowRootOf(element) === null || hosts.has(element)) continue
      hosts.add(element)
      touch(element, new Set())
    }
  }
}

/** What happened to the page since. */
function noteRecords(happened: MutationRecord[]): void {
  if (clock === 0) return
  records += happened.length
  if (records > mostRecords) {
    forget()
    return
  }
  const touched = new Set<Node>()
  for (const { type, target, addedNodes } of happened) {
    touch(target, touched)
    if (type === 'attributes') turned.set(target, clock)
    for (let i = 0; i < addedNodes.length; i++) {
      const added = addedNodes[i]
      turned.set(added, clock)
      if (isElement(added)) lines.delete(added)
    }
  }
}

/** Forgets the lines of a node and of all that it is in. */
function touch(changed: Node, touched: Set<Node>): void {
  for (
    let node: Node | null = changed;
    node !== null && !touched.has(node);
    node = parentNode(node)
  ) {
    touched.add(node)
    if (isElement(node)) lines.delete(node)
  }
}

/** The walk after which something about the element itself changed: what was kept below it up to then does not hold. */
export const turnedAt = (element: Element): number => turned.get(element) ?? 0

export const keptLine = (element: Element): KeptLine | undefined => lines.get(element)

export function keepLine(
  element: Element,
  node: TreeNode,
  line: Omit<KeptLine, 'node' | 'at'>
): void {
  node.kept = true
  lines.set(element, { node, ...line, at: clock })
}

handleRecords(noteRecords)
