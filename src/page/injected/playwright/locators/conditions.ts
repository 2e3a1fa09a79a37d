/** Compares texts with the conditions of attribute selectors. */
import type { AttributeCondition } from './attribute-selector'

/** Returns whether a text matches a condition, by the operators of CSS. */
export function matchesCondition(
  text: string,
  { operator, value, caseSensitive }: AttributeCondition
): boolean {
  if (operator === null) return text !== ''
  if (value instanceof RegExp) {
    value.lastIndex = 0
    return value.test(text)
  }
  if (typeof value !== 'string') return false
  const found = caseSensitive ? text : text.toUpperCase()
  const expected = caseSensitive ? value : value.toUpperCase()
  switch (operator) {
    case '*=':
      return found.includes(expected)
    case '^=':
      return found.startsWith(expected)
    case '$=':
      return found.endsWith(expected)
    case '|=':
      return found === expected || found.startsWith(`${expected}-`)
    case '~=':
      return found.split(' ').includes(expected)
    default:
      return found === expected
  }
}

/** Returns a test for the values of attributes: exact, or a case-insensitive substring. */
export function attributeTest({
  value,
  caseSensitive
}: AttributeCondition): (text: string) => boolean {
  if (value instanceof RegExp)
    return (text) => {
      value.lastIndex = 0
      return value.test(text)
    }
  const expected = String(value)
  if (caseSensitive) return (text) => text === expected
  const lower = expected.toLowerCase()
  return (text) => text.toLowerCase().includes(lower)
}
