/**
 * HTML for the Markdown conversion: only rendered elements, with shadow roots and absolute URLs.
 */
import type { HtmlArgument, HtmlResult } from '../api'
import {
  attr,
  bodyOf,
  documentElement,
  documentTitle,
  eachComposedChild,
  isElement,
  localName,
  nodeType
} from '../dom/composed-tree'
import { RefAllocator } from '../dom/refs'
import { Rendering, renderingOf } from '../dom/styles'
import { resolveOne } from '../targets/resolve'

const droppedTags = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'link',
  'meta',
  'object',
  'embed',
  'iframe',
  'svg',
  'canvas',
  'input',
  'select',
  'textarea'
])
const voidTags = new Set(['img', 'br', 'hr', 'wbr', 'source', 'area', 'col'])
const keptAttributes = new Set([
  'href',
  'src',
  'alt',
  'title',
  'class',
  'id',
  'lang',
  'role',
  'colspan',
  'rowspan',
  'start',
  'cite',
  'datetime',
  'itemprop',
  'rel',
  'align',
  'headers',
  'scope',
  'aria-label'
])

/**
 * Deeper elements are written without their tags, because the HTML parser of the Markdown
 * conversion is recursive and could overflow its stack.
 */
const maxDepth = 200

const escape = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')

function absolute(value: string): string {
  try {
    return new URL(value, document.baseURI).href
  } catch {
    return value
  }
}

/** Writes an element and its descendants, unless it is dropped or not rendered. */
function write(element: Element, out: string[], depth: number): void {
  const tag = localName(element)
  if (droppedTags.has(tag) || attr(element, 'aria-hidden') === 'true') return
  const shown = renderingOf(element, true)
  if (shown === Rendering.None && tag !== 'br' && tag !== 'wbr') return
  const omitsTag = tag === 'slot' || depth > maxDepth
  if (!omitsTag) {
    out.push('<', tag)
    for (const name of element.getAttributeNames()) {
      if (!keptAttributes.has(name)) continue
      const value = attr(element, name) ?? ''
      // Data URLs of images contain no readable text.
      if (name === 'src' && /^data:/i.test(value)) continue
      const text = name === 'href' || name === 'src' || name === 'cite' ? absolute(value) : value
      out.push(' ', name, '="', escape(text).replace(/"/g, '&quot;'), '"')
    }
    out.push('>')
    if (voidTags.has(tag)) return
  }
  eachComposedChild(element, (child) => {
    if (nodeType(child) === 3) {
      if (shown !== Rendering.Invisible) out.push(escape((child as Text).data))
    } else if (isElement(child) && depth < maxDepth * 10) write(child, out, depth + 1)
  })
  if (!omitsTag) out.push('</', tag, '>')
}

/** Returns the HTML of the page or of an element as a complete document. */
export function html(argument: HtmlArgument): HtmlResult {
  const refs = new RefAllocator(argument.refs)
  const root =
    argument.target === undefined
      ? (bodyOf() ?? documentElement())
      : resolveOne(argument.target, refs, false)
  const out: string[] = []
  if (root) write(root, out, 0)
  const title = documentTitle()
  const language = documentElement() ? attr(documentElement() as Element, 'lang') : null
  const text = `<!DOCTYPE html><html${language ? ` lang="${escape(language)}"` : ''}><head><meta charset="utf-8"><title>${escape(title)}</title></head>${argument.target === undefined ? out.join('') : `<body>${out.join('')}</body>`}</html>`
  return { html: text, title, url: location.href, next: refs.next }
}
