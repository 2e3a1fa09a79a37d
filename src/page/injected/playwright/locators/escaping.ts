/** How selectors and locators quote texts and regular expressions. */

/** Quotes a text as a JavaScript string in single quotes. */
export function quoteForJavaScript(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replace(/\\"/g, '"')
  return `'${escaped.replace(/'/g, "\\'")}'`
}

/** Quotes a text as a CSS string. */
export const quoteForCss = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`

/** Formats a regular expression as JavaScript. Quotes need no escape there. */
export const regexSource = (regex: RegExp): string =>
  String(regex).replace(/(^|[^\\])(\\\\)*\\(['"`])/g, '$1$2$3')

/** Formats a regular expression for a selector. Escapes quotes and `>>`, which end a part of it. */
function regexInSelector(regex: RegExp): string {
  if (regex.unicode || regex.flags.includes('v')) return String(regex)
  return String(regex)
    .replace(/(^|[^\\])(\\\\)*(["'`])/g, '$1$2\\$3')
    .replace(/>>/g, '\\>\\>')
}

/** Formats a text as the body of `internal:text` and the other text engines. */
export function textBody(text: string | RegExp, exact: boolean): string {
  if (typeof text !== 'string') return regexInSelector(text)
  return JSON.stringify(text) + (exact ? 's' : 'i')
}

/** Formats a text as the value in an attribute selector. */
export function attributeValue(text: string | RegExp, exact: boolean): string {
  if (typeof text !== 'string') return regexInSelector(text)
  return quoteForCss(text) + (exact ? 's' : 'i')
}

/** Parses `/source/flags` as the engines do, null if the text is not a regular expression. */
export function parseRegexBody(body: string): RegExp | null {
  const match = /^\/(.*)\/((?:[dgi]|[msu]|[vy])*)$/.exec(body)
  return match && new RegExp(match[1], match[2])
}

/** Escapes the characters that have a meaning in regular expressions. */
export const escapeRegex = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
