/** The `playwrightSnapshot` call. */
import type { PlaywrightSnapshotArgument, PlaywrightSnapshotResult } from '../api'
import { bodyOf, documentElement } from '../dom/composed-tree'
import { RefAllocator } from '../dom/refs'
import { resolveOne } from '../targets/resolve'
import { buildAriaTree } from './aria-tree'
import { SnapshotRefs } from './playwright-refs'
import { simplifyTree } from './simplify'
import { SnapshotLines } from './snapshot-lines'

export function playwrightSnapshot(argument: PlaywrightSnapshotArgument): PlaywrightSnapshotResult {
  const nativeRefs = new RefAllocator(argument.refs)
  const root =
    argument.root === undefined
      ? (bodyOf() ?? documentElement())
      : resolveOne(argument.root, nativeRefs, false)
  const refs = new SnapshotRefs(argument.framePrefix)
  const depth = argument.depth ?? 0
  const lines = new SnapshotLines({ depth, boxes: argument.boxes ?? false, nativeRefs })
  if (root) {
    const tree = buildAriaTree(root, refs)
    simplifyTree(tree, depth)
    lines.writeTree(tree)
  }
  refs.publish()
  return { text: lines.lines.join('\n'), next: nativeRefs.next, frames: lines.frames }
}
