/** Elements of a scope and of all shadow roots in it, and their order. */
import { isElement, queryAll, type Root } from '../../dom/composed-tree'
import { parentAcross, shadowRoots } from '../../dom/css'

export type Scope = Root | Element

/** Runs CSS selectors in a scope and its shadow roots, for one call. */
export class PiercingQuery {
  private readonly rootsInScope = new Map<Scope, ShadowRoot[]>()
  private readonly hasShadowRoots: boolean

  constructor() {
    this.hasShadowRoots = this.shadowRootsIn(document).length > 0
  }

  /** Returns the shadow roots in a scope. Outer roots come first. */
  shadowRootsIn(scope: Scope): ShadowRoot[] {
    if (this.hasShadowRoots === false) return []
    let roots = this.rootsInScope.get(scope)
    if (roots === undefined) this.rootsInScope.set(scope, (roots = shadowRoots(scope)))
    return roots
  }

  /** Returns the matching elements. Those in shadow roots come last. */
  all(scope: Scope, css: string): Element[] {
    const found = Array.from(queryAll(scope, css))
    for (const root of this.shadowRootsIn(scope)) found.push(...queryAll(root, css))
    return found
  }
}

/** Returns whether an element is a descendant of another one, in shadow roots too. */
export function isInside(outer: Element, inner: Element): boolean {
  for (let node: Element | null = inner; node; node = hostOf(node))
    if (outer.contains(node)) return true
  return false
}

function hostOf(element: Element): Element | null {
  const root = element.getRootNode()
  return root instanceof ShadowRoot ? root.host : null
}

/** Returns the elements in the order of the document. Shadow trees follow the light tree. */
export function inDocumentOrder(elements: Iterable<Element>): Element[] {
  return Array.from(new Set(elements)).sort((left, right) => {
    const leftPath = ancestorsOf(left)
    const rightPath = ancestorsOf(right)
    let depth = 0
    while (leftPath[depth] !== undefined && leftPath[depth] === rightPath[depth]) depth++
    const leftChild = leftPath[depth] as Element | undefined
    const rightChild = rightPath[depth] as Element | undefined
    if (leftChild === undefined) return -1
    if (rightChild === undefined) return 1
    const isLeftLight = isElement(leftChild.parentNode)
    const isRightLight = isElement(rightChild.parentNode)
    if (isLeftLight !== isRightLight) return isLeftLight ? -1 : 1
    return leftChild.compareDocumentPosition(rightChild) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1
  })
}

/** Returns an element and its ancestors, from the outermost one. */
function ancestorsOf(element: Element): Element[] {
  const path: Element[] = []
  for (let node: Element | null = element; node; node = parentAcross(node)) path.push(node)
  return path.reverse()
}
