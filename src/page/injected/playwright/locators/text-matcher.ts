/** Compares texts by the rules of the engines `text` and `internal:text`. */
import { parseRegexBody } from './escaping'
import type { ElementText } from './element-text'
import { collapseWhiteSpace } from '../white-space'

export interface PlaywrightTextMatcher {
  matches: (text: ElementText) => boolean
  /** Whether a text can contain a part that matches. */
  mayContain: (text: ElementText) => boolean
  /** Whether elements that contain another match also match. */
  findsOuter: boolean
}

const longestWord = (text: string): string =>
  text.split(' ').reduce((longest, word) => (word.length > longest.length ? word : longest), '')

const always = (): boolean => true

/** Parses the body of `text=…`: `"exact text"`, `/regex/i` or part of a text. */
export function textMatcher(body: string): PlaywrightTextMatcher {
  const regex = regexMatcher(body)
  if (regex) return regex
  const last = body[body.length - 1]
  if (body.length < 2 || body[0] !== last || (last !== '"' && last !== "'"))
    return substringMatcher(body)
  return immediateMatcher(body.slice(1, -1).replace(/\\([^])/g, '$1'))
}

/** Matches elements that have a text as a direct child. */
export function immediateMatcher(source: string): PlaywrightTextMatcher {
  const text = collapseWhiteSpace(source)
  return {
    matches: ({ immediate }) =>
      text === '' && immediate.length === 0
        ? true
        : immediate.some((each) => collapseWhiteSpace(each) === text),
    mayContain: text === '' ? always : ({ normalized }) => normalized.includes(text),
    findsOuter: true
  }
}

/** Parses the body of `internal:text=…`: `"text"s`, `"part of a text"i` or `/regex/`. */
export function internalTextMatcher(body: string): PlaywrightTextMatcher {
  const regex = regexMatcher(body)
  if (regex) return regex
  const quoted = /^(".*")([si]?)$/s.exec(body)
  if (!quoted) return substringMatcher(body)
  const text = JSON.parse(quoted[1]) as string
  return quoted[2] === 'i' ? substringMatcher(text) : exactMatcher(text)
}

export function exactMatcher(source: string): PlaywrightTextMatcher {
  const text = collapseWhiteSpace(source)
  const word = longestWord(text)
  return {
    matches: (each) => each.mayContainWord(word, false) && each.normalized === text,
    mayContain: (each) => each.mayContainWord(word, false) && each.normalized.includes(text),
    findsOuter: false
  }
}

export function substringMatcher(source: string): PlaywrightTextMatcher {
  const text = collapseWhiteSpace(source).toLowerCase()
  const word = longestWord(text)
  const matches = (each: ElementText): boolean =>
    each.mayContainWord(word, true) && each.lowerCase.includes(text)
  return { matches, mayContain: matches, findsOuter: false }
}

export function regexMatcher(source: string | RegExp): PlaywrightTextMatcher | null {
  const regex = typeof source === 'string' ? parseRegexBody(source) : source
  if (regex === null) return null
  const matches = ({ full }: ElementText): boolean => {
    regex.lastIndex = 0
    return regex.test(full)
  }
  return { matches, mayContain: always, findsOuter: false }
}
