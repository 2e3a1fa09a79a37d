/** Parses selectors: CSS, XPath, texts, and chains of engines such as `role=button >> nth=1`. */
import { parseCss } from './css-parser'
import {
  formatSelector,
  isAnyFrame,
  isEnterFrame,
  layoutEngines,
  nestedEngines,
  type Selector,
  type SelectorPart
} from './selector'

/** Parses a selector. Throws if it is invalid. Unknown engines are valid here. */
export function parseSelector(text: string): Selector {
  const selector: Selector = { parts: [] }
  for (const piece of splitParts(text)) {
    let { engine, body } = engineOf(piece)
    if (engine.startsWith('*')) {
      engine = engine.slice(1)
      if (selector.capture !== undefined)
        throw new Error('Only one of the selectors can capture using * modifier')
      selector.capture = selector.parts.length
    }
    if (engine === 'css:light') {
      engine = 'css'
      body = `:light(${body})`
    }
    selector.parts.push(
      engine === 'css'
        ? { engine, body, css: parseCss(body) }
        : nestedEngines.has(engine)
          ? parseNested(engine, body, selector.parts)
          : { engine, body }
    )
  }
  if (nestedEngines.has(selector.parts[0].engine))
    throw new Error(`"${selector.parts[0].engine}" selector cannot be first`)
  return selector
}

function engineOf(piece: string): { engine: string; body: string } {
  const prefix = /^([\w\-+:*]+)\s*=/.exec(piece)
  if (prefix) return { engine: prefix[1], body: piece.slice(prefix[0].length) }
  const first = piece[0]
  if ((first === '"' || first === "'") && piece.length > 1 && piece[piece.length - 1] === first)
    return { engine: 'text', body: piece }
  return { engine: /^\(*\/\/|^\.\./.test(piece) ? 'xpath' : 'css', body: piece }
}

/** Splits a chain at `>>` outside of quotes. In `text=it's`, the quote is part of the text. */
function splitParts(text: string): string[] {
  if (!text.includes('>>')) return [text.trim()]
  const pieces: string[] = []
  let start = 0
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '\\' && at + 1 < text.length) at++
    else if (quote !== '') quote = character === quote ? '' : quote
    else if (/["'`]/.test(character)) {
      if (!/^\s*text\s*=(.+)$/.test(text.slice(start, at))) quote = character
    } else if (character === '>' && text[at + 1] === '>') {
      pieces.push(text.slice(start, at).trim())
      at++
      start = at + 1
    }
  }
  pieces.push(text.slice(start).trim())
  return pieces
}

function parseNested(engine: string, body: string, before: SelectorPart[]): SelectorPart {
  const malformed = new Error(`Malformed selector: ${engine}=${body}`)
  let values: unknown[]
  try {
    values = JSON.parse(`[${body}]`) as unknown[]
  } catch {
    throw malformed
  }
  const [inner, distance] = values
  if (typeof inner !== 'string' || values.length > 2) throw malformed
  if (values.length === 2 && (typeof distance !== 'number' || !layoutEngines.has(engine)))
    throw malformed
  return { engine, body, inner: withoutCommonFrames(parseSelector(inner), before) }
}

/** Removes the frames at the start of an inner selector that the outer one has entered already. */
function withoutCommonFrames(inner: Selector, before: SelectorPart[]): Selector {
  const outer = before.length > 0 && isAnyFrame(before[0]) ? before.slice(1) : before
  const end = inner.parts.map(isEnterFrame).lastIndexOf(true) + 1
  const format = (parts: SelectorPart[]): string => formatSelector({ parts: parts.slice(0, end) })
  if (end === 0 || format(inner.parts) !== format(outer)) return inner
  const { capture } = inner
  if (capture !== undefined && capture < end)
    throw new Error('Only use * after the last frame has been selected')
  return {
    parts: inner.parts.slice(end),
    ...(capture !== undefined && { capture: capture - end })
  }
}
