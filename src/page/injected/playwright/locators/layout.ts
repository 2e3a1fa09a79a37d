/** Layout engines, which find elements by their position relative to others. */

type Score = (box: DOMRect, other: DOMRect, maxDistance: number | undefined) => number | undefined

function directed(
  distance: number,
  offset: number,
  maxDistance: number | undefined
): number | undefined {
  if (distance < 0 || (maxDistance !== undefined && distance > maxDistance)) return undefined
  return distance + offset
}

/** How far a box extends over another one, above and below. */
const verticalOffset = (box: DOMRect, other: DOMRect): number =>
  Math.max(other.bottom - box.bottom, 0) + Math.max(box.top - other.top, 0)
const horizontalOffset = (box: DOMRect, other: DOMRect): number =>
  Math.max(box.left - other.left, 0) + Math.max(other.right - box.right, 0)

const scores: Record<string, Score> = {
  'right-of': (box, other, max) =>
    directed(box.left - other.right, verticalOffset(box, other), max),
  'left-of': (box, other, max) => directed(other.left - box.right, verticalOffset(box, other), max),
  above: (box, other, max) => directed(other.top - box.bottom, horizontalOffset(box, other), max),
  below: (box, other, max) => directed(box.top - other.bottom, horizontalOffset(box, other), max),
  near: (box, other, max = 50) => {
    const gaps = [
      box.left - other.right,
      other.left - box.right,
      other.top - box.bottom,
      box.top - other.bottom
    ]
    const score = gaps.reduce((sum, gap) => sum + Math.max(gap, 0), 0)
    return score > max ? undefined : score
  }
}

/** Returns how well the position of an element matches, 0 for the best match. */
export function layoutScore(
  engine: string,
  element: Element,
  others: Element[],
  maxDistance: number | undefined
): number | undefined {
  const box = element.getBoundingClientRect()
  let best: number | undefined
  for (const other of others) {
    if (other === element) continue
    const score = scores[engine](box, other.getBoundingClientRect(), maxDistance)
    if (score !== undefined && (best === undefined || score < best)) best = score
  }
  return best
}
