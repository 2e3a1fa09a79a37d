/** Reads the text of elements as targets compare it, and implements the engine `text=…`. */
import {
  bodyOf,
  documentElement,
  eachComposedChild,
  firstChild,
  firstElementChild,
  isElement,
  localName,
  nextSibling,
  nodeType,
  normalize,
  type Root,
  shadowRootOf,
  textContent
} from './composed-tree'
import type { TextMatcher } from './text-matcher'

const noText = new Set(['script', 'style', 'noscript', 'template', 'head', 'title'])

function fieldText(element: Element): string | null {
  if (
    element instanceof HTMLInputElement &&
    (element.type === 'submit' || element.type === 'button' || element.type === 'reset')
  )
    return element.value
  return null
}

function collect(element: Element, parts: string[]): void {
  const field = fieldText(element)
  if (field !== null) {
    parts.push(field)
    return
  }
  if (
    firstElementChild(element) === null &&
    shadowRootOf(element) === null &&
    localName(element) !== 'slot'
  ) {
    parts.push(textContent(element))
    return
  }
  eachComposedChild(element, (child) => {
    if (nodeType(child) === 3) parts.push((child as Text).data)
    else if (isElement(child)) {
      const tag = localName(child)
      if (tag === 'br') parts.push('\n')
      else if (!noText.has(tag)) collect(child, parts)
    }
  })
}

/**
 * Returns all text of an element, with hidden text and shadow trees, without scripts and styles.
 */
export function elementText(element: Element): string {
  const parts: string[] = []
  if (!noText.has(localName(element))) collect(element, parts)
  return normalize(parts.join(''))
}

/** Returns the texts that are direct children of an element. */
function ownTexts(element: Element): string[] {
  const field = fieldText(element)
  if (field !== null) return [normalize(field)]
  const texts: string[] = []
  let run = ''
  for (let child = firstChild(element); child; child = nextSibling(child)) {
    if (nodeType(child) === 3) run += (child as Text).data
    else if (nodeType(child) === 1) {
      texts.push(normalize(run))
      run = ''
    }
  }
  texts.push(normalize(run))
  return texts
}

function matchesText(element: Element, matcher: TextMatcher): boolean {
  if (matcher.test(elementText(element))) return true
  return matcher.exact && matcher.needle !== '' && ownTexts(element).some(matcher.test)
}

/** Returns a test for elements that match and have no matching child. */
export function isSmallestMatch(matcher: TextMatcher): (element: Element) => boolean {
  return (element) => {
    if (noText.has(localName(element)) || !matchesText(element, matcher)) return false
    let below = false
    eachComposedChild(element, (child) => {
      if (
        !below &&
        isElement(child) &&
        !noText.has(localName(child)) &&
        matchesBelow(child, matcher)
      )
        below = true
    })
    return !below
  }
}

function matchesBelow(element: Element, matcher: TextMatcher): boolean {
  if (matchesText(element, matcher)) return true
  if (!matcher.exact) return false
  let below = false
  eachComposedChild(element, (child) => {
    if (!below && isElement(child) && !noText.has(localName(child)))
      below = matchesBelow(child, matcher)
  })
  return below
}

/** Returns the smallest elements whose text matches, in document order. */
export function queryText(matcher: TextMatcher, scope: Root | Element): Element[] {
  const found: Element[] = []
  const mayContainMatch = (text: string): boolean =>
    matcher.exact ? matcher.needle === null || text.includes(matcher.needle) : matcher.test(text)
  const visit = (element: Element): boolean => {
    if (noText.has(localName(element))) return false
    const text = elementText(element)
    // A pattern with anchors can match a part without matching the whole, so patterns search every
    // branch.
    if (matcher.needle !== null && !mayContainMatch(text)) return false
    let below = false
    eachComposedChild(element, (child) => {
      if (isElement(child) && visit(child)) below = true
    })
    if (below) return true
    if (!matcher.test(text) && !(matcher.exact && ownTexts(element).some(matcher.test)))
      return false
    found.push(element)
    return true
  }
  if (isElement(scope)) eachComposedChild(scope, (child) => void (isElement(child) && visit(child)))
  else if (nodeType(scope) === 9) {
    const start = bodyOf() ?? documentElement()
    if (start) visit(start)
  } else
    for (let child = firstChild(scope); child; child = nextSibling(child))
      if (isElement(child)) visit(child)
  return found
}
