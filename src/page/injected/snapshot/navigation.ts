/** The document after a navigation. */
import type { ArrivalArgument, ArrivalResult } from '../api'
import { endOfRootSearch } from '../dom/closed-shadow-roots'
import { documentTitle } from '../dom/composed-tree'
import { nextTask } from '../dom/event-loop'
import { mayLoad } from './loading'
import { snapshotWithCounts } from './snapshot'

/** Names in the result, and properties of the navigation timing entry. */
const timingProperties = {
  responseStart: 'responseStart',
  domContentLoaded: 'domContentLoadedEventEnd',
  load: 'loadEventEnd'
} as const

const round = (milliseconds: number): number => Math.round(milliseconds * 10) / 10

export async function readNavigation({
  snapshot,
  refs,
  hosts
}: ArrivalArgument): Promise<ArrivalResult> {
  // Frameworks render in tasks that they queue after the load event, and in tasks queued by those.
  await nextTask()
  await nextTask()
  if (snapshot) await endOfRootSearch()
  const result: ArrivalResult = { title: documentTitle(), timing: {} }
  const [entry] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  for (const [name, property] of Object.entries(timingProperties) as [
    keyof typeof timingProperties,
    (typeof timingProperties)[keyof typeof timingProperties]
  ][]) {
    if (entry && entry[property] > 0) result.timing[name] = round(entry[property])
  }
  if (mayLoad()) result.loading = true
  return snapshot ? { ...result, ...snapshotWithCounts(snapshot, { refs, hosts }) } : result
}
