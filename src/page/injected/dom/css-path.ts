/** Creates CSS paths, by which elements are found again in the same page. */
import {
  attr,
  firstElementChild,
  isElement,
  isShadowRoot,
  localName,
  nextElement,
  parentNode,
  queryAll,
  rootOf
} from './composed-tree'

/** Creates CSS paths while the page does not change. Caches the positions of siblings. */
export class Paths {
  private readonly steps = new Map<Element, string>()

  /**
   * Returns `main > form > input:nth-of-type(2)`. Paths through shadow roots are chained with `>>`.
   */
  of(element: Element): string {
    const root = rootOf(element)
    const parts: string[] = []
    let node: Element | null = element
    while (node) {
      const id: string | null = attr(node, 'id')
      if (id && queryAll(root, `#${CSS.escape(id)}`).length === 1) {
        parts.unshift(`#${CSS.escape(id)}`)
        break
      }
      parts.unshift(this.step(node))
      const parent: ParentNode | null = parentNode(node)
      node = isElement(parent) ? parent : null
    }
    const path = parts.join(' > ')
    return isShadowRoot(root) ? `${this.of(root.host)} >> ${path}` : path
  }

  private step(element: Element): string {
    const known = this.steps.get(element)
    if (known !== undefined) return known
    const parent = parentNode(element)
    const first = isElement(parent)
      ? firstElementChild(parent)
      : (parent?.firstElementChild ?? null)
    const ofTag = new Map<string, Element[]>()
    for (let sibling = first; sibling; sibling = nextElement(sibling)) {
      const tag = localName(sibling)
      const same = ofTag.get(tag)
      if (same) same.push(sibling)
      else ofTag.set(tag, [sibling])
    }
    for (const [tag, same] of ofTag)
      same.forEach((each, at) =>
        this.steps.set(
          each,
          same.length === 1 ? CSS.escape(tag) : `${CSS.escape(tag)}:nth-of-type(${at + 1})`
        )
      )
    return this.steps.get(element) ?? CSS.escape(localName(element))
  }
}

export const pathOf = (element: Element): string => new Paths().of(element)
