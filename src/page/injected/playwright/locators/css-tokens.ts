/** Splits CSS selectors into tokens. */

export type CssTokenType =
  | 'ident'
  | 'function'
  | 'hash'
  | 'string'
  | 'number'
  /** A number with a unit. */
  | 'dimension'
  | 'space'
  /** One character, or an operator such as `~=`. */
  | 'delimiter'
  | 'end'

export interface CssToken {
  type: CssTokenType
  /** The text as in the selector. */
  source: string
  /** The name or the text without escapes. */
  value: string
}

const escape = '\\\\(?:[\\da-fA-F]{1,6}\\s?|[^\\n\\da-fA-F])'
const nameCharacter = `(?:[\\w\\u0080-\\uffff-]|${escape})`
const ident = `(?:--|-?(?:[a-zA-Z_\\u0080-\\uffff]|${escape}))${nameCharacter}*`

const patterns: [CssTokenType | 'comment' | 'unsupported', RegExp][] = [
  ['comment', /\/\*[^]*?(?:\*\/|$)/y],
  ['space', /[ \t\n\r\f]+/y],
  ['string', /"(?:[^"\\\n\r\f]|\\[^])*(?:"|\\?$)|'(?:[^'\\\n\r\f]|\\[^])*(?:'|\\?$)/y],
  ['unsupported', /["';{}]|<!--|-->|\|\||url\((?!\s*["'])/iy],
  ['unsupported', new RegExp(`@${ident}|[+-]?(?:\\d+\\.?\\d*|\\.\\d+)%`, 'y')],
  ['hash', new RegExp(`#${nameCharacter}+`, 'y')],
  ['dimension', new RegExp(`[+-]?(?:\\d+(?:\\.\\d+)?|\\.\\d+)(?:[eE][+-]?\\d+)?${ident}`, 'y')],
  ['number', /[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?/y],
  ['function', new RegExp(`${ident}\\(`, 'y')],
  ['ident', new RegExp(ident, 'y')],
  ['delimiter', /[~|^$*]=|[^]/y]
]

const unescape = (text: string): string =>
  text.replace(
    /\\(?:([\da-fA-F]{1,6})\s?|(\r\n|[\n\r\f])|([^])|$)/g,
    (_, hex: string | undefined, newline: string | undefined, other: string | undefined) => {
      if (hex === undefined) return newline === undefined ? (other ?? '') : ''
      const code = parseInt(hex, 16)
      return code === 0 || code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code)
    }
  )

function valueOf(type: CssTokenType, source: string): string {
  switch (type) {
    case 'string':
      return unescape(source.slice(1, source.length > 1 && isClosed(source) ? -1 : undefined))
    case 'function':
      return unescape(source.slice(0, -1))
    case 'ident':
      return unescape(source)
    default:
      return source
  }
}

const isClosed = (source: string): boolean =>
  source[source.length - 1] === source[0] && !/[^\\](?:\\\\)*\\.$/s.test(source)

/** Returns the tokens of a selector. Throws for tokens that no selector can contain. */
export function tokenizeCss(selector: string): CssToken[] {
  const tokens: CssToken[] = []
  for (let at = 0; at < selector.length;) {
    for (const [type, pattern] of patterns) {
      pattern.lastIndex = at
      const source = pattern.exec(selector)?.[0]
      if (!source) continue
      if (type === 'unsupported') throw new Error(`Unsupported token "${source}"`)
      if (type !== 'comment') tokens.push({ type, source, value: valueOf(type, source) })
      at += source.length
      break
    }
  }
  tokens.push({ type: 'end', source: '', value: '' })
  return tokens
}
