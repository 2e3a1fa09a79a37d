// Measures Troupe's page script alone: the processor time of the page's main thread, without a
// server. Each value is the first snapshot of a new document, without collapsed lists, as after an
// action.
import { chromium } from 'playwright-core'
import { World, bundle } from '../__test__/page/world.mjs'

/** Resolves when the page is painted, because painting uses other threads. */
const PAINTED = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(done))))`

/**
 * @param {string} browser
 * @param {string} url
 * @param {number} rounds
 * @returns {Promise<number[]>} milliseconds
 */
export async function pageTimes(browser, url, rounds) {
  const source = bundle()
  const running = await chromium.launch({
    executablePath: browser,
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : []
  })
  try {
    const page = await running.newPage()
    const times = []
    // The first round is not counted: it warms the browser up.
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

/** Returns the processor time of the page's main thread (ms). @param {World} world */
async function taskTime(world) {
  const { metrics } = await world.cdp.send('Performance.getMetrics')
  const seconds = metrics.find(({ name }) => name === 'TaskDuration')?.value
  if (seconds === undefined) throw new Error('the browser does not report its task time')
  return seconds * 1000
}
