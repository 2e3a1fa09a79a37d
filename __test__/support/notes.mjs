// Records which parts of the tools the end-to-end tests use in a complete `npm test`: each call
// with its parameters, its outcome and the fields of its result. coverage.mjs reports what is
// missing.
import { writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The variable that names the folder for the notes. Without it, nothing is noted. */
export const NOTES = 'TEST_NOTES'

/**
 * Notes by tool: `field` for a parameter, `field=value` for a choice, `-> field` for a field of a
 * result, `! CODE` for an error.
 * @type {Map<string, Set<string>>}
 */
const noted = new Map()

const folder = process.env[NOTES]
if (folder) {
  process.on('exit', () => {
    const name = process.argv[1] ?? 'none'
    const file = `${basename(dirname(name))}-${basename(name)}.json`
    writeFileSync(
      join(folder, file),
      JSON.stringify([...noted].map(([tool, points]) => [tool, [...points]]))
    )
  })
}

/**
 * Notes a call.
 * @param {string} tool
 * @param {any} given
 * @param {{ isError: boolean, json: any }} answer
 */
export function note(tool, given, { isError, json }) {
  if (!folder) return
  const points = noted.get(tool) ?? new Set()
  noted.set(tool, points)
  if (isError) return void points.add(`! ${json?.errorCode}`)
  points.add('success')
  // Seed 002 writes its parameters with underscores.
  for (const point of pointsOf(given, ''))
    points.add(
      point.replace(
        /^(session|ref|search|reset)_([a-z])/,
        (_, word, letter) => word + letter.toUpperCase()
      )
    )
  // Where the content stays in the record, the answer is the same for every tool.
  if (json?.ref_id === undefined) for (const point of pointsOf(json, '-> ')) points.add(point)
}

/**
 * Returns the fields of a value, and their choices.
 * @param {any} value
 * @param {string} path
 * @returns {string[]}
 */
function pointsOf(value, path) {
  if (Array.isArray(value)) return value.flatMap((item) => pointsOf(item, path))
  if (value === null || typeof value !== 'object')
    return typeof value === 'string' && value.length < 40 ? [`${path}=${value}`] : []
  return Object.entries(value).flatMap(([name, inner]) => {
    const at = /[\w>]$/.test(path) && !path.endsWith('> ') ? `${path}.${name}` : `${path}${name}`
    return [at, ...pointsOf(inner, at)]
  })
}
