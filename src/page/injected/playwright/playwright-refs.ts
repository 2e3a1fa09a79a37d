/**
 * Refs of the Playwright tools: `e1`, `e2`, … in the order in which snapshots find the elements. An
 * element keeps its ref while its role and name stay the same. Refs resolve only against the last
 * snapshot of the frame.
 */
import { isConnected } from '../dom/composed-tree'

interface PlaywrightRef {
  ref: string
  role: string
  name: string
}

const refOfElement = new WeakMap<Element, PlaywrightRef>()
let lastNumber = 0
/** The elements with a ref in the last snapshot, which are kept alive until the next one. */
let lastSnapshot: Element[] = []

/** Assigns the refs of one snapshot. */
export class SnapshotRefs {
  private readonly framePrefix: string
  private readonly elements: Element[] = []

  constructor(framePrefix: string) {
    this.framePrefix = framePrefix
  }

  /** Returns the ref of an element. Assigns a new one if its role or name has changed. */
  of(element: Element, role: string, name: string): string {
    let known = refOfElement.get(element)
    if (known === undefined || known.role !== role || known.name !== name) {
      const ref = `${this.framePrefix}e${++lastNumber}`
      known = { ref, role, name }
      refOfElement.set(element, known)
    }
    this.elements.push(element)
    return known.ref
  }

  /** Makes this snapshot the one against which refs resolve. */
  publish(): void {
    lastSnapshot = this.elements
  }
}

/** Returns the element of a ref in the last snapshot, null if it is not in the document. */
export function playwrightRefElement(ref: string): Element | null {
  const element = lastSnapshot.find((each) => refOfElement.get(each)?.ref === ref)
  return element && isConnected(element) ? element : null
}
