/** XPath expressions. */
import { isElement, isShadowRoot, type Root } from './composed-tree'

/**
 * Returns the elements that an expression selects, in document order. In a shadow root, expressions
 * are relative to its host, because XPath does not apply to shadow trees. Throws a `DOMException`
 * if the expression is invalid.
 */
export function queryXPath(expression: string, scope: Root | Element): Element[] {
  const result = document.evaluate(
    expression,
    isShadowRoot(scope) ? scope.host : scope,
    null,
    XPathResult.ORDERED_NODE_SNAPSHOT_TYPE,
    null
  )
  const found: Element[] = []
  for (let index = 0; index < result.snapshotLength; index++) {
    const node = result.snapshotItem(index)
    if (isElement(node)) found.push(node)
  }
  return found
}
