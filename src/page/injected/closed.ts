/** Which elements may have a closed shadow root, for the protocol to look. */
import { firstChild, localName, queryAll, shadowRootOf } from "./dom";
import { shadowRoots } from "./css";

const builtInHosts = new Set(["article", "aside", "blockquote", "body", "div", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "main", "nav", "p", "section", "span"]);

/** Custom elements, and plain ones that are shown with a box but hold nothing. */
export function closedCandidates(): Element[] {
  const found: Element[] = [];
  for (const root of [document, ...shadowRoots(document)]) {
    const elements = queryAll(root, "*");
    for (let i = 0; i < elements.length; i++) {
      const element = elements[i];
      if (shadowRootOf(element)) continue;
      const tag = localName(element);
      if (tag.includes("-")) found.push(element);
      else if (builtInHosts.has(tag) && isUnrendered(element)) found.push(element);
    }
  }
  return found;
}

/** Light children of a host are not laid out unless they are slotted; an empty element with a box may hold a root. */
function isUnrendered(element: Element): boolean {
  const child = firstChild(element);
  if (child === null) return element.clientHeight > 0 && (element.id !== "" || element.className !== "") && element.scrollHeight > 0;
  const inner = element.firstElementChild;
  return inner !== null && inner.getClientRects().length === 0 && element.clientHeight > 0 && getComputedStyle(inner).display === "";
}
