const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Formats a duration: `240 ms`, `3.4 s`, `2 min 5 s`, `1 h 12 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < MINUTE) return `${(ms / 1000).toFixed(1)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / 1000)} s`
  return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`
}

/** Formats the time since a past moment: `now`, `4 min ago`, `3 h ago`, or a date. */
export function ago(time: string, now: number): string {
  const ms = now - Date.parse(time)
  if (ms < MINUTE) return 'now'
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ago`
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ago`
  return new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium' })
}

/** Formats a moment with date and time, in the viewer's time zone. */
export function moment(time: string): string {
  return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

/** Formats the time of day, in the viewer's time zone. */
export function timeOfDay(time: string | number): string {
  return new Date(time).toLocaleTimeString(undefined, { timeStyle: 'medium' })
}

/** Formats a number of bytes: `231 MB`. */
export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(Math.floor(Math.log10(Math.max(count, 1)) / 3), units.length - 1)
  const value = count / 1000 ** power
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`
}

/** Formats a count with a noun: `1 call`, `12 calls`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

/** Formats the arguments of a call in one line, without its session: `url="…" timeout=500`. */
export function oneLine(values: Record<string, unknown> | null): string {
  return Object.entries(values ?? {})
    .filter(([name]) => name !== 'sessionId')
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(' ')
}

/**
 * Returns what the beginning of a result says in one line: the `message` or the `title` of a result
 * in JSON, and otherwise all of it.
 */
export function headline(summary: string): string {
  if (!summary.startsWith('{')) return summary
  // The JSON may be cut, so it cannot be parsed.
  for (const name of ['message', 'title']) {
    const value = new RegExp(`"${name}":\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(summary)?.[1]
    if (value) return String(parsed(value) ?? summary)
  }
  return summary
}

/** Formats a result for reading: JSON on several lines, and other text as it is. */
export function readable(result: string): string {
  const value = /^[{[]/.test(result) ? parsed(result) : undefined
  return value === undefined ? result : JSON.stringify(value, null, 2)
}

/** Parses JSON. Returns undefined if it is not valid. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown
  } catch {
    return undefined
  }
}
