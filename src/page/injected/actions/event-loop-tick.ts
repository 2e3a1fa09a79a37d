/** An event loop tick of the page. */
import type { TurnArgument, Turned } from '../api'
import { changeCounts } from '../dom/change-counts'
import { focusedPassword } from '../dom/composed-tree'
import { nextTask } from '../dom/event-loop'
import { withMemo } from '../dom/memo'
import { listenTo } from '../dom/window-listeners'
import { shown } from '../snapshot/snapshot-if-changed'
import { guardedFrom, released } from './click-guard'

/** What asked for the last download. */
let asked: Event | null = null

/** A link that downloads starts no request that is told of: the download comes out of the blue, when its server has answered. */
export function watchDownloads(): void {
  const noted = (event: Event): void => {
    const link = event
      .composedPath()
      .find((node) => node instanceof HTMLAnchorElement && node.hasAttribute('download'))
    if (link instanceof HTMLAnchorElement && isDownloaded(link)) asked = event
  }
  listenTo(['click'], noted, true)
  // Scripts click links that stand nowhere. Documents of no origin of their own are told only of clicks, as are all in WebKit.
  ;(window as { navigation?: Navigation }).navigation?.addEventListener('navigate', (event) => {
    if (event.downloadRequest !== null && isDownloaded(new URL(event.destination.url)))
      asked = event
  })
}

/** What is of another origin is a link like others. */
function isDownloaded({ origin, protocol }: URL | HTMLAnchorElement): boolean {
  return origin === location.origin || protocol === 'data:'
}

/** Timers of 0 ms that the action set have run by then. */
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
