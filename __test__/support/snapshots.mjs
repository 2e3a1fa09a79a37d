/**
 * Returns the ref in the first line of a snapshot that matches.
 * @param {string} text lines of a snapshot @param {RegExp} pattern
 */
export function refIn(text, pattern) {
  const line = text.split('\n').find((line) => pattern.test(line))
  const ref = line && /\[ref=(\w+)\]/.exec(line)?.[1]
  if (!ref) throw new Error(`no line with a ref for ${pattern} in\n${text}`)
  return ref
}
