import { nextTask } from '../dom/event-loop'

/** Number of characters to hash in one task. */
const chunkSize = 1 << 20

/**
 * Returns the length of `text` and a 53-bit hash (cyrb53). The hash is not for security.
 * `crypto.subtle` is not used, because pages that are not served over HTTPS do not have it.
 */
export async function hash(text: string): Promise<string> {
  let [one, two] = [0xdeadbeef, 0x41c6ce57]
  for (let at = 0; at < text.length;) {
    if (at > 0) await nextTask()
    for (const end = Math.min(text.length, at + chunkSize); at < end; at++) {
      const code = text.charCodeAt(at)
      one = Math.imul(one ^ code, 2654435761)
      two = Math.imul(two ^ code, 1597334677)
    }
  }
  one = Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(two ^ (two >>> 13), 3266489909)
  two = Math.imul(two ^ (two >>> 16), 2246822507) ^ Math.imul(one ^ (one >>> 13), 3266489909)
  return `${text.length} ${4294967296 * (2097151 & two) + (one >>> 0)}`
}
