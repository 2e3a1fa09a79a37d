/** Finds the element of a target of the Playwright tools, and its locator. */
import type { PlaywrightMatch, PlaywrightTargetArgument, PlaywrightTargetResult } from '../../api'
import { CallError } from '../../dom/call-error'
import { elementMatches } from '../../dom/composed-tree'
import { RefAllocator } from '../../dom/refs'
import { matchOf, requireRef } from '../../targets/resolve'
import { playwrightRefElement } from '../playwright-refs'
import { elementPreview } from './element-preview'
import { checkEngines, Evaluator } from './evaluator'
import { generateSelector } from './generator'
import { parseLocator } from './locator-parser'
import { printLocator } from './locator-printer'
import type { Scope } from './scope'
import {
  enterFrame,
  formatSelector,
  invalidSelector,
  isAnyFrame,
  isEnterFrame,
  type Selector
} from './selector'
import { parseSelector } from './selector-parser'

const defaultTestIdAttribute = 'data-testid'
const maxListedMatches = 10

export function playwrightTarget(argument: PlaywrightTargetArgument): PlaywrightTargetResult {
  const target = argument.target.trim()
  if (target === '' && argument.within !== undefined)
    return generatedResult(new Evaluator(), requireRef(argument.within), 1, argument)
  return /^(f\d+)?e\d+$/.test(target)
    ? resolveRef(target, argument)
    : resolveSelector(target, argument)
}

function resolveRef(ref: string, argument: PlaywrightTargetArgument): PlaywrightTargetResult {
  const element = playwrightRefElement(ref)
  if (!element)
    throw new CallError(
      'ELEMENT_NOT_FOUND',
      `Ref ${ref} not found in the current page snapshot. Try capturing new snapshot.`
    )
  return generatedResult(new Evaluator(), element, 1, argument)
}

/** Returns the result with a generated locator. */
function generatedResult(
  evaluator: Evaluator,
  element: Element,
  count: number,
  argument: PlaywrightTargetArgument
): PlaywrightTargetResult {
  const refs = new RefAllocator(argument.refs)
  const selector = generateSelector(
    evaluator,
    element,
    argument.testIdAttribute ?? defaultTestIdAttribute
  )
  const locator = printLocator(parseSelector(selector))
  return { ...matchOf(element, refs), count, locator, selector, next: refs.next }
}

function resolveSelector(
  target: string,
  argument: PlaywrightTargetArgument
): PlaywrightTargetResult {
  const { selector, text } = parseTarget(target, argument.testIdAttribute)
  const scope = argument.within === undefined ? document : requireRef(argument.within)
  const evaluator = new Evaluator()
  const end = selector.parts.findIndex(isEnterFrame)
  const isInFrame = end !== -1
  const first = isInFrame ? { ...selector, parts: selector.parts.slice(0, end) } : selector
  const found = find(evaluator, first, scope, target)
  if (found.length === 0)
    throw new CallError('ELEMENT_NOT_FOUND', `"${target}" does not match any elements.`)
  const [element] = found
  if (isInFrame) return frameResult(evaluator, element, selector, end, target, argument)
  if (argument.generate) return generatedResult(evaluator, element, found.length, argument)
  const refs = new RefAllocator(argument.refs)
  return {
    ...matchOf(element, refs),
    count: found.length,
    matches: found.length > 1 ? describeMatches(evaluator, found, argument) : [],
    locator: printLocator(selector),
    selector: text,
    next: refs.next
  }
}

/** Returns the first matches of a target, for the error about several. */
function describeMatches(
  evaluator: Evaluator,
  elements: Element[],
  argument: PlaywrightTargetArgument
): PlaywrightMatch[] {
  return elements.slice(0, maxListedMatches).map((element) => {
    const selector = generateSelector(
      evaluator,
      element,
      argument.testIdAttribute ?? defaultTestIdAttribute
    )
    return { tag: elementPreview(element), locator: printLocator(parseSelector(selector)) }
  })
}

function frameResult(
  evaluator: Evaluator,
  element: Element,
  selector: Selector,
  end: number,
  target: string,
  argument: PlaywrightTargetArgument
): PlaywrightTargetResult {
  if (!elementMatches(element, 'iframe, frame'))
    throw invalidSelector(target, 'the element before contentFrame() is not an iframe')
  const refs = new RefAllocator(argument.refs)
  const generated = argument.generate
    ? parseSelector(
        generateSelector(evaluator, element, argument.testIdAttribute ?? defaultTestIdAttribute)
      )
    : { parts: selector.parts.slice(0, end) }
  const rest = { parts: selector.parts.slice(end + 1) }
  const outer = { parts: [...generated.parts, enterFrame] }
  return {
    frame: refs.of(element),
    rest: formatSelector(rest),
    locator: printLocator(outer),
    selector: formatSelector(outer),
    next: refs.next
  }
}

interface ParsedTarget {
  selector: Selector
  /** The selector as text. */
  text: string
}

/** Parses a selector, or else a locator. */
function parseTarget(target: string, testIdAttribute = defaultTestIdAttribute): ParsedTarget {
  let selector: Selector
  let text = target
  try {
    selector = parseSelector(target)
  } catch (selectorError) {
    try {
      selector = parseLocator(target, testIdAttribute)
      text = formatSelector(selector)
    } catch (locatorError) {
      const isLocator = /^\s*(await\s+)?[\w.]+\(/.test(target)
      throw invalidSelector(target, ((isLocator ? locatorError : selectorError) as Error).message)
    }
  }
  try {
    checkEngines(selector)
    checkFrames(selector)
  } catch (error) {
    throw invalidSelector(target, (error as Error).message)
  }
  return { selector, text }
}

/** Checks that the selector selects an element before and after each frame. */
function checkFrames({ parts }: Selector): void {
  parts.forEach((part, index) => {
    if (!isEnterFrame(part)) return
    if (index === 0 || isEnterFrame(parts[index - 1]))
      throw new Error('Selector cannot start with entering frame, select the iframe first')
    if (index === parts.length - 1)
      throw new Error('Selector cannot end with entering frame, select an element in it')
  })
}

/** `frameLocator()` without a selector, for all frames, searches this frame. */
function find(evaluator: Evaluator, selector: Selector, scope: Scope, target: string): Element[] {
  const parts = selector.parts.filter((part) => !isAnyFrame(part))
  try {
    return evaluator.all({ ...selector, parts }, scope)
  } catch (error) {
    throw invalidSelector(target, (error as Error).message)
  }
}
