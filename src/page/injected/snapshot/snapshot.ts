/** The `snapshot` call. */
import type { SnapshotArgument, SnapshotResult } from '../api'
import { documentName, noteSnapshot } from '../dom/change-counts'
import { bodyOf, documentElement } from '../dom/composed-tree'
import { RefGiver } from '../dom/refs'
import { invisibleBecause } from '../dom/visibility'
import { describeElement } from '../roles/describe'
import { resolveOne } from '../targets/resolve'
import { buildTree, type Built } from '../tree/build'
import type { TreeNode } from '../tree/node'
import { overview } from './overview'
import { Writer } from './writer'

export function snapshot(argument: SnapshotArgument): SnapshotResult {
  const refs = new RefGiver(argument.refs)
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
      mutations: noteSnapshot(),
      document: documentName
    }
  const { writer, built } = argument.overview
    ? overview(refs, argument.budget ?? Infinity)
    : written(root, refs, argument)
  const { folded, stoppedIn } = built
  if (root && writer.lines.length === 0)
    writer.lines.push(
      `- … ${describeElement(root, refs)} shows nothing: ${invisibleBecause(root) ?? 'it is hidden from assistive technology or empty'}`
    )
  const cut = writer.cutAt !== null
  if (cut) {
    const whole = root === null ? '' : refs.of(root)
    const part =
      writer.cutAt && writer.cutAt !== whole
        ? `snapshot {selector: "${writer.cutAt}"} shows this part whole`
        : 'snapshot {budget} with a higher budget shows more'
    writer.lines.push(
      `- … cut at ${argument.budget} characters: ${part}, {interactive: true} shows less of everything`
    )
  }
  if (stoppedIn !== null && !cut) writer.lines.push(`- … ${tooLarge(stoppedIn, refs)}`)
  return {
    text: writer.lines.join('\n'),
    next: refs.next,
    frames: writer.frames,
    folded,
    cut: cut || stoppedIn !== null,
    lines: writer.lines.length,
    mutations: noteSnapshot(),
    document: documentName
  }
}

function written(
  root: Element | null,
  refs: RefGiver,
  argument: SnapshotArgument
): { writer: Writer; built: Built } {
  const built = buildTree(root, { ...argument, overview: false })
  const writer = new Writer(refs, argument.budget ?? Infinity)
  writer.children(built.tree.children, '', null)
  return { writer, built }
}

/** Describes where a walk has stopped, and how to read the rest. */
export function tooLarge(stoppedIn: TreeNode, refs: RefGiver): string {
  const place =
    stoppedIn.role === 'document' ? '' : `, in ${describeElement(stoppedIn.element, refs)}`
  return `cut here${place}: the page has too many elements. snapshot {selector} shows any other part of it, for example {selector: "tr:nth-child(5000)"}`
}
