/**
 * A cache for one call. The page's scripts do not run during the call, so nothing changes. The cache ends with the
 * call.
 */
import type { Root } from './composed-tree'

interface Memo {
  /** Rule keys by root (see styles.ts). */
  keys: Map<Root, unknown>
  /** Labels by their control, by root. */
  labels: Map<Root, Map<Element, HTMLLabelElement[]>>
  /** The role of the table of the last row that was asked about. */
  row: ParentNode | null
  tableRole: string | null
  /** Whether children of one parent with the same tag and classes are blocks. */
  blocks: Map<ParentNode, Map<string, boolean>>
  /** Whether the changes of the page are counted up to now. */
  counted: boolean
}

let current: Memo | null = null

export const memo = (): Memo | null => current

/** Runs something synchronous that only reads the page. */
export function withMemo<Result>(run: () => Result): Result {
  if (current) return run()
  current = {
    keys: new Map(),
    labels: new Map(),
    row: null,
    tableRole: null,
    blocks: new Map(),
    counted: false
  }
  try {
    return run()
  } finally {
    current = null
  }
}
