// Measures what child frames, shadow hosts and blank elements cost: each page is compared with the
// same page without them, on the same server, alternately.
import { median } from 'simple-statistics'

/** @typedef {import('./stdio-client.mjs').StdioClient} StdioClient */

const CLICK = /** @type {const} */ (['click', { selector: '#count' }])

/** @param {() => Promise<unknown>} work */
async function timed(work) {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/**
 * Returns ratios to the page without frames or hosts. The click beside blank elements is in
 * milliseconds.
 * @param {import('./alternating.mjs').Start} start @param {string} url @param {number} rounds
 */
export async function structureCosts(start, url, rounds) {
  // With a record, each navigation also takes a snapshot.
  const client = start('memory')
  await client.initialize()
  await client.call('create_session', {})
  const navigate = (/** @type {string} */ path) => client.call('navigate', { url: url + path })
  /** @type {Record<string, number[]>} */
  const times = {}
  const add = (/** @type {string} */ name, /** @type {number} */ time) =>
    (times[name] ??= []).push(time)
  // The first round warms up the server and the browser.
  for (let round = 0; round <= rounds; round++) {
    for (const path of ['/', '/frames']) {
      await navigate(path)
      await client.call(...CLICK)
      for (let click = 0; click < 10; click++) {
        const time = await timed(() => client.call(...CLICK))
        if (round > 0) add(path, time)
      }
    }
    for (const path of ['/other', '/hosts', '/closed']) {
      await navigate('/')
      const time = await timed(() => navigate(path))
      if (round > 0) add(`navigate ${path}`, time)
    }
    await navigate('/blank')
    const time = await timed(() => client.call(...CLICK))
    if (round > 0) add('blank', time)
  }
  await client.close()
  const of = (/** @type {string} */ name) => median(times[name])
  return {
    structureFrames: of('/frames') / of('/'),
    structureHosts: of('navigate /hosts') / of('navigate /other'),
    structureHostsClosed: of('navigate /closed') / of('navigate /other'),
    structureBlankClick: of('blank')
  }
}
