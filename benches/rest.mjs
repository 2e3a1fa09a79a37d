// Waits for a machine at rest: what one server leaves behind (a browser that ends, a page's first frames) must not be
// measured with the next.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const WINDOW = 50
/** Of all processors' time in a window, the most that others may work. */
const MOST_WORK = 0.1
/** One that never rests is measured as it is. */
const PATIENCE = 3000

/** Linux tells how much its processors have worked; elsewhere it is a short pause. */
export async function atRest() {
  const until = performance.now() + PATIENCE
  for (let before = processors(); performance.now() < until;) {
    await sleep(WINDOW)
    const now = processors()
    if (!before || !now || now.worked - before.worked <= MOST_WORK * (now.all - before.all)) return
    before = now
  }
}

/** In ticks since the start of the machine. */
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
