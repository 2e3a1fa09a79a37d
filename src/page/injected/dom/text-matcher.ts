/** How targets compare text: a case-insensitive substring, `"the exact text"`, or `/a pattern/`. */
import { CallError } from './call-error'
import { normalize } from './composed-tree'

export interface TextMatcher {
  /** Returns whether a text matches. */
  test: (text: string) => boolean
  exact: boolean
  /** The text to find, null for a pattern. */
  needle: string | null
}

export function parseMatcher(source: string, target: string): TextMatcher {
  const text = source.trim()
  const pattern = /^\/((?:[^/\\]|\\.)+)\/([a-z]*)$/s.exec(text)
  if (pattern) {
    const regex = parseRegex(pattern[1], pattern[2], target)
    return { test: (value) => regex.test(value), exact: false, needle: null }
  }
  const quoted =
    /^"((?:[^"\\]|\\.)*)"\s*([is]?)$/s.exec(text) ?? /^'((?:[^'\\]|\\.)*)'\s*([is]?)$/s.exec(text)
  if (quoted) {
    const needle = normalize(unescape(quoted[1]))
    if (quoted[2] === 'i') return substringMatcher(needle)
    return { test: (value) => value === needle, exact: true, needle }
  }
  return substringMatcher(normalize(text))
}

/** Matches texts that contain `text`, in any case. */
export const containing = (text: string): TextMatcher => substringMatcher(normalize(text))

function substringMatcher(needle: string): TextMatcher {
  const lower = needle.toLowerCase()
  return { test: (value) => value.toLowerCase().includes(lower), exact: false, needle }
}

/** Parses a regular expression without the flags `g` and `y`, which keep state between tests. */
export function parseRegex(source: string, flags: string, target: string): RegExp {
  try {
    return new RegExp(source, flags.replace(/[gy]/g, ''))
  } catch (error) {
    throw new CallError(
      'INVALID_SELECTOR',
      `the regular expression in ${target} is invalid: ${(error as Error).message}`,
      { selector: target }
    )
  }
}

export const unescape = (text: string): string => text.replace(/\\(.)/gs, '$1')
