/** Recognizes pages that are still loading their content. */
import { byTag, elementMatches, normalize, queryAll, textContent } from '../dom/composed-tree'
import { lastAdditionTime } from '../dom/mutation-observer'
import { loadedByScript } from '../dom/resource-observer'
import { Rendering, renderingOf } from '../dom/styles'

/** Elements that are content without text. */
const otherContent = 'img, svg, canvas, video, iframe, object, input, select, textarea, button'

const isRendered = (element: Element): boolean => renderingOf(element, false) !== Rendering.None

const isEmpty = (element: Element): boolean =>
  normalize(textContent(element)) === '' && element.querySelector(otherContent) === null

/** Returns whether the main element is empty, or an element is marked as busy. */
const isMarked = (): boolean =>
  Array.from(queryAll(document, 'main, [role=main]')).some(
    (main) => isRendered(main) && isEmpty(main)
  ) || Array.from(queryAll(document, '[aria-busy=true]')).some(isRendered)

/** Returns whether the document has scripts but shows nothing. */
function isBlank(): boolean {
  const [body] = queryAll(document, 'body')
  if (!body || byTag('script').length === 0) return false
  const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode())
    if (/\S/.test(texts.currentNode.nodeValue ?? '') && isText(texts.currentNode)) return false
  return !Array.from(queryAll(body, '*')).some(
    (element) => elementMatches(element, otherContent) || element.shadowRoot !== null
  )
}

const isText = ({ parentElement }: Node): boolean =>
  parentElement !== null && !elementMatches(parentElement, 'script, style, template, noscript')

/** Returns whether the scripts of the document may still render content. */
export const mayLoad = (): boolean =>
  isMarked() || queryAll(document, 'script[src]').length > 0 || isBlank()

/** Maximum ms between the load event and the first rendering. */
const maxFirstRenderingTime = 500
/** Maximum ms between a response and its rendering. */
const maxRenderingTime = 400

/** Returns the time until which a new document may render its content, in ms since its start. */
export function documentDeadline(): number {
  if (isMarked()) return Infinity
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  const loaded = navigation?.loadEventEnd || performance.now()
  return Math.max(
    isBlank() ? loaded + maxFirstRenderingTime : 0,
    responseDeadline(loaded, 0, false)
  )
}

/**
 * Returns the time until which a page may render what its scripts have loaded, in ms since its
 * start.
 *
 * Considers scripts that were requested after `partsSince`, because frameworks render their
 * contents with a delay. Unless the page `isChanged`, also considers responses since `since` after
 * which nothing has been added.
 */
export function responseDeadline(partsSince: number, since: number, isChanged: boolean): number {
  const added = lastAdditionTime()
  let deadline = 0
  for (const { initiatorType, startTime, responseEnd } of loadedByScript()) {
    const awaited =
      initiatorType === 'script'
        ? startTime > partsSince
        : !isChanged && startTime > since && responseEnd > added
    if (awaited) deadline = Math.max(deadline, responseEnd + maxRenderingTime)
  }
  return deadline
}
