/**
 * CSS selectors that pierce shadow roots, with pseudo-classes that agents know from other
 * tools: `:has-text("…")`, `:text("…")`, `:text-is("…")`, `:contains("…")`, `:visible`.
 */
import { CallError } from './call-error'
import {
  elementMatches,
  isElement,
  isShadowRoot,
  parentNode,
  previousElement,
  queryAll,
  type Root,
  rootOf,
  shadowRootOf
} from './composed-tree'
import { splitTopLevel } from './styles'
import { elementText, isSmallestMatch } from './text'
import { parseMatcher } from './text-matcher'
import { isVisible } from './visibility'

/** Returns all shadow roots in a root or element, nested ones too. */
export function shadowRoots(root: Root | Element): ShadowRoot[] {
  const found: ShadowRoot[] = []
  const collect = (from: Root | Element): void => {
    const elements = queryAll(from, '*')
    for (let i = 0; i < elements.length; i++) {
      const shadow = shadowRootOf(elements[i])
      if (shadow) {
        found.push(shadow)
        collect(shadow)
      }
    }
  }
  if (isElement(root)) {
    const own = shadowRootOf(root)
    if (own) {
      found.push(own)
      collect(own)
    }
  }
  collect(root)
  return found
}

type Test = (element: Element) => boolean

interface Step {
  /** The combinator before this step, "" for the first step. */
  combinator: string
  selector: string
  tests: Test[]
}

const customPseudoClasses = /:(has-text|text-is|text|contains|visible)(?=[(:.#[\s>+~,)]|$)/

export function queryCss(selector: string, scope: Root | Element): Element[] {
  const roots = shadowRoots(scope)
  const plain = !customPseudoClasses.test(selector)
  if (plain && roots.length === 0) return Array.from(queryNative(scope, selector, selector))
  const found = new Set<Element>()
  for (const part of splitTopLevel(selector, ',')) {
    const steps = parseSteps(part.trim(), selector)
    const last = steps[steps.length - 1]
    for (const root of [scope, ...roots]) {
      for (const element of queryNative(root, last.selector, selector)) {
        if (
          last.tests.every((test) => test(element)) &&
          matchesBefore(element, steps, steps.length - 1, scope)
        )
          found.add(element)
      }
    }
  }
  return Array.from(found)
}

/** A line of a snapshot: `button "Save" [ref=e12]`. */
const SNAPSHOT_LINE = /^(?:- )?(\w+) ("(?:[^"\\]|\\.)*")(?:.*\[ref=(\w+)\])?/

function invalidSelector(selector: string): CallError {
  const [line, role, name, ref] = SNAPSHOT_LINE.exec(selector) ?? []
  const target = ref ?? `role=${role}[name=${name}]`
  const message = `${selector} is not a valid CSS selector`
  const suggestion = line && `for this line of a snapshot, pass the \`selector\` ${target}`
  return new CallError('INVALID_SELECTOR', message, { selector }, suggestion)
}

function queryNative(root: Root | Element, selector: string, whole: string): NodeListOf<Element> {
  try {
    return queryAll(root, selector)
  } catch {
    throw invalidSelector(whole)
  }
}

function matchesBefore(
  element: Element,
  steps: Step[],
  index: number,
  scope: Root | Element
): boolean {
  if (index === 0) return true
  const step = steps[index - 1]
  const matches = (candidate: Element): boolean => {
    if (step.selector === ':scope') return candidate === scope
    return (
      elementMatches(candidate, step.selector) &&
      step.tests.every((test) => test(candidate)) &&
      matchesBefore(candidate, steps, index - 1, scope)
    )
  }
  switch (steps[index].combinator) {
    case '>': {
      const parent = parentAcross(element)
      return parent !== null && matches(parent)
    }
    case '+': {
      const before = previousElement(element)
      return before !== null && matches(before)
    }
    case '~':
      for (let before = previousElement(element); before; before = previousElement(before))
        if (matches(before)) return true
      return false
    default:
      for (let parent = parentAcross(element); parent; parent = parentAcross(parent))
        if (matches(parent)) return true
      return false
  }
}

/** Returns the parent element, or the host of the shadow root that contains the element. */
export function parentAcross(element: Element): Element | null {
  const parent = parentNode(element)
  if (parent === null) return null
  if (isShadowRoot(parent)) return parent.host
  return isElement(parent) ? parent : null
}

/** Splits `a > b c` into compound selectors, and extracts Troupe's own pseudo-classes. */
function parseSteps(selector: string, whole: string): Step[] {
  const steps: Step[] = []
  let current = ''
  let combinator = ''
  let depth = 0
  let quote = ''
  const put = (next: string): void => {
    if (current !== '') {
      steps.push(readStep(current, combinator, whole))
      current = ''
      combinator = next
    } else if (next !== ' ') {
      if (steps.length === 0) steps.push({ combinator: '', selector: ':scope', tests: [] })
      combinator = next
    }
  }
  for (let i = 0; i < selector.length; i++) {
    const char = selector[i]
    if (char === '\\') current += char + (selector[++i] ?? '')
    else if (quote) {
      current += char
      if (char === quote) quote = ''
    } else if (char === '"' || char === "'") current += quote = char
    else if (depth === 0 && /[\s>+~]/.test(char)) put(/\s/.test(char) ? ' ' : char)
    else {
      if (char === '(' || char === '[') depth++
      if (char === ')' || char === ']') depth--
      current += char
    }
  }
  put(' ')
  if (steps.length === 0) throw invalidSelector(whole)
  return steps
}

function readStep(compound: string, combinator: string, whole: string): Step {
  const tests: Test[] = []
  let selector = compound
  for (
    let match = customPseudoClasses.exec(selector);
    match;
    match = customPseudoClasses.exec(selector)
  ) {
    const name = match[1]
    let end = match.index + match[0].length
    let body = ''
    if (selector[end] === '(') {
      const close = closingParenthesis(selector, end)
      body = selector.slice(end + 1, close)
      end = close + 1
    }
    selector = selector.slice(0, match.index) + selector.slice(end)
    tests.push(makeTest(name, body, whole))
  }
  return { combinator, selector: selector === '' ? '*' : selector, tests }
}

/** Returns the index of the parenthesis that closes the one at `open`. */
function closingParenthesis(text: string, open: number): number {
  let depth = 0
  let quote = ''
  for (let i = open; i < text.length; i++) {
    const char = text[i]
    if (char === '\\') i++
    else if (quote) quote = char === quote ? '' : quote
    else if (char === '"' || char === "'") quote = char
    else if (char === '(') depth++
    else if (char === ')' && --depth === 0) return i
  }
  return text.length
}

function makeTest(name: string, body: string, whole: string): Test {
  if (name === 'visible') return isVisible
  if (body.trim() === '')
    throw new CallError('INVALID_SELECTOR', `:${name}() in ${whole} has no text`, {
      selector: whole
    })
  const unquoted = body.trim().replace(/^(["'])(.*)\1$/s, '$2')
  if (name === 'text-is') return isSmallestMatch(parseMatcher(JSON.stringify(unquoted), whole))
  const matcher = parseMatcher(/^\s*\//.test(body) ? body : unquoted, whole)
  if (name === 'text') return isSmallestMatch(matcher)
  return (element) => matcher.test(elementText(element))
}

/** Returns whether an element is in a scope, inside shadow roots too. */
export function isBelow(scope: Root | Element, element: Element): boolean {
  for (let node: Node | null = element; node;) {
    if (node === scope) return true
    const parent: Node | null = parentNode(node)
    node = parent === null ? (isShadowRoot(node) ? node.host : null) : parent
  }
  return rootOf(element) === scope
}
