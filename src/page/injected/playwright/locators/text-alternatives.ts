/** Shorter forms of a text that a locator can contain in place of the whole text. */

export interface TextAlternative {
  text: string
  /** How much better than the whole text it is, because it contains no changing number. */
  bonus: number
}

const maxLength = 80
const shortLength = 30

/** Truncates a text at a word boundary. */
function truncate(text: string, length: number): string {
  if (text.length <= length) return text
  const match = /^(.*)\b(.+?)$/.exec(text.substring(0, length))
  return match ? match[1].trimEnd() : ''
}

/** Returns the forms of a text. Omits numbers at its ends, and truncates long texts. */
export function textAlternatives(text: string): TextAlternative[] {
  const found: TextAlternative[] = []
  const addWithoutNumber = (rest: string): void => {
    const short = truncate(rest, maxLength)
    found.push({ text: short, bonus: short.length <= shortLength ? 2 : 1 })
  }
  const leading = /^([\d.,]+)[^.,\w]/.exec(text)
  if (leading) addWithoutNumber(text.substring(leading[1].length).trimStart())
  const trailing = /[^.,\w]([\d.,]+)$/.exec(text)
  if (trailing) addWithoutNumber(text.substring(0, text.length - trailing[1].length).trimEnd())
  if (text.length <= shortLength) found.push({ text, bonus: 0 })
  else {
    found.push({ text: truncate(text, maxLength), bonus: 0 })
    found.push({ text: truncate(text, shortLength), bonus: 1 })
  }
  const filled = found.filter((each) => each.text !== '')
  return filled.length > 0 ? filled : [{ text: text.substring(0, maxLength), bonus: 0 }]
}
