/** Focuses elements and places the caret. */
import { activeElement, composedContains } from '../dom/composed-tree'
import { editorOf } from './code-editors'

/** Places the caret at the end of the contents, or selects them all. */
export function placeCaret(element: HTMLElement, all: boolean): void {
  if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
    if (all) element.select()
    else {
      try {
        element.setSelectionRange(element.value.length, element.value.length)
      } catch {
        // Number and email inputs do not support selections. The browser places their caret.
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

/**
 * Focuses an element for key input. With `replace`, selects its contents. Returns whether it has
 * the focus.
 */
export function takeFocus(element: HTMLElement, replace: boolean): boolean {
  const hasFocus = (): boolean => {
    const active = activeElement()
    return active !== null && composedContains(element, active)
  }
  const had = hasFocus()
  if (!had) element.focus?.({ preventScroll: true })
  // A code editor has its own selection, independent of its field.
  if ((!had || replace) && !editorOf(element)) placeCaret(element, replace)
  return hasFocus()
}
