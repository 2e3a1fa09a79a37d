/**
 * Replaces the lines between two marks.
 * @param {string} text @param {string} begin @param {string} end @param {string} lines
 * @param {string} [indent] the indentation of the end mark
 */
export function replaceBetween(text, begin, end, lines, indent = '') {
  const [from, to] = [text.indexOf(`${begin}\n`), text.indexOf(`${indent}${end}\n`)]
  if (from < 0 || to < from) throw new Error(`the marks \`${begin}\` and \`${end}\` are missing`)
  return `${text.slice(0, from)}${begin}\n${lines}\n${text.slice(to)}`
}
