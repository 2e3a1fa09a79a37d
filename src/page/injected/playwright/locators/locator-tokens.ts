/** Splits JavaScript locators into tokens. */

export type LocatorToken =
  | { type: 'string'; value: string }
  | { type: 'regex'; value: RegExp }
  | { type: 'number'; value: number }
  | { type: 'identifier'; value: string }
  | { type: 'punctuation'; value: string }
  | { type: 'end'; value: '' }

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
const string = /'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*"|`(?:[^`\\]|\\[^])*`/y
const regex = /\/((?:[^/\\]|\\[^])*)\/([a-z]*)/y
const number = /-?\d+(?:\.\d+)?/y
const identifier = /[A-Za-z_$][\w$]*/y

const unescape = (text: string): string =>
  text.replace(/\\(?:u([\da-fA-F]{4})|([^]))/g, (_, code: string | undefined, character: string) =>
    code === undefined ? (escapes[character] ?? character) : String.fromCharCode(parseInt(code, 16))
  )

/** Returns the tokens of a locator. Throws if it contains something else. */
export function tokenizeLocator(source: string): LocatorToken[] {
  const tokens: LocatorToken[] = []
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(source)
    if (match) at += match[0].length
    return match
  }
  while (at < source.length) {
    const character = source[at]
    let match: RegExpExecArray | null
    if (/\s/.test(character)) at++
    else if ((match = take(string)))
      tokens.push({ type: 'string', value: unescape(match[0].slice(1, -1)) })
    else if ((match = take(regex))) {
      const value = new RegExp(match[1].replace(/\\([^])/g, unescapeSlash), match[2])
      tokens.push({ type: 'regex', value })
    } else if ('(){}.,:'.includes(character)) {
      tokens.push({ type: 'punctuation', value: character })
      at++
    } else if ((match = take(identifier))) tokens.push({ type: 'identifier', value: match[0] })
    else if ((match = take(number))) tokens.push({ type: 'number', value: Number(match[0]) })
    else throw new Error(`unexpected character ${character}`)
  }
  tokens.push({ type: 'end', value: '' })
  return tokens
}

const unescapeSlash = (escape: string, character: string): string =>
  character === '/' ? '/' : escape
