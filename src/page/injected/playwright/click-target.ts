/** Finds the target of a click and checks it in one call. */
import { waitActionable } from '../actions/actionability'
import type {
  PlaywrightClickTargetArgument,
  PlaywrightClickTargetResult,
  UncheckedHosts
} from '../api'
import { withCallCache } from '../dom/call-cache'
import { CallError } from '../dom/call-error'
import { uncheckedHosts } from '../dom/closed-shadow-roots'
import { nextRef } from '../dom/refs'
import { playwrightTarget } from './locators/playwright-target'

export async function playwrightClickTarget(
  argument: PlaywrightClickTargetArgument
): Promise<PlaywrightClickTargetResult | UncheckedHosts> {
  const hosts = uncheckedHosts(argument)
  if (hosts) return hosts
  const { check, refs } = argument
  const found = withCallCache(() => playwrightTarget(argument))
  if (!('ref' in found) || found.count !== 1) return found
  try {
    const actionable = await waitActionable({ ...check, refs, target: found.ref })
    return 'ok' in actionable ? { ...found, actionable, next: nextRef() } : found
  } catch (error) {
    // The caller waits for the element and reports why it is not actionable.
    if (error instanceof CallError) return found
    throw error
  }
}
