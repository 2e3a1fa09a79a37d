// Records which parts of the tools and which options the end-to-end tests use in a complete `npm
// test`: each call with its parameters, its outcome and the fields of its result, and the options
// of each server. coverage.mjs reports what is missing.
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/** The variable that names the folder for the notes. Without it, nothing is noted. */
export const NOTES = 'TEST_NOTES'

/** The name under which options are noted, which no tool has. */
export const OPTIONS = '(options)'

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
 * Records a call.
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
  // Some tests write parameters with underscores.
  for (const point of pointsOf(given, ''))
    points.add(
      point.replace(
        /^(session|ref|search|reset)_([a-z])/,
        (_, word, letter) => word + letter.toUpperCase()
      )
    )
  // With `--responses ref`, the result has the same fields for every tool.
  if (json?.ref_id === undefined) for (const point of pointsOf(json, '-> ')) points.add(point)
}

/**
 * Records the options of a server or manager that has started: flags, variables and keys.
 * @param {{ args?: string[], env?: Record<string, string>, config?: object, cwd?: string }} given
 */
export function noteOptions({ args = [], env = {}, config = {}, cwd = '.' }) {
  if (!folder) return
  const points = noted.get(OPTIONS) ?? new Set()
  noted.set(OPTIONS, points)
  const flags = args.filter((arg) => arg.startsWith('--')).map((arg) => arg.split('=')[0])
  const variables = Object.keys(env).filter((name) => name.startsWith('TROUPE_'))
  const [, file] = args.slice(args.indexOf('--config') >>> 0)
  const isJson = file !== undefined && !file.endsWith('.ini')
  const inFile = isJson ? JSON.parse(readFileSync(resolve(cwd, file), 'utf8')) : {}
  for (const point of [...flags, ...variables, ...keysOf(config), ...keysOf(inFile)])
    points.add(point)
}

/**
 * Returns the keys of an object, and of the objects in it.
 * @param {object} value
 * @returns {string[]}
 */
const keysOf = (value) =>
  Object.entries(value).flatMap(([name, inner]) => [
    name,
    ...(inner && typeof inner === 'object' ? keysOf(inner) : [])
  ])

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
