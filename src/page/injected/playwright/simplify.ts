/**
 * Simplifies a tree as Playwright does: merges texts, removes names that the children repeat,
 * images without a name, and wrappers.
 */
import { type AriaChild, type AriaNode, hasProperties, onlyText } from './aria-node'
import { collapseWhiteSpace } from './white-space'

export function simplifyTree(root: AriaNode, maxDepth: number): void {
  new Simplifier(maxDepth).simplifyChildren(root, -1, false)
}

class Simplifier {
  private readonly maxDepth: number
  /** Nodes that are part of a name, and not in the tree by themselves. */
  private readonly unprinted = new Set<AriaNode>()

  constructor(maxDepth: number) {
    this.maxDepth = maxDepth
  }

  /**
   * Simplifies the children, joins adjacent texts, and removes a text that is the same as the name.
   * `isInTarget`: the node or an ancestor is a click target.
   */
  simplifyChildren(node: AriaNode, depth: number, isInTarget: boolean): void {
    if (node.children.length === 0) return
    const children: AriaChild[] = []
    let text = ''
    for (const child of node.children) {
      if (typeof child === 'string') {
        text += child
        continue
      }
      this.enter(child, depth + 1)
      this.simplifyChildren(child, depth + 1, isInTarget || isClickTarget(child))
      const kept = this.leave(child, node, isClickTarget(child) && !isInTarget)
      if (kept === 'nothing' || (kept === 'children' && child.children.length === 0)) continue
      text = putText(text, children)
      if (kept === 'node') children.push(child)
      else children.push(...child.children)
    }
    putText(text, children)
    node.children = children.length === 1 && children[0] === node.name ? [] : children
  }

  private enter(node: AriaNode, depth: number): void {
    if (node.ref === '') return
    for (const source of node.namedBy) this.unprinted.add(source)
    const isBeyondDepth = this.maxDepth !== 0 && depth > this.maxDepth
    if (!isBeyondDepth && !isGenericText(node)) this.unprinted.delete(node)
  }

  /** Returns what remains of a node after its children are simplified. */
  private leave(
    node: AriaNode,
    parent: AriaNode,
    isOutermostTarget: boolean
  ): 'node' | 'children' | 'nothing' {
    if (node.role === 'img' && node.name === '' && node.children.length === 0 && !isOutermostTarget)
      return 'nothing'
    if (node.ref !== '') this.removeRepeatedName(node)
    if (node.role !== 'generic') return 'node'
    inlineText(node)
    if (repeatsName(node, parent)) {
      if (node.ref !== '') this.unprinted.add(node)
      return 'nothing'
    }
    if (node.name !== '' || node.children.length > 1) return 'node'
    if (node.children.length === 0) return isOutermostTarget ? 'node' : 'children'
    const [child] = node.children
    return typeof child !== 'string' && child.ref !== '' ? 'children' : 'node'
  }

  /** Removes a name if each node that is part of it is in the tree. */
  private removeRepeatedName(node: AriaNode): void {
    const { namedBy } = node
    if (namedBy.length === 0) return
    if (namedBy.every((source) => !this.unprinted.has(source))) node.name = ''
    else for (const source of namedBy) this.unprinted.delete(source)
  }
}

const isClickTarget = (node: AriaNode): boolean => node.ref !== '' && node.hasPointerCursor

const isGenericText = ({ role, children }: AriaNode): boolean =>
  role === 'generic' && children.every((child) => typeof child === 'string')

/** Appends a text if it is not blank. Returns an empty text. */
function putText(text: string, children: AriaChild[]): string {
  const clean = text === '' ? '' : collapseWhiteSpace(text)
  if (clean !== '') children.push(clean)
  return ''
}

/** Replaces a generic child that is only a text by the text. */
function inlineText(node: AriaNode): void {
  if (hasProperties(node) || node.children.length !== 1) return
  const [child] = node.children
  if (typeof child === 'string' || child.role !== 'generic' || child.name !== '') return
  if (child.isActive || hasProperties(child)) return
  const text = onlyText(child)
  if (text !== null) node.children = [text]
}

/** Returns whether a generic node only repeats the name of its parent. */
function repeatsName(node: AriaNode, parent: AriaNode): boolean {
  if (parent.name === '' || node.isActive || hasProperties(node)) return false
  const text = node.name === '' ? onlyText(node) : node.children.length === 0 ? node.name : null
  return text === parent.name
}
