/** The `awaitTick` call: waits for one event loop tick of the page. */
import type { TickArgument, TickResult } from '../api'
import { withCallCache } from '../dom/call-cache'
import { changeCounts } from '../dom/change-counts'
import { focusedPassword } from '../dom/composed-tree'
import { nextTask } from '../dom/event-loop'
import { addWindowListener } from '../dom/window-listeners'
import { snapshotWithCounts } from '../snapshot/snapshot'
import { awaitReleases, endGuard } from './click-guard'

/** The event that has started the last download. */
let downloadEvent: Event | null = null

/**
 * Records clicks on download links. The browser reports no request for them, and reports the
 * download only after the response.
 */
export function watchDownloads(): void {
  const recordClick = (event: Event): void => {
    const link = event
      .composedPath()
      .find((node) => node instanceof HTMLAnchorElement && node.hasAttribute('download'))
    if (link instanceof HTMLAnchorElement && isDownloaded(link)) downloadEvent = event
  }
  addWindowListener(['click'], recordClick, true)
  // Scripts also click links that are not in the document, and the window receives no click event
  // then. Documents with an opaque origin and WebKit do not dispatch this event.
  ;(window as { navigation?: Navigation }).navigation?.addEventListener('navigate', (event) => {
    if (event.downloadRequest !== null && isDownloaded(new URL(event.destination.url)))
      downloadEvent = event
  })
}

/** Returns whether the `download` attribute applies: cross-origin links navigate instead. */
function isDownloaded({ origin, protocol }: URL | HTMLAnchorElement): boolean {
  return origin === location.origin || protocol === 'data:'
}

/** Resolves after one tick. Timers of 0 ms that the action has set have run by then. */
export async function awaitTick(argument: TickArgument): Promise<TickResult> {
  if (argument.releases) await awaitReleases(argument.releases)
  for (let left = argument.tasks ?? 1; left > 0; left--) await nextTask()
  await new Promise((resolve) => setTimeout(resolve, 0))
  return withCallCache(() => tickResult(argument))
}

function tickResult({ snapshot, refs, hosts }: TickArgument): TickResult {
  const result: TickResult = {
    done: true,
    now: performance.now(),
    ...changeCounts(),
    ...endGuard()
  }
  const password = focusedPassword()
  if (password !== null) result.password = password
  if (downloadEvent !== null && !downloadEvent.defaultPrevented) result.download = true
  downloadEvent = null
  return snapshot && (snapshot.known !== result.mutations || snapshot.document !== result.document)
    ? { ...result, ...snapshotWithCounts(snapshot, { refs, hosts }) }
    : result
}
