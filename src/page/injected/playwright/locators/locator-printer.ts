/** Formats selectors as JavaScript locators, as Playwright prints them. */
import { parseAttributeSelector } from './attribute-selector'
import { parseRegexBody, quoteForJavaScript, regexSource } from './escaping'
import {
  formatSelector,
  isAnyFrame,
  isEnterFrame,
  type Selector,
  type SelectorPart
} from './selector'

/** Returns the locator of a selector, or the selector itself if it has no locator. */
export function printLocator(selector: Selector): string {
  try {
    return print(selector)
  } catch {
    return formatSelector(selector)
  }
}

function print({ parts }: Selector): string {
  const calls: string[] = []
  for (const part of parts) {
    if (part.engine === 'internal:describe') continue
    if (isEnterFrame(part)) {
      if (calls.length === 0) throw new Error('a locator cannot start with a frame')
      calls.push('contentFrame()')
    } else
      calls.push(
        printPart(part) ?? `locator(${quoteForJavaScript(formatSelector({ parts: [part] }))})`
      )
  }
  return calls.join('.')
}

const methodsWithLocator: Record<string, (inner: string) => string> = {
  'internal:has': (inner) => `filter({ has: ${inner} })`,
  'internal:has-not': (inner) => `filter({ hasNot: ${inner} })`,
  'internal:and': (inner) => `and(${inner})`,
  'internal:or': (inner) => `or(${inner})`,
  'internal:chain': (inner) => `locator(${inner})`
}

const methodsByAttribute: Record<string, string> = {
  placeholder: 'getByPlaceholder',
  alt: 'getByAltText',
  title: 'getByTitle'
}

/** Returns the call of a locator method, null if there is none for the part. */
function printPart(part: SelectorPart): string | null {
  const { engine, body, inner } = part
  if (inner && engine in methodsWithLocator) return methodsWithLocator[engine](print(inner))
  switch (engine) {
    case 'nth':
      return body === '0' ? 'first()' : body === '-1' ? 'last()' : `nth(${body})`
    case 'visible':
      return body === 'true' ? 'visible()' : 'filter({ visible: false })'
    case 'internal:text':
      return textCall('getByText', textOf(body))
    case 'internal:label':
      return textCall('getByLabel', textOf(body))
    case 'internal:has-text':
      return filterCall('hasText', textOf(body))
    case 'internal:has-not-text':
      return filterCall('hasNotText', textOf(body))
    case 'internal:role':
      return printRole(body)
    case 'internal:testid':
      return `getByTestId(${literal(parseAttributeSelector(body).conditions[0].value)})`
    case 'internal:attr': {
      const { name, value, caseSensitive } = parseAttributeSelector(body).conditions[0]
      const text = value as string | RegExp
      return name in methodsByAttribute
        ? textCall(methodsByAttribute[name], { text, exact: caseSensitive })
        : null
    }
    default:
      return isAnyFrame(part) ? 'frameLocator()' : null
  }
}

interface Text {
  text: string | RegExp
  exact: boolean
}

function textOf(body: string): Text {
  const regex = parseRegexBody(body)
  if (regex) return { text: regex, exact: false }
  const ending = /"[si]?$/.exec(body)?.[0]
  if (ending === undefined) return { text: body, exact: false }
  const quoted = body.slice(0, body.length - ending.length + 1)
  return { text: JSON.parse(quoted) as string, exact: ending !== '"i' }
}

const literal = (value: unknown): string =>
  typeof value === 'string'
    ? quoteForJavaScript(value)
    : value instanceof RegExp
      ? regexSource(value)
      : String(value)

const textCall = (method: string, { text, exact }: Text): string =>
  exact && typeof text === 'string'
    ? `${method}(${literal(text)}, { exact: true })`
    : `${method}(${literal(text)})`

const filterCall = (option: string, { text, exact }: Text): string | null =>
  exact ? null : `filter({ ${option}: ${literal(text)} })`

function printRole(body: string): string {
  const { name: role, conditions } = parseAttributeSelector(body)
  const texts = new Map<string, string>()
  const others: string[] = []
  let exact: boolean | undefined
  for (const { name, value, caseSensitive } of conditions) {
    if (name === 'name' || name === 'description') {
      if (typeof value === 'string') {
        if (exact !== undefined && exact !== caseSensitive) throw new Error('conflicting exactness')
        exact = caseSensitive
      }
      if (typeof value === 'string' || value instanceof RegExp)
        texts.set(name, `${name}: ${literal(value)}`)
      else texts.delete(name)
    } else {
      const isLevel = name === 'level' && typeof value === 'string'
      const printed = name === 'include-hidden' ? 'includeHidden' : name
      others.push(`${printed}: ${literal(isLevel ? Number(value) : value)}`)
    }
  }
  const options = ['name', 'description'].flatMap((name) => texts.get(name) ?? [])
  if (exact) options.push('exact: true')
  options.push(...others)
  const suffix = options.length > 0 ? `, { ${options.join(', ')} }` : ''
  return `getByRole(${quoteForJavaScript(role)}${suffix})`
}
