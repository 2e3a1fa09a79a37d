/** The resource observer: collects what the scripts of the document have loaded. */

/** `responseDeadline` needs only the last ones. */
const maxResources = 250
const initiatorTypes = new Set(['script', 'fetch', 'xmlhttprequest'])

let resources: PerformanceResourceTiming[] = []

// The browser's own list ends after 250 resources of all kinds.
const observer = new PerformanceObserver((list) => addResources(list.getEntries()))

function addResources(entries: PerformanceEntryList): void {
  for (const entry of entries)
    if (entry instanceof PerformanceResourceTiming && initiatorTypes.has(entry.initiatorType))
      resources.push(entry)
  resources = resources.slice(-maxResources)
}

/** Starts observing, and collects the resources that were loaded before. */
export const observeResources = (): void => observer.observe({ type: 'resource', buffered: true })

/** Returns the scripts and the responses to requests by scripts that were loaded last. */
export function loadedByScript(): readonly PerformanceResourceTiming[] {
  addResources(observer.takeRecords())
  return resources
}
