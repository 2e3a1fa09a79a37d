// Makes random tests reproducible. A failure shows the seed, and `TEST_SEED` sets it.
import { randomInt } from 'node:crypto'
import fc from 'fast-check'

const given = process.env.TEST_SEED ? Number(process.env.TEST_SEED) : undefined
if (given !== undefined && !Number.isSafeInteger(given))
  throw new Error(`TEST_SEED must be an integer, not \`${process.env.TEST_SEED}\``)

// fast-check shows the seed of a failed property itself.
if (given !== undefined) fc.configureGlobal({ seed: given })

export { fc }

/**
 * Returns a generator of random numbers from 0 to 1, and prints its seed.
 * @param {{ diagnostic: (message: string) => void }} t
 */
export function randomNumbers(t) {
  const seed = given ?? randomInt(2 ** 32)
  t.diagnostic(`seed ${seed}: repeat the test with TEST_SEED=${seed}`)
  return seededNumbers(seed)
}

/**
 * Returns a generator of random numbers from 0 to 1 (mulberry32).
 * @param {number} seed
 */
export function seededNumbers(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
