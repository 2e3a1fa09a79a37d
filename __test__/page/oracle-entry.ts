// Returns roles and names of all elements in the document, to compare them with the browser's
// accessibility tree.
import { bodyOf } from '../../src/page/injected/dom/composed-tree'
import { withCallCache } from '../../src/page/injected/dom/call-cache'
import { nameOf } from '../../src/page/injected/roles/accessible-name'
import { isNode, type TreeNode } from '../../src/page/injected/tree/node'
import { roleOf } from '../../src/page/injected/roles/roles'
import { Walk } from '../../src/page/injected/tree/walk'

/**
 * `index` counts the elements in document order, shadow roots before the children of their hosts.
 */
interface ReadElement {
  index: number
  role: string
  /** The accessible name, and the name in the line, which omits text of the children. */
  name: string
  shown: string
  html: string
}

function elementsOf(node: Node, elements: Element[]): Element[] {
  for (let child = node.firstChild; child; child = child.nextSibling) {
    if (child.nodeType !== 1) continue
    elements.push(child as Element)
    const shadow = (child as Element).shadowRoot
    if (shadow) elementsOf(shadow, elements)
    elementsOf(child, elements)
  }
  return elements
}

function describePage(): {
  count: number
  lines: ReadElement[]
  rest: { index: number; role: string; html: string }[]
} {
  const elements = elementsOf(document, [])
  const indexes = new Map(elements.map((element, index) => [element, index]))
  const body = bodyOf()
  const lines: ReadElement[] = []
  const html = (element: Element): string => element.outerHTML.replace(/\s+/g, ' ').slice(0, 120)
  const visit = (node: TreeNode): void => {
    for (const child of node.children) {
      if (!isNode(child)) continue
      const { element, role, name: shown } = child
      const index = indexes.get(element)
      if (index !== undefined)
        lines.push({ index, role, name: nameOf(element, role), shown, html: html(element) })
      visit(child)
    }
  }
  if (body)
    visit(
      new Walk({ interactive: false, depth: Infinity, fold: Infinity, cursors: false }).run(
        body,
        true
      )
    )
  const seen = new Set(lines.map(({ index }) => index))
  const rest = elements
    .map((element, index) => ({ index, role: roleOf(element), html: html(element) }))
    .filter(({ index }) => !seen.has(index))
  return { count: elements.length, lines, rest }
}

;(globalThis as { __describePage?: () => string }).__describePage = () =>
  JSON.stringify(withCallCache(describePage))
