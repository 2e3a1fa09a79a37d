/**
 * Refs: short ids of elements. A ref is never reused and does not keep its element alive. The
 * caller passes the prefix and the counter, because it knows all frames of the session.
 */
import type { RefCounter } from '../api'
import { isConnected } from './composed-tree'

const refOfElement = new WeakMap<Element, string>()
const elementOfRef = new Map<string, WeakRef<Element>>()
let sweepAt = 4096
/**
 * The number of the next ref. It may exceed the passed counter, because concurrent calls receive
 * the same one.
 */
let nextNumber = 1

/** Returns the counter, which every answer contains, errors too. */
export const nextRef = (): number => nextNumber

export class RefAllocator {
  private readonly prefix: string

  constructor(counter: RefCounter | undefined) {
    this.prefix = counter?.prefix ?? 'e'
    nextNumber = Math.max(nextNumber, counter?.next ?? 1)
  }

  get next(): number {
    return nextNumber
  }

  /** Returns the ref of an element. Assigns one if it has none. */
  of(element: Element): string {
    let ref = refOfElement.get(element)
    if (ref === undefined) {
      ref = this.prefix + nextNumber++
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

/** Restores a ref after a restart. Returns false if the ref or the element is taken. */
export function claimRef(ref: string, element: Element): boolean {
  if (refOfElement.has(element) || elementOfRef.get(ref)?.deref()) return false
  refOfElement.set(element, ref)
  elementOfRef.set(ref, new WeakRef(element))
  nextNumber = Math.max(nextNumber, Number(/\d+$/.exec(ref)?.[0] ?? 0) + 1)
  return true
}

/** Returns the element of a ref if it is in the document. */
export function elementByRef(ref: string): Element | null {
  const element = elementOfRef.get(ref)?.deref()
  return element && isConnected(element) ? element : null
}

/** Returns the ref of an element, undefined if it has none. */
export const existingRef = (element: Element): string | undefined => refOfElement.get(element)

/** Yields all elements in the document that have a ref. */
export function* connectedRefs(): Generator<[string, Element]> {
  for (const [ref, weak] of elementOfRef) {
    const element = weak.deref()
    if (element && isConnected(element)) yield [ref, element]
  }
}

/** Returns whether a text is a ref such as `e12` or `f2e7`. */
export const isRef = (text: string): boolean => /^(f\d+)*e\d+$/.test(text)
