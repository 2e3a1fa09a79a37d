// Episodes of MiniWoB++: a page, a seed, the task's words; at the end, the reward that the page
// gives.
import { fileURLToPath } from 'node:url'

/** The pages, where `npm run setup` put them. */
export const PAGES = fileURLToPath(new URL('../../.cache/miniwob/miniwob/html', import.meta.url))

/**
 * Starts an episode as MiniWoB++ does, but without its time limit of 10 s. Returns the task's
 * words. The limit is far away, so that the result depends on the policy alone and not on the load
 * of the machine.
 * @param {string} seed
 */
export const startScript = (seed) => `async () => {
  core.EPISODE_MAX_TIME = 600000
  Math.seedrandom(${JSON.stringify(seed)})
  core.startEpisodeReal()
  while (!WOB_TASK_READY) await new Promise((resolve) => setTimeout(resolve, 20))
  const utterance = core.getUtterance()
  return typeof utterance === 'string' ? utterance : utterance.utterance
}`

/**
 * Reads the reward: from -1 to 1, without MiniWoB++'s discount for time; `null` while the episode
 * lasts.
 */
export const REWARD_SCRIPT = '() => (WOB_DONE_GLOBAL ? WOB_RAW_REWARD_GLOBAL : null)'

/**
 * A reward of at least this much solves an episode. Drawings and points get a part of 1 by how
 * exact they are.
 */
export const SOLVED = 0.9
