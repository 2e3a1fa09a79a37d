/** Focuses an element and puts the caret where a user would have it. */
import { activeElement, composedContains } from '../dom/composed-tree'
import { editorOf } from './code-editors'

/** Puts the caret behind the contents, or selects them all. */
export function placeCaret(element: HTMLElement, all: boolean): void {
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
    if (all) element.select()
    else {
      try {
        element.setSelectionRange(element.value.length, element.value.length)
      } catch {
        // Number and e-mail inputs have no selection to set: their caret is where the browser puts it.
      }
    }
    return
  }
  if (!element.isContentEditable) return
  const selection = document.getSelection()
  const range = document.createRange()
  range.selectNodeContents(element)
  if (!all) range.collapse(false)
  selection?.removeAllRanges()
  selection?.addRange(range)
}

/** Makes an element ready for keys, all of it selected where they shall replace it; whether it has the focus then. */
export function takeFocus(element: HTMLElement, replace: boolean): boolean {
  const hasFocus = (): boolean => {
    const active = activeElement()
    return active !== null && composedContains(element, active)
  }
  const had = hasFocus()
  if (!had) element.focus?.({ preventScroll: true })
  // A code editor has its own selection, which is not that of its field.
  if ((!had || replace) && !editorOf(element)) placeCaret(element, replace)
  return hasFocus()
}
