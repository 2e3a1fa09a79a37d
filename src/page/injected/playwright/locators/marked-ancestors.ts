/** Marks elements, and everything that contains them. */
import { isShadowRoot, parentNode } from '../../dom/composed-tree'

export class MarkedAncestors {
  private readonly marked = new Set<Node>()

  has(node: Node): boolean {
    return this.marked.has(node)
  }

  add(node: Node): void {
    for (let each: Node | null = node; each && !this.marked.has(each);) {
      this.marked.add(each)
      each = parentNode(each) ?? (isShadowRoot(each) ? each.host : null)
    }
  }
}
