/**
 * Code editors that render text in their own elements. An invisible field receives the key events,
 * and the rendered lines contain only the visible part of the text.
 */
import {
  attr,
  elementClosest,
  isHtml,
  localName,
  queryAll,
  textContent
} from '../dom/composed-tree'

/** Selectors of the outermost element and of the lines of each editor. */
const editors = [
  { root: '.monaco-editor', lines: '.view-line' },
  { root: '.CodeMirror', lines: '.CodeMirror-line' },
  { root: '.ace_editor', lines: '.ace_line' }
]

/** Returns the outermost element of the editor whose key events go to `field`. */
export function editorOf(field: Element): HTMLElement | null {
  if (
    localName(field) !== 'textarea' &&
    !(attr(field, 'class') ?? '').includes('native-edit-context')
  )
    return null
  const root = elementClosest(field, editors.map((editor) => editor.root).join(', '))
  return root && isHtml(root) ? root : null
}

/** Returns the rendered lines of an editor, from the top. */
export function renderedText(editor: HTMLElement): string {
  const { lines } = editors.find(({ root }) => editor.matches(root)) as { lines: string }
  const top = (line: Element): number => line.getBoundingClientRect().top
  const drawn = Array.from(queryAll(editor, lines)).sort((one, other) => top(one) - top(other))
  return drawn.map((line) => plain(textContent(line))).join('\n')
}

/**
 * Dispatches a paste event with a text. Editors insert pasted text unchanged, but indent typed
 * lines and close brackets. Returns whether the page has handled the event.
 */
export function paste(field: Element, text: string): boolean {
  const clipboardData = new DataTransfer()
  clipboardData.setData('text/plain', text)
  const event = new ClipboardEvent('paste', {
    bubbles: true,
    cancelable: true,
    composed: true,
    clipboardData
  })
  field.dispatchEvent(event)
  return event.defaultPrevented
}

/** Editors render spaces and empty lines with other characters. */
const plain = (text: string): string =>
  text.replace(/\u00a0/g, ' ').replace(/[\u200b\u200c\ufeff]/g, '')
