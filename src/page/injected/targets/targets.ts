/** Parses a target and finds its elements. */
import { CallError } from '../dom/call-error'
import { attr, elementMatches, normalize, type Root } from '../dom/composed-tree'
import { isBelow, queryCss } from '../dom/css'
import { elementByRef, isRef } from '../dom/refs'
import { isHiddenForAria, splitTopLevel } from '../dom/styles'
import { queryAllDeep } from '../dom/test-ids'
import { elementText, queryText } from '../dom/text'
import { parseMatcher, parseRegex, type TextMatcher, unescape } from '../dom/text-matcher'
import { isVisible } from '../dom/visibility'
import { queryXPath } from '../dom/xpath'
import { labelsOf, nameOf } from '../roles/accessible-name'
import { checkedOf, expandedOf, isDisabled, levelOf } from '../roles/aria-states'
import { labelledByElements } from '../roles/explicit-name'
import { knownRoles, roleOf } from '../roles/roles'
import { lineTexts } from '../tree/build'
import { queryTextAttributes } from './text-attributes'

export interface TargetPart {
  engine: string
  body: string
}

const engines = new Set([
  'css',
  'xpath',
  'text',
  'role',
  'label',
  'placeholder',
  'testid',
  'data-testid',
  'data-test-id',
  'data-test',
  'alt',
  'title',
  'id',
  'nth',
  'visible',
  'has-text',
  'ref',
  'aria-ref'
])

/** Splits a chain into parts. The engine of a part is its prefix, or inferred from its form. */
export function parseTarget(target: string): TargetPart[] {
  const text = target.trim()
  if (text === '')
    throw new CallError('INVALID_SELECTOR', 'the target is empty', { selector: target })
  return splitTopLevel(text, '>>').map((piece) => {
    const part = piece.trim()
    const prefix = /^([a-z-]+)\s*=\s*/.exec(part)
    if (prefix && engines.has(prefix[1]))
      return { engine: prefix[1], body: part.slice(prefix[0].length) }
    if (/^\(*\s*(\/\/?|\.\.?\/|\.\.$)/.test(part)) return { engine: 'xpath', body: part }
    if (isRef(part)) return { engine: 'ref', body: part }
    if (/^(["']).+\1$/s.test(part)) return { engine: 'text', body: part }
    if (part === '')
      throw new CallError('INVALID_SELECTOR', `${target} has an empty part`, { selector: target })
    return { engine: 'css', body: part }
  })
}

/** Returns all elements that match a target, in document order, inside shadow roots too. */
export function findAll(target: string): Element[] {
  let scopes: (Root | Element)[] = [document]
  let found: Element[] = []
  const parts = parseTarget(target)
  parts.forEach((part, index) => {
    if (part.engine === 'nth') {
      const nth = parseInt(part.body, 10)
      if (Number.isNaN(nth))
        throw new CallError('INVALID_SELECTOR', `nth=${part.body} in ${target} is not a number`, {
          selector: target
        })
      const one = found[nth < 0 ? found.length + nth : nth]
      found = one ? [one] : []
    } else if (part.engine === 'visible')
      found = found.filter((element) => isVisible(element) === (part.body !== 'false'))
    else if (part.engine === 'has-text' && index > 0) {
      const matcher = parseMatcher(part.body, target)
      // A quoted text matches the whole text of the element, or a whole line of its snapshot.
      found = found.filter(
        (element) =>
          matcher.test(elementText(element)) ||
          (matcher.exact && lineTexts(element).some(matcher.test))
      )
    } else {
      const set = new Set<Element>()
      for (const scope of scopes)
        for (const element of findIn(part, scope, target)) set.add(element)
      found = Array.from(set)
    }
    scopes = found
  })
  return found
}

function findIn(part: TargetPart, scope: Root | Element, target: string): Element[] {
  const { engine, body } = part
  switch (engine) {
    case 'ref':
    case 'aria-ref': {
      const element = elementByRef(body)
      return element && isBelow(scope, element) ? [element] : []
    }
    case 'xpath':
      return queryRelativeXPath(body, scope, target)
    case 'text':
      return queryTextOrAttributes(parseMatcher(body, target), scope)
    case 'role':
      return queryRole(body, scope, target)
    case 'label':
      return queryLabel(parseMatcher(body, target), scope)
    case 'placeholder':
    case 'alt':
    case 'title':
      return queryAttribute(engine, parseMatcher(body, target), scope)
    case 'testid':
    case 'data-testid':
    case 'data-test-id':
    case 'data-test':
    case 'id': {
      const name = engine === 'testid' ? 'data-testid' : engine
      const expected = body.replace(/^(["'])(.*)\1$/s, '$2')
      const pattern = /^\/(.+)\/([a-z]*)$/s.exec(body)
      const regex = pattern ? parseRegex(pattern[1], pattern[2], target) : null
      return queryAllDeep(`[${name}]`, scope).filter((element) => {
        const value = attr(element, name) ?? ''
        return regex ? regex.test(value) : value === expected
      })
    }
    default:
      return queryCss(body, scope)
  }
}

/**
 * Returns the elements with a matching text. If none is visible, matches names, placeholders,
 * values and titles.
 */
function queryTextOrAttributes(matcher: TextMatcher, scope: Root | Element): Element[] {
  const found = queryText(matcher, scope)
  if (found.some(isVisible)) return found
  const byAttributes = queryTextAttributes(matcher, scope).map(({ element }) => element)
  return byAttributes.length > 0 ? byAttributes : found
}

function queryRelativeXPath(body: string, scope: Root | Element, target: string): Element[] {
  const expression = scope === document ? body : body.replace(/^(\(*)\//, '$1./')
  try {
    return queryXPath(expression, scope)
  } catch (error) {
    throw new CallError(
      'INVALID_SELECTOR',
      `${target} is not a valid XPath: ${(error as Error).message}`,
      { selector: target }
    )
  }
}

function queryAttribute(name: string, matcher: TextMatcher, scope: Root | Element): Element[] {
  return queryAllDeep(`[${name}]`, scope).filter((element) =>
    matcher.test(normalize(attr(element, name) ?? ''))
  )
}

const labelled =
  'input, select, textarea, button, meter, output, progress, [aria-label], [aria-labelledby], [contenteditable]'

function queryLabel(matcher: TextMatcher, scope: Root | Element): Element[] {
  return queryAllDeep(labelled, scope).filter((element) => {
    if (elementMatches(element, 'input[type=hidden i]')) return false
    const named = labelledByElements(element)
    if (named.length > 0)
      return (
        named.some((each) => matcher.test(elementText(each))) ||
        matcher.test(normalize(named.map(elementText).join(' ')))
      )
    const own = attr(element, 'aria-label')
    if (own !== null && own.trim() !== '') return matcher.test(normalize(own))
    return labelsOf(element).some((label) => matcher.test(elementText(label)))
  })
}

export interface RoleTarget {
  role: string
  name: TextMatcher | null
  hidden: boolean
  states: Map<string, string>
}

/** Parses `button[name="Send"][checked]`. */
export function parseRole(body: string, target: string): RoleTarget {
  const head = /^\s*([\w-]+)\s*/.exec(body)
  const bad = (why: string): CallError =>
    new CallError(
      'INVALID_SELECTOR',
      `${target}: ${why}`,
      { selector: target },
      'Pass a `selector` such as role=button[name="Send"].'
    )
  if (!head) throw bad('the role is missing')
  const role = head[1].toLowerCase() === 'image' ? 'img' : head[1].toLowerCase()
  if (!knownRoles.has(role) && !otherRoles.has(role)) {
    const near = Array.from(knownRoles).filter((known) => known.slice(0, 3) === role.slice(0, 3))
    throw bad(`${role} is not a role${near.length > 0 ? `; did you mean ${near.join(', ')}?` : ''}`)
  }
  const result: RoleTarget = { role, name: null, hidden: false, states: new Map() }
  let rest = body.slice(head[0].length)
  while (rest !== '') {
    const match =
      /^\[\s*([\w-]+)\s*(?:(\*?=)\s*("(?:[^"\\]|\\.)*"\s*[is]?|'(?:[^'\\]|\\.)*'\s*[is]?|\/(?:[^/\\]|\\.)+\/[a-z]*|[^\]]*))?\s*\]\s*/s.exec(
        rest
      )
    if (!match) throw bad(`${rest} is invalid`)
    rest = rest.slice(match[0].length)
    const [, attribute, operator, value] = match
    const key = attribute.toLowerCase()
    const plain =
      value === undefined ? 'true' : unescape(value.trim().replace(/^(["'])(.*)\1[is]?$/s, '$2'))
    if (key === 'name') {
      if (value === undefined) throw bad('[name] has no value')
      const quoted = /^["'/]/.test(value.trim()) ? value : JSON.stringify(value.trim())
      result.name = operator === '*=' ? parseMatcher(plain, target) : parseMatcher(quoted, target)
      if (/^["'].*["']\s*i$/s.test(value.trim()) && operator !== '*=') {
        const expected = normalize(plain).toLowerCase()
        result.name = {
          test: (text) => text.toLowerCase() === expected,
          exact: true,
          needle: normalize(plain)
        }
      }
    } else if (key === 'include-hidden') result.hidden = plain !== 'false'
    else if (
      ['checked', 'disabled', 'expanded', 'pressed', 'selected', 'level', 'exact'].includes(key)
    ) {
      if (key !== 'exact') result.states.set(key, plain)
    } else
      throw bad(
        `[${attribute}] is not supported; use name, checked, disabled, expanded, level, pressed, selected or include-hidden`
      )
  }
  return result
}

/** Roles of snapshots that ARIA does not define. */
const otherRoles = new Set(['iframe', 'canvas', 'video', 'audio', 'embed', 'object'])

function stateOf(element: Element, role: string, key: string): string {
  switch (key) {
    case 'checked':
      return String(checkedOf(element, role) ?? false)
    case 'disabled':
      return String(isDisabled(element) || element.closest('[aria-disabled="true"]') !== null)
    case 'expanded':
      return String(expandedOf(element))
    case 'level':
      return String(levelOf(element, role))
    case 'pressed':
      return attr(element, 'aria-pressed') ?? 'false'
    default:
      return String(
        element instanceof HTMLOptionElement
          ? element.selected
          : attr(element, 'aria-selected') === 'true'
      )
  }
}

function queryRole(body: string, scope: Root | Element, target: string): Element[] {
  const expected = parseRole(body, target)
  return queryAllDeep('*', scope).filter((element) => {
    if (roleOf(element) !== expected.role) return false
    for (const [key, value] of expected.states)
      if (stateOf(element, expected.role, key) !== value) return false
    if (!expected.hidden && isHiddenForAria(element)) return false
    return expected.name === null || expected.name.test(nameOf(element, expected.role))
  })
}
