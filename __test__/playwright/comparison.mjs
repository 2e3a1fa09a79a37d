// Compares answers of Troupe with those of @playwright/mcp.
import { readFileSync } from 'node:fs'
import { ACCEPTED } from './accepted-differences.mjs'

/** @typedef {import('./runner.mjs').Answer} Answer */
/**
 * @typedef {{ version: string, listings: Awaited<ReturnType<typeof
 *   import('./listings.mjs').listTools>>, answers: Record<string, Answer[]> }} Recorded
 */

export const ANSWERS = new URL('answers.json', import.meta.url)

/** Returns the answers of @playwright/mcp that were recorded. @returns {Recorded} */
export function recorded() {
  return JSON.parse(readFileSync(ANSWERS, 'utf8'))
}

/** Returns the version of @playwright/mcp that is installed. @returns {string} */
export function installedVersion() {
  const manifest = new URL('../../node_modules/@playwright/mcp/package.json', import.meta.url)
  return JSON.parse(readFileSync(manifest, 'utf8')).version
}

/**
 * Returns an answer without accepted differences. `call` is `scenario[index]`.
 * @param {Answer} answer @param {string} call
 * @param {(difference: import('./accepted-differences.mjs').AcceptedDifference) => void} [used]
 *   receives each difference that changed the answer
 * @returns {Answer}
 */
export function withoutAccepted(answer, call, used = () => {}) {
  const scenario = call.replace(/\[\d+\]$/, '')
  return ACCEPTED.reduce((answer, difference) => {
    const { calls, pattern, replacement = '' } = difference
    if (calls && (calls.includes(call) || calls.includes(scenario))) {
      used(difference)
      return { tool: answer.tool, text: 'accepted' }
    }
    if (!pattern) return answer
    const changed = mapTexts(answer, (text) => text.replace(pattern, replacement))
    if (JSON.stringify(changed) !== JSON.stringify(answer)) used(difference)
    return changed
  }, answer)
}

/**
 * Returns the calls of a scenario whose answers differ, with the lines that only one of them has.
 * @param {import('./scenarios.mjs').Scenario} scenario
 * @param {Answer[] | undefined} actual
 * @param {Answer[] | undefined} expected
 * @returns {{ call: string, lines: string[] }[]}
 */
export function differencesOf({ name, calls }, actual, expected) {
  return calls.flatMap(([tool], index) => {
    const [theirs, ours] = [expected, actual].map((answers) =>
      linesOf(
        withoutAccepted(answers?.[index] ?? { tool, text: '(no answer)' }, `${name}[${index}]`)
      )
    )
    if (theirs.join('\n') === ours.join('\n')) return []
    return [{ call: `${name}[${index}] ${tool}`, lines: changed(theirs, ours) }]
  })
}

/** @param {Answer} answer */
function linesOf({ text, isError, images = [], files = {} }) {
  return [
    ...(isError ? ['(isError)'] : []),
    ...text.split('\n'),
    ...images.map((image) => `(image) ${image}`),
    ...Object.entries(files).flatMap(([name, content]) => [
      `(file) ${name}`,
      ...content.split('\n').map((line) => `  | ${line}`)
    ])
  ]
}

/**
 * Returns the lines between the equal first and last lines.
 * @param {string[]} theirs
 * @param {string[]} ours
 */
function changed(theirs, ours) {
  const removed = new Set(theirs)
  const added = new Set(ours)
  const lines = [
    ...theirs.filter((line) => !added.has(line)).map((line) => `- ${line}`),
    ...ours.filter((line) => !removed.has(line)).map((line) => `+ ${line}`)
  ]
  return lines.length > 0 ? lines : ['(the order or the number of lines)']
}

/** @param {Answer} answer @param {(text: string) => string} change @returns {Answer} */
function mapTexts(answer, change) {
  const { text, files } = answer
  return {
    ...answer,
    text: change(text),
    ...(files
      ? {
          files: Object.fromEntries(
            Object.entries(files).map(([name, content]) => [change(name), change(content)])
          )
        }
      : {})
  }
}
