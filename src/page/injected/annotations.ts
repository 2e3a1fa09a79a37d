/** Where the refs of a snapshot stand, for drawing them on a picture. */
import type { AnnotationsArgument, AnnotationsResult, Box } from "./api";
import { boxOf } from "./hit";
import { isNode, type TreeNode } from "./node";
import { RefGiver } from "./refs";
import { buildTree } from "./snapshot";
import { isVisible } from "./visible";

/** What an interactive snapshot shows for orientation, not for acting on it. */
const landmarks = new Set(["heading", "banner", "complementary", "contentinfo", "form", "main", "navigation", "region", "search", "article", "dialog", "alertdialog", "generic", "group"]);

export function annotations(argument: AnnotationsArgument): AnnotationsResult {
  const refs = new RefGiver(argument.refs);
  const boxes: AnnotationsResult["boxes"] = [];
  const frames: AnnotationsResult["frames"] = [];
  const wanted = (box: Box): boolean => {
    if (box.width < 1 || box.height < 1) return false;
    return argument.whole === true || (box.x < innerWidth && box.y < innerHeight && box.x + box.width > 0 && box.y + box.height > 0);
  };
  const visit = (node: TreeNode): void => {
    const { element, role } = node;
    const box = boxOf(element);
    if (role === "iframe" && wanted(box)) frames.push({ ref: refs.of(element), box: contentBoxOf(element, box) });
    else if (node.wantsRef && wanted(box) && (!landmarks.has(role) || node.cursor !== "") && isVisible(element)) boxes.push({ ref: refs.of(element), role, box });
    for (const child of node.children) if (isNode(child)) visit(child);
  };
  for (const child of buildTree(null, { interactive: true, fold: 0 }).tree.children) if (isNode(child)) visit(child);
  return { boxes, frames, width: innerWidth, height: innerHeight, scroll: { x: scrollX, y: scrollY }, pixelRatio: devicePixelRatio, next: refs.next };
}

/** A frame's own box without its border and padding. */
function contentBoxOf(frame: Element, box: Box): Box {
  const style = getComputedStyle(frame);
  const inset = (side: string): number => parseFloat(style.getPropertyValue(`padding-${side}`)) || 0;
  const [left, top] = [frame.clientLeft + inset("left"), frame.clientTop + inset("top")];
  return { x: box.x + left, y: box.y + top, width: frame.clientWidth - inset("left") - inset("right"), height: frame.clientHeight - inset("top") - inset("bottom") };
}
