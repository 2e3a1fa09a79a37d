// The measured values and their statistics.
import { median, quantile, sampleWithReplacement } from 'simple-statistics'

/** Resampled medians behind an interval. */
const RESAMPLES = 1000

/** For each row and server the measured values, and the bytes of the text that was returned. */
export class Samples {
  /** @type {Map<string, number[]>} */
  #values = new Map()
  /** @type {Map<string, number>} */
  bytes = new Map()

  /** @param {string} row @param {string} server @param {number} value */
  add(row, server, value) {
    const key = `${row} ${server}`
    this.#values.set(key, [...(this.#values.get(key) ?? []), value])
  }

  /** @param {string} row @param {string} server @returns {number[]} in the order of measurement */
  values(row, server) {
    return this.#values.get(`${row} ${server}`) ?? []
  }

  /**
   * Returns a quantile of the values; `undefined` if there are none.
   * @param {string} row
   * @param {string} server
   * @param {number} part the quantile, 0 to 1
   */
  quantile(row, server, part) {
    const values = this.values(row, server)
    return values.length > 0 ? quantile(values, part) : undefined
  }
}

/**
 * The 95 % confidence interval of the median, by bootstrap: the medians of samples that are drawn
 * with replacement.
 * @param {number[]} values @returns {[number, number]}
 */
export function medianInterval(values) {
  const medians = Array.from({ length: RESAMPLES }, () =>
    median(sampleWithReplacement(values, values.length))
  )
  return [quantile(medians, 0.025), quantile(medians, 0.975)]
}
