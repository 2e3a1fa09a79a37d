/** The text of `::before` and `::after`, and alternative texts of `content`. */
import { attr } from '../dom/composed-tree'
import type { ElementFacts } from './element-facts'

/** Returns the text before the contents of an element. */
export function textBefore(element: Element, facts: ElementFacts): string {
  return (facts.before ??= facts.mayGenerate ? generatedText(element, '::before') : '')
}

/** Returns the text after the contents of an element. */
export function textAfter(element: Element, facts: ElementFacts): string {
  return (facts.after ??= facts.mayGenerate ? generatedText(element, '::after') : '')
}

function generatedText(element: Element, pseudo: '::before' | '::after'): string {
  const style = getComputedStyle(element, pseudo)
  if (style.display === 'none' || style.visibility === 'hidden') return ''
  const text = readContent(element, style.content, true)
  if (text === null) return ''
  return style.display === 'inline' ? text : ` ${text} `
}

/** Returns the alternative text that replaces the contents of an element, null without one. */
export function replacementText(element: Element, facts: ElementFacts): string | null {
  if (!facts.mayGenerate) return null
  const { display, visibility, content } = facts.style
  return display === 'none' || visibility === 'hidden' ? null : readContent(element, content, false)
}

const contentToken =
  /\s*(?:"((?:[^"\\]|\\[^])*)"|'((?:[^'\\]|\\[^])*)'|attr\(\s*([\w-]+)\s*\)|(\/)|([^\s"'/]+))\s*/y

/** Reads a value of `content`. Returns null if it has parts without a text, such as images. */
function readContent(element: Element, content: string, isPseudo: boolean): string | null {
  if (!content || content === 'none' || content === 'normal') return null
  let text: string | null = ''
  let hasAlternative = false
  contentToken.lastIndex = 0
  while (contentToken.lastIndex < content.length) {
    const token = contentToken.exec(content)
    if (token === null) return null
    const [, double, single, name, slash] = token
    if (slash !== undefined && !hasAlternative) {
      hasAlternative = true
      text = ''
    } else if (name !== undefined && text !== null) text += attr(element, name) ?? ''
    else if ((double ?? single) !== undefined && text !== null) text += unescape(double ?? single)
    else if (double === undefined && single === undefined && name === undefined) text = null
  }
  return hasAlternative || isPseudo ? text : null
}

const unescape = (text: string): string =>
  text.replace(
    /\\(?:([0-9a-f]{1,6})\s?|([^]))/gi,
    (_, hex: string | undefined, char: string | undefined) => {
      if (hex === undefined) return char === '\n' ? '' : (char ?? '')
      const code = parseInt(hex, 16)
      return code === 0 || code > 0x10ffff ? '\ufffd' : String.fromCodePoint(code)
    }
  )
