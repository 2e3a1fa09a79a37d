/**
 * Refs: short ids of elements. A ref is never reused, refers to its element as long as that exists, and does not keep
 * it alive. The caller passes prefix and counter, because it knows all frames of the session.
 */
import type { RefCounter } from '../api'
import { isConnected } from './composed-tree'

const refOfElement = new WeakMap<Element, string>()
const elementOfRef = new Map<string, WeakRef<Element>>()
let sweepAt = 4096
/** Where the next ref starts at least: two calls that run at once were handed the same counter. */
let highest = 1

/** The counter after everything given so far; every answer tells it, errors too. */
export const nextRef = (): number => highest

export class RefGiver {
  private readonly prefix: string

  constructor(counter: RefCounter | undefined) {
    this.prefix = counter?.prefix ?? 'e'
    highest = Math.max(highest, counter?.next ?? 1)
  }

  get next(): number {
    return highest
  }

  /** The ref of an element, given now if it has none. */
  of(element: Element): string {
    let ref = refOfElement.get(element)
    if (ref === undefined) {
      ref = this.prefix + highest++
      refOfElement.set(element, ref)
      elementOfRef.set(ref, new WeakRef(element))
      if (elementOfRef.size > sweepAt) sweep()
    }
    return ref
  }
}

function sweep(): void {
  for (const [ref, weak] of elementOfRef) if (!weak.deref()) elementOfRef.delete(ref)
  sweepAt = Math.max(4096, elementOfRef.size * 2)
}

/** Gives a former ref back to its element after a restart; false where either is taken. */
export function claimRef(ref: string, element: Element): boolean {
  if (refOfElement.has(element) || elementOfRef.get(ref)?.deref()) return false
  refOfElement.set(element, ref)
  elementOfRef.set(ref, new WeakRef(element))
  highest = Math.max(highest, Number(/\d+$/.exec(ref)?.[0] ?? 0) + 1)
  return true
}

/** The element of a ref, if it is in the document now. */
export function elementByRef(ref: string): Element | null {
  const element = elementOfRef.get(ref)?.deref()
  return element && isConnected(element) ? element : null
}

/** The ref that an element has been given; undefined if it has none. */
export const givenRef = (element: Element): string | undefined => refOfElement.get(element)

/** All elements with a ref that are in the document. */
export function* connectedRefs(): Generator<[string, Element]> {
  for (const [ref, weak] of elementOfRef) {
    const element = weak.deref()
    if (element && isConnected(element)) yield [ref, element]
  }
}

/** `e12`, `f2e7`. */
export const isRef = (text: string): boolean => /^(f\d+)*e\d+$/.test(text)
