/**
 * The model of a selector and a locator: a list of parts, each for one engine. A locator method
 * such as `getByRole` is a part for the engine `internal:role`.
 */
import { CallError } from '../../dom/call-error'

/** Compound selectors, joined by combinators. */
export interface ComplexSelector {
  compounds: CompoundSelector[]
}

export interface CompoundSelector {
  /** The part that the browser evaluates, missing if there are only functions. */
  css?: string
  /** Pseudo-classes that the browser does not know, or that pierce shadow roots here. */
  functions: CssFunction[]
  /** The combinator after this compound selector: `>`, `+`, `~`, or "" for a descendant. */
  combinator: string
}

export interface CssFunction {
  name: string
  args: CssArgument[]
}

export type CssArgument = string | number | ComplexSelector

export interface SelectorPart {
  engine: string
  /** The body as in the selector. */
  body: string
  /** For the engine `css`: the parsed selector list. */
  css?: ComplexSelector[]
  /** For engines such as `internal:has`: the selector in the body. */
  inner?: Selector
}

export interface Selector {
  parts: SelectorPart[]
  /** The index of the part whose element is the result, for `*css=…`. Default: the last part. */
  capture?: number
}

/** Pseudo-classes for the position of elements. As engines, they are parsed but not supported. */
export const layoutEngines = new Set(['left-of', 'right-of', 'above', 'below', 'near'])

/** Engines whose body is a selector. */
export const nestedEngines = new Set([
  'internal:has',
  'internal:has-not',
  'internal:and',
  'internal:or',
  'internal:chain',
  ...layoutEngines
])

export const isEnterFrame = ({ engine, body }: SelectorPart): boolean =>
  engine === 'internal:control' && body === 'enter-frame'

export const isAnyFrame = ({ engine, body }: SelectorPart): boolean =>
  engine === 'internal:control' && body === 'any-frame'

export const enterFrame: SelectorPart = { engine: 'internal:control', body: 'enter-frame' }

/** Creates a part whose body is another selector. */
export const nestedPart = (engine: string, inner: Selector): SelectorPart => ({
  engine,
  body: JSON.stringify(formatSelector(inner)),
  inner
})

function formatPart(part: SelectorPart, isCaptured: boolean): string {
  const { engine, body } = part
  if (isCaptured) return `*${engine}=${body}`
  if (engine === 'css') return body
  if (engine === 'xpath' && (body.startsWith('//') || body.startsWith('..'))) return body
  return `${engine}=${body}`
}

/** Formats a selector as `css >> engine=body`. */
export const formatSelector = ({ parts, capture }: Selector): string =>
  parts.map((part, index) => formatPart(part, index === capture)).join(' >> ')

export const invalidSelector = (selector: string, reason: string): CallError =>
  new CallError(
    'INVALID_SELECTOR',
    `${selector} is not a valid selector: ${reason}`,
    { selector },
    'Pass a ref from the snapshot, a CSS selector, or a locator such as ' +
      "getByRole('button', { name: 'Save' })."
  )
