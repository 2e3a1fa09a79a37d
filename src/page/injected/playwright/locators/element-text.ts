/** The text of elements as Playwright's engines compare it: with hidden text, without scripts. */
import {
  attr,
  firstChild,
  firstElementChild,
  isElement,
  isHtml,
  localName,
  nextElement,
  nextSibling,
  nodeType,
  queryAll,
  shadowRootOf,
  textContent
} from '../../dom/composed-tree'
import { labelsOf } from '../../roles/accessible-name'
import { elementsByIds } from '../id-references'
import { collapseWhiteSpace } from '../white-space'
import { MarkedAncestors } from './marked-ancestors'

export class ElementText {
  readonly full: string
  private readonly root: Element | ShadowRoot | null
  private collapsed: string | undefined
  private lower: string | undefined
  private fullLower: string | undefined
  private runs: string[] | undefined

  /** `root` is null for a text that is not the contents of an element. */
  constructor(full: string, root: Element | ShadowRoot | null = null) {
    this.full = full
    this.root = root
  }

  /** The text with collapsed white space. */
  get normalized(): string {
    return (this.collapsed ??= collapseWhiteSpace(this.full))
  }

  get lowerCase(): string {
    return (this.lower ??= this.normalized.toLowerCase())
  }

  /**
   * Returns false if the normalized text cannot contain a word. This is faster than to normalize a
   * long text.
   */
  mayContainWord(word: string, isLowerCase: boolean): boolean {
    if (this.collapsed !== undefined) return true
    const text = isLowerCase ? (this.fullLower ??= this.full.toLowerCase()) : this.full
    return text.includes(word) || invisible.test(text)
  }

  /** The texts that are direct children, joined between elements. */
  get immediate(): string[] {
    return (this.runs ??=
      this.root !== null ? immediateTexts(this.root) : this.full === '' ? [] : [this.full])
  }
}

/** Characters that normalized texts do not have. */
const invisible = /[\u200b\u00ad]/

const emptyText = new ElementText('')
const buttonTypes = new Set(['submit', 'button', 'reset'])

const isButtonInput = (node: Node): node is HTMLInputElement =>
  node instanceof HTMLInputElement && buttonTypes.has(node.type)

function immediateTexts(root: Element | ShadowRoot): string[] {
  const texts: string[] = []
  let run = ''
  const end = (): void => {
    if (run !== '') texts.push(run)
    run = ''
  }
  for (let child = firstChild(root); child; child = nextSibling(child)) {
    const type = nodeType(child)
    if (type === 3) run += (child as Text).data
    else if (type !== 8) end()
  }
  end()
  return texts
}

/** Computes the texts of elements for one call, each once. */
export class ElementTexts {
  private readonly texts = new Map<Element | ShadowRoot, ElementText>()
  /** Elements whose text differs from their `textContent`. */
  private readonly special = new MarkedAncestors()
  private readonly withoutText = new Set<Element>()

  constructor(shadowRoots: ShadowRoot[]) {
    for (const root of [document, ...shadowRoots]) {
      for (const element of queryAll(root, 'input'))
        if (isButtonInput(element)) this.special.add(element)
      for (const element of queryAll(root, 'script, noscript, style'))
        if (isHtml(element)) this.addWithoutText(element)
    }
    const { head } = document
    if (head !== null)
      for (const element of [head, ...queryAll(head, '*')]) this.addWithoutText(element)
    for (const { host } of shadowRoots) this.special.add(host)
  }

  private addWithoutText(element: Element): void {
    this.special.add(element)
    this.withoutText.add(element)
  }

  /** Returns whether the text of an element is never compared. */
  isWithoutText(element: Element): boolean {
    return this.withoutText.has(element)
  }

  of(root: Element | ShadowRoot): ElementText {
    let text = this.texts.get(root)
    if (text === undefined) this.texts.set(root, (text = this.compute(root)))
    return text
  }

  private compute(root: Element | ShadowRoot): ElementText {
    const element = isElement(root) ? root : null
    if (element !== null && this.isWithoutText(element)) return emptyText
    if (!this.special.has(root)) return new ElementText(textContent(root), root)
    if (isButtonInput(root)) return new ElementText(root.value)
    let full = ''
    for (let child = firstChild(root); child; child = nextSibling(child)) {
      if (nodeType(child) === 3) full += (child as Text).data
      else if (isElement(child)) full += this.of(child).full
    }
    const shadow = element && shadowRootOf(element)
    if (shadow) full += this.of(shadow).full
    return new ElementText(full, root)
  }

  /** Returns whether an element matches, and no child element or shadow root of it does. */
  isSmallestMatch(element: Element, matches: (text: ElementText) => boolean): boolean {
    if (this.isWithoutText(element) || !matches(this.of(element))) return false
    for (let child = firstElementChild(element); child; child = nextElement(child))
      if (matches(this.of(child))) return false
    const shadow = shadowRootOf(element)
    return shadow === null || !matches(this.of(shadow))
  }

  /** Returns the texts of the labels of an element, by which `getByLabel` finds it. */
  labelsOf(element: Element, skipsOwnContents = false): ElementText[] {
    const references = elementsByIds(element, 'aria-labelledby')
    if (references.length > 0)
      return references
        .filter((label) => !skipsOwnContents || !element.contains(label))
        .map((label) => this.of(label))
    const label = attr(element, 'aria-label')
    if (label?.trim()) return [new ElementText(label)]
    if (!labelable.has(localName(element)) || !isHtml(element)) return []
    return labelsOf(element).map((each) => this.of(each))
  }
}

const labelable = new Set(['button', 'input', 'meter', 'output', 'progress', 'select', 'textarea'])

/** Selects all elements that can have a label. */
export const labeledSelector = '[aria-labelledby], [aria-label], ' + [...labelable].join(', ')
