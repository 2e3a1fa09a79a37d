/**
 * The overview of a page: the whole page if it is short, or else its controls, headings and
 * messages. Collapses as many of them as the budget requires.
 */
import type { RefAllocator } from '../dom/refs'
import { buildTree, type BuiltTree } from '../tree/build'
import { isNode, type TreeChild, type TreeNode } from '../tree/node'
import { repeatedRoles } from '../tree/walk'
import { Writer } from './writer'

/** A level of detail. */
interface Level {
  /** Whether landmarks around the main content become one line each. */
  collapsesLandmarks: boolean
  /** Maximum number of repeated lines. */
  maxRun: number
}

const levels: Level[] = [
  { collapsesLandmarks: false, maxRun: 10 },
  { collapsesLandmarks: true, maxRun: 5 },
  { collapsesLandmarks: true, maxRun: 3 }
]
/** Factor for other lines than rows and items, which repeat less often. */
const otherLineFactor = 3
const minShown = 3
const secondaryLandmarks = new Set(['banner', 'navigation', 'complementary', 'contentinfo'])
/** Roles that are shown only if their contents are collapsed. */
const containers = new Set(['list', 'table', 'grid', 'treegrid', 'feed'])
/** Roles that are shown only if they have several children. */
const items = new Set(['listitem', 'row', 'article', 'cell', 'gridcell'])
const maxTextLength = 160
const maxNameLength = 80
const maxHintLength = 110

/** Writes the overview within `budget` characters. */
export function overview(refs: RefAllocator, budget: number): { writer: Writer; built: BuiltTree } {
  const whole = buildTree(null, {})
  const writer = writeLines(refs, budget, withoutUrls(whole.tree.children))
  if (writer.cutAt === null) return { writer, built: whole }
  const built = buildTree(null, { interactive: true, overview: true })
  let last = writer
  for (const level of levels) {
    last = writeLines(refs, budget - maxHintLength, reduce(built.tree.children, level))
    if (last.cutAt === null) break
  }
  const part = last.cutAt === null ? '' : ', cut here'
  last.cutAt = null
  last.lines.push(
    `- … controls, headings and messages only${part}: snapshot shows all, snapshot {selector} a part by its ref`
  )
  return { writer: last, built }
}

function writeLines(refs: RefAllocator, budget: number, children: TreeChild[]): Writer {
  const writer = new Writer(refs, budget)
  writer.children(children, '', null)
  return writer
}

const truncate = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text

/** Copies a node with other children and without its URL, unless nothing else describes it. */
function copy(node: TreeNode, children: TreeChild[]): TreeNode {
  const isDescribed = node.name !== '' || children.length > 0
  return {
    ...node,
    children,
    properties: node.properties.filter((property) => !isDescribed || !property.startsWith('/url')),
    cached: false,
    lines: null
  }
}

const withoutUrls = (children: TreeChild[]): TreeChild[] =>
  children.map((child) => (isNode(child) ? copy(child, withoutUrls(child.children)) : child))

function reduce(children: TreeChild[], level: Level): TreeChild[] {
  const result: TreeChild[] = []
  for (let from = 0, to = 0; from < children.length; from = to) {
    const child = children[from]
    to = from + 1
    if (typeof child === 'string') result.push(truncate(child, maxTextLength))
    else if (!isNode(child)) result.push(child)
    else {
      const run = [child]
      for (
        let next = children[to];
        next !== undefined && typeof next !== 'string' && isNode(next) && next.role === child.role;
        next = children[to]
      ) {
        run.push(next)
        to++
      }
      const following = children[to]
      const folded =
        following !== undefined &&
        typeof following !== 'string' &&
        !isNode(following) &&
        following.role === child.role
          ? following.count
          : 0
      if (folded > 0) to++
      result.push(...reduceRun(run, folded, level))
    }
  }
  return result
}

/** Reduces siblings of one role. `folded` is the number of siblings that are omitted already. */
function reduceRun(run: TreeNode[], folded: number, level: Level): TreeChild[] {
  const maxRun = level.maxRun * (repeatedRoles.has(run[0].role) ? 1 : otherLineFactor)
  // Omitting only a few lines would save nothing.
  const showsAll = folded === 0 && run.length <= maxRun + minShown
  // Selected and focused elements are always shown.
  const shown = run.filter(
    (node, index) => showsAll || index < maxRun || /\[(active|selected|checked)/.test(node.states)
  )
  const result = shown.flatMap((node) => reduceNode(node, level))
  const count = folded + run.length - shown.length
  return count > 0 ? [...result, { fold: true, role: run[0].role, count }] : result
}

/** Returns the reduced form of a node. */
function reduceNode(node: TreeNode, level: Level): TreeChild[] {
  const { role } = node
  if (level.collapsesLandmarks && secondaryLandmarks.has(role)) {
    const lines = countLines(node.children)
    return lines === 0 ? [] : [{ ...copy(node, []), value: `… ${lines} lines` }]
  }
  const options = node.children.filter(
    (child): child is TreeNode =>
      typeof child !== 'string' && isNode(child) && child.role === 'option'
  )
  if (options.length > minShown && options.length === node.children.length)
    return [withoutOptions(node, options)]
  const children = reduce(node.children, level)
  const isFolded = children.some((child) => typeof child !== 'string' && !isNode(child))
  const isPlain = node.name === '' && node.states === '' && node.cursor === ''
  if (containers.has(role) && !isFolded) return children
  if (items.has(role) && isPlain && children.length <= 1) return children
  const short = copy(node, children)
  short.name = truncate(node.name, maxNameLength)
  short.value = node.value === null ? null : truncate(node.value, maxNameLength)
  short.folds = isFolded
  return [short]
}

/** Replaces the options of a field by the names of the selected ones. */
function withoutOptions(node: TreeNode, options: TreeNode[]): TreeNode {
  const selected = options
    .filter(({ states }) => states.includes('[selected]'))
    .map(({ name }) => name)
  return {
    ...copy(node, []),
    value:
      `${truncate(selected.join(', '), maxNameLength)} (of ${options.length} options)`.trimStart()
  }
}

function countLines(children: TreeChild[]): number {
  let count = 0
  for (const child of children)
    count +=
      typeof child === 'string' ? 1 : isNode(child) ? 1 + countLines(child.children) : child.count
  return count
}
