/** A CSS path to an element, by which it is found again in the same page. */
import { attr, isShadowRoot, localName, parentNode, previousElement, queryAll, rootOf, isElement } from "./dom";

/** `main > form > input:nth-of-type(2)`; through shadow roots the parts are chained with `>>`. */
export function pathOf(element: Element): string {
  const root = rootOf(element);
  const parts: string[] = [];
  let node: Element | null = element;
  while (node) {
    const id: string | null = attr(node, "id");
    if (id && queryAll(root, `#${CSS.escape(id)}`).length === 1) {
      parts.unshift(`#${CSS.escape(id)}`);
      break;
    }
    parts.unshift(step(node));
    const parent: ParentNode | null = parentNode(node);
    node = isElement(parent) ? parent : null;
  }
  const path = parts.join(" > ");
  return isShadowRoot(root) ? `${pathOf(root.host)} >> ${path}` : path;
}

function step(element: Element): string {
  const tag = localName(element);
  let before = 1;
  let alone = true;
  for (let sibling = previousElement(element); sibling; sibling = previousElement(sibling)) if (localName(sibling) === tag) before++;
  for (let sibling = element.nextElementSibling; sibling && alone; sibling = sibling.nextElementSibling) if (localName(sibling) === tag) alone = false;
  return before === 1 && alone ? CSS.escape(tag) : `${CSS.escape(tag)}:nth-of-type(${before})`;
}
