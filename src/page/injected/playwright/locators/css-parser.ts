/** Parses CSS selectors with Playwright's pseudo-classes. */
import { type CssToken, tokenizeCss } from './css-tokens'
import type { ComplexSelector, CompoundSelector, CssArgument } from './selector'

/** Pseudo-classes that `css-engine.ts` evaluates. The browser evaluates all others. */
const ownPseudoClasses = new Set([
  'not',
  'is',
  'where',
  'has',
  'scope',
  'light',
  'visible',
  'text',
  'text-matches',
  'text-is',
  'has-text',
  'above',
  'below',
  'right-of',
  'left-of',
  'near',
  'nth-match'
])

/** Parses a selector list. Throws if the selector is invalid. */
export function parseCss(selector: string): ComplexSelector[] {
  try {
    return new CssParser(tokenizeCss(selector)).parse()
  } catch (error) {
    const { message } = error as Error
    throw new Error(
      `${message} while parsing css selector "${selector}". Did you mean to CSS.escape it?`
    )
  }
}

class CssParser {
  private readonly tokens: CssToken[]
  private position = 0

  constructor(tokens: CssToken[]) {
    this.tokens = tokens
  }

  parse(): ComplexSelector[] {
    const list = this.arguments()
    if (this.token.type !== 'end') this.fail()
    return list.map((each) => {
      if (typeof each !== 'object') throw new Error(`Unexpected ${JSON.stringify(each)}`)
      return each
    })
  }

  private get token(): CssToken {
    return this.tokens[this.position]
  }

  private next(): CssToken {
    return this.tokens[this.position++]
  }

  private fail(): never {
    throw new Error(`Unexpected token "${this.token.source}"`)
  }

  private is(delimiter: string): boolean {
    return this.token.type === 'delimiter' && this.token.source === delimiter
  }

  private skipSpace(): void {
    while (this.token.type === 'space') this.position++
  }

  private isCombinator(): boolean {
    return this.is('>') || this.is('+') || this.is('~')
  }

  private isCompoundEnd(): boolean {
    const { type } = this.token
    return type === 'end' || type === 'space' || this.is(',') || this.is(')') || this.isCombinator()
  }

  private arguments(): CssArgument[] {
    const args = [this.argument()]
    for (this.skipSpace(); this.is(','); this.skipSpace()) {
      this.position++
      args.push(this.argument())
    }
    return args
  }

  private argument(): CssArgument {
    this.skipSpace()
    if (this.token.type === 'number') return Number(this.next().value)
    if (this.token.type === 'string') return this.next().value
    return this.complex()
  }

  private complex(): ComplexSelector {
    this.skipSpace()
    const compounds: CompoundSelector[] = [
      this.isCombinator()
        ? { functions: [{ name: 'scope', args: [] }], combinator: '' }
        : this.compound()
    ]
    for (;;) {
      this.skipSpace()
      if (this.isCombinator()) {
        compounds[compounds.length - 1].combinator = this.next().source
        this.skipSpace()
      } else if (this.isCompoundEnd()) return { compounds }
      compounds.push(this.compound())
    }
  }

  private compound(): CompoundSelector {
    const compound: CompoundSelector = { functions: [], combinator: '' }
    let css = ''
    while (!this.isCompoundEnd()) {
      const { type } = this.token
      if (type === 'ident' || type === 'hash' || this.is('*')) css += this.next().source
      else if (this.is('.')) {
        this.position++
        if (this.token.type !== 'ident') this.fail()
        css += `.${this.next().source}`
      } else if (this.is(':')) css += this.pseudoClass(compound)
      else if (this.is('[')) css += this.attribute()
      else this.fail()
    }
    if (css === '' && compound.functions.length === 0) this.fail()
    if (css !== '') compound.css = css
    return compound
  }

  /** Parses a pseudo-class. Returns its CSS if the browser evaluates it. */
  private pseudoClass(compound: CompoundSelector): string {
    this.position++
    const { type, source, value } = this.token
    const name = value.toLowerCase()
    if (type === 'ident') {
      this.position++
      if (!ownPseudoClasses.has(name)) return `:${source}`
      compound.functions.push({ name, args: [] })
      return ''
    }
    if (type !== 'function') this.fail()
    this.position++
    let css = ''
    if (ownPseudoClasses.has(name)) compound.functions.push({ name, args: this.arguments() })
    else css = `:${name}(${this.nativeArguments()})`
    this.skipSpace()
    if (!this.is(')')) this.fail()
    this.position++
    return css
  }

  private nativeArguments(): string {
    let css = ''
    for (let depth = 1; this.token.type !== 'end'; css += this.next().source) {
      if (this.is('(') || this.token.type === 'function') depth++
      if (this.is(')') && --depth === 0) break
    }
    return css
  }

  private attribute(): string {
    let css = ''
    while (!this.is(']')) {
      if (this.token.type === 'end') this.fail()
      css += this.next().source
    }
    return css + this.next().source
  }
}
