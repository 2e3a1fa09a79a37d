/** The `awaitContent` call: waits for content that a page loads after its `load` event. */
import type { ContentArgument, ContentResult } from '../api'
import { normalize, queryAll, textContent } from '../dom/composed-tree'
import { Rendering, renderingOf } from '../dom/styles'
import { nextChange } from './actionability'

const otherContent = 'img, svg, canvas, video, iframe, object, input, select, textarea, button'

const isRendered = (element: Element): boolean => renderingOf(element, false) !== Rendering.None

/** Returns whether the page shows that its content is still to come. */
function isLoading(): boolean {
  const isEmpty = (element: Element): boolean =>
    normalize(textContent(element)) === '' && element.querySelector(otherContent) === null
  return (
    Array.from(queryAll(document, 'main, [role=main]')).some(
      (main) => isRendered(main) && isEmpty(main)
    ) || Array.from(queryAll(document, '[aria-busy=true]')).some(isRendered)
  )
}

/** Waits until the main content is not empty and nothing is marked as busy. */
export async function awaitContent({ timeout }: ContentArgument): Promise<ContentResult> {
  const until = performance.now() + timeout
  let waited = false
  while (isLoading() && performance.now() < until) {
    waited = true
    await nextChange(false, until)
  }
  return { waited }
}
