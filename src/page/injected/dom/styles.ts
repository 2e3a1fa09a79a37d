/**
 * Reads computed styles as rarely as possible, because `getComputedStyle` is slow. A walk calls it
 * only for elements that a style rule may match. An index contains the page's rules by the classes,
 * ids, tags and attributes of their selectors, like the browser's own rule buckets. An unreadable
 * style sheet counts as matching every element.
 */
import { callCache } from './call-cache'
import {
  attr,
  byTag,
  composedParent,
  HAS_CLASS,
  HAS_ID,
  HAS_STYLE,
  hasAttr,
  localName,
  namespaceOf,
  parentNode,
  queryAll,
  type Root
} from './composed-tree'

// Effects of style rules on an element.
export const VISIBILITY = 1
export const BEFORE = 2
export const AFTER = 4
export const CURSOR = 8
/** Changes whether the element is rendered. */
export const DISPLAY = 16
/** Generated contents of any kind: blank ones too, and alternative texts of the element itself. */
export const GENERATED = 32
/** Changes the display type, the cursor or `pointer-events`. Only after `indexAllStyles`. */
export const RESTYLED = 64
const EVERYTHING = VISIBILITY | BEFORE | AFTER | CURSOR | DISPLAY | GENERATED | RESTYLED

let indexesAllStyles = false

/** Makes the rule indexes contain `RESTYLED`, which takes longer. */
export function indexAllStyles(): void {
  indexesAllStyles = true
}

class RuleIndex {
  universal = 0
  readonly classes = new Map<string, number>()
  readonly ids = new Map<string, number>()
  readonly tags = new Map<string, number>()
  readonly attributes = new Map<string, number>()
  private readonly byClassName = new Map<string, number>()

  add(selector: string, effect: number): void {
    for (const part of splitTopLevel(selector, ',')) this.addComplex(part, effect)
  }

  private addComplex(selector: string, effect: number): void {
    const compound = lastCompound(selector)
    // The compound of a nested rule (`&`), `:host`, `::slotted` or `::part` does not identify the
    // element.
    if (/&|:host|::slotted|::part|:is\(|:where\(|\\/.test(compound)) {
      this.universal |= effect
      return
    }
    // A pseudo-element has a box of its own.
    if (/::|:before|:after/.test(compound)) effect &= ~RESTYLED
    const bare = compound.replace(/:not\([^)]*\)+/g, '').replace(/::?[a-z-]+(\([^)]*\))?/gi, '')
    const put = (map: Map<string, number>, key: string): void =>
      void map.set(key, (map.get(key) ?? 0) | effect)
    let match: RegExpMatchArray | null
    if ((match = /\.([\w\u0080-\uffff-]+)/.exec(bare))) put(this.classes, match[1])
    else if ((match = /#([\w\u0080-\uffff-]+)/.exec(bare))) put(this.ids, match[1])
    else if ((match = /\[\s*([\w-]+)/.exec(bare))) put(this.attributes, match[1].toLowerCase())
    else if ((match = /^([a-z][\w-]*)/i.exec(bare))) put(this.tags, match[1].toLowerCase())
    else this.universal |= effect
  }

  /**
   * Returns the effects that rules may have on an element. `attributeKinds` is the result of
   * `attributeKindsOf`.
   */
  of(element: Element, attributeKinds = -1, tag = localName(element)): number {
    let effects = this.universal | (this.tags.get(tag) ?? 0)
    if (attributeKinds === 0 || effects === EVERYTHING) return effects
    const classes =
      attributeKinds & HAS_CLASS && this.classes.size > 0 ? attr(element, 'class') : null
    if (classes !== null) {
      let known = this.byClassName.get(classes)
      if (known === undefined) {
        known = 0
        for (const name of classes.split(/\s+/)) known |= this.classes.get(name) ?? 0
        this.byClassName.set(classes, known)
      }
      effects |= known
    }
    if (attributeKinds & HAS_ID && this.ids.size > 0) {
      const id = attr(element, 'id')
      if (id) effects |= this.ids.get(id) ?? 0
    }
    for (const [name, effect] of this.attributes) {
      if ((effects & effect) !== effect && attr(element, name) !== null) effects |= effect
    }
    const style = attributeKinds & HAS_STYLE ? attr(element, 'style') : null
    if (style !== null) {
      if (style.includes('visibility')) effects |= VISIBILITY
      if (style.includes('cursor')) effects |= CURSOR
      if (style.includes('content:')) effects |= GENERATED
    }
    return effects
  }
}

/** Splits a text at a separator outside of brackets, parentheses and quotes. */
export function splitTopLevel(text: string, separator: string): string[] {
  if (!text.includes(separator)) return [text]
  const parts: string[] = []
  let depth = 0
  let quote = ''
  let start = 0
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === '\\') i++
    else if (quote) quote = char === quote ? '' : quote
    else if (char === '"' || char === "'") quote = char
    else if (char === '(' || char === '[') depth++
    else if (char === ')' || char === ']') depth--
    else if (depth === 0 && text.startsWith(separator, i)) {
      parts.push(text.slice(start, i))
      start = i + separator.length
      i = start - 1
    }
  }
  parts.push(text.slice(start))
  return parts
}

function lastCompound(selector: string): string {
  let depth = 0
  const text = selector.trim()
  for (let i = text.length - 1; i >= 0; i--) {
    const char = text[i]
    if (char === ')' || char === ']') depth++
    else if (char === '(' || char === '[') depth--
    else if (depth === 0 && (char === ' ' || char === '>' || char === '+' || char === '~'))
      return text.slice(i + 1)
  }
  return text
}

/** Values of `content` that add no text to the page: none, an empty string, a clearfix. */
const silentContent = /^(|none|normal|""|''|" "|' '|"\\200b"|inherit|initial|unset|revert)$/

function readRules(rules: CSSRuleList, index: RuleIndex, nested: boolean): void {
  for (let i = 0; i < rules.length; i++) {
    const rule = rules[i] as CSSStyleRule & CSSGroupingRule & CSSImportRule
    const style = rule.style as CSSStyleDeclaration | undefined
    const selector = rule.selectorText as string | undefined
    if (style && selector !== undefined) {
      let effect = 0
      if (style.visibility) effect |= VISIBILITY
      // A variable can have a different value for each element.
      if (
        style.display === 'none' ||
        style.display === 'contents' ||
        style.display.includes('var(')
      )
        effect |= DISPLAY
      if (style.getPropertyValue('content-visibility') === 'hidden') index.universal |= DISPLAY
      const cursor = style.cursor
      if (cursor && cursor !== 'default' && cursor !== 'auto' && cursor !== 'not-allowed')
        effect |= CURSOR
      if (selector.includes(':before') || selector.includes(':after')) {
        effect = silentContent.test(style.content)
          ? 0
          : (selector.includes(':before') ? BEFORE : 0) | (selector.includes(':after') ? AFTER : 0)
      }
      if (style.content) effect |= GENERATED
      if (indexesAllStyles && restyles(style)) effect |= RESTYLED
      if (effect) {
        if (nested) index.universal |= effect
        else index.add(selector, effect)
      }
    }
    if (rule.styleSheet) readSheet(rule.styleSheet, index)
    const inner = rule.cssRules as CSSRuleList | undefined
    // The selectors in `@scope` and nested rules depend on the rule around them.
    if (inner && inner.length > 0 && !(rule instanceof CSSKeyframesRule)) {
      readRules(
        inner,
        index,
        nested || selector !== undefined || rule.constructor.name === 'CSSScopeRule'
      )
    }
  }
}

const restyles = (style: CSSStyleDeclaration): boolean =>
  style.display !== '' ||
  style.cursor !== '' ||
  style.pointerEvents !== '' ||
  style.cssFloat !== '' ||
  (style.position !== '' && style.position !== 'relative' && style.position !== 'static')

function readSheet(sheet: CSSStyleSheet, index: RuleIndex): void {
  if (sheet.disabled) return
  try {
    readRules(sheet.cssRules, index, false)
  } catch {
    index.universal |= EVERYTHING
  }
}

function sheetsOf(root: Root): CSSStyleSheet[] {
  const sheets: CSSStyleSheet[] = []
  for (const sheet of root.styleSheets) sheets.push(sheet)
  try {
    sheets.push(...(root.adoptedStyleSheets ?? []))
  } catch {
    // A Firefox sandbox cannot read the page's adopted style sheets.
    return sheets
  }
  return sheets
}

interface CachedRuleIndex {
  sheets: CSSStyleSheet[]
  lengths: number[]
  index: RuleIndex
}

const cachedRuleIndexes = new WeakMap<Root, CachedRuleIndex>()

function ruleCount(sheet: CSSStyleSheet): number {
  try {
    return sheet.disabled ? -1 : sheet.cssRules.length
  } catch {
    return -2
  }
}

/**
 * Returns the rule index of a root. Reads the rules again if a style sheet or a number of rules has
 * changed.
 */
export function ruleIndexOf(root: Root): RuleIndex {
  const cache = callCache()
  let index = cache?.ruleIndexes.get(root) as RuleIndex | undefined
  if (index === undefined) {
    index = readRuleIndex(root)
    cache?.ruleIndexes.set(root, index)
  }
  return index
}

function readRuleIndex(root: Root): RuleIndex {
  const sheets = sheetsOf(root)
  const known = cachedRuleIndexes.get(root)
  if (known && known.sheets.length === sheets.length) {
    let same = true
    for (let i = 0; same && i < sheets.length; i++)
      same = known.sheets[i] === sheets[i] && known.lengths[i] === ruleCount(sheets[i])
    if (same) return known.index
  }
  const index = new RuleIndex()
  index.tags.set('q', BEFORE | AFTER | GENERATED)
  for (const tag of [
    'dialog',
    'rp',
    'optgroup',
    'option',
    'slot',
    'noframes',
    'frameset',
    'rt',
    'summary'
  ])
    index.tags.set(tag, DISPLAY)
  for (const sheet of sheets) readSheet(sheet, index)
  cachedRuleIndexes.set(root, { sheets, lengths: sheets.map(ruleCount), index })
  return index
}

/** Returns a number that changes with the page's style rules. */
export function styleSignature(): number {
  let signature = 0
  for (const sheet of sheetsOf(document)) signature = (signature * 31 + ruleCount(sheet) + 7) | 0
  return signature
}

const checkVisibility = (Element.prototype as { checkVisibility?: (options?: object) => boolean })
  .checkVisibility
const withVisibility = { visibilityProperty: true, checkVisibilityCSS: true }

/** How an element is rendered: not at all, without a box of its own, invisibly, or visibly. */
export const enum Rendering {
  None,
  Contents,
  Invisible,
  Visible
}

/**
 * Returns how an element is rendered. Pass `checksVisibility` false if no rule sets `visibility` on
 * the element.
 */
export function renderingOf(element: Element, checksVisibility: boolean): Rendering {
  if (checkVisibility) {
    if (checksVisibility) {
      if (checkVisibility.call(element, withVisibility)) return Rendering.Visible
    } else if (checkVisibility.call(element)) return Rendering.Visible
  }
  const style = getComputedStyle(element)
  const display = style.display
  if (display === 'none' || display === '') return Rendering.None
  if (display === 'contents') return Rendering.Contents
  if (style.visibility !== 'visible') return Rendering.Invisible
  if (!checkVisibility) return Rendering.Visible
  // Either skipped contents (`content-visibility: hidden`, a closed `details`), or an option, which
  // has no box.
  const tag = localName(element)
  if (tag === 'option' || tag === 'optgroup' || tag === 'area') return Rendering.Visible
  return display === 'inline' && namespaceOf(element) !== 'http://www.w3.org/1999/xhtml'
    ? Rendering.Visible
    : Rendering.None
}

/** Returns whether an element is rendered and not invisible. Options have no box and are not. */
export const isRendered = (element: Element): boolean =>
  checkVisibility
    ? checkVisibility.call(element, withVisibility)
    : renderingOf(element, true) === Rendering.Visible

/**
 * Returns whether animations run, which can set properties that the rule index does not contain.
 */
export const animationsRun = (): boolean => (document.getAnimations?.() ?? []).length > 0

const blockDisplays =
  /^(block|flex|grid|table|list-item|flow-root|table-row|table-cell|table-caption|table-row-group|table-header-group|table-footer-group|table-column|-webkit-box)$/

/** The number of `isBlock` calls. A line whose text depends on one cannot be cached. */
export let blockChecks = 0

/**
 * Returns whether an element is a block, so that the texts before and after it are on other lines.
 */
export function isBlock(element: Element): boolean {
  blockChecks++
  const cache = callCache()
  const parent = parentNode(element)
  if (!cache || !parent || hasAttr(element, 'style')) return hasBlockDisplay(element)
  // One computed style per class is enough: a line of code can have hundreds of spans with few
  // classes.
  let known = cache.blocks.get(parent)
  if (!known) cache.blocks.set(parent, (known = new Map()))
  const kind = `${localName(element)}.${attr(element, 'class') ?? ''}`
  let block = known.get(kind)
  if (block === undefined) known.set(kind, (block = hasBlockDisplay(element)))
  return block
}

const hasBlockDisplay = (element: Element): boolean =>
  blockDisplays.test(getComputedStyle(element).display)

/**
 * Returns the text that `::before` or `::after` adds. Alternative text after a slash takes
 * precedence.
 */
export function pseudoText(element: Element, pseudo: '::before' | '::after'): string {
  const style = getComputedStyle(element, pseudo)
  const content = style.content
  if (
    !content ||
    content === 'none' ||
    content === 'normal' ||
    style.display === 'none' ||
    style.visibility === 'hidden'
  )
    return ''
  const sides = splitTopLevel(content, '/')
  let text = ''
  const source = sides.length > 1 ? sides[1] : sides[0]
  for (const match of source.matchAll(
    /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|attr\(\s*([\w-]+)[^)]*\)/g
  )) {
    if (match[3] !== undefined) text += attr(element, match[3]) ?? ''
    else
      text += (match[1] ?? match[2]).replace(
        /\\([0-9a-f]{1,6}) ?|\\(.)/gi,
        (_, hex: string | undefined, char: string | undefined) =>
          hex ? String.fromCodePoint(parseInt(hex, 16)) : (char ?? '')
      )
  }
  return text && style.display !== 'inline' ? ` ${text} ` : text
}

/** Returns whether an element is rendered and visible. */
export function isShown(element: Element): boolean {
  const shown = renderingOf(element, true)
  if (shown === Rendering.None || shown === Rendering.Invisible) return false
  const tag = localName(element)
  if (shown === Rendering.Visible && tag !== 'option' && tag !== 'optgroup' && tag !== 'area')
    return true
  const parent = composedParent(element)
  return parent === null || isShown(parent)
}

/** Returns the open modal dialogs. Everything outside of the last one is inert. */
export function modalDialogs(): Element[] {
  // This live collection is cached and empty on most pages.
  if (byTag('dialog').length === 0) return []
  try {
    return Array.from(queryAll(document, 'dialog:modal'))
  } catch {
    return []
  }
}

/**
 * Returns whether an element is hidden from assistive technology: not visible, `aria-hidden` or
 * `inert`.
 */
export function isHiddenForAria(element: Element): boolean {
  if (!isShown(element)) return true
  for (let node: Element | null = element; node; node = composedParent(node)) {
    if (attr(node, 'aria-hidden') === 'true' || hasAttr(node, 'inert')) return true
  }
  return false
}
