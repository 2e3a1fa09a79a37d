/** The page as a snapshot that comes with the answer to something else. */
import type { SnapshotArgument, SnapshotResult, WithRefs } from "./api";
import { unknownHosts } from "./closed";
import { withMemo } from "./memo";
import { snapshot } from "./snapshot";

/** Nothing where closed shadow roots have to be handed in first. */
export function shown(look: Omit<SnapshotArgument, keyof WithRefs>, { refs, hosts }: WithRefs): { snapshot: SnapshotResult; next: number; mutations: number } | null {
  if (unknownHosts({ hosts }) !== null) return null;
  const taken = withMemo(() => snapshot({ ...look, refs }));
  return { snapshot: taken, next: taken.next, mutations: taken.mutations };
}
