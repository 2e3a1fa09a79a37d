/** Finds the elements of selectors, by Playwright's rules. */
import {
  attr,
  documentElement,
  firstElementChild,
  isElement,
  nextElement
} from '../../dom/composed-tree'
import { queryXPath } from '../../dom/xpath'
import { playwrightRefElement } from '../playwright-refs'
import { boxOf } from '../playwright-visibility'
import { parseAttributeSelector } from './attribute-selector'
import { attributeTest } from './conditions'
import { CssEngine } from './css-engine'
import { ElementTexts, labeledSelector } from './element-text'
import { quoteForCss } from './escaping'
import { queryRole, RoleQuery } from './role-engine'
import { inDocumentOrder, PiercingQuery, type Scope } from './scope'
import { isAnyFrame, isEnterFrame, type Selector, type SelectorPart } from './selector'
import { internalTextMatcher, type PlaywrightTextMatcher, textMatcher } from './text-matcher'

const engines = new Set([
  'css',
  'xpath',
  'text',
  'role',
  'id',
  'data-testid',
  'data-test-id',
  'data-test',
  'nth',
  'visible',
  'aria-ref',
  'internal:attr',
  'internal:control',
  'internal:describe',
  'internal:has-not-text',
  'internal:has-text',
  'internal:label',
  'internal:role',
  'internal:testid',
  'internal:text',
  'internal:and',
  'internal:chain',
  'internal:has',
  'internal:has-not',
  'internal:or'
])

/** Checks the engines of a selector and of the selectors in it. Throws if one is unknown. */
export function checkEngines({ parts }: Selector): void {
  for (const { engine, inner } of parts) {
    if (!engines.has(engine)) throw new Error(`Unknown engine "${engine}"`)
    if (inner?.parts.some((part) => isEnterFrame(part) || isAnyFrame(part)))
      throw new Error('Frame locators are not allowed inside composite locators')
    if (inner) checkEngines(inner)
  }
}

const noElements: ReadonlySet<Element> = new Set()

/** Evaluates selectors while the page does not change. */
export class Evaluator {
  readonly query = new PiercingQuery()
  readonly roles = new RoleQuery(this.query)
  private elementTexts: ElementTexts | undefined
  private readonly css = new CssEngine(this.query, () => this.texts)

  get texts(): ElementTexts {
    return (this.elementTexts ??= new ElementTexts(this.query.shadowRootsIn(document)))
  }

  /** Returns all elements of a selector, each once, in the order of Playwright. */
  all(selector: Selector, root: Scope): Element[] {
    const { parts, capture } = selector
    if (capture !== undefined) return this.all(withoutCapture(parts, capture), root)
    let scopes = new Set<Scope>([root])
    for (const part of parts) scopes = new Set(this.next(part, scopes, root))
    return Array.from(scopes).filter((each): each is Element => isElement(each))
  }

  private next(part: SelectorPart, scopes: Set<Scope>, root: Scope): Iterable<Scope> {
    const { engine, body, inner } = part
    if (engine === 'nth') {
      const list = Array.from(scopes)
      const index = Number(body) === -1 ? list.length - 1 : Number(body)
      return list.slice(index, index + 1)
    }
    if (inner && engine === 'internal:and')
      return this.all(inner, root).filter((element) => scopes.has(element))
    if (inner && engine === 'internal:or')
      return inDocumentOrder([...elementsOf(scopes), ...this.all(inner, root)])
    const found = new Set<Scope>()
    for (const scope of scopes) for (const element of this.run(part, scope)) found.add(element)
    return found
  }

  /** Runs the engine of a part in one scope. */
  private run(part: SelectorPart, scope: Scope): Element[] {
    const { engine, body, css, inner } = part
    if (css) return this.css.all(scope, css)
    if (inner && engine === 'internal:chain') return this.all(inner, scope)
    if (inner)
      return filterScope(
        scope,
        (element) => this.all(inner, element).length > 0 === (engine === 'internal:has')
      )
    switch (engine) {
      case 'xpath':
        // `/` and `//` at the start are relative to the scope, like everything else.
        return queryXPath(scope !== document && body.startsWith('/') ? `.${body}` : body, scope)
      case 'text':
        return this.byText(scope, textMatcher(body))
      case 'internal:text':
        return this.byText(scope, internalTextMatcher(body))
      case 'internal:has-text':
      case 'internal:has-not-text': {
        const { matches } = internalTextMatcher(body)
        const expected = engine === 'internal:has-text'
        return filterScope(scope, (element) => matches(this.texts.of(element)) === expected)
      }
      case 'internal:label':
        return this.byLabel(scope, internalTextMatcher(body))
      case 'role':
        return queryRole(this.roles, scope, body, false)
      case 'internal:role':
        return queryRole(this.roles, scope, body, true)
      case 'internal:attr':
      case 'internal:testid':
        return this.byAttribute(scope, body, engine === 'internal:testid')
      case 'id':
      case 'data-testid':
      case 'data-test-id':
      case 'data-test':
        return this.query.all(scope, `[${engine}=${quoteForCss(body)}]`)
      case 'visible':
        return filterScope(scope, (element) => boxOf(element).visible === (body === 'true'))
      case 'internal:describe':
        return filterScope(scope, () => true)
      case 'aria-ref': {
        const element = playwrightRefElement(body)
        return element ? [element] : []
      }
      default:
        return []
    }
  }

  /**
   * Returns the elements with a matching text, by default the smallest ones. `outer` are elements
   * that are known to contain a smaller match.
   */
  byText(
    scope: Scope,
    matcher: PlaywrightTextMatcher,
    outer: ReadonlySet<Element> = noElements
  ): Element[] {
    const { texts } = this
    const found: Element[] = []
    const visit = (element: Element): void => {
      if (outer.has(element)) return visitChildren(element)
      const text = texts.of(element)
      if (!matcher.mayContain(text)) return
      const matches = matcher.findsOuter
        ? !texts.isWithoutText(element) && matcher.matches(text)
        : texts.isSmallestMatch(element, matcher.matches)
      if (matches) found.push(element)
      visitChildren(element)
    }
    const visitChildren = (parent: ParentNode): void => {
      let child = isElement(parent) ? firstElementChild(parent) : parent.firstElementChild
      for (; child; child = nextElement(child)) visit(child)
    }
    const root = scope === document ? documentElement() : scope
    if (isElement(root)) visit(root)
    for (const shadow of this.query.shadowRootsIn(scope))
      if (matcher.mayContain(texts.of(shadow))) visitChildren(shadow)
    return found
  }

  private byLabel(scope: Scope, { matches }: PlaywrightTextMatcher): Element[] {
    return this.query
      .all(scope, labeledSelector)
      .filter((element) => this.texts.labelsOf(element).some(matches))
  }

  private byAttribute(scope: Scope, body: string, isTestId: boolean): Element[] {
    const { name, conditions } = parseAttributeSelector(body)
    if (name !== '' || conditions.length !== 1)
      throw new Error(`Malformed attribute selector: ${body}`)
    const [condition] = conditions
    const names = isTestId ? condition.name.split(',') : [condition.name]
    const test = attributeTest(condition)
    return this.query
      .all(scope, names.map((each) => `[${each}]`).join(','))
      .filter((element) => names.some((each) => matchesAttribute(element, each, test)))
  }
}

function matchesAttribute(
  element: Element,
  name: string,
  test: (text: string) => boolean
): boolean {
  const value = attr(element, name)
  return value !== null && test(value)
}

const elementsOf = (scopes: Set<Scope>): Element[] =>
  Array.from(scopes).filter((each): each is Element => isElement(each))

/** Filters a list of one scope. Engines that filter match only elements. */
const filterScope = (scope: Scope, test: (element: Element) => boolean): Element[] =>
  isElement(scope) && test(scope) ? [scope] : []

/** `*a >> b` finds the elements of `a` that contain an element of `b`. */
function withoutCapture(parts: SelectorPart[], capture: number): Selector {
  if (parts.some(({ engine }) => engine === 'nth'))
    throw new Error("Can't query n-th element in a request with the capture.")
  const inner: Selector = { parts: parts.slice(capture + 1) }
  const has: SelectorPart[] =
    inner.parts.length > 0 ? [{ engine: 'internal:has', body: '', inner }] : []
  return { parts: [...parts.slice(0, capture + 1), ...has] }
}
