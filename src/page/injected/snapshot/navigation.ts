/** The document after a navigation. */
import type { Arrival, ArrivalArgument } from '../api'
import { documentTitle } from '../dom/composed-tree'
import { nextTask } from '../dom/event-loop'
import { shown } from './snapshot-if-changed'

/** Names in the result, and properties of the navigation timing entry. */
const timed = {
  responseStart: 'responseStart',
  domContentLoaded: 'domContentLoadedEventEnd',
  load: 'loadEventEnd'
} as const

const round = (milliseconds: number): number => Math.round(milliseconds * 10) / 10

export async function arrival({ look, refs, hosts }: ArrivalArgument): Promise<Arrival> {
  // Frameworks render in tasks that they queue after the load event, and in tasks queued by those.
  await nextTask()
  await nextTask()
  const told: Arrival = { title: documentTitle(), timing: {} }
  const [entry] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  for (const [name, property] of Object.entries(timed) as [
    keyof typeof timed,
    (typeof timed)[keyof typeof timed]
  ][]) {
    if (entry && entry[property] > 0) told.timing[name] = round(entry[property])
  }
  return look ? { ...told, ...shown(look, { refs, hosts }) } : told
}
