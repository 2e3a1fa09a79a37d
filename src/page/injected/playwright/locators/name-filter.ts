/**
 * Rejects elements by their text, before their accessible names are computed. A name consists of
 * the text and the attributes of the element and its descendants, in their order.
 */
import { localName, queryAll, textContent } from '../../dom/composed-tree'
import { GENERATED, ruleIndexOf } from '../../dom/styles'
import { labelsOf } from '../../roles/accessible-name'
import { MarkedAncestors } from './marked-ancestors'
import type { PiercingQuery } from './scope'

type RuleIndex = ReturnType<typeof ruleIndexOf>

/** Names that come from attributes of the element or of a descendant. */
const fromAttributes = '[aria-label], [alt], [*|title], [summary], area, img, svg'

/** Names that come from properties or from other elements. */
const fromElsewhere =
  'input, select, textarea, meter, progress, q, slot, [aria-labelledby], [aria-owns], ' +
  '[aria-valuetext], [aria-valuenow], [value], [part], [style*=content], [role=combobox]'

/** Number of names that are computed before the filter is used, because it reads the whole page. */
const minComputedNames = 60

export class NameFilter {
  private readonly query: PiercingQuery
  private calls = 0
  private marks: { attributes: MarkedAncestors; elsewhere: MarkedAncestors } | undefined
  private readonly folded = new Map<Element, string>()

  constructor(query: PiercingQuery) {
    this.query = query
  }

  /** Returns false if the name of an element cannot contain `text`, compared in any case. */
  mayBeNamed(element: Element, text: string): boolean {
    if (this.calls++ < minComputedNames) return true
    this.marks ??= this.mark()
    if (this.marks.elsewhere.has(element) || hasLabel(element)) return true
    const folded = this.foldedText(element, this.marks.attributes.has(element))
    let at = 0
    for (const character of text.toUpperCase()) {
      // HTML contains these as entities.
      if (/[\s&<>"]/.test(character)) continue
      at = folded.indexOf(character, at) + character.length
      if (at < character.length) return false
    }
    return true
  }

  private foldedText(element: Element, hasAttributes: boolean): string {
    let folded = this.folded.get(element)
    if (folded === undefined) {
      folded = (hasAttributes ? element.outerHTML : textContent(element)).toUpperCase()
      this.folded.set(element, folded)
    }
    return folded
  }

  private mark(): { attributes: MarkedAncestors; elsewhere: MarkedAncestors } {
    const attributes = new MarkedAncestors()
    const elsewhere = new MarkedAncestors()
    for (const element of this.query.all(document, fromAttributes)) attributes.add(element)
    for (const element of this.query.all(document, fromElsewhere)) elsewhere.add(element)
    const shadowRoots = this.query.shadowRootsIn(document)
    // A shadow tree can style its host and the elements in its slots.
    for (const { host } of shadowRoots)
      for (const element of [host, ...host.children]) elsewhere.add(element)
    for (const root of [document, ...shadowRoots]) {
      const index = ruleIndexOf(root)
      if (!generates(index)) continue
      for (const element of queryAll(root, '*'))
        if (index.of(element) & GENERATED) elsewhere.add(element)
    }
    return { attributes, elsewhere }
  }
}

const tagsWithLabel = new Set(['button', 'output'])

const hasLabel = (element: Element): boolean =>
  tagsWithLabel.has(localName(element)) && labelsOf(element).length > 0

/** Returns whether a style rule generates contents, besides the quotes of `q`. */
function generates({ universal, tags, classes, ids, attributes }: RuleIndex): boolean {
  if (universal & GENERATED) return true
  for (const [tag, effect] of tags) if (tag !== 'q' && effect & GENERATED) return true
  return [classes, ids, attributes].some((map) =>
    Array.from(map.values()).some((effect) => effect & GENERATED)
  )
}
