/** The `waitFor` call: waits for the state of an element or for text. */
import type { Hosts, WaitForArgument, WaitForResult } from '../api'
import { unknownHosts } from '../dom/closed-shadow-roots'
import { isConnected } from '../dom/composed-tree'
import { Failure } from '../dom/failure'
import { withMemo } from '../dom/memo'
import { elementByRef, isRef, RefGiver } from '../dom/refs'
import { queryText } from '../dom/text'
import { containing } from '../dom/text-matcher'
import { invisibleBecause, isVisible } from '../dom/visibility'
import { describeElement } from '../roles/describe'
import { querySaid, type Said } from '../targets/described-elements'
import { matchOf } from '../targets/resolve'
import { nearMatches } from '../targets/suggestions'
import { findAll } from '../targets/targets'
import { nextChange } from './actionability'

type Look = { met: true; element: Element | null; as?: Said['as'] } | { met: false; why: string }

const met = (element: Element | null): Look => ({ met: true, element })

/** Returns the element that shows a text, or has it as its name, placeholder, value or title. */
function showing(text: string): Said | { element: Element; as?: undefined } | undefined {
  const matcher = containing(text)
  const element = queryText(matcher, document).find(isVisible)
  return element ? { element } : querySaid(matcher, document)[0]
}

const unmet = (why: string): Look => ({ met: false, why })

function look(argument: WaitForArgument): Look {
  const { target, text, textGone } = argument
  if (text !== undefined) {
    const found = showing(text)
    if (!found) return unmet(`the text \`${text}\` is not visible`)
    if (target === undefined && textGone === undefined) return { met: true, ...found }
  }
  if (textGone !== undefined) {
    const still = showing(textGone)
    if (still)
      return unmet(
        `the text \`${textGone}\` is still visible${still.as ? ` as the ${still.as} of ${describeElement(still.element, new RefGiver(argument.refs))}` : ''}`
      )
    if (target === undefined) return met(null)
  }
  if (target === undefined)
    throw new Failure(
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
          ? `\`${target}\` is hidden: ${invisibleBecause(found[0])}`
          : `nothing matches \`${target}\``
      )
  }
}

export async function waitFor(argument: WaitForArgument): Promise<WaitForResult | Hosts> {
  const refs = new RefGiver(argument.refs)
  const started = performance.now() - (argument.waited ?? 0)
  const until = started + argument.timeout
  for (;;) {
    const hosts = unknownHosts(argument)
    if (hosts) return hosts
    const seen = withMemo(() => look(argument))
    if (seen.met) {
      const waited = Math.round(performance.now() - started)
      return seen.element && isConnected(seen.element)
        ? {
            ...matchOf(seen.element, refs),
            ...(seen.as && { as: seen.as }),
            waited,
            next: refs.next
          }
        : { waited, next: refs.next }
    }
    if (performance.now() >= until) {
      const missing = argument.target !== undefined && seen.why.startsWith('nothing matches')
      const suggestions = missing ? nearMatches(argument.target as string, refs) : []
      const advice =
        suggestions.length > 0
          ? `Did you mean ${suggestions.map((near) => near.description).join(', or ')}?`
          : undefined
      throw new Failure(
        'TIMEOUT',
        `${seen.why} (waited ${argument.timeout} ms)`,
        { timeout: argument.timeout, suggestions },
        advice
      )
    }
    await nextChange(false, until)
  }
}
