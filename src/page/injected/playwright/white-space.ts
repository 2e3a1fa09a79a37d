/** White space as in Playwright's texts. */

const irregularSpace = /[^\S ]|[\u200b\u00ad]| {2}/

/**
 * Collapses white space and trims it. Removes zero-width spaces and soft hyphens. Unlike
 * `normalize`, it keeps the characters of icon fonts.
 */
export function collapseWhiteSpace(text: string): string {
  const trimmed = text.trim()
  if (!irregularSpace.test(trimmed)) return trimmed
  return trimmed
    .replace(/[\u200b\u00ad]/g, '')
    .trim()
    .replace(/\s+/g, ' ')
}

/** Like `collapseWhiteSpace`, but keeps no-break spaces inside of the text. */
export const collapseBreakingSpace = (text: string): string =>
  text.includes('\u00a0')
    ? text
        .split('\u00a0')
        .map((part) => part.replace(/[\u200b\u00ad]/g, '').replace(/\s+/g, ' '))
        .join('\u00a0')
        .trim()
    : collapseWhiteSpace(text)
