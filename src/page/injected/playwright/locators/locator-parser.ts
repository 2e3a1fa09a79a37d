/** Parses JavaScript locators such as `getByRole('button', { name: 'Save' }).first()`. */
import { attributeValue, quoteForCss, textBody } from './escaping'
import { type LocatorToken, tokenizeLocator } from './locator-tokens'
import { enterFrame, nestedEngines, nestedPart, type Selector, type SelectorPart } from './selector'
import { parseSelector } from './selector-parser'

type Value = string | RegExp | number | boolean | Selector

/** The call of a locator method. */
class MethodCall {
  readonly args: Value[] = []
  readonly options = new Map<string, Value>()
  readonly method: string

  constructor(method: string) {
    this.method = method
  }

  /** Checks the number of arguments and the names of the options. */
  check(maxArguments: number, options: string[]): void {
    if (this.args.length > maxArguments) throw new Error(`too many arguments for ${this.method}`)
    for (const name of this.options.keys())
      if (!options.includes(name)) throw new Error(`unsupported option ${name} for ${this.method}`)
  }

  argument<Type extends Value>(is: (value: Value) => value is Type): Type {
    const value = this.args[0]
    if (value === undefined || !is(value)) throw new Error(`unexpected argument for ${this.method}`)
    return value
  }

  option<Type extends Value>(name: string, is: (value: Value) => value is Type): Type | undefined {
    const value = this.options.get(name)
    if (value === undefined || is(value)) return value
    throw new Error(`unexpected option ${name} for ${this.method}`)
  }
}

const isString = (value: Value): value is string => typeof value === 'string'
const isText = (value: Value): value is string | RegExp =>
  isString(value) || value instanceof RegExp
const isNumber = (value: Value): value is number => typeof value === 'number'
const isBoolean = (value: Value): value is boolean => typeof value === 'boolean'
const isSelector = (value: Value): value is Selector =>
  typeof value === 'object' && !(value instanceof RegExp)
const isLocatorArgument = (value: Value): value is string | Selector =>
  isString(value) || isSelector(value)

type Method = (call: MethodCall, testIdAttribute: string) => SelectorPart[]

const filterOptions = ['hasText', 'hasNotText', 'has', 'hasNot', 'visible']
const roleOptions = [
  'name',
  'description',
  'exact',
  'checked',
  'disabled',
  'expanded',
  'includeHidden',
  'level',
  'pressed',
  'selected'
]

function filterParts(call: MethodCall): SelectorPart[] {
  const parts: SelectorPart[] = []
  const hasText = call.option('hasText', isText)
  if (hasText !== undefined)
    parts.push({ engine: 'internal:has-text', body: textBody(hasText, false) })
  const hasNotText = call.option('hasNotText', isText)
  if (hasNotText !== undefined)
    parts.push({ engine: 'internal:has-not-text', body: textBody(hasNotText, false) })
  const has = call.option('has', isSelector)
  if (has) parts.push(nestedPart('internal:has', has))
  const hasNot = call.option('hasNot', isSelector)
  if (hasNot) parts.push(nestedPart('internal:has-not', hasNot))
  const visible = call.option('visible', isBoolean)
  if (visible !== undefined) parts.push({ engine: 'visible', body: String(visible) })
  return parts
}

const withoutArguments =
  (...parts: SelectorPart[]): Method =>
  (call) => {
    call.check(0, [])
    return parts
  }

const nested =
  (engine: string): Method =>
  (call) => {
    call.check(1, [])
    return [nestedPart(engine, call.argument(isSelector))]
  }

const byText =
  (format: (text: string | RegExp, exact: boolean) => string): Method =>
  (call) => {
    call.check(1, ['exact'])
    return parseSelector(format(call.argument(isText), call.option('exact', isBoolean) ?? false))
      .parts
  }

const byAttribute = (name: string): Method =>
  byText((text, exact) => `internal:attr=[${name}=${attributeValue(text, exact)}]`)

function roleParts(call: MethodCall): SelectorPart[] {
  call.check(1, roleOptions)
  const exact = call.option('exact', isBoolean) ?? false
  let body = call.argument(isString)
  for (const name of call.options.keys()) {
    if (name === 'name' || name === 'description')
      body += `[${name}=${attributeValue(call.option(name, isText) ?? '', exact)}]`
    else if (name === 'level') body += `[level=${call.option(name, isNumber)}]`
    else if (name !== 'exact') {
      const attribute = name === 'includeHidden' ? 'include-hidden' : name
      body += `[${attribute}=${call.option(name, isBoolean)}]`
    }
  }
  return [{ engine: 'internal:role', body }]
}

const methods = new Map<string, Method>(
  Object.entries({
    locator: (call) => {
      call.check(1, filterOptions)
      const inner = call.argument(isLocatorArgument)
      const parts = isString(inner)
        ? parseSelector(inner).parts
        : [nestedPart('internal:chain', inner)]
      return [...parts, ...filterParts(call)]
    },
    filter: (call) => {
      call.check(0, filterOptions)
      return filterParts(call)
    },
    and: nested('internal:and'),
    or: nested('internal:or'),
    frameLocator: (call) => {
      call.check(1, [])
      return call.args.length > 0
        ? parseSelector(call.argument(isString)).parts
        : [{ engine: 'internal:control', body: 'any-frame' }]
    },
    contentFrame: withoutArguments(),
    first: withoutArguments({ engine: 'nth', body: '0' }),
    last: withoutArguments({ engine: 'nth', body: '-1' }),
    nth: (call) => {
      call.check(1, [])
      return [{ engine: 'nth', body: String(call.argument(isNumber)) }]
    },
    visible: withoutArguments({ engine: 'visible', body: 'true' }),
    describe: (call) => {
      call.check(1, [])
      return [{ engine: 'internal:describe', body: JSON.stringify(call.argument(isString)) }]
    },
    getByRole: roleParts,
    getByText: byText((text, exact) => `internal:text=${textBody(text, exact)}`),
    getByLabel: byText((text, exact) => `internal:label=${textBody(text, exact)}`),
    getByTestId: (call, attribute) => {
      call.check(1, [])
      const name = attribute.includes(',') ? quoteForCss(attribute) : attribute
      const value = attributeValue(call.argument(isText), true)
      return parseSelector(`internal:testid=[${name}=${value}]`).parts
    },
    getByAltText: byAttribute('alt'),
    getByPlaceholder: byAttribute('placeholder'),
    getByTitle: byAttribute('title')
  } satisfies Record<string, Method>)
)

/** Methods that a frame locator has too. They select one of several frames. */
const frameMethods = new Set(['first', 'last', 'nth'])

class LocatorParser {
  private readonly tokens: LocatorToken[]
  private readonly testIdAttribute: string
  private position = 0

  constructor(source: string, testIdAttribute: string) {
    this.tokens = tokenizeLocator(source)
    this.testIdAttribute = testIdAttribute
  }

  parse(): Selector {
    const selector = this.locator()
    if (this.token.type !== 'end') this.fail()
    if (nestedEngines.has(selector.parts[0]?.engine))
      throw new Error('a locator cannot start with this method')
    return selector
  }

  private get token(): LocatorToken {
    return this.tokens[this.position]
  }

  private fail(): never {
    const { type, value } = this.token
    throw new Error(type === 'end' ? 'unexpected end' : `unexpected ${String(value)}`)
  }

  private take(punctuation: string): boolean {
    const { type, value } = this.token
    if (type !== 'punctuation' || value !== punctuation) return false
    this.position++
    return true
  }

  private expect(punctuation: string): void {
    if (!this.take(punctuation)) this.fail()
  }

  private identifier(): string {
    const { token } = this
    if (token.type !== 'identifier') this.fail()
    this.position++
    return token.value
  }

  private locator(): Selector {
    if (this.token.value === 'page' && this.tokens[this.position + 1].value === '.')
      this.position += 2
    const parts: SelectorPart[] = []
    let entersFrame = false
    do {
      const call = this.call()
      if (entersFrame && !frameMethods.has(call.method)) {
        parts.push(enterFrame)
        entersFrame = false
      }
      const method = methods.get(call.method)
      if (!method) throw new Error(`${call.method} is not a locator method`)
      parts.push(...method(call, this.testIdAttribute))
      if (call.method === 'contentFrame') entersFrame = true
      if (call.method === 'frameLocator' && call.args.length > 0) entersFrame = true
    } while (this.take('.'))
    if (entersFrame) parts.push(enterFrame)
    return { parts }
  }

  private call(): MethodCall {
    const call = new MethodCall(this.identifier())
    if (!this.take('(') || this.take(')')) return call
    do {
      if (this.take('{')) this.options(call)
      else call.args.push(this.value())
    } while (this.take(','))
    this.expect(')')
    return call
  }

  private options(call: MethodCall): void {
    while (!this.take('}')) {
      const name = this.identifier()
      this.expect(':')
      call.options.set(name, this.value())
      if (this.take(',')) continue
      this.expect('}')
      return
    }
  }

  private value(): Value {
    const { token } = this
    switch (token.type) {
      case 'string':
      case 'number':
      case 'regex':
        this.position++
        return token.value
      case 'identifier':
        if (token.value !== 'true' && token.value !== 'false') return this.locator()
        this.position++
        return token.value === 'true'
      default:
        return this.fail()
    }
  }
}

/** Parses a JavaScript locator, with or without `page.`. Throws if it is invalid. */
export const parseLocator = (source: string, testIdAttribute: string): Selector =>
  new LocatorParser(source.replace(/^\s*await\s+|[\s;]+$/g, ''), testIdAttribute).parse()
