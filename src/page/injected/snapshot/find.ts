/** The `find` call: returns the matching lines of the whole snapshot, with their ancestors. */
import type { FindArgument, FindResult } from '../api'
import { CallError } from '../dom/call-error'
import { normalize } from '../dom/composed-tree'
import { RefAllocator } from '../dom/refs'
import { parseRegex } from '../dom/text-matcher'
import { buildTree } from '../tree/build'
import { isNode, type TreeNode } from '../tree/node'
import { truncationNotice } from './snapshot'
import { Writer } from './writer'

/** Roles whose subtree is shown completely if a line in it matches. */
const wholeRoles = new Set([
  'row',
  'listitem',
  'option',
  'treeitem',
  'article',
  'paragraph',
  'menuitem'
])
/** Maximum number of lines of such a subtree. */
const maxLines = 12
/** Maximum number of lines of the element around a match. A larger one is not shown completely. */
const maxContextLines = 5

export function find(argument: FindArgument): FindResult {
  const refs = new RefAllocator(argument.refs)
  const test = testOf(argument)
  const { tree, stoppedIn } = buildTree(null, { fold: 0 })
  const marked = new Set<TreeNode>()
  const whole = new Set<TreeNode>()
  const limit = argument.limit ?? 50
  let count = 0
  const visit = (node: TreeNode, above: TreeNode[]): void => {
    const own = [node.role, node.name, node.value ?? '', ...node.properties].join(' ')
    const headHits = node !== tree && (test(node.name) || test(own)) ? 1 : 0
    const textHits = node.children.filter(
      (child) => typeof child === 'string' && test(child)
    ).length
    // A text that is a node's only child is written on the node's line.
    const oneLine =
      node.children.length === 1 &&
      textHits === 1 &&
      node.properties.length === 0 &&
      node.value === null
    const hits = oneLine ? 1 : headHits + textHits
    const path = [...above, node]
    if (hits > 0) {
      if (count < limit) {
        for (const each of path) marked.add(each)
        const unit = [...path]
          .reverse()
          .find((each) => wholeRoles.has(each.role) && linesOf(each) <= maxLines)
        if (unit) whole.add(unit)
        else {
          if (node !== tree && linesOf(node) <= (headHits > 0 ? maxLines : maxContextLines))
            whole.add(node)
          // The elements around a short text often explain it: `msg.payload` beside `42`.
          const around = above[above.length - 1]
          if (around !== undefined && around !== tree && linesOf(around) <= maxContextLines)
            whole.add(around)
        }
      }
      count += hits
    }
    for (const child of node.children) if (isNode(child)) visit(child, path)
  }
  visit(tree, [])
  const writer = new Writer(refs, Infinity)
  writer.parts(tree, '', marked, whole, test)
  if (stoppedIn !== null) writer.lines.push(`- … ${truncationNotice(stoppedIn, refs)}`)
  return { text: writer.lines.join('\n'), count, next: refs.next }
}

function testOf(argument: FindArgument): (text: string) => boolean {
  if (argument.regex !== undefined) {
    const source = /^\/(.*)\/([a-z]*)$/s.exec(argument.regex)
    const regex = source
      ? parseRegex(source[1], source[2], argument.regex)
      : parseRegex(argument.regex, 'i', argument.regex)
    return (text) => regex.test(text)
  }
  const needle = normalize(argument.text ?? '').toLowerCase()
  if (needle === '') throw new CallError('INVALID_PARAMETERS', 'find needs `text` or `regex`')
  return (text) => text.toLowerCase().includes(needle)
}

function linesOf(node: TreeNode): number {
  let lines = 1 + node.properties.length
  for (const child of node.children) lines += isNode(child) ? linesOf(child) : 1
  return lines
}
