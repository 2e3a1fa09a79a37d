/** The `waitFor` call: waits for the state of an element or for text. */
import type { UncheckedHosts, WaitForArgument, WaitForResult } from '../api'
import { withCallCache } from '../dom/call-cache'
import { CallError } from '../dom/call-error'
import { uncheckedHosts } from '../dom/closed-shadow-roots'
import { isConnected } from '../dom/composed-tree'
import { elementByRef, isRef, RefAllocator } from '../dom/refs'
import { queryText } from '../dom/text'
import { containing } from '../dom/text-matcher'
import { hiddenReason, isVisible } from '../dom/visibility'
import { describeElement } from '../roles/describe'
import { matchOf } from '../targets/resolve'
import { adviceFor, similarElements } from '../targets/suggestions'
import { findAll } from '../targets/targets'
import { queryTextAttributes, type TextAttributeMatch } from '../targets/text-attributes'
import { nextChange } from './actionability'

type WaitCheck =
  | { met: true; element: Element | null; as?: TextAttributeMatch['as'] }
  | { met: false; why: string }

const met = (element: Element | null): WaitCheck => ({ met: true, element })

/** Returns the element that shows a text, or has it as its name, placeholder, value or title. */
function findText(
  text: string
): TextAttributeMatch | { element: Element; as?: undefined } | undefined {
  const matcher = containing(text)
  const element = queryText(matcher, document).find(isVisible)
  return element ? { element } : queryTextAttributes(matcher, document)[0]
}

const unmet = (why: string): WaitCheck => ({ met: false, why })

function check(argument: WaitForArgument): WaitCheck {
  const { target, text, textGone } = argument
  if (text !== undefined) {
    const found = findText(text)
    if (!found) return unmet(`the text \`${text}\` is not visible`)
    if (target === undefined && textGone === undefined) return { met: true, ...found }
  }
  if (textGone !== undefined) {
    const still = findText(textGone)
    if (still)
      return unmet(
        `the text \`${textGone}\` is still visible${still.as ? ` as the ${still.as} of ${describeElement(still.element, new RefAllocator(argument.refs))}` : ''}`
      )
    if (target === undefined) return met(null)
  }
  if (target === undefined)
    throw new CallError(
      'INVALID_PARAMETERS',
      'nothing to wait for: give a selector, `text` or `textGone`'
    )
  const found = isRef(target.trim())
    ? [elementByRef(target.trim())].filter((element): element is Element => element !== null)
    : findAll(target)
  const visible = found.find(isVisible)
  switch (argument.state ?? 'visible') {
    case 'attached':
      return found.length > 0 ? met(found[0]) : unmet(`nothing matches \`${target}\``)
    case 'detached':
      return found.length === 0 ? met(null) : unmet(`\`${target}\` is still in the page`)
    case 'hidden':
      return visible === undefined ? met(found[0] ?? null) : unmet(`\`${target}\` is still visible`)
    default:
      if (visible) return met(visible)
      return unmet(
        found.length > 0
          ? `\`${target}\` is hidden: ${hiddenReason(found[0])}`
          : `nothing matches \`${target}\``
      )
  }
}

export async function waitFor(argument: WaitForArgument): Promise<WaitForResult | UncheckedHosts> {
  const refs = new RefAllocator(argument.refs)
  const started = performance.now() - (argument.waited ?? 0)
  const until = started + argument.timeout
  for (;;) {
    const hosts = uncheckedHosts(argument)
    if (hosts) return hosts
    const result = withCallCache(() => check(argument))
    if (result.met) {
      const waited = Math.round(performance.now() - started)
      return result.element && isConnected(result.element)
        ? {
            ...matchOf(result.element, refs),
            ...(result.as && { as: result.as }),
            waited,
            next: refs.next
          }
        : { waited, next: refs.next }
    }
    if (performance.now() >= until) {
      const missing = argument.target !== undefined && result.why.startsWith('nothing matches')
      const suggestions = missing ? similarElements(argument.target as string, refs) : []
      throw new CallError(
        'TIMEOUT',
        `${result.why} (waited ${argument.timeout} ms)`,
        { timeout: argument.timeout, suggestions },
        adviceFor(suggestions)
      )
    }
    await nextChange(false, until)
  }
}
