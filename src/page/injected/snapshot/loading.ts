/** Recognizes pages that are still loading their content. */
import { normalize, queryAll, textContent } from '../dom/composed-tree'
import { Rendering, renderingOf } from '../dom/styles'

const otherContent = 'img, svg, canvas, video, iframe, object, input, select, textarea, button'

const isRendered = (element: Element): boolean => renderingOf(element, false) !== Rendering.None

const isEmpty = (element: Element): boolean =>
  normalize(textContent(element)) === '' && element.querySelector(otherContent) === null

/** Returns whether the main element is empty, or an element is marked as busy. */
export const isLoading = (): boolean =>
  Array.from(queryAll(document, 'main, [role=main]')).some(
    (main) => isRendered(main) && isEmpty(main)
  ) || Array.from(queryAll(document, '[aria-busy=true]')).some(isRendered)
