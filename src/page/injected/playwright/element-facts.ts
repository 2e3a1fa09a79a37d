/**
 * The facts about an element that Playwright's rules read more than once, cached for one call. The
 * computed style is read only if it can differ from the browser's style of the tag.
 */
import { callCache } from '../dom/call-cache'
import {
  assignedSlotOf,
  attr,
  attributeKindsOf,
  HAS_ACTION,
  HAS_HIDING,
  HAS_INERT,
  HAS_OTHER,
  HAS_STYLE,
  hasAttr,
  isElement,
  isHtml,
  localName,
  parentNode,
  rootOf,
  shadowRootOf
} from '../dom/composed-tree'
import {
  DISPLAY,
  GENERATED,
  indexAllStyles,
  isRendered,
  RESTYLED,
  ruleIndexOf,
  VISIBILITY
} from '../dom/styles'
import { words } from '../dom/words'
import type { AriaNode } from './aria-node'

indexAllStyles()

export interface ElementBox {
  /** Whether the element is visible and its box is not empty. */
  visible: boolean
  inline: boolean
}

/** The display types of common tags, which no attribute changes. */
const displays = new Map<string, string>([
  ...[
    ...words(
      'article aside blockquote dd div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6 header main nav ol p pre section ul'
    )
  ].map((tag): [string, string] => [tag, 'block']),
  ...[...words('a abbr b code em i kbd label small span strong sub sup time')].map(
    (tag): [string, string] => [tag, 'inline']
  ),
  ['button', 'inline-block'],
  ['caption', 'table-caption'],
  ['li', 'list-item'],
  ['table', 'table'],
  ['tbody', 'table-row-group'],
  ['td', 'table-cell'],
  ['tfoot', 'table-footer-group'],
  ['th', 'table-cell'],
  ['thead', 'table-header-group'],
  ['tr', 'table-row']
])

/** Tags that do not inherit the cursor. */
const arrowTags = new Set(['button', 'label'])

/** Display types that do not change the display types of the children. */
const flowDisplays = words(
  'block inline inline-block list-item flow-root table table-caption table-cell table-footer-group table-header-group table-row table-row-group'
)

/** Tags that may be rendered while their children are not. */
const opaqueTags = words(
  'audio canvas datalist details embed iframe img input meter object optgroup option progress ruby select textarea video'
)

export class ElementFacts {
  readonly tag: string
  /** The kinds of its attributes (see `attributeKindsOf`). */
  readonly attributes: number
  /** The effects that style rules may have on it. */
  readonly effects: number
  readonly isHtml: boolean
  /** The rules of its document or shadow root. */
  readonly index: ReturnType<typeof ruleIndexOf>
  /** The facts of the parent element. Null if that is a shadow host or not an element. */
  readonly outer: ElementFacts | null
  /** Whether style rules may generate contents for it. */
  readonly mayGenerate: boolean
  /** The facts from which the style is inherited. Null if it is read from the element. */
  private readonly inherits: ElementFacts | null
  /** Null until it is read. */
  private computed: CSSStyleDeclaration | null = null
  readonly display: string
  private pointerCursor: boolean | undefined = undefined
  private editable: boolean | undefined = undefined
  private pointerEvents: boolean | undefined = undefined
  private rendered: boolean | undefined = undefined
  role: string | null | undefined = undefined
  /** For rows: the role of their cells. */
  cellRole: string | undefined = undefined
  /** Whether the element itself is hidden from assistive technology. */
  hidden: boolean | undefined = undefined
  /** Whether it or an ancestor is `display: none`, `aria-hidden` or not slotted. */
  inHiddenTree: boolean | undefined = undefined
  box: ElementBox | undefined = undefined
  before: string | undefined = undefined
  after: string | undefined = undefined
  ariaDisabled: boolean | undefined = undefined
  /** Whether the tree builder has visited the element, and the node that it has made. */
  isVisited = false
  node: AriaNode | null = null
  /** The text of its contents as a part of another name, and the elements from which it comes. */
  contents: { text: string; sources: Element[] } | null = null
  /** The last name computation that has visited the element. */
  namedIn = 0

  constructor(readonly element: Element) {
    const parent = parentNode(element)
    const outer = isElement(parent) && !shadowRootOf(parent) ? elementFacts(parent) : null
    this.tag = localName(element)
    this.attributes = attributeKindsOf(element)
    this.index = outer?.index ?? ruleIndexOf(rootOf(element))
    this.effects = this.index.of(element, this.attributes, this.tag)
    this.outer = outer
    this.isHtml = isHtml(element)
    this.inherits = outer !== null && this.canInherit(outer) ? outer : null
    this.display = this.inherits ? (displays.get(this.tag) as string) : this.style.display
    this.mayGenerate =
      (this.effects & GENERATED) !== 0 || mayGenerateByShadow(element, outer, this.attributes)
  }

  get style(): CSSStyleDeclaration {
    return (this.computed ??= getComputedStyle(this.element))
  }

  /** Whether the element is rendered and not invisible. */
  get isRendered(): boolean {
    return (this.rendered ??= this.inherits ? this.inherits.isRendered : isRendered(this.element))
  }

  get hasPointerCursor(): boolean {
    if (this.pointerCursor === undefined) {
      const isLink = this.tag === 'a' && hasAttr(this.element, 'href')
      // An editable link has another cursor.
      if (this.inherits === null || (isLink && this.mayBeEditable))
        this.pointerCursor = this.style.cursor === 'pointer'
      else if (isLink) this.pointerCursor = true
      else this.pointerCursor = !arrowTags.has(this.tag) && this.inherits.hasPointerCursor
    }
    return this.pointerCursor
  }

  private get mayBeEditable(): boolean {
    return (this.editable ??=
      this.outer === null
        ? this.tag !== 'html' || document.designMode === 'on'
        : Boolean(this.attributes & HAS_ACTION && hasAttr(this.element, 'contenteditable')) ||
          this.outer.mayBeEditable)
  }

  get receivesPointerEvents(): boolean {
    return (this.pointerEvents ??=
      this.inherits === null
        ? this.style.pointerEvents !== 'none'
        : this.inherits.receivesPointerEvents)
  }

  /** Returns whether the style follows from the tag and from the parent's style. */
  private canInherit(parent: ElementFacts): boolean {
    const { element, attributes } = this
    return (
      (attributes & (HAS_STYLE | HAS_HIDING | HAS_INERT)) === 0 &&
      (this.effects & (RESTYLED | VISIBILITY | DISPLAY)) === 0 &&
      displays.has(this.tag) &&
      flowDisplays.has(parent.display) &&
      !opaqueTags.has(parent.tag) &&
      !parent.hidesContents() &&
      !(attributes & HAS_OTHER && hasAttr(element, 'part')) &&
      this.isHtml &&
      !animationsRestyle()
    )
  }

  /** Returns whether attributes may hide the contents, but not the element. */
  private hidesContents(): boolean {
    return Boolean(
      (this.attributes & HAS_HIDING && hasAttr(this.element, 'hidden')) ||
      (this.attributes & HAS_STYLE && (attr(this.element, 'style') ?? '').includes('content-vis'))
    )
  }
}

/** Returns whether the rules of shadow trees may generate contents for an element. */
function mayGenerateByShadow(
  element: Element,
  outer: ElementFacts | null,
  attributes: number
): boolean {
  if (attributes & HAS_OTHER && hasAttr(element, 'part')) return true
  const shadow = shadowRootOf(element)
  if (shadow && ruleIndexOf(shadow).universal & GENERATED) return true
  const slot = outer === null ? assignedSlotOf(element) : null
  return slot !== null && (ruleIndexOf(rootOf(slot)).universal & GENERATED) !== 0
}

/** Returns the facts of an element. */
export function elementFacts(element: Element): ElementFacts {
  const cache = callCache()?.elementFacts as Map<Element, ElementFacts> | undefined
  let facts = cache?.get(element)
  if (facts === undefined) {
    facts = new ElementFacts(element)
    cache?.set(element, facts)
  }
  return facts
}

const restyledProperties = ['display', 'visibility', 'cursor', 'pointerEvents', 'position', 'float']

/** Returns whether a running animation changes one of the properties that elements inherit here. */
function animationsRestyle(): boolean {
  const cache = callCache()
  if (!cache) return readAnimations()
  return (cache.animationsRestyle ??= readAnimations())
}

const readAnimations = (): boolean =>
  (document.getAnimations?.() ?? []).some(({ effect }) =>
    (effect as KeyframeEffect | null)
      ?.getKeyframes()
      .some((keyframe) => restyledProperties.some((property) => property in keyframe))
  )
