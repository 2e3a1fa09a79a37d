/**
 * Evaluates CSS selectors by Playwright's rules: combinators cross shadow roots, and some
 * pseudo-classes compare texts, visibility and positions.
 */
import { elementMatches, isElement, previousElement, queryAll } from '../../dom/composed-tree'
import { parentAcross } from '../../dom/css'
import { boxOf } from '../playwright-visibility'
import type { ElementTexts } from './element-text'
import { layoutScore } from './layout'
import { inDocumentOrder, type PiercingQuery, type Scope } from './scope'
import {
  type ComplexSelector,
  type CompoundSelector,
  type CssArgument,
  type CssFunction,
  layoutEngines
} from './selector'
import { immediateMatcher, regexMatcher, substringMatcher } from './text-matcher'

/** Where a selector is evaluated. */
interface CssContext {
  scope: Scope
  /** The element that `:scope` matches. */
  scopeElement: Scope
  /** False inside of `:light()`. */
  pierces: boolean
}

export class CssEngine {
  private readonly query: PiercingQuery
  private readonly texts: () => ElementTexts
  private scores = new Map<Element, number>()
  private readonly listsByFunction = new Map<CssFunction, Map<Scope, Element[]>>()

  constructor(query: PiercingQuery, texts: () => ElementTexts) {
    this.query = query
    this.texts = texts
  }

  /** Returns the elements in a scope that match a selector list. */
  all(scope: Scope, list: ComplexSelector[]): Element[] {
    const native = scope === document ? nativeSelector(list) : null
    if (native !== null && this.query.shadowRootsIn(document).length === 0)
      return Array.from(queryAll(document, native))
    return this.queryList(list, { scope, scopeElement: scope, pierces: true })
  }

  private queryList(list: CssArgument[], context: CssContext): Element[] {
    const found = list.map((each) => this.queryComplex(complexOf(each), context))
    return found.length === 1 ? found[0] : inDocumentOrder(found.flat())
  }

  private matchesList(element: Element, list: CssArgument[], context: CssContext): boolean {
    return list.some((each) => this.matchesComplex(element, complexOf(each), context))
  }

  private queryComplex(selector: ComplexSelector, outer: CssContext): Element[] {
    const context = contextFor(selector, outer)
    const { compounds } = selector
    const last = compounds.length - 1
    const outerScores = this.scores
    const scores = (this.scores = new Map<Element, number>())
    const found = this.queryCompound(compounds[last], context).filter((element) =>
      this.matchesBefore(element, compounds, last - 1, context)
    )
    this.scores = outerScores
    if (scores.size === 0) return found
    const scoreOf = (element: Element): number => scores.get(element) ?? Infinity
    return found.sort((left, right) => {
      const [first, second] = [scoreOf(left), scoreOf(right)]
      return first === second ? 0 : first - second
    })
  }

  private matchesComplex(element: Element, selector: ComplexSelector, outer: CssContext): boolean {
    const context = contextFor(selector, outer)
    const { compounds } = selector
    const last = compounds.length - 1
    return (
      this.matchesCompound(element, compounds[last], context) &&
      this.matchesBefore(element, compounds, last - 1, context)
    )
  }

  private native(css: string, { scope, pierces }: CssContext): Element[] {
    return pierces ? this.query.all(scope, css) : Array.from(queryAll(scope, css))
  }

  private queryCompound(compound: CompoundSelector, context: CssContext): Element[] {
    const { css, functions } = compound
    const isAny = css === undefined || (css === '*' && functions.length > 0)
    // `:nth-match`, `:scope` and similar pseudo-classes find their elements themselves.
    const finder = isAny ? functions.find(({ name }) => finders.has(name)) : undefined
    let found = finder ? this.find(finder, context) : this.native(isAny ? '*' : css, context)
    const others = functions.filter((each) => each !== finder)
    // Functions that only find elements run last, because their results do not depend on the
    // element.
    const isLast = ({ name }: CssFunction): boolean => name === 'nth-match'
    for (const each of [...others.filter((f) => !isLast(f)), ...others.filter(isLast)])
      found = found.filter((element) => this.matchesFunction(element, each, context))
    return found
  }

  private matchesCompound(
    element: Element,
    compound: CompoundSelector,
    context: CssContext
  ): boolean {
    if (element === context.scope) return false
    if (compound.css !== undefined && !elementMatches(element, compound.css)) return false
    return compound.functions.every((each) => this.matchesFunction(element, each, context))
  }

  /** Returns whether the compound selectors up to `index` match before the element. */
  private matchesBefore(
    element: Element,
    compounds: CompoundSelector[],
    index: number,
    context: CssContext
  ): boolean {
    if (index < 0) return true
    const compound = compounds[index]
    const { combinator } = compound
    const isSibling = combinator === '+' || combinator === '~'
    const isStep = combinator === '>' || combinator === '+'
    const previous = (from: Element): Element | null =>
      from === context.scope
        ? null
        : isSibling
          ? previousElement(from)
          : context.pierces
            ? parentAcross(from)
            : from.parentElement
    for (let other = previous(element); other; other = previous(other)) {
      if (this.matchesCompound(other, compound, context)) {
        if (this.matchesBefore(other, compounds, index - 1, context)) return true
        // If the next combinator is the same, no other element can match: the closest one is the
        // best.
        if (!isStep && compounds[index - 1].combinator === combinator) return false
      }
      if (isStep) return false
    }
    return false
  }

  /** Returns the elements of a pseudo-class that finds them itself. */
  private find(call: CssFunction, context: CssContext): Element[] {
    const { name, args } = call
    switch (name) {
      case 'is':
      case 'where':
        return this.queryList(requireArguments(call), context)
      case 'light':
        return this.queryList(args, { ...context, pierces: false })
      case 'scope':
        return scopeElements(context)
      default:
        return this.nthMatch(call, context)
    }
  }

  private nthMatch(call: CssFunction, context: CssContext): Element[] {
    const cached = this.listsByFunction.get(call)?.get(context.scope)
    if (cached) return cached
    const index = call.args[call.args.length - 1]
    if (call.args.length < 2 || typeof index !== 'number' || index < 1)
      throw new Error('"nth-match" expects a selector list and an index that starts at 1')
    const found = this.queryList(call.args.slice(0, -1), context)
    const result = found.slice(index - 1, index)
    this.cache(call, context, result)
    return result
  }

  private cache(call: CssFunction, { scope }: CssContext, elements: Element[]): void {
    const lists = this.listsByFunction.get(call) ?? new Map<Scope, Element[]>()
    this.listsByFunction.set(call, lists.set(scope, elements))
  }

  private matchesFunction(element: Element, call: CssFunction, context: CssContext): boolean {
    const { name, args } = call
    if (layoutEngines.has(name)) return this.matchesLayout(element, call, context)
    switch (name) {
      case 'is':
      case 'where':
        return this.matchesList(element, requireArguments(call), context)
      case 'not':
        return !this.matchesList(element, requireArguments(call), context)
      case 'has':
        return (
          this.queryList(requireArguments(call), {
            ...context,
            scope: element,
            scopeElement: context.scopeElement === context.scope ? element : context.scopeElement
          }).length > 0
        )
      case 'light':
        return this.matchesList(element, args, { ...context, pierces: false })
      case 'scope':
        return scopeElements(context).includes(element)
      case 'visible':
        return boxOf(element).visible
      case 'nth-match':
        return this.nthMatch(call, context).includes(element)
      default:
        return this.matchesText(element, call)
    }
  }

  private matchesText(element: Element, { name, args }: CssFunction): boolean {
    const [text, flags] = args
    if (typeof text !== 'string') throw new Error(`"${name}" engine expects a string`)
    const texts = this.texts()
    switch (name) {
      case 'has-text':
        return !texts.isWithoutText(element) && substringMatcher(text).matches(texts.of(element))
      case 'text':
        return texts.isSmallestMatch(element, substringMatcher(text).matches)
      case 'text-is':
        return !texts.isWithoutText(element) && immediateMatcher(text).matches(texts.of(element))
      default: {
        const matcher = regexMatcher(new RegExp(text, typeof flags === 'string' ? flags : ''))
        return matcher !== null && texts.isSmallestMatch(element, matcher.matches)
      }
    }
  }

  private matchesLayout(element: Element, call: CssFunction, context: CssContext): boolean {
    const { name, args } = call
    const distance = args[args.length - 1]
    const hasDistance = typeof distance === 'number'
    let others = this.listsByFunction.get(call)?.get(context.scope)
    if (others === undefined) {
      others = this.queryList(hasDistance ? args.slice(0, -1) : args, context)
      this.cache(call, context, others)
    }
    const score = layoutScore(name, element, others, hasDistance ? distance : undefined)
    if (score === undefined) return false
    this.scores.set(element, score)
    return true
  }
}

/** Pseudo-classes that find elements without a list to filter. */
const finders = new Set(['is', 'where', 'light', 'scope', 'nth-match'])

function complexOf(argument: CssArgument): ComplexSelector {
  if (typeof argument === 'object') return argument
  throw new Error(`Unexpected ${JSON.stringify(argument)} in place of a selector`)
}

function requireArguments({ name, args }: CssFunction): CssArgument[] {
  if (args.length === 0) throw new Error(`"${name}" engine expects non-empty selector list`)
  return args
}

function scopeElements({ scopeElement }: CssContext): Element[] {
  if (scopeElement === document) return [document.documentElement]
  return isElement(scopeElement) ? [scopeElement] : []
}

/** With `:scope`, ancestors up to the parent of the scope can match too. */
function contextFor({ compounds }: ComplexSelector, context: CssContext): CssContext {
  const { scope } = context
  const hasScope = compounds.some(({ functions }) => functions.some(({ name }) => name === 'scope'))
  const parent = hasScope && isElement(scope) ? parentAcross(scope) : null
  if (!parent) return context
  return { ...context, scope: parent }
}

/** Returns a selector list that the browser evaluates equally, null if there is none. */
function nativeSelector(list: ComplexSelector[]): string | null {
  const parts: string[] = []
  for (const { compounds } of list) {
    let text = ''
    for (const { css, functions, combinator } of compounds) {
      if (css === undefined || functions.length > 0) return null
      text += `${css} ${combinator} `
    }
    parts.push(text)
  }
  return parts.join(',')
}
