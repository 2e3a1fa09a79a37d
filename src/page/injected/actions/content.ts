/**
 * The `awaitContent` call: waits for content that a page renders after its `load` event, or after
 * an action.
 */
import type { ContentArgument, ContentResult } from '../api'
import { idle } from '../dom/event-loop'
import { lastAdditionTime } from '../dom/mutation-observer'
import { documentDeadline, responseDeadline } from '../snapshot/loading'
import { nextChange } from './actionability'

/** After content was added, the call waits until nothing is added for this time in ms. */
const settleTime = 50

/** Waits until the page has rendered its content, and then adds nothing for `settleTime`. */
export async function awaitContent({ timeout, action }: ContentArgument): Promise<ContentResult> {
  const start = performance.now()
  const until = start + timeout
  const deadline = action
    ? () => responseDeadline(action.begun, action.begun, action.isChanged)
    : documentDeadline
  if (!action) await idle()
  let waited = false
  for (;;) {
    const added = lastAdditionTime()
    const end = Math.max(deadline(), waited || added > start ? added + settleTime : 0)
    if (performance.now() >= Math.min(until, end)) return { waited }
    waited = true
    await nextChange(false, Math.min(until, end))
  }
}
