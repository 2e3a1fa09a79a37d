// What the snapshot makes of each element of the document, for the comparison with the browser's own tree.
import { bodyOf } from '../../src/page/injected/dom/composed-tree'
import { withCallCache } from '../../src/page/injected/dom/call-cache'
import { nameOf } from '../../src/page/injected/roles/accessible-name'
import { isNode, type TreeNode } from '../../src/page/injected/tree/node'
import { roleOf } from '../../src/page/injected/roles/roles'
import { Walk } from '../../src/page/injected/tree/walk'

/** `index` counts the elements of the document in its order, shadow roots before the children of their hosts. */
interface Told {
  index: number
  role: string
  /** By the rules of accname, and as the line of the snapshot has it: without what its children tell. */
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

function told(): {
  count: number
  lines: Told[]
  rest: { index: number; role: string; html: string }[]
} {
  const elements = elementsOf(document, [])
  const indexes = new Map(elements.map((element, index) => [element, index]))
  const body = bodyOf()
  const lines: Told[] = []
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

;(globalThis as { __told?: () => string }).__told = () => JSON.stringify(withCallCache(told))
