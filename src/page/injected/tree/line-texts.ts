/** What the lines of an element's snapshot say, for targets that compare it. */
import { isNode, type TreeNode } from './node'
import { Walk } from './walk'

/** The names, values and texts of an element's lines. */
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
