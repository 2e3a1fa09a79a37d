/** Returns the positions of the elements with refs, for annotated screenshots. */
import type { AnnotationsArgument, AnnotationsResult, Box } from '../api'
import { boxOf, coefficients, contentMatrix } from '../dom/geometry'
import { RefAllocator } from '../dom/refs'
import { isVisible } from '../dom/visibility'
import { buildTree } from '../tree/build'
import { isNode, type TreeNode } from '../tree/node'

/** Roles that an interactive snapshot shows for orientation, not as targets. */
const landmarks = new Set([
  'heading',
  'banner',
  'complementary',
  'contentinfo',
  'form',
  'main',
  'navigation',
  'region',
  'search',
  'article',
  'dialog',
  'alertdialog',
  'generic',
  'group'
])

export function annotations(argument: AnnotationsArgument): AnnotationsResult {
  const refs = new RefAllocator(argument.refs)
  const boxes: AnnotationsResult['boxes'] = []
  const frames: AnnotationsResult['frames'] = []
  const isIncluded = (box: Box): boolean => {
    if (box.width < 1 || box.height < 1) return false
    return (
      argument.whole === true ||
      (box.x < innerWidth && box.y < innerHeight && box.x + box.width > 0 && box.y + box.height > 0)
    )
  }
  const visit = (node: TreeNode): void => {
    const { element, role } = node
    const box = boxOf(element)
    if (role === 'iframe' && isIncluded(box)) frames.push(frameOf(element, refs))
    else if (
      node.wantsRef &&
      isIncluded(box) &&
      (!landmarks.has(role) || node.cursor !== '') &&
      isVisible(element)
    )
      boxes.push({ ref: refs.of(element), role, box })
    for (const child of node.children) if (isNode(child)) visit(child)
  }
  for (const child of buildTree(null, { interactive: true, fold: 0 }).tree.children)
    if (isNode(child)) visit(child)
  return {
    boxes,
    frames,
    width: innerWidth,
    height: innerHeight,
    scroll: { x: scrollX, y: scrollY },
    pixelRatio: devicePixelRatio,
    next: refs.next
  }
}

function frameOf(frame: Element, refs: RefAllocator): AnnotationsResult['frames'][number] {
  const style = getComputedStyle(frame)
  const padding = (side: string): number =>
    parseFloat(style.getPropertyValue(`padding-${side}`)) || 0
  const [width, height] = [
    frame.clientWidth - padding('left') - padding('right'),
    frame.clientHeight - padding('top') - padding('bottom')
  ]
  return { ref: refs.of(frame), width, height, matrix: coefficients(contentMatrix(frame)) }
}
