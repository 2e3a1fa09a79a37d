/** A line of a snapshot before it is written, and operations on lines. */
import { normalize } from '../dom/composed-tree'
import { widgetRoles } from '../roles/roles'

/** Siblings that were left out: a line says how many. */
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
  /** Children were left out because of the depth asked for. */
  cut: boolean
  runRole: string
  runCount: number
  skipped: [Element, number][]
  boundary: Element | null
  /** The next walk may have it again as it is (see line-cache.ts). */
  kept: boolean
  /** Its text, once it has been written whole. */
  lines: string[] | null
}

/** Stands for every empty list; never written to. */
export const nothing: never[] = []

export function makeNode(element: Element, role: string): TreeNode {
  return {
    element,
    role,
    name: '',
    states: '',
    wantsRef: false,
    cursor: '',
    properties: nothing,
    value: null,
    children: [],
    folds: false,
    cut: false,
    runRole: '',
    runCount: 0,
    skipped: nothing,
    boundary: null,
    kept: false,
    lines: null
  }
}

/**
 * A wrapper around one thing that has a ref and says all that the wrapper does: a press on that thing is one on the
 * wrapper, and what has the same name and states as its only button is that button to everyone.
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
  // The child may be kept, the wrapper not.
  if (child.cursor === '' && node.cursor !== '' && !widgetRoles.has(child.role))
    return { ...child, cursor: node.cursor, kept: false, lines: null }
  return child
}

/** Joins neighbouring strings, cuts them at line breaks, drops what is empty. */
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

/** A YAML scalar: quoted only where a reader could take it for something else. */
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

/** Whether a child is an element's line. */
export const isNode = (child: TreeChild): child is TreeNode =>
  typeof child !== 'string' && !('fold' in child)
