/** The `playwrightTick` call: waits for one tick and takes a snapshot in one call. */
import { awaitTick } from '../actions/event-loop-tick'
import type { PlaywrightTickArgument, PlaywrightTickResult } from '../api'
import { withCallCache } from '../dom/call-cache'
import { uncheckedHosts } from '../dom/closed-shadow-roots'
import { playwrightSnapshot } from './playwright-snapshot'

export async function playwrightTick(
  argument: PlaywrightTickArgument
): Promise<PlaywrightTickResult> {
  const { ariaSnapshot, ...tick } = argument
  const result = await awaitTick(tick)
  if (result.covered !== undefined || uncheckedHosts(tick)) return result
  try {
    const { text, frames, next } = withCallCache(() =>
      playwrightSnapshot({ ...ariaSnapshot, refs: tick.refs })
    )
    return frames.length > 0 ? { ...result, next } : { ...result, next, ariaSnapshot: text }
  } catch {
    // The action was performed. The snapshot that the caller takes then reports the error.
    return result
  }
}
