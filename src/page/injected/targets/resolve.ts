/** Resolves a target to one element. Errors contain suggestions to correct the target. */
import type { Match, ResolveResult, TargetArgument } from '../api'
import { CallError } from '../dom/call-error'
import { elementByRef, isRef, nextRef, RefAllocator } from '../dom/refs'
import { isVisible } from '../dom/visibility'
import { describeElement } from '../roles/describe'
import { distinguishingFacts } from './distinguishing-facts'
import { adviceFor, similarElements } from './suggestions'
import { findAll } from './targets'

export const matchOf = (element: Element, refs: RefAllocator): Match => ({
  ref: refs.of(element),
  description: describeElement(element, refs)
})

/**
 * Returns the element of a ref. Fails if the element was removed, or if no element has had this
 * ref.
 */
export function requireRef(ref: string): Element {
  const element = elementByRef(ref.trim())
  if (element) return element
  if (Number(/\d+$/.exec(ref.trim())?.[0]) >= nextRef()) {
    throw new CallError(
      'ELEMENT_NOT_FOUND',
      `no element has the ref \`${ref}\``,
      { reason: 'unknown', ref },
      "Call `snapshot`: it shows the refs of the page's elements."
    )
  }
  throw new CallError(
    'ELEMENT_NOT_FOUND',
    `the element of ref \`${ref}\` is no longer in the page`,
    { reason: 'stale', ref },
    'Call `snapshot`: it shows the current refs.'
  )
}

/**
 * Returns the element of a target. Fails if nothing matches, and with `strict` if several elements
 * match.
 */
export function resolveOne(target: string, refs: RefAllocator, strict: boolean): Element {
  return resolveMany(target, refs, strict).element
}

/**
 * Returns the element of a target and the number of matches. `quick` omits the suggestions for a
 * missing element, which a waiting caller needs only at the end.
 */
export function resolveMany(
  target: string,
  refs: RefAllocator,
  strict: boolean,
  quick = false
): { element: Element; count: number } {
  const trimmed = target.trim()
  if (isRef(trimmed)) return { element: requireRef(trimmed), count: 1 }
  const found = findAll(trimmed)
  if (found.length === 0)
    throw quick
      ? new CallError('ELEMENT_NOT_FOUND', `nothing matches \`${trimmed}\``)
      : notFound(trimmed, refs)
  if (found.length === 1 || !strict) return { element: found[0], count: found.length }
  const visible = found.filter(isVisible)
  if (visible.length === 1) return { element: visible[0], count: found.length }
  const shown = visible.length > 1 ? visible : found
  const [exact, ...more] = withExactLabel(trimmed).filter((element) => shown.includes(element))
  if (exact !== undefined && more.length === 0) return { element: exact, count: found.length }
  const listed = shown.slice(0, 10)
  const context = distinguishingFacts(listed)
  const matches = listed.map((element, index) => ({
    ref: refs.of(element),
    description: describeElement(element, refs) + context[index]
  }))
  throw new CallError('ELEMENT_AMBIGUOUS', `\`${trimmed}\` matches ${shown.length} elements`, {
    count: shown.length,
    matches
  })
}

/** Returns the elements with exactly the label of a `label=` target. */
function withExactLabel(target: string): Element[] {
  const label = /^label=\s*([^\s"'/](?:(?!>>).)*)$/.exec(target)?.[1]
  return label === undefined ? [] : findAll(`label=${JSON.stringify(label.trim())}`)
}

/** Returns the error for a target without a match, with similar elements as suggestions. */
export function notFound(target: string, refs: RefAllocator): CallError {
  const suggestions = similarElements(target, refs)
  const message = `nothing matches \`${target}\``
  return new CallError('ELEMENT_NOT_FOUND', message, { suggestions }, adviceFor(suggestions))
}

export function resolve(argument: TargetArgument): ResolveResult {
  const refs = new RefAllocator(argument.refs)
  const { element, count } = resolveMany(argument.target, refs, argument.strict ?? false)
  const match = matchOf(element, refs)
  return { ...match, count, next: refs.next }
}
