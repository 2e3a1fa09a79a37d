/** Parses `button[name="Send"i][level=2]`, the body of the engines for roles and attributes. */

export interface AttributeCondition {
  name: string
  /** `=`, `*=`, `^=`, `$=`, `|=`, `~=`, or null for a condition without a value. */
  operator: string | null
  value: string | RegExp | boolean | null
  caseSensitive: boolean
}

export interface AttributeSelector {
  name: string
  conditions: AttributeCondition[]
}

const operators = new Set(['=', '*=', '^=', '$=', '|=', '~='])
const nameCharacters = /[\u0080-\uffff\w-]*/y
const plainValue = /[\u0080-\uffff\w+.-]*/y

class Scanner {
  position = 0
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  get next(): string {
    return this.text[this.position] ?? ''
  }

  isAtEnd(): boolean {
    return this.position >= this.text.length
  }

  skipSpace(): void {
    while (/\s/.test(this.next)) this.position++
  }

  take(pattern: RegExp): string {
    pattern.lastIndex = this.position
    const found = pattern.exec(this.text)?.[0] ?? ''
    this.position += found.length
    return found
  }

  expect(character: string): void {
    if (this.next !== character) this.fail()
    this.position++
  }

  fail(): never {
    const found = this.next === '' ? 'unexpected end' : `unexpected symbol "${this.next}"`
    throw new Error(
      `Error while parsing selector \`${this.text}\` - ${found} at position ${this.position}`
    )
  }

  quoted(): string {
    const quote = this.next
    this.position++
    let text = ''
    while (this.next !== '' && this.next !== quote) {
      if (this.next === '\\') this.position++
      text += this.next
      this.position++
    }
    this.expect(quote)
    return text
  }

  regex(): RegExp {
    this.expect('/')
    let source = ''
    for (let inClass = false; this.next !== '' && (inClass || this.next !== '/');) {
      if (this.next === '\\') {
        source += this.next
        this.position++
        if (this.isAtEnd()) this.fail()
      } else if (this.next === '[') inClass = true
      else if (this.next === ']') inClass = false
      source += this.next
      this.position++
    }
    this.expect('/')
    return new RegExp(source, this.take(/[a-z]*/y))
  }
}

/** Parses an attribute selector. Throws if it is invalid. */
export function parseAttributeSelector(text: string): AttributeSelector {
  const scanner = new Scanner(text)
  scanner.skipSpace()
  const name = scanner.take(nameCharacters)
  const conditions: AttributeCondition[] = []
  for (scanner.skipSpace(); scanner.next === '['; scanner.skipSpace())
    conditions.push(parseCondition(scanner))
  if (scanner.next !== '') scanner.fail()
  if (name === '' && conditions.length === 0) scanner.fail()
  return { name, conditions }
}

function parseName(scanner: Scanner): string {
  scanner.skipSpace()
  const name = /["']/.test(scanner.next) ? scanner.quoted() : scanner.take(nameCharacters)
  if (name === '') scanner.fail()
  scanner.skipSpace()
  return name
}

function parseCondition(scanner: Scanner): AttributeCondition {
  scanner.expect('[')
  const path = [parseName(scanner)]
  while (scanner.next === '.') {
    scanner.position++
    path.push(parseName(scanner))
  }
  const name = path.join('.')
  if (scanner.next === ']') {
    scanner.position++
    return { name, operator: null, value: null, caseSensitive: false }
  }
  const operator = scanner.next === '=' ? '=' : scanner.text.substr(scanner.position, 2)
  if (!operators.has(operator)) scanner.fail()
  scanner.position += operator.length
  scanner.skipSpace()
  let value: string | RegExp | boolean
  let caseSensitive = true
  if (scanner.next === '/') {
    if (operator !== '=') scanner.fail()
    value = scanner.regex()
  } else if (scanner.next === '"' || scanner.next === "'") {
    value = scanner.quoted()
    scanner.skipSpace()
    caseSensitive = scanner.take(/[iIsS]?/y).toLowerCase() !== 'i'
  } else {
    const plain = scanner.take(plainValue)
    value = plain === 'true' ? true : plain === 'false' ? false : plain
  }
  scanner.skipSpace()
  scanner.expect(']')
  if (operator !== '=' && typeof value !== 'string') scanner.fail()
  return { name, operator, value, caseSensitive }
}
