// The time that the script which Troupe brings into pages takes there: no server, no protocol, and processor time of the
// page's own thread, so that what else the machine does counts as little as it can. A fresh document each time and its
// first look, which no compiler has warmed up; every line is asked for, as the look after an action does, where an
// agent's own is folded.
import { chromium } from 'playwright-core'
import { World, bundle } from '../__test__/page/world.mjs'

/** Once the page is painted: that is done on other threads, which would take their share of the core. */
const PAINTED = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(done))))`

/** @param {string} browser @param {string} url @param {number} rounds @returns {Promise<number[]>} milliseconds */
export async function pageTimes(browser, url, rounds) {
  const source = bundle()
  const running = await chromium.launch({
    executablePath: browser,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : []
  })
  try {
    const page = await running.newPage()
    const times = []
    // One round more, of which nothing is kept: the browser itself warms up.
    for (let round = 0; round <= rounds; round++) {
      await page.goto(url)
      await page.evaluate(PAINTED)
      const world = await World.of(page, source)
      await world.cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
      const before = await taskTime(world)
      const { lines } = await world.call('snapshot', { fold: 0, hosts: true })
      const spent = (await taskTime(world)) - before
      await world.close()
      if (lines < 3000) throw new Error(`the page of links has ${lines} lines only`)
      if (round > 0) times.push(spent)
    }
    return times
  } finally {
    await running.close()
  }
}

/** Milliseconds that the page's main thread has worked. @param {World} world */
async function taskTime(world) {
  const { metrics } = await world.cdp.send('Performance.getMetrics')
  const seconds = metrics.find(({ name }) => name === 'TaskDuration')?.value
  if (seconds === undefined) throw new Error('the browser does not tell its task time')
  return seconds * 1000
}
