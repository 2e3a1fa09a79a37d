/**
 * Editors that draw their text themselves. A field that nobody sees takes the keys; the text is in lines, as far as they are
 * in view.
 */
import { attr, elementClosest, isHtml, localName, queryAll, textContent } from "./dom";

/** Each editor by its outermost element and the elements of its lines. */
const editors = [
  { root: ".monaco-editor", lines: ".view-line" },
  { root: ".CodeMirror", lines: ".CodeMirror-line" },
  { root: ".ace_editor", lines: ".ace_line" },
];

/** The editor whose keys go to `field`, by its outermost element. */
export function editorOf(field: Element): HTMLElement | null {
  if (localName(field) !== "textarea" && !(attr(field, "class") ?? "").includes("native-edit-context")) return null;
  const root = elementClosest(field, editors.map((editor) => editor.root).join(", "));
  return root && isHtml(root) ? root : null;
}

/** The lines of an editor that are in view, from the top. */
export function drawnText(editor: HTMLElement): string {
  const { lines } = editors.find(({ root }) => editor.matches(root)) as { lines: string };
  const top = (line: Element): number => line.getBoundingClientRect().top;
  const drawn = Array.from(queryAll(editor, lines)).sort((one, other) => top(one) - top(other));
  return drawn.map((line) => plain(textContent(line))).join("\n");
}

/**
 * Offers a text to what has the focus as a paste, which editors insert as it is: what is typed they indent, and they close its
 * brackets. Returns whether the page has taken it.
 */
export function paste(field: Element, text: string): boolean {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const event = new ClipboardEvent("paste", { bubbles: true, cancelable: true, composed: true, clipboardData });
  field.dispatchEvent(event);
  return event.defaultPrevented;
}

/** Editors write other characters for spaces and for what has no width. */
const plain = (text: string): string => text.replace(/\u00a0/g, " ").replace(/[\u200b\u200c\ufeff]/g, "");
