/** Writes a tree as lines of YAML. Assigns refs, so that only written lines have one. */
import type { RefAllocator } from '../dom/refs'
import { hintOf } from '../tree/hints'
import { type Fold, isNode, scalar, type TreeChild, type TreeNode } from '../tree/node'

const maxNameLength = 250
const maxValueLength = 500

export interface FrameLine {
  ref: string
  line: number
  indent: number
}

const plurals: Record<string, string> = {
  listitem: 'list items',
  treeitem: 'tree items',
  menuitem: 'menu items',
  menuitemcheckbox: 'menu items',
  menuitemradio: 'menu items',
  generic: 'items',
  gridcell: 'cells',
  columnheader: 'column headers',
  rowheader: 'row headers',
  checkbox: 'checkboxes',
  definition: 'terms and definitions',
  img: 'images',
  textbox: 'text boxes',
  combobox: 'combo boxes',
  searchbox: 'search boxes',
  option: 'options'
}

/** Quotes a line that would not be a valid YAML key. */
const key = (head: string): string => (/: | #/.test(head) ? `'${head.replace(/'/g, "''")}'` : head)
const quoted = (text: string): string =>
  /["\\\u0000-\u001f]/.test(text) ? JSON.stringify(text) : `"${text}"`
const truncate = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text

/**
 * Roles that need a hint if they have no name. A generic element has a line only if it can be
 * clicked.
 */
const hinted = new Set([
  'button',
  'link',
  'generic',
  'img',
  'checkbox',
  'radio',
  'switch',
  'textbox',
  'searchbox',
  'combobox',
  'spinbutton',
  'slider',
  'menuitem',
  'tab',
  'option',
  'treeitem'
])

const hasText = ({ children, properties, value }: TreeNode): boolean =>
  children.length > 0 ||
  (value !== null && value !== '') ||
  properties.some((property) => property.startsWith('/placeholder'))

export class Writer {
  readonly lines: string[] = []
  readonly frames: FrameLine[] = []
  /** The ref of the container in which the text was truncated, null if all of it fits. */
  cutAt: string | null = null
  private length = 0
  private readonly refs: RefAllocator
  private readonly budget: number
  /** Whether there is no budget, so that cached lines can be reused. */
  private readonly whole: boolean
  /** The ancestors of the current node that `snapshot` can be limited to, and their lines. */
  private readonly containers: { node: TreeNode; line: number; indent: string }[] = []

  constructor(refs: RefAllocator, budget: number) {
    this.refs = refs
    this.budget = budget
    this.whole = budget === Infinity
  }

  /** Returns the line of a node without its children: `button "Send" [ref=e5]`. */
  head(node: TreeNode, withRef = node.wantsRef): string {
    let text = node.role
    if (node.name !== '') text += ` ${quoted(truncate(node.name, maxNameLength))}`
    else if (withRef && hinted.has(node.role) && !hasText(node)) text += hintOf(node.element)
    text += node.states
    if (withRef) {
      text += ` [ref=${this.refs.of(node.element)}]`
      if (node.cursor !== '') text += ` [cursor=${node.cursor}]`
    }
    return text
  }

  children(children: TreeChild[], indent: string, owner: TreeNode | null): void {
    for (const child of children) {
      if (this.cutAt !== null) return
      if (typeof child === 'string') this.put(`${indent}- text: ${scalar(child)}`)
      else if (isNode(child)) this.node(child, indent)
      else this.put(`${indent}- ${this.foldText(child, owner)}`)
    }
  }

  /** Writes only the marked nodes of a tree, and those in `whole` with all descendants. */
  parts(
    owner: TreeNode,
    indent: string,
    marked: Set<TreeNode>,
    whole: Set<TreeNode>,
    test: (text: string) => boolean
  ): void {
    for (const child of owner.children) {
      if (typeof child === 'string') {
        if (test(child)) this.put(`${indent}- text: ${scalar(child)}`)
      } else if (isNode(child) && marked.has(child)) {
        if (whole.has(child)) this.node(child, indent)
        else {
          const head = `${indent}- ${key(this.head(child))}`
          this.put(`${head}:`)
          const length = this.lines.length
          this.parts(child, `${indent}  `, marked, whole, test)
          if (this.lines.length === length) this.lines[length - 1] = head
        }
      }
    }
  }

  private node(node: TreeNode, indent: string): void {
    if (!node.cached || !this.whole) {
      this.writeNode(node, indent)
      return
    }
    if (node.lines !== null && node.lines[0].startsWith(`${indent}- `)) {
      for (const line of node.lines) this.lines.push(line)
      return
    }
    const from = this.lines.length
    this.writeNode(node, indent)
    node.lines = this.lines.slice(from)
  }

  private writeNode(node: TreeNode, indent: string): void {
    const head = key(this.head(node, node.wantsRef || node.folds || node.cut))
    if (node.role === 'iframe')
      this.frames.push({
        ref: this.refs.of(node.element),
        line: this.lines.length,
        indent: indent.length
      })
    const { children, properties } = node
    if (node.cut) {
      this.put(`${indent}- ${head}: …`)
      return
    }
    const only =
      properties.length > 0
        ? null
        : children.length === 1 && typeof children[0] === 'string' && node.value === null
          ? children[0]
          : children.length === 0
            ? node.value
            : null
    if (only !== null) {
      this.put(
        `${indent}- ${head}: ${scalar(truncate(only, node.value === null ? only.length : maxValueLength))}`
      )
      return
    }
    const inner = properties.length + children.length + (node.value === null ? 0 : 1)
    this.put(`${indent}- ${head}${inner > 0 ? ':' : ''}`)
    if (inner === 0) return
    const deeper = `${indent}  `
    for (const property of properties) this.put(`${deeper}- ${property}`)
    if (node.value !== null)
      this.put(`${deeper}- text: ${scalar(truncate(node.value, maxValueLength))}`)
    if (children.length === 0) return
    const isContainer = node.wantsRef || node.role === 'list'
    if (isContainer) this.containers.push({ node, line: this.lines.length - 1, indent })
    this.children(children, deeper, node)
    if (isContainer && this.cutAt === null) this.containers.pop()
  }

  private foldText(fold: Fold, owner: TreeNode | null): string {
    const noun = plurals[fold.role] ?? `${fold.role}s`
    const target = owner ? this.refs.of(owner.element) : 'body'
    return `… ${fold.count} more ${noun}: snapshot {selector: "${target}"} shows them all`
  }

  private put(line: string): void {
    if (this.cutAt !== null) return
    this.length += line.length + 1
    if (this.length > this.budget && this.lines.length > 0) {
      this.cutAt = this.cutContainer()
      return
    }
    this.lines.push(line)
  }

  /** Returns the ref of the innermost container, and adds it to its line. */
  private cutContainer(): string {
    const container = this.containers[this.containers.length - 1]
    if (container === undefined) return ''
    const { node, line, indent } = container
    if (!node.wantsRef) this.lines[line] = `${indent}- ${key(this.head(node, true))}:`
    return this.refs.of(node.element)
  }
}
