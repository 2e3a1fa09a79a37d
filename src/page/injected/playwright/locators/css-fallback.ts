/** Finds a CSS path for elements without any text, test id or unique attribute. */
import { attr, parentNode, queryAll } from '../../dom/composed-tree'
import { parentAcross } from '../../dom/css'
import { fallbackScore, idSelector, nthScore, tagSelector, type Token } from './candidates'
import type { Evaluator } from './evaluator'
import { parseSelector } from './selector-parser'

/** Returns the shortest path that finds the element first. */
export function cssFallback(evaluator: Evaluator, target: Element): Token[] {
  const path: string[] = []
  const find = (selector: string): Element[] => evaluator.all(parseSelector(selector), document)
  const tokensFor = (selector: string): Token[] => {
    const found = find(selector)
    const token = { engine: 'css', body: selector, score: fallbackScore }
    if (found.length === 1) return [token]
    return [token, { engine: 'nth', body: String(found.indexOf(target)), score: nthScore }]
  }
  const pathFrom = (step: string): string => [step, ...path].join(' > ')
  const hasShadowRoots = evaluator.query.shadowRootsIn(document).length > 0
  const isFirst = (selector: string): boolean =>
    (hasShadowRoots ? find(selector)[0] : queryFirst(selector)) === target
  for (let element: Element | null = target; element; element = parentAcross(element)) {
    let best = ''
    for (const { step, isBest } of stepsOf(element)) {
      const selector = pathFrom(step)
      if (isFirst(selector)) return tokensFor(selector)
      if (best === '' && isBest()) best = step
    }
    path.unshift(best)
  }
  return tokensFor(path.join(' > '))
}

/** Yields the selectors of one element: its id, its classes, its position. */
function* stepsOf(element: Element): Generator<{ step: string; isBest: () => boolean }> {
  const always = (): boolean => true
  const id = attr(element, 'id')
  if (id) yield { step: idSelector(id), isBest: always }
  const parent = parentNode(element)
  let classes = ''
  for (const name of element.classList) {
    classes += `.${CSS.escape(name)}`
    const step = classes
    yield { step, isBest: () => parent !== null && queryAllIn(parent, step).length === 1 }
  }
  const tag = tagSelector(element)
  if (!parent) {
    yield { step: tag, isBest: always }
    return
  }
  const siblings = Array.from(parent.children)
  const isFirstOfTag = siblings.find((each) => each.nodeName === element.nodeName) === element
  const step = isFirstOfTag ? tag : `${tag}:nth-child(${1 + siblings.indexOf(element)})`
  yield { step, isBest: always }
}

const queryFirst = (selector: string): Element | null =>
  Document.prototype.querySelector.call(document, selector)

const queryAllIn = (parent: ParentNode, selector: string): NodeListOf<Element> =>
  queryAll(parent as Element | Document | ShadowRoot, selector)
