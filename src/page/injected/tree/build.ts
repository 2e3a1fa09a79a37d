/** Builds the tree of a snapshot, and reads its texts. */
import { bodyOf, documentElement } from '../dom/composed-tree'
import { isNode, type TreeNode } from './node'
import { Walk } from './walk'

const defaultMaxRun = 20

export interface BuiltTree {
  tree: TreeNode
  folded: boolean
  /** The node in which the walk has stopped, null if it was complete. */
  stoppedIn: TreeNode | null
}

export function buildTree(
  root: Element | null,
  options: {
    interactive?: boolean
    overview?: boolean
    depth?: number
    fold?: number
    cursors?: boolean
  }
): BuiltTree {
  const walk = new Walk({
    interactive: options.interactive ?? false,
    overview: options.overview ?? false,
    depth: options.depth ?? Infinity,
    fold:
      options.fold === undefined
        ? root
          ? Infinity
          : defaultMaxRun
        : options.fold > 0
          ? options.fold
          : Infinity,
    cursors: options.cursors ?? false
  })
  const start = root ?? bodyOf() ?? documentElement()
  if (!start) throw new Error('the document is empty')
  return { tree: walk.run(start, root === null), folded: walk.folded, stoppedIn: walk.stoppedIn }
}

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
  collect(buildTree(element, {}).tree)
  return texts
}
