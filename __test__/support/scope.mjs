import { after } from 'node:test'

/**
 * In place of a test's `t`, for what the tests of a `describe` share: to be called in its body, so that what is started
 * in a `before` ends after the last of them, whatever failed.
 * @returns {{ after: (end: () => unknown) => void }}
 */
export function shared() {
  /** @type {(() => unknown)[]} */
  const ends = []
  after(async () => {
    const failed = []
    for (const end of ends.reverse()) {
      await Promise.resolve()
        .then(end)
        .catch((error) => failed.push(error))
    }
    if (failed.length > 0) throw failed[0]
  })
  return { after: (end) => void ends.push(end) }
}
