/**
 * A cache that lives for one synchronous call. The page's scripts do not run meanwhile, so nothing
 * changes.
 */
import type { Root } from './composed-tree'

interface CallCache {
  /** Rule indexes by root (see styles.ts). */
  ruleIndexes: Map<Root, unknown>
  /** Labels by control, for each root. */
  labels: Map<Root, Map<Element, HTMLLabelElement[]>>
  /** The last row whose table was looked up, and the role of that table. */
  row: ParentNode | null
  tableRole: string | null
  /** Whether the children of a parent with the same tag and classes are blocks. */
  blocks: Map<ParentNode, Map<string, boolean>>
  /** Facts about elements for the Playwright tools (see playwright/element-facts.ts). */
  elementFacts: Map<Element, unknown>
  /** Whether a running animation changes derived styles in these facts. Null until it is read. */
  animationsRestyle: boolean | null
  /** Whether the change count is up to date. */
  changesCounted: boolean
}

let current: CallCache | null = null

export const callCache = (): CallCache | null => current

/** Runs a synchronous function that only reads the page, with a cache. */
export function withCallCache<Result>(run: () => Result): Result {
  if (current) return run()
  current = {
    ruleIndexes: new Map(),
    labels: new Map(),
    row: null,
    tableRole: null,
    blocks: new Map(),
    elementFacts: new Map(),
    animationsRestyle: null,
    changesCounted: false
  }
  try {
    return run()
  } finally {
    current = null
  }
}
