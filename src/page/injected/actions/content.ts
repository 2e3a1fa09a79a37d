/** The `awaitContent` call: waits for content that a page loads after its `load` event. */
import type { ContentArgument, ContentResult } from '../api'
import { isLoading } from '../snapshot/loading'
import { nextChange } from './actionability'

/** Waits until the main content is not empty and nothing is marked as busy. */
export async function awaitContent({ timeout }: ContentArgument): Promise<ContentResult> {
  const until = performance.now() + timeout
  let waited = false
  while (isLoading() && performance.now() < until) {
    waited = true
    await nextChange(false, until)
  }
  return { waited }
}
