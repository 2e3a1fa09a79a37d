/** Snapshots in the answers of other calls, and snapshots of changed pages. */
import type {
  ChangeCounts,
  SnapshotArgument,
  SnapshotIfChangedArgument,
  SnapshotIfChangedResult,
  SnapshotResult,
  WithRefs
} from '../api'
import { changeCounts } from '../dom/change-counts'
import { unknownHosts } from '../dom/closed-shadow-roots'
import { withMemo } from '../dom/memo'
import { snapshot } from './snapshot'

/** Takes a snapshot. Returns null if the caller has to check possible shadow hosts first. */
export function shown(
  look: Omit<SnapshotArgument, keyof WithRefs>,
  { refs, hosts }: WithRefs
): ({ snapshot: SnapshotResult; next: number } & ChangeCounts) | null {
  if (unknownHosts({ hosts }) !== null) return null
  const taken = withMemo(() => snapshot({ ...look, refs }))
  return { snapshot: taken, next: taken.next, ...changeCounts(), mutations: taken.mutations }
}

/** Takes a snapshot if the change count differs from the known one. */
export function snapshotIfChanged({
  look,
  refs
}: SnapshotIfChangedArgument): SnapshotIfChangedResult {
  const counts = changeCounts()
  if (look.known === counts.mutations && look.document === counts.document) return counts
  const taken = snapshot({ ...look, refs })
  return { snapshot: taken, next: taken.next, ...counts, mutations: taken.mutations }
}
