/** The document that a navigation has loaded. */
import type { Arrival, ArrivalArgument } from '../api'
import { documentTitle } from '../dom/composed-tree'
import { nextTask } from '../dom/event-loop'
import { shown } from './snapshot-if-changed'

/** By the names that are told: those of the Navigation Timing entry without what they all end with. */
const timed = {
  responseStart: 'responseStart',
  domContentLoaded: 'domContentLoadedEventEnd',
  load: 'loadEventEnd'
} as const

const round = (milliseconds: number): number => Math.round(milliseconds * 10) / 10

export async function arrival({ look, refs, hosts }: ArrivalArgument): Promise<Arrival> {
  // What scripts have put off until after the load, and what that leads to: frameworks render so.
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
