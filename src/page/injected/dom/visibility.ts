/** Visibility for users: the element has a box, and its style does not hide it. */
import { eachComposedChild, isElement, localName, nodeType } from './composed-tree'
import { Rendering, renderingOf } from './styles'

/** The reason if an ancestor hides the element. */
export const notRendered = 'it is not rendered'

export function isVisible(element: Element): boolean {
  return hiddenReason(element) === null
}

/** Returns why an element is not visible, null if it is visible. */
export function hiddenReason(element: Element): string | null {
  const tag = localName(element)
  if (tag === 'option' || tag === 'optgroup') {
    const select = element.closest('select')
    return select ? hiddenReason(select) : null
  }
  switch (renderingOf(element, true)) {
    case Rendering.Contents: {
      let visible = false
      eachComposedChild(element, (child) => {
        if (visible) return
        if (isElement(child)) visible = isVisible(child)
        else if (nodeType(child) === 3) visible = textHasBox(child as Text)
      })
      return visible ? null : 'it has display: contents and nothing visible in it'
    }
    case Rendering.Invisible:
      return 'visibility: hidden'
    case Rendering.None:
      return getComputedStyle(element).display === 'none' ? 'display: none' : notRendered
    default: {
      const rect = element.getBoundingClientRect()
      if (rect.width > 0 && rect.height > 0) return null
      for (const part of element.getClientRects())
        if (part.width > 0 && part.height > 0) return null
      return `its box is empty (${Math.round(rect.width)} × ${Math.round(rect.height)})`
    }
  }
}

/** Returns whether a text node has a box that is not empty. */
export function textHasBox(text: Text): boolean {
  const range = document.createRange()
  range.selectNode(text)
  const rect = range.getBoundingClientRect()
  return rect.width > 0 && rect.height > 0
}
