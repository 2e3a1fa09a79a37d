// Waits until the machine is idle, so that work of the previous server (a browser that exits, a
// page's first frames) is not measured with the next one.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const WINDOW = 50
/** The maximum load of all processors in a window, 0 to 1. */
const MAX_LOAD = 0.1
/** After this time (ms), the machine is measured although it is busy. */
const MAX_WAIT = 3000

/** Waits until the load is low (Linux), or for one window on other systems. */
export async function untilIdle() {
  const until = performance.now() + MAX_WAIT
  for (let before = processors(); performance.now() < until;) {
    await sleep(WINDOW)
    const now = processors()
    if (!before || !now || now.worked - before.worked <= MAX_LOAD * (now.all - before.all)) return
    before = now
  }
}

/** Returns the processors' ticks since the machine started. */
function processors() {
  try {
    const [user, nice, system, idle, waiting, interrupts, softly, stolen] = readFileSync(
      '/proc/stat',
      'utf8'
    )
      .split('\n')[0]
      .split(/\s+/)
      .slice(1)
      .map(Number)
    const worked = user + nice + system + interrupts + softly
    return { worked, all: worked + idle + waiting + stolen }
  } catch {
    return undefined
  }
}
