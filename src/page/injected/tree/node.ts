/** Nodes of a snapshot's tree. Each becomes a line. */
import { normalize } from '../dom/composed-tree'
import { widgetRoles } from '../roles/roles'

/** Omitted siblings. A line shows their number. */
export interface Fold {
  fold: true
  role: string
  count: number
}

export type TreeChild = TreeNode | Fold | string

export interface TreeNode {
  element: Element
  role: string
  name: string
  /** ` [checked] [expanded=false]`, ready to print. */
  states: string
  wantsRef: boolean
  cursor: string
  /** `/url: …`, ready to print. */
  properties: string[]
  value: string | null
  children: TreeChild[]
  /** Some children are replaced by a line with their number. */
  folds: boolean
  /** Children are omitted because of the `depth` option. */
  cut: boolean
  /** The role of the last children, and the number of them in a row. */
  runRole: string
  runCount: number
  /** The last children if they exceed the limit of a run, with the state that they inherit. */
  skipped: [Element, number][]
  /** The last child without a line. If it is a block, the next text begins a new line. */
  boundary: Element | null
  /** The node is in the line cache: the next walk may reuse it unchanged. */
  cached: boolean
  /** The lines of the node, after they have been written completely. */
  lines: string[] | null
}

/** A shared empty list, never modified. */
export const noItems: never[] = []

export function makeNode(element: Element, role: string): TreeNode {
  return {
    element,
    role,
    name: '',
    states: '',
    wantsRef: false,
    cursor: '',
    properties: noItems,
    value: null,
    children: [],
    folds: false,
    cut: false,
    runRole: '',
    runCount: 0,
    skipped: noItems,
    boundary: null,
    cached: false,
    lines: null
  }
}

/**
 * Returns the child that replaces a wrapper in the snapshot, or null. The wrapper must be generic,
 * and its only child must have a ref and the wrapper's name and states. A click on the child is
 * then a click on the wrapper.
 */
export function onlyChild(node: TreeNode): TreeNode | null {
  if ((node.role !== 'generic' && node.role !== 'presentation') || node.children.length !== 1)
    return null
  const child = node.children[0]
  if (!isNode(child) || !child.wantsRef) return null
  if (node.cursor === '' && node.name === '') return null
  if (
    (node.name !== '' && node.name !== child.name) ||
    (node.states !== '' && node.states !== child.states)
  )
    return null
  // The child may be in the line cache, but the copy is not.
  if (child.cursor === '' && node.cursor !== '' && !widgetRoles.has(child.role))
    return { ...child, cursor: node.cursor, cached: false, lines: null }
  return child
}

/** Joins adjacent strings, splits them at line breaks, and removes empty ones. */
export function mergeText(children: TreeChild[]): TreeChild[] {
  const merged: TreeChild[] = []
  let text = ''
  const put = (): void => {
    if (text === '') return
    const clean = normalize(text)
    if (clean !== '') merged.push(clean)
    text = ''
  }
  for (const child of children) {
    if (child === '\n') put()
    else if (typeof child === 'string') text += child
    else {
      put()
      merged.push(child)
    }
  }
  put()
  return merged
}

/** Formats a YAML scalar: quoted only if it could be read as something else. */
export function scalar(text: string): string {
  if (text === '') return '""'
  if (
    /^[\s\-?:,[\]{}#&*!|>'"%@`]|[\n\r\t]|: |:$| #|\s$|^(true|false|null|yes|no|on|off|~)$|^[-+.\d][\d.,eE_-]*$/i.test(
      text
    )
  )
    return JSON.stringify(text)
  return text
}

/** Returns whether a child is a node. */
export const isNode = (child: TreeChild): child is TreeNode =>
  typeof child !== 'string' && !('fold' in child)
