/**
 * Accessible names by Playwright's rules. The rules differ from `accessible-name.ts` in most steps:
 * in the separation of blocks, in values of controls, in fallbacks of tags and in hidden
 * references. A result also contains the elements from which the name comes.
 */
import { withCallCache } from '../dom/call-cache'
import {
  assignedSlotOf,
  attr,
  firstChild,
  firstElementChild,
  HAS_ARIA,
  HAS_REFERENCE,
  HAS_TITLE,
  hasAttr,
  localName,
  nextElement,
  nextSibling,
  nodeType,
  queryAll,
  shadowRootOf,
  textContent
} from '../dom/composed-tree'
import { words } from '../dom/words'
import { labelsOf } from '../roles/accessible-name'
import { type ElementFacts, elementFacts } from './element-facts'
import { replacementText, textAfter, textBefore } from './generated-content'
import { elementsByIds } from './id-references'
import { playwrightRole, roleByFacts } from './playwright-roles'
import { isHiddenFromAria, isIgnored } from './playwright-visibility'
import { collapseBreakingSpace, collapseWhiteSpace } from './white-space'

export interface PlaywrightName {
  text: string
  /** The elements whose text is part of the name. An element can occur several times. */
  sources: Element[]
}

/** Whether the computation is inside a kind of reference, and whether its target is hidden. */
const enum Inside {
  No,
  Shown,
  Hidden
}

/** How the computation has reached an element. */
interface NameContext {
  /** Whether the element is the named one, or reached only through its contents. */
  target: 'self' | 'descendant' | null
  labelledBy: Inside
  label: Inside
  /** A `legend`, `figcaption` or `caption`. */
  caption: Inside
}

const ofTarget: NameContext = {
  target: 'self',
  labelledBy: Inside.No,
  label: Inside.No,
  caption: Inside.No
}
const ofDescendant: NameContext = { ...ofTarget, target: 'descendant' }
const ofReference: NameContext = { ...ofTarget, target: null }

const insideOf = (element: Element): Inside =>
  isHiddenFromAria(element) ? Inside.Hidden : Inside.Shown

const unnamedRoles = words(
  'caption code definition deletion emphasis generic insertion mark paragraph presentation strong subscript suggestion superscript term time'
)
const rolesNamedByContents = words(
  'button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row rowheader switch tab tooltip treeitem'
)
/** Roles whose contents are part of the names of elements around them. */
const rolesWithTextForOthers = words(
  'caption code contentinfo definition deletion emphasis insertion list listitem mark none paragraph presentation region row rowgroup section strong subscript superscript table term time'
)
const rolesWithValue = words('textbox searchbox combobox listbox menu')
const rangeRoles = words('progressbar scrollbar slider spinbutton meter')
const fieldsWithPlaceholder = words('text password number search tel email url')

const noSources: Element[] = []
const noName: PlaywrightName = { text: '', sources: noSources }

/** Returns the accessible name of an element. */
export const playwrightName = (element: Element, includeHidden = false): PlaywrightName =>
  withCallCache(() => nameByFacts(element, elementFacts(element), includeHidden))

/** Tags that have a name of their own, or labels. */
const namedTags = words(
  'area button fieldset figure img input meter output progress select summary table textarea'
)

/** Like `playwrightName`, for an element whose facts are known. */
export function nameByFacts(
  element: Element,
  facts: ElementFacts,
  includeHidden = false
): PlaywrightName {
  const role = roleByFacts(element, facts)
  if (role === null ? isUnnamed(facts) : unnamedRoles.has(role)) return noName
  if (role !== null && !rolesNamedByContents.has(role) && isUnnamed(facts)) return noName
  if (facts.contents && !includeHidden && isUnnamed(facts)) {
    const text = collapseWhiteSpace(facts.contents.text)
    return text === '' ? noName : { text, sources: facts.contents.sources.concat(element) }
  }
  const computation = new NameComputation(includeHidden)
  const text = collapseWhiteSpace(computation.nameOf(element, ofTarget))
  return { text, sources: computation.sources }
}

/** Returns whether neither attributes nor the tag can name an element. */
const isUnnamed = ({ attributes, tag, isHtml }: ElementFacts): boolean =>
  (attributes & (HAS_ARIA | HAS_TITLE)) === 0 && !namedTags.has(tag) && isHtml

let computations = 0

class NameComputation {
  readonly sources: Element[] = []
  /** Whether the text comes from the contents of the named element, not from its attributes. */
  isFromContents = false
  private readonly id = ++computations
  private readonly includeHidden: boolean
  /** Whether an element was reached by a reference or a label. */
  private hasReferences = false

  constructor(includeHidden: boolean) {
    this.includeHidden = includeHidden
  }

  nameOf(element: Element, context: NameContext, facts = elementFacts(element)): string {
    // Each element is part of a name only once.
    if (facts.namedIn === this.id) return ''
    if (!this.includeHidden && this.isSkipped(element, facts, context)) {
      facts.namedIn = this.id
      return ''
    }
    const { attributes } = facts
    let labels: Element[] = noSources
    if (attributes & HAS_REFERENCE && hasAttr(element, 'aria-labelledby')) {
      this.hasReferences = true
      labels = elementsByIds(element, 'aria-labelledby')
      if (context.labelledBy === Inside.No) {
        const text = labels
          .map((label) => this.nameOf(label, { ...ofReference, labelledBy: insideOf(label) }))
          .join(' ')
        if (text) {
          if (context.target !== null && labels.some((label) => element.contains(label)))
            this.isFromContents = true
          return text
        }
      }
    }
    const role = roleByFacts(element, facts)
    if (context !== ofTarget && !labels.includes(element)) {
      const value = this.valueOf(element, facts, role, context)
      if (value !== null) return value
    }
    facts.namedIn = this.id
    const label = attributes & HAS_ARIA ? attr(element, 'aria-label') : null
    if (label?.trim()) return this.textFrom(element, label)
    const isPresentation = role === 'presentation' || role === 'none'
    if (!isPresentation) {
      const own = this.nameByTag(element, facts, labels.length > 0, context)
      if (own !== null) return own
    }
    if (isNamedByContents(facts.tag, role, context)) {
      const mark = this.sources.length
      const contents = this.contentsFor(element, facts, role, context, labels.length > 0)
      const text = context.target === 'self' ? contents.trim() : contents
      if (text) {
        this.sources.push(element)
        if (context.target !== null && text.trim()) this.isFromContents = true
        return text
      }
      this.sources.length = mark
    }
    const title = attributes & HAS_TITLE && !isPresentation ? attr(element, 'title') : null
    return title?.trim() ? this.textFrom(element, title) : ''
  }

  private textFrom(element: Element, text: string | null | undefined): string {
    if (!text) return ''
    this.sources.push(element)
    return text
  }

  private isSkipped(
    element: Element,
    facts: ElementFacts,
    { labelledBy, label, caption }: NameContext
  ): boolean {
    if (isIgnored(facts.tag)) return true
    const isInHiddenReference =
      labelledBy === Inside.Hidden || label === Inside.Hidden || caption === Inside.Hidden
    return !isInHiddenReference && isHiddenFromAria(element, facts)
  }

  /** Returns the value of a control inside of other contents, null if it has none. */
  private valueOf(
    element: Element,
    facts: ElementFacts,
    role: string | null,
    context: NameContext
  ): string | null {
    if (!context.label && !context.labelledBy && context.target !== 'descendant') return null
    if (role === null || !(rolesWithValue.has(role) || rangeRoles.has(role))) return null
    facts.namedIn = this.id
    const { tag } = facts
    switch (role) {
      case 'textbox':
      case 'searchbox':
        return this.textFrom(
          element,
          tag === 'input' || tag === 'textarea'
            ? (element as HTMLInputElement).value
            : textContent(element)
        )
      case 'combobox':
      case 'listbox': {
        const options = selectedOptions(element, tag, role)
        if (options.length === 0 && tag === 'input')
          return this.textFrom(element, (element as HTMLInputElement).value)
        return options.map((option) => this.nameOf(option, inner(context))).join(' ')
      }
      case 'menu':
        return ''
      default:
        return this.textFrom(
          element,
          attr(element, 'aria-valuetext') ??
            attr(element, 'aria-valuenow') ??
            attr(element, 'value')
        )
    }
  }

  /** Returns the name by the rules of the element's tag, null if it has none. */
  private nameByTag(
    element: Element,
    { tag, isHtml }: ElementFacts,
    isLabelled: boolean,
    context: NameContext
  ): string | null {
    if (!namedTags.has(tag))
      return !isHtml && element instanceof SVGElement ? this.nameOfSvg(element, tag, context) : null
    switch (tag) {
      case 'input':
        return this.nameOfInput(element as HTMLInputElement, isLabelled, context)
      case 'button':
        return isLabelled ? null : this.nameByLabels(element)
      case 'output':
      case 'select':
      case 'meter':
      case 'progress':
        return isLabelled ? null : (this.nameByLabels(element) ?? this.title(element))
      case 'textarea':
        return isLabelled ? null : (this.nameByLabels(element) ?? this.titleOrPlaceholder(element))
      case 'fieldset':
        return isLabelled
          ? null
          : (this.nameByCaption(element, 'legend', context) ?? this.title(element))
      case 'figure':
        return isLabelled
          ? null
          : (this.nameByCaption(element, 'figcaption', context) ?? this.title(element))
      case 'img':
      case 'area':
        return this.alternativeText(element)
      case 'table':
        return (
          this.nameByCaption(element, 'caption', context) ??
          (this.textFrom(element, attr(element, 'summary')) || null)
        )
      default:
        return null
    }
  }

  private title(element: Element): string {
    return this.textFrom(element, attr(element, 'title'))
  }

  private titleOrPlaceholder(element: Element): string {
    return this.title(element) || this.textFrom(element, attr(element, 'placeholder'))
  }

  private alternativeText(element: Element): string {
    const text = attr(element, 'alt')
    return text?.trim() ? this.textFrom(element, text) : this.title(element)
  }

  private nameOfInput(
    input: HTMLInputElement,
    isLabelled: boolean,
    { labelledBy }: NameContext
  ): string | null {
    switch (input.type) {
      case 'button':
        return input.value.trim() ? this.textFrom(input, input.value) : this.title(input)
      case 'submit':
        return this.textFrom(input, input.value.trim() ? input.value : 'Submit')
      case 'reset':
        return this.textFrom(input, input.value.trim() ? input.value : 'Reset')
      case 'file':
        return (labelledBy ? null : this.nameByLabels(input)) ?? this.textFrom(input, 'Choose File')
      case 'image': {
        const text = labelledBy ? null : this.nameByLabels(input)
        if (text !== null) return text
        const other = [attr(input, 'alt'), attr(input, 'title')].find((each) => each?.trim())
        return this.textFrom(input, other ?? 'Submit')
      }
      default:
        if (isLabelled) return null
        return (
          this.nameByLabels(input) ??
          (fieldsWithPlaceholder.has(input.type)
            ? this.titleOrPlaceholder(input)
            : this.title(input))
        )
    }
  }

  /** Returns the texts of the `label` elements, null without any. */
  private nameByLabels(element: Element): string | null {
    const labels = labelsOf(element)
    if (labels.length === 0) return null
    this.hasReferences = true
    return labels
      .map((label) => this.nameOf(label, { ...ofReference, label: insideOf(label) }))
      .filter((text) => text !== '')
      .join(' ')
  }

  private nameByCaption(element: Element, tag: string, context: NameContext): string | null {
    for (let child = firstElementChild(element); child; child = nextElement(child)) {
      if (localName(child) === tag)
        return this.nameOf(child, { ...inner(context), caption: insideOf(child) })
    }
    return null
  }

  private nameOfSvg(element: SVGElement, tag: string, context: NameContext): string | null {
    for (let child = firstElementChild(element); child; child = nextElement(child)) {
      if (localName(child) === 'title' && (child as SVGElement).ownerSVGElement)
        return this.nameOf(child, { ...inner(context), labelledBy: insideOf(child) })
    }
    if (tag !== 'a' || !element.ownerSVGElement) return null
    const title = attr(element, 'xlink:title')
    return title?.trim() ? this.textFrom(element, title) : null
  }

  /** Like `contentsOf`, with the result of an earlier computation for an element around it. */
  private contentsFor(
    element: Element,
    facts: ElementFacts,
    role: string | null,
    context: NameContext,
    isLabelled: boolean
  ): string {
    if (this.includeHidden || isLabelled) return this.contentsOf(element, facts, inner(context))
    if (context === ofTarget && facts.contents) {
      for (const source of facts.contents.sources) this.sources.push(source)
      return facts.contents.text
    }
    const mark = this.sources.length
    const text = this.contentsOf(element, facts, inner(context))
    // A reference may have visited some of the contents before, which are then missing here.
    if (context === ofDescendant && !this.hasReferences && role && rolesNamedByContents.has(role))
      facts.contents = {
        text,
        sources: mark === this.sources.length ? noSources : this.sources.slice(mark)
      }
    return text
  }

  /** Returns the text of the contents. Everything that is not inline is separated by spaces. */
  private contentsOf(element: Element, facts: ElementFacts, context: NameContext): string {
    let text = textBefore(element, facts)
    const replacement = replacementText(element, facts)
    if (replacement !== null) return text + replacement + textAfter(element, facts)
    const assigned = facts.tag === 'slot' ? (element as HTMLSlotElement).assignedNodes() : noSources
    if (assigned.length > 0) for (const child of assigned) text += this.partOf(child, context)
    else {
      const root = shadowRootOf(element)
      for (let child = firstChild(element); child; child = nextSibling(child))
        if (root === null || assignedSlotOf(child) === null) text += this.partOf(child, context)
      if (root)
        for (let child = firstChild(root); child; child = nextSibling(child))
          text += this.partOf(child, context)
      if (facts.attributes & HAS_REFERENCE && hasAttr(element, 'aria-owns')) {
        this.hasReferences = true
        for (const owned of elementsByIds(element, 'aria-owns'))
          if (assignedSlotOf(owned) === null) text += this.partOf(owned, context)
      }
    }
    return text + textAfter(element, facts)
  }

  private partOf(child: Node, context: NameContext): string {
    const type = nodeType(child)
    if (type === 3) return (child as Text).data
    if (type !== 1) return ''
    const facts = elementFacts(child as Element)
    const text = this.nameOf(child as Element, context, facts)
    return facts.display !== 'inline' || facts.tag === 'br' ? ` ${text} ` : text
  }
}

const isNamedByContents = (tag: string, role: string | null, context: NameContext): boolean =>
  context.labelledBy !== Inside.No ||
  context.label !== Inside.No ||
  context.caption !== Inside.No ||
  (context.target === 'descendant' && (role === null || rolesWithTextForOthers.has(role))) ||
  (role !== null && rolesNamedByContents.has(role)) ||
  (tag === 'summary' && role !== 'presentation' && role !== 'none')

/** Returns the context of the contents of an element. */
function inner(context: NameContext): NameContext {
  if (context.target !== 'self') return context
  return context === ofTarget ? ofDescendant : { ...context, target: 'descendant' }
}

function selectedOptions(element: Element, tag: string, role: string): Element[] {
  if (tag === 'select') {
    const { selectedOptions: selected, options } = element as HTMLSelectElement
    return selected.length === 0 && options.length > 0 ? [options[0]] : Array.from(selected)
  }
  const list =
    role === 'combobox'
      ? queryWithOwned(element, '*').find((each) => playwrightRole(each) === 'listbox')
      : element
  return list
    ? queryWithOwned(list, '[aria-selected="true"]').filter(
        (each) => playwrightRole(each) === 'option'
      )
    : []
}

/** Returns the matching descendants of an element and of the elements that it owns. */
function queryWithOwned(element: Element, selector: string): Element[] {
  const found = Array.from(queryAll(element, selector))
  for (const owned of elementsByIds(element, 'aria-owns')) {
    if (owned.matches(selector)) found.push(owned)
    found.push(...queryAll(owned, selector))
  }
  return found
}

export interface AccessibleText {
  /** The text with collapsed white space, but with its no-break spaces. */
  text: string
  /** Whether it comes from the contents of the element, not from its attributes. */
  isFromContents: boolean
}

const noText: AccessibleText = { text: '', isFromContents: false }

/** Returns the accessible name of an element as Playwright writes it into locators. */
export function nameForLocator(element: Element): AccessibleText {
  if (unnamedRoles.has(playwrightRole(element) ?? '')) return noText
  const computation = new NameComputation(false)
  const text = collapseBreakingSpace(computation.nameOf(element, ofTarget))
  return { text, isFromContents: computation.isFromContents }
}

/** Returns the accessible description of an element. */
export function playwrightDescription(element: Element, includeHidden = false): AccessibleText {
  if (!hasAttr(element, 'aria-describedby')) {
    const text = attr(element, 'aria-description') ?? attr(element, 'title')
    return text === null ? noText : { text: collapseBreakingSpace(text), isFromContents: false }
  }
  const references = elementsByIds(element, 'aria-describedby')
  const texts = references.map((reference) =>
    new NameComputation(includeHidden).nameOf(reference, {
      ...ofReference,
      caption: insideOf(reference)
    })
  )
  return {
    text: collapseBreakingSpace(texts.join(' ')),
    isFromContents: references.some((reference) => element.contains(reference))
  }
}
