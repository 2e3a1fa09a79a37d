// Waits without fixed sleeps: for a promise with a time limit, or for a state that must be polled.
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Returns the value of `promise`. Throws an error that contains `what` if it is not ready in time.
 * @template T @param {Promise<T>} promise @param {string} what @param {number} [timeout] ms
 * @returns {Promise<T>}
 */
export async function within(promise, what, timeout = 30_000) {
  const stop = new AbortController()
  const late = sleep(timeout, undefined, { signal: stop.signal }).then(
    () => Promise.reject(new Error(`${what}: nothing within ${timeout} ms`)),
    () => {}
  )
  try {
    return await /** @type {Promise<T>} */ (Promise.race([promise, late]))
  } finally {
    stop.abort()
  }
}

/**
 * Calls `condition` every `interval` ms until it returns a truthy value, and returns that value.
 * Throws at the timeout. `what` names the missing value for the error.
 * @template T @param {() => T | Promise<T>} condition @param {string | (() => string)} what
 * @param {number} [timeout] ms @param {number} [interval]
 */
export async function until(condition, what, timeout = 30_000, interval = 10) {
  const deadline = performance.now() + timeout
  for (;;) {
    const found = await condition()
    if (found) return found
    if (performance.now() > deadline) {
      const missing = typeof what === 'string' ? what : what()
      throw new Error(`${missing}: not within ${timeout} ms`)
    }
    await sleep(interval)
  }
}

/**
 * Waits for a fixed time. Only for waits that are themselves the subject of a test, or the latency
 * of a test server; a test awaits everything else with `within` or `until`.
 * @param {number} ms
 * @param {string} _reason why no event can replace it
 */
export const pause = (ms, _reason) => sleep(ms)

/** Returns whether `promise` is still pending. @param {Promise<unknown>} promise */
export async function isPending(promise) {
  const open = Symbol('open')
  return (await Promise.race([promise, Promise.resolve(open)])) === open
}
