/** The `turn` call: waits for one event loop tick of the page. */
import type { TurnArgument, Turned } from '../api'
import { changeCounts } from '../dom/change-counts'
import { focusedPassword } from '../dom/composed-tree'
import { nextTask } from '../dom/event-loop'
import { withMemo } from '../dom/memo'
import { listenTo } from '../dom/window-listeners'
import { shown } from '../snapshot/snapshot-if-changed'
import { guardedFrom, released } from './click-guard'

/** The event that has started the last download. */
let asked: Event | null = null

/**
 * Records clicks on download links: the browser reports no request for them, and the download only
 * after the response.
 */
export function watchDownloads(): void {
  const noted = (event: Event): void => {
    const link = event
      .composedPath()
      .find((node) => node instanceof HTMLAnchorElement && node.hasAttribute('download'))
    if (link instanceof HTMLAnchorElement && isDownloaded(link)) asked = event
  }
  listenTo(['click'], noted, true)
  // Scripts click links outside of the document. Opaque origins and WebKit have only click events.
  ;(window as { navigation?: Navigation }).navigation?.addEventListener('navigate', (event) => {
    if (event.downloadRequest !== null && isDownloaded(new URL(event.destination.url)))
      asked = event
  })
}

/** Returns whether the `download` attribute applies: cross-origin links navigate instead. */
function isDownloaded({ origin, protocol }: URL | HTMLAnchorElement): boolean {
  return origin === location.origin || protocol === 'data:'
}

/** Resolves after one tick. Timers of 0 ms that the action has set have run by then. */
export async function turn(argument: TurnArgument): Promise<Turned> {
  if (argument.releases) await released(argument.releases)
  for (let left = argument.tasks ?? 1; left > 0; left--) await nextTask()
  await new Promise((resolve) => setTimeout(resolve, 0))
  return withMemo(() => turned(argument))
}

function turned({ look, refs, hosts }: TurnArgument): Turned {
  const told: Turned = { done: true, ...changeCounts() }
  const covered = guardedFrom()
  if (covered !== undefined) told.covered = covered
  const password = focusedPassword()
  if (password !== null) told.password = password
  if (asked !== null && !asked.defaultPrevented) told.download = true
  asked = null
  return look && (look.known !== told.mutations || look.document !== told.document)
    ? { ...told, ...shown(look, { refs, hosts }) }
    : told
}
