/** What a navigation has led to. */
import type { Arrival, ArrivalArgument } from "./api";
import { documentTitle } from "./dom";
import { shown } from "./shown";

/** By the names that are told: those of the Navigation Timing entry without what they all end with. */
const timed = { responseStart: "responseStart", domContentLoaded: "domContentLoadedEventEnd", load: "loadEventEnd" } as const;

const round = (milliseconds: number): number => Math.round(milliseconds * 10) / 10;

export function arrival({ look, refs, hosts }: ArrivalArgument): Arrival {
  const told: Arrival = { title: documentTitle(), timing: {} };
  const [entry] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  for (const [name, property] of Object.entries(timed) as [keyof typeof timed, (typeof timed)[keyof typeof timed]][]) {
    if (entry && entry[property] > 0) told.timing[name] = round(entry[property]);
  }
  return look ? { ...told, ...shown(look, { refs, hosts }) } : told;
}
