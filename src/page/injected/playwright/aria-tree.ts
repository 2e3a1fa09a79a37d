/** Builds Playwright's accessibility tree of a document or element. */
import {
  assignedSlotOf,
  attr,
  documentActiveElement,
  firstChild,
  HAS_REFERENCE,
  hasAttr,
  nextSibling,
  nodeType,
  shadowRootOf
} from '../dom/composed-tree'
import { type AriaNode, makeAriaNode } from './aria-node'
import { type ElementFacts, elementFacts } from './element-facts'
import { textAfter, textBefore } from './generated-content'
import { nameByFacts } from './playwright-names'
import type { SnapshotRefs } from './playwright-refs'
import { roleByFacts } from './playwright-roles'
import { playwrightStates } from './playwright-states'
import { boxOf, isAriaHidden, isHiddenFromAria } from './playwright-visibility'

/** Elements with more ancestors are omitted, because each level of the recursion uses the stack. */
const maxDepth = 1000

/** Returns the root of the tree: a fragment, whose only child is the node of `root`. */
export function buildAriaTree(root: Element, refs: SnapshotRefs): AriaNode {
  const fragment = makeAriaNode(root, 'fragment')
  new TreeBuilder(refs).visit(fragment, root, true)
  return fragment
}

class TreeBuilder {
  private readonly refs: SnapshotRefs
  private level = 0
  private readonly active = document.hasFocus() ? documentActiveElement() : null

  constructor(refs: SnapshotRefs) {
    this.refs = refs
  }

  visit(owner: AriaNode, node: Node, isParentVisible: boolean): void {
    const type = nodeType(node)
    if (type === 3) {
      if (isParentVisible && owner.role !== 'textbox') owner.children.push((node as Text).data)
    } else if (type === 1) this.visitElement(owner, node as Element)
  }

  private visitElement(owner: AriaNode, element: Element): void {
    const facts = elementFacts(element)
    // An element that another one owns is visited only once.
    if (facts.isVisited || this.level === maxDepth) return
    facts.isVisited = true
    this.level++
    const isVisible = !isHiddenFromAria(element, facts) || boxOf(element, facts).visible
    const child = isVisible ? this.nodeOf(element, facts) : null
    if (child) owner.children.push(child)
    this.visitContents(child ?? owner, element, facts, isVisible)
    if (child && child.ref !== '' && child.nameSources.length > 0)
      child.namedBy = namingNodes(child)
    this.level--
  }

  private visitContents(
    owner: AriaNode,
    element: Element,
    facts: ElementFacts,
    isVisible: boolean
  ): void {
    const { tag, attributes } = facts
    const { children } = owner
    // Spaces at the ends of a node's own text have no effect.
    const isSeparated = element !== owner.element && (facts.display !== 'inline' || tag === 'br')
    if (isSeparated) children.push(' ')
    const before = textBefore(element, facts)
    if (before !== '') children.push(before)
    const assigned = tag === 'slot' ? (element as HTMLSlotElement).assignedNodes() : noNodes
    if (assigned.length > 0) for (const child of assigned) this.visit(owner, child, isVisible)
    else {
      const root = shadowRootOf(element)
      for (let child = firstChild(element); child; child = nextSibling(child))
        if (root === null || assignedSlotOf(child) === null) this.visit(owner, child, isVisible)
      if (root)
        for (let child = firstChild(root); child; child = nextSibling(child))
          this.visit(owner, child, isVisible)
    }
    if (attributes & HAS_REFERENCE && hasAttr(element, 'aria-owns'))
      for (const owned of ownedElements(element)) this.visit(owner, owned, isVisible)
    const after = textAfter(element, facts)
    if (after !== '') children.push(after)
    if (isSeparated) children.push(' ')
    if (owner.role === 'link' && attributes !== 0 && hasAttr(element, 'href'))
      owner.url = shortenDataUrl(attr(element, 'href') ?? '')
    if (owner.role === 'textbox' && attributes !== 0) {
      const placeholder = attr(element, 'placeholder')
      if (placeholder !== null && placeholder !== owner.name) owner.placeholder = placeholder
    }
  }

  /** Returns the node of a visible element, null if only its contents have lines. */
  private nodeOf(element: Element, facts: ElementFacts): AriaNode | null {
    const isFrame = facts.tag === 'iframe' || facts.tag === 'frame'
    const role = isFrame ? 'iframe' : (roleByFacts(element, facts) ?? 'generic')
    if (role === 'presentation' || role === 'none') return null
    const box = boxOf(element, facts)
    if (role === 'generic' && box.inline && hasOnlyText(element)) return null
    const node = makeAriaNode(element, role)
    node.isActive = element === this.active
    node.isAriaHidden = isAriaHidden(element, facts)
    node.hasPointerCursor = facts.hasPointerCursor
    if (!isFrame) {
      const { text, sources } = nameByFacts(element, facts)
      node.name = text
      node.nameSources = sources
    }
    if (box.visible && (isFrame || facts.receivesPointerEvents)) {
      node.ref = this.refs.of(element, role, node.name)
      facts.node = node
    }
    if (!isFrame) node.states = playwrightStates(element, role, node.isActive)
    else if (node.isActive) node.states = ' [active]'
    if (facts.tag === 'input' || facts.tag === 'textarea') {
      const value = valueOf(element)
      if (value !== null) node.children.push(value)
    }
    return node
  }
}

const noNodes: never[] = []

/** Returns the nodes with a ref whose text is part of the name of a node. */
function namingNodes(node: AriaNode): AriaNode[] {
  const found: AriaNode[] = []
  for (const source of node.nameSources) {
    const other = elementFacts(source).node
    if (other && other !== node) found.push(other)
  }
  return found
}

const hasOnlyText = (element: Element): boolean => {
  const child = firstChild(element)
  return child !== null && nextSibling(child) === null && nodeType(child) === 3
}

const fieldsWithoutText = new Set(['checkbox', 'radio', 'file'])

function valueOf(element: Element): string | null {
  if (element instanceof HTMLTextAreaElement) return element.value
  if (element instanceof HTMLInputElement && element.type === 'password')
    return element.value === '' ? '' : '••••'
  return element instanceof HTMLInputElement && !fieldsWithoutText.has(element.type)
    ? element.value
    : null
}

/** Returns the elements that `aria-owns` references, in the document only. */
const ownedElements = (element: Element): Element[] =>
  (attr(element, 'aria-owns') ?? '')
    .split(/\s+/)
    .map((id) => Document.prototype.getElementById.call(document, id))
    .filter((owned) => owned !== null)

function shortenDataUrl(url: string): string {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1
  return comma < 0 ? url : `${url.slice(0, comma + 1)}…`
}
