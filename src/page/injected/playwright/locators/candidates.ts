/**
 * The selectors that can identify an element, each with a score. Lower scores are better: texts
 * that users see come before ids, and ids before tags.
 */
import { attr, localName } from '../../dom/composed-tree'
import { nameForLocator, playwrightDescription } from '../playwright-names'
import { playwrightRole } from '../playwright-roles'
import type { ElementTexts } from './element-text'
import { attributeValue, escapeRegex, quoteForCss, textBody } from './escaping'
import { textAlternatives } from './text-alternatives'

/** A part of a selector. */
export interface Token {
  engine: string
  body: string
  score: number
}

export interface CandidateOptions {
  /** The test id attributes, separated by commas. */
  testIdAttribute: string
  /** Whether the element is the target, not an ancestor of it. */
  isTarget: boolean
  /** Whether texts of the contents are not used. */
  noText: boolean
}

/** Exact texts have a worse score, because they stop matching after a small change. */
const exactPenalty = 5
const scores = {
  testId: 1,
  otherTestId: 2,
  frameAttribute: 10,
  role: 100,
  placeholder: 120,
  label: 140,
  alt: 160,
  text: 180,
  title: 200,
  regex: 250,
  id: 500,
  roleWithoutName: 510,
  inputAttribute: 520,
  tag: 530
}
/** The length of a body increases scores in this range. */
const penalizedAbove = 50
const penalizedBelow = 300
const maxLengthPenalty = 10

export const nthScore = 10_000
export const fallbackScore = 10_000_000

const maxExactLength = 80

/** Returns the score of a chain. Parts before others count more than once. */
export const scoreOf = (tokens: Token[]): number =>
  tokens.reduce((sum, { score }, index) => sum + score * (tokens.length - index), 0)

/** Returns the selector of a tag. */
export const tagSelector = (element: Element): string =>
  element.nodeName.toLowerCase().replace(/[:.]/g, '\\$&')

/** Returns the selector of an id. */
export const idSelector = (id: string): string =>
  /^[a-zA-Z][\w-]+$/.test(id) ? `#${id}` : `[id=${quoteForCss(id)}]`

/** Returns all candidates for an element, the best first. */
export function candidatesFor(
  element: Element,
  texts: ElementTexts,
  options: CandidateOptions
): { tokens: Token[]; isText: boolean; score: number }[] {
  const builder = new CandidateBuilder(element, texts, options)
  const found = [
    ...builder.withText().map((tokens) => ({ tokens, isText: true })),
    ...builder.withoutText().map((token) => ({ tokens: [token], isText: false }))
  ]
  return found
    .map((each) => ({ ...each, score: scoreOf(each.tokens) }))
    .sort((left, right) => left.score - right.score)
}

const otherTestIds = ['data-testid', 'data-test-id', 'data-test']
const tagsWithName = new Set([
  'button',
  'fieldset',
  'form',
  'frame',
  'iframe',
  'input',
  'keygen',
  'map',
  'meta',
  'object',
  'output',
  'param',
  'select',
  'textarea'
])
const tagsWithAlt = new Set(['applet', 'area', 'img', 'input'])

class CandidateBuilder {
  private readonly element: Element
  private readonly tag: string
  private readonly texts: ElementTexts
  private readonly options: CandidateOptions

  constructor(element: Element, texts: ElementTexts, options: CandidateOptions) {
    this.element = element
    this.tag = localName(element)
    this.texts = texts
    this.options = options
  }

  withoutText(): Token[] {
    const { element, tag, options } = this
    const testIds = options.testIdAttribute.split(',')
    const tokens: Token[] = []
    const addCss = (score: number, body: string): void =>
      void tokens.push(createToken('css', body, score))
    const addAttribute = (score: number, name: string, prefix = ''): void => {
      const value = attr(element, name)
      if (value) addCss(score, `${prefix}[${name}=${quoteForCss(value)}]`)
    }
    for (const name of otherTestIds)
      if (!testIds.includes(name)) addAttribute(scores.otherTestId, name)
    const id = attr(element, 'id')
    if (id && !isGenerated(id)) addCss(scores.id, idSelector(id))
    addCss(scores.tag, tagSelector(element))
    if (tag === 'iframe' || tag === 'frame') {
      for (const name of ['name', 'title'])
        addAttribute(scores.frameAttribute, name, tagSelector(element))
      for (const name of testIds) addAttribute(scores.testId, name)
      return tokens
    }
    for (const name of testIds) {
      const value = attr(element, name)
      if (value)
        tokens.push(
          createToken('internal:testid', `[${name}=${attributeValue(value, true)}]`, scores.testId)
        )
    }
    if (tag === 'input' || tag === 'textarea') {
      const { placeholder } = element as HTMLInputElement
      if (placeholder)
        tokens.push(...attributeTokens('placeholder', placeholder, scores.placeholder))
    }
    for (const { normalized } of this.texts.labelsOf(element, options.noText)) {
      const { label } = scores
      tokens.push(createToken('internal:label', textBody(normalized, true), label + exactPenalty))
      for (const { text, bonus } of textAlternatives(normalized))
        tokens.push(createToken('internal:label', textBody(text, false), label - bonus))
    }
    const role = this.role()
    if (role) tokens.push(createToken('internal:role', role, scores.roleWithoutName))
    if (tagsWithName.has(tag)) addAttribute(scores.inputAttribute, 'name', tagSelector(element))
    const isHidden = attr(element, 'type') === 'hidden'
    if ((tag === 'input' || tag === 'textarea') && !isHidden)
      addAttribute(scores.inputAttribute, 'type', tagSelector(element))
    if ((tag === 'input' || tag === 'textarea' || tag === 'select') && !isHidden)
      addCss(scores.inputAttribute + 1, tagSelector(element))
    return tokens
  }

  withText(): Token[][] {
    if (this.tag === 'select') return []
    return [...this.attributes(), ...this.contents(), ...this.roles()]
  }

  private attributes(): Token[][] {
    if (this.options.noText) return []
    const { element, tag } = this
    const title = attr(element, 'title')
    const alt = tagsWithAlt.has(tag) ? attr(element, 'alt') : null
    return [
      ...(title ? attributeTokens('title', title, scores.title) : []),
      ...(alt ? attributeTokens('alt', alt, scores.alt) : [])
    ].map((token) => [token])
  }

  private text(): string {
    return this.options.noText ? '' : this.texts.of(this.element).normalized
  }

  private contents(): Token[][] {
    const text = this.text()
    if (text === '') return []
    const found: Token[][] = []
    const alternatives = textAlternatives(text)
    if (this.options.isTarget) {
      if (text.length <= maxExactLength)
        found.push([createToken('internal:text', textBody(text, true), scores.text + exactPenalty)])
      for (const each of alternatives)
        found.push([
          createToken('internal:text', textBody(each.text, false), scores.text - each.bonus)
        ])
    }
    const tag = createToken('css', tagSelector(this.element), scores.tag)
    return [...found, ...this.filtered(tag, text)]
  }

  /** Returns the candidates with a `hasText` filter. */
  private filtered(first: Token, text: string): Token[][] {
    const { isTarget, noText } = this.options
    const alternatives = text === '' ? [] : textAlternatives(text)
    const found = alternatives.map((each) => [
      first,
      createToken('internal:has-text', textBody(each.text, false), scores.text - each.bonus)
    ])
    if (isTarget && !noText && text.length <= maxExactLength) {
      const regex = new RegExp(`^${escapeRegex(text)}$`)
      found.push([first, createToken('internal:has-text', textBody(regex, false), scores.regex)])
    }
    return found
  }

  /** Returns the role for `getByRole`, null if the element has none. */
  private role(): string | null {
    const role = playwrightRole(this.element)
    return role === 'none' || role === 'presentation' ? null : role
  }

  private roles(): Token[][] {
    const role = this.role()
    if (!role) return []
    const { noText } = this.options
    const textOf = ({ text, isFromContents }: { text: string; isFromContents: boolean }): string =>
      noText && isFromContents ? '' : text
    const name = textOf(nameForLocator(this.element))
    const description = textOf(playwrightDescription(this.element))
    const token = (score: number, ...conditions: string[]): Token =>
      createToken('internal:role', role + conditions.join(''), score)
    const condition = (key: string, text: string, exact: boolean): string =>
      `[${key}=${attributeValue(text, exact)}]`
    // A name must have other characters than those of icon fonts.
    if (name !== '' && !/^\p{Co}+$/u.test(name)) {
      const alternatives = textAlternatives(name)
      const tokens = (extra: number, suffix: (exact: boolean) => string): Token[] => [
        token(scores.role + exactPenalty + extra, condition('name', name, true), suffix(true)),
        ...alternatives.map(({ text, bonus }) =>
          token(scores.role - bonus + extra, condition('name', text, false), suffix(false))
        )
      ]
      const found = tokens(0, () => '')
      if (description !== '')
        found.push(...tokens(1, (exact) => condition('description', description, exact)))
      return found.map((each) => [each])
    }
    const found: Token[][] = []
    if (description !== '')
      found.push([token(scores.roleWithoutName + 1, condition('description', description, true))])
    return [...found, ...this.filtered(token(scores.roleWithoutName), this.text())]
  }
}

function createToken(engine: string, body: string, score: number): Token {
  const isPenalized = score > penalizedAbove && score < penalizedBelow
  const penalty = isPenalized ? Math.min(maxLengthPenalty, Math.floor(body.length / 10)) : 0
  return { engine, body, score: score + penalty }
}

/** Returns the candidates for an attribute: the exact value, and its shorter forms. */
const attributeTokens = (name: string, value: string, score: number): Token[] => [
  createToken('internal:attr', `[${name}=${attributeValue(value, true)}]`, score + exactPenalty),
  ...textAlternatives(value).map(({ text, bonus }) =>
    createToken('internal:attr', `[${name}=${attributeValue(text, false)}]`, score - bonus)
  )
]

/** Returns whether an id looks generated: it often changes between letters and digits. */
function isGenerated(id: string): boolean {
  let changes = 0
  let last = ''
  for (const character of id) {
    if (character === '-' || character === '_') continue
    const type = /[a-z]/.test(character)
      ? 'lower'
      : /[A-Z]/.test(character)
        ? 'upper'
        : /\d/.test(character)
          ? 'digit'
          : 'other'
    const isCapitalized = last === 'upper' && type === 'lower'
    if (last !== '' && last !== type && !isCapitalized) changes++
    last = type
  }
  return changes >= id.length / 4
}
