/** Names that the author gave outright: `aria-labelledby`, `aria-label`, `title`. Apart, since roles depend on them. */
import { attr, byIds, hasAttr } from "./dom";

/** Whether the element has a name of its author's own, not one from what it contains. */
export function hasExplicitName(element: Element): boolean {
  if (hasAttr(element, "aria-label") && (attr(element, "aria-label") as string).trim() !== "") return true;
  if (hasAttr(element, "aria-labelledby") && byIds(element, "aria-labelledby").length > 0) return true;
  return hasAttr(element, "title") && (attr(element, "title") as string).trim() !== "";
}
