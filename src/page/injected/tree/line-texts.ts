/** The texts of an element's snapshot, for targets that compare them. */
import { isNode, type TreeNode } from './node'
import { Walk } from './walk'

/** Returns the names, values and texts in the snapshot of an element. */
export function lineTexts(element: Element): string[] {
  const texts: string[] = []
  const collect = ({ name, value, children }: TreeNode): void => {
    if (name !== '') texts.push(name)
    if (value !== null) texts.push(value)
    for (const child of children) {
      if (typeof child === 'string') texts.push(child)
      else if (isNode(child)) collect(child)
    }
  }
  collect(
    new Walk({
      interactive: false,
      overview: false,
      depth: Infinity,
      fold: Infinity,
      cursors: false
    }).run(element, false)
  )
  return texts
}
