/** The `snapshot` and `snapshotIfChanged` calls, and snapshots in the answers of other calls. */
import type {
  ChangeCounts,
  RefContext,
  SnapshotArgument,
  SnapshotIfChangedArgument,
  SnapshotIfChangedResult,
  SnapshotResult
} from '../api'
import { withCallCache } from '../dom/call-cache'
import { changeCounts, documentName, recordSnapshot } from '../dom/change-counts'
import { uncheckedHosts } from '../dom/closed-shadow-roots'
import { bodyOf, documentElement } from '../dom/composed-tree'
import { RefAllocator } from '../dom/refs'
import { hiddenReason } from '../dom/visibility'
import { describeElement } from '../roles/describe'
import { resolveOne } from '../targets/resolve'
import { buildTree, type BuiltTree } from '../tree/build'
import type { TreeNode } from '../tree/node'
import { overview } from './overview'
import { Writer } from './writer'

export function snapshot(argument: SnapshotArgument): SnapshotResult {
  const refs = new RefAllocator(argument.refs)
  const target = argument.ref ?? argument.selector
  const root = target === undefined ? null : resolveOne(target, refs, false)
  if (!bodyOf() && !documentElement())
    return {
      text: '',
      next: refs.next,
      frames: [],
      folded: false,
      cut: false,
      lines: 0,
      mutations: recordSnapshot(),
      document: documentName
    }
  const { writer, built } = argument.overview
    ? overview(refs, argument.budget ?? Infinity)
    : writeTree(root, refs, argument)
  const { folded, stoppedIn } = built
  if (root && writer.lines.length === 0)
    writer.lines.push(
      `- … ${describeElement(root, refs)} shows nothing: ${hiddenReason(root) ?? 'it is hidden from assistive technology or empty'}`
    )
  const cut = writer.cutAt !== null
  if (cut) {
    const whole = root === null ? '' : refs.of(root)
    const part =
      writer.cutAt && writer.cutAt !== whole
        ? `snapshot {selector: "${writer.cutAt}"} shows this part whole`
        : 'snapshot {budget} with a higher budget shows more'
    writer.lines.push(
      `- … cut at ${argument.budget} characters: ${part}, {interactive: true} shows only controls, headings and landmarks`
    )
  }
  if (stoppedIn !== null && !cut) writer.lines.push(`- … ${truncationNotice(stoppedIn, refs)}`)
  return {
    text: writer.lines.join('\n'),
    next: refs.next,
    frames: writer.frames,
    folded,
    cut: cut || stoppedIn !== null,
    lines: writer.lines.length,
    mutations: recordSnapshot(),
    document: documentName
  }
}

function writeTree(
  root: Element | null,
  refs: RefAllocator,
  argument: SnapshotArgument
): { writer: Writer; built: BuiltTree } {
  const built = buildTree(root, { ...argument, overview: false })
  const writer = new Writer(refs, argument.budget ?? Infinity)
  writer.children(built.tree.children, '', null)
  return { writer, built }
}

/** Describes where a walk has stopped, and how to read the rest. */
export function truncationNotice(stoppedIn: TreeNode, refs: RefAllocator): string {
  const place =
    stoppedIn.role === 'document' ? '' : `, in ${describeElement(stoppedIn.element, refs)}`
  return `cut here${place}: the page has too many elements. snapshot {selector} shows any other part of it, for example {selector: "tr:nth-child(5000)"}`
}

/** Takes a snapshot. Returns null if the caller has to check possible shadow hosts first. */
export function snapshotWithCounts(
  options: Omit<SnapshotArgument, keyof RefContext>,
  { refs, hosts }: RefContext
): ({ snapshot: SnapshotResult; next: number } & ChangeCounts) | null {
  if (uncheckedHosts({ hosts }) !== null) return null
  const result = withCallCache(() => snapshot({ ...options, refs }))
  return { snapshot: result, next: result.next, ...changeCounts(), mutations: result.mutations }
}

/** Takes a snapshot if the change count differs from the known one. */
export function snapshotIfChanged({
  snapshot: options,
  refs
}: SnapshotIfChangedArgument): SnapshotIfChangedResult {
  const counts = changeCounts()
  if (options.known === counts.mutations && options.document === counts.document) return counts
  const result = snapshot({ ...options, refs })
  return { snapshot: result, next: result.next, ...counts, mutations: result.mutations }
}
