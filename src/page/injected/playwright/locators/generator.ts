/** Generates the locator that Playwright chooses for an element. */
import { documentElement, elementClosest, elementMatches, isHtml } from '../../dom/composed-tree'
import { parentAcross } from '../../dom/css'
import { boxOf } from '../playwright-visibility'
import { candidatesFor, nthScore, scoreOf, type Token } from './candidates'
import { cssFallback } from './css-fallback'
import type { Evaluator } from './evaluator'
import { roleMatcher } from './role-engine'
import { isInside } from './scope'
import { internalTextMatcher } from './text-matcher'

/** Maximum position in a locator: `nth(6)` does not identify an element reliably. */
const maxIndex = 5

const interactive = 'button,select,input,[role=button],[role=checkbox],[role=radio],a,[role=link]'

/** Returns the selector of an element. Texts in a button or link are found by the button. */
export function generateSelector(
  evaluator: Evaluator,
  element: Element,
  testIdAttribute: string
): string {
  const target = clickableFor(element)
  const generator = new Generator(evaluator, testIdAttribute)
  return joinTokens(generator.tokensFor(target, true, false) ?? cssFallback(evaluator, target))
}

/** Returns the button, link or field that contains an element, or else the element. */
function clickableFor(element: Element): Element {
  if (elementMatches(element, 'input,textarea,select')) return element
  if (isHtml(element) && element.isContentEditable) return element
  for (let start: Element | null = element; start;) {
    const parent = elementClosest(start, interactive)
    if (parent) return boxOf(parent).visible ? parent : element
    const root = start.getRootNode()
    start = root instanceof ShadowRoot ? root.host : null
  }
  return element
}

const nthToken = (index: number): Token => ({
  engine: 'nth',
  body: String(index),
  score: nthScore
})

class Generator {
  private readonly evaluator: Evaluator
  private readonly testIdAttribute: string
  private readonly found = new Map<string, Element[]>()
  /** The tokens of ancestors, by whether they may contain texts. */
  private readonly ancestors = {
    withText: new Map<Element, Token[] | null>(),
    withoutText: new Map<Element, Token[] | null>()
  }

  constructor(evaluator: Evaluator, testIdAttribute: string) {
    this.evaluator = evaluator
    this.testIdAttribute = testIdAttribute
  }

  /** Returns the best tokens for an element, null if no candidate finds it. */
  tokensFor(element: Element, isTarget: boolean, noText: boolean): Token[] | null {
    if (element === documentElement()) return [{ engine: 'css', body: 'html', score: 1 }]
    const { testIdAttribute } = this
    let best: Token[] | null = null
    let bestScore = Infinity
    const offer = (tokens: Token[]): void => {
      const score = scoreOf(tokens)
      if (score >= bestScore) return
      best = tokens
      bestScore = score
    }
    const options = { testIdAttribute, isTarget, noText }
    for (const { tokens, isText, score } of candidatesFor(element, this.evaluator.texts, options)) {
      // All further candidates are worse, with or without an ancestor.
      if (score >= bestScore) break
      const elements = this.elementsAround(element, tokens)
      const index = elements.indexOf(element)
      if (index === -1) continue
      if (elements.length === 1) {
        offer(tokens)
        break
      }
      offer([...tokens, nthToken(index)])
      if (!isTarget) continue
      for (const [parent, siblings] of this.enclosing(element, elements)) {
        const inner = siblings.indexOf(element)
        if (inner === index && siblings.length > 1) continue
        const inParent = siblings.length === 1 ? tokens : [...tokens, nthToken(inner)]
        if (scoreOf([{ engine: '', body: '', score: 1 }, ...inParent]) >= bestScore) continue
        const outer = this.ancestorTokens(parent, noText || isText)
        if (outer) offer([...outer, ...inParent])
      }
    }
    return best
  }

  /** Returns the tokens of an ancestor. A CSS path would be worse than any position. */
  private ancestorTokens(parent: Element, noText: boolean): Token[] | null {
    const cache = noText ? this.ancestors.withoutText : this.ancestors.withText
    let tokens = cache.get(parent)
    if (tokens === undefined) cache.set(parent, (tokens = this.tokensFor(parent, false, noText)))
    return tokens
  }

  /** Yields the ancestors that contain few of the elements, and the elements in them. */
  private *enclosing(element: Element, elements: Element[]): Iterable<[Element, Element[]]> {
    for (let parent = parentAcross(element); parent; parent = parentAcross(parent)) {
      const outer = parent
      const inside: Element[] = []
      for (const each of elements) {
        if (each !== outer && isInside(outer, each)) inside.push(each)
        if (inside.length > maxIndex) return
      }
      yield [outer, inside]
    }
  }

  /**
   * Returns the first elements of a candidate in their order, up to some after `element`. Returns
   * an empty list if `element` is not among the first ones.
   */
  private elementsAround(element: Element, tokens: Token[]): Element[] {
    const { candidates, tests } = this.search(element, tokens)
    const matches = (each: Element): boolean => tests.every((test) => test(each))
    if (!matches(element)) return []
    // With shadow roots, the elements in an ancestor may not be adjacent in this list.
    const hasShadowRoots = this.evaluator.query.shadowRootsIn(document).length > 0
    const found: Element[] = []
    let index = -1
    for (const each of candidates) {
      if (each === element) index = found.length
      else if (!matches(each)) continue
      found.push(each)
      if (index === -1 && found.length > maxIndex) return []
      if (index !== -1 && !hasShadowRoots && found.length > index + maxIndex + 1) break
    }
    return found
  }

  /** Returns the elements that a candidate may find, and the tests that decide it. */
  private search(element: Element, [first, filter]: Token[]): Search {
    const search = this.searchFirst(element, first)
    if ((filter as Token | undefined) === undefined) return search
    const { texts } = this.evaluator
    const { matches } = internalTextMatcher(filter.body)
    return { ...search, tests: [...search.tests, (each) => matches(texts.of(each))] }
  }

  private searchFirst(element: Element, token: Token): Search {
    const { evaluator } = this
    const { engine, body } = token
    if (engine === 'internal:role') {
      const { role, matches } = roleMatcher(evaluator.roles, body, true)
      const candidates = this.cached(`${engine} ${role}`, () =>
        evaluator.roles.candidates(document, role)
      )
      return { candidates, tests: [matches] }
    }
    const candidates = this.cached(`${engine}=${body}`, () => {
      if (engine === 'css') return evaluator.query.all(document, body)
      if (engine === 'internal:text')
        return evaluator.byText(document, internalTextMatcher(body), ancestorsOf(element))
      return evaluator.all({ parts: [{ engine, body }] }, document)
    })
    return { candidates, tests: candidates.includes(element) ? [] : [() => false] }
  }

  private cached(key: string, query: () => Element[]): Element[] {
    let found = this.found.get(key)
    if (found === undefined) {
      try {
        found = query()
      } catch {
        // A CSS string cannot contain a line break.
        found = []
      }
      this.found.set(key, found)
    }
    return found
  }
}

interface Search {
  candidates: Element[]
  tests: ((element: Element) => boolean)[]
}

function ancestorsOf(element: Element): Set<Element> {
  const ancestors = new Set<Element>()
  for (let parent = parentAcross(element); parent; parent = parentAcross(parent))
    ancestors.add(parent)
  return ancestors
}

function joinTokens(tokens: Token[]): string {
  return tokens
    .map(({ engine, body }) => (engine === 'css' ? body : `${engine}=${body}`))
    .reduce(
      (joined, text, index) =>
        joined +
        (tokens[index - 1].engine === 'css' && tokens[index].engine === 'css' ? ' ' : ' >> ') +
        text
    )
}
