// Checks that the end-to-end tests cover every tool and option. In a complete `npm test`,
// successful calls must use each parameter and each of its values. Calls must return each field of
// the result and each error. For each option, a server must have started with it.
import { mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { OPTIONS } from './notes.mjs'

/**
 * @typedef {{ name: string, group: string, inputSchema: { properties?: Record<string, any>,
 *   required?: string[] }, outputSchema?: any }} Tool
 */

const addon = createRequire(import.meta.url)('../../lib/addon.js')

/** The tools as the addon lists them. @type {Tool[]} */
export const TOOLS = JSON.parse(addon.toolSchemas())

/** @type {import('../../scripts/docs/configuration.mjs').OptionRow[]} */
const OPTION_ROWS = JSON.parse(addon.optionRows())

/** Options that tests of `npm test` cannot use, with the reason. @type {Record<string, string>} */
const UNTESTABLE_OPTIONS = {
  downloadHost: 'needs a machine without a browser: registry.test.mjs uses it'
}

/**
 * Returns all spellings of an option.
 * @param {typeof OPTION_ROWS[number]} row
 * @returns {string[]}
 */
function spellings({ flag, variable, key, nested, aliases }) {
  const kebab = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const names = [kebab, key, ...aliases]
  const flags = [flag, ...names.flatMap((name) => [`--${name}`, `--no-${name}`])]
  return [...flags, variable, key, ...(nested ? nested.split('.').slice(-1) : [])]
}

/** Returns the flags of the options that no test has used. @param {Set<string>} [used] */
const unusedOptions = (used = new Set()) =>
  OPTION_ROWS.filter(
    (row) => !(row.key in UNTESTABLE_OPTIONS) && !spellings(row).some((name) => used.has(name))
  ).map(({ flag }) => `option ${flag}`)

/**
 * Returns the parameters, values and fields of a schema that the tests must cover.
 * @param {any} schema
 * @param {string} path
 * @returns {string[]}
 */
function pointsIn(schema, path) {
  // A nested result is covered by the call that returns it by itself.
  if (path.endsWith('-> navigation')) return []
  if (schema?.enum) return schema.enum.map((word) => `${path}=${word}`)
  if (schema?.items) return pointsIn(schema.items, path)
  return Object.entries(schema?.properties ?? {}).flatMap(([name, inner]) => {
    const at = /\w$/.test(path) ? `${path}.${name}` : `${path}${name}`
    return [at, ...pointsIn(inner, at)]
  })
}

/** Actions other than `click` that may navigate. */
const NAVIGATING = [
  'type',
  'fill',
  'fill_form',
  'select',
  'check',
  'uncheck',
  'hover',
  'scroll',
  'drag_and_drop',
  'upload_file',
  'press',
  'handle_dialog'
]

/**
 * Parts that no MCP client can use or receive, with the reason.
 * @type {Record<string, string[]>}
 */
export const UNTESTABLE_PARTS = {
  // The picture in the Node API's result. MCP has it as a separate part.
  compare_screenshots: ['-> image', '-> image.data', '-> image.mimeType'],
  // Every tool reports pages in the same form. `click` shows a page whose server is down, `pages` a
  // page that has crashed.
  ...Object.fromEntries(
    NAVIGATING.map((tool) => [tool, ['-> page.failure', '-> newPages.crashed']])
  ),
  click: ['-> newPages.crashed'],
  list_sessions: ['-> sessions.pages.crashed'],
  session_resume: ['-> pages.crashed'],
  restore_state: ['-> page.crashed']
}

const POINTER = ['click', 'check', 'uncheck', 'hover', 'drag_and_drop']
const ENTERING = ['type', 'fill', 'fill_form', 'select']
const WITH_URL = ['navigate', 'pages', 'get_cookies', 'set_cookies']

/**
 * Errors that depend on the work of a tool, not on its parameters.
 * @type {Record<string, string[]>}
 */
const ERRORS = {
  ELEMENT_NOT_CLICKABLE: POINTER,
  ELEMENT_NOT_EDITABLE: [...ENTERING, 'upload_file', 'check', 'uncheck'],
  INVALID_URL: [...WITH_URL, 'mock_response'],
  NAVIGATION_FAILED: ['navigate', 'go_back', 'go_forward', 'reload', 'pages'],
  BLOCKED_BY_POLICY: [
    'navigate',
    'pages',
    'evaluate',
    'upload_file',
    'save_pdf',
    'screenshot',
    'compare_screenshots',
    'run_script'
  ],
  RESOURCE_EXHAUSTED: ['screenshot', 'screenshot_element', 'compare_screenshots', 'run_script'],
  SCRIPT_ERROR: ['evaluate', 'run_script'],
  NETWORK_ERROR: ['evaluate'],
  TIMEOUT: ['wait_for', 'wait_for_selector', 'wait_for_load', 'run_script'],
  RECORD_NOT_FOUND: ['get_content', 'compare_screenshots'],
  MAX_SESSIONS_REACHED: ['create_session'],
  SESSION_EXPIRED: ['navigate', 'evaluate']
}

/** Tools that return an empty result if nothing matches, or wait for a match. */
export const ANSWER_WITH_NONE = [
  'find_elements',
  'get_all_text',
  'element_exists',
  'is_visible',
  'wait_for_selector'
]
/** Tools that a dialog does not block. */
export const TOOLS_DURING_DIALOG = ['handle_dialog', 'get_request_log', 'pages', 'batch']

/** Returns the errors that a tool can return. @param {Tool} tool @returns {string[]} */
function errorsOf({ name, group, inputSchema: { properties = {} } }) {
  const takes = (parameter) => parameter in properties
  const takesTarget = takes('selector') || takes('source') || takes('fields')
  const needsMatch = takesTarget && !ANSWER_WITH_NONE.includes(name)
  return [
    'INVALID_PARAMETERS',
    ...(takes('sessionId') ? ['SESSION_NOT_FOUND'] : []),
    ...(takes('pageId') && name !== 'batch' ? ['PAGE_NOT_FOUND'] : []),
    ...(takes('pageId') && !TOOLS_DURING_DIALOG.includes(name) ? ['DIALOG_OPEN'] : []),
    ...(takesTarget ? ['INVALID_SELECTOR'] : []),
    ...(needsMatch ? ['ELEMENT_NOT_FOUND'] : []),
    ...(needsMatch && group === 'interaction' ? ['ELEMENT_AMBIGUOUS'] : []),
    ...Object.keys(ERRORS).filter((code) => ERRORS[code].includes(name))
  ]
}

/**
 * Returns whether a field of a result is in its schema, or in a part without a schema.
 * @param {any} schema
 * @param {string[]} path
 */
function isDeclared(schema, [name, ...rest]) {
  if (schema.items) return isDeclared(schema.items, [name, ...rest])
  if (name === undefined || !schema.properties) return true
  return name in schema.properties && isDeclared(schema.properties[name], rest)
}

/**
 * Fields that the result of any tool may have. `resumed` lists the lost state, in the first result
 * after a suspended session was resumed. `person` is in the first result after a person controlled
 * the session. `handoff` reports a question to a person (`--handoff-on`).
 */
const IN_ANY_RESULT = ['resumed', 'person', 'handoff']

/** Empties the folder of the notes before a complete run. @param {string} path */
export function emptyNotesFolder(path) {
  rmSync(path, { recursive: true, force: true })
  mkdirSync(path, { recursive: true })
  return path
}

/**
 * Returns a line for each part that no test of the run has used or received.
 * @param {string} path
 * @returns {string[]}
 */
export function uncoveredParts(path) {
  /** @type {Map<string, Set<string>>} */
  const seen = new Map()
  for (const file of readdirSync(path)) {
    for (const [tool, points] of JSON.parse(readFileSync(join(path, file), 'utf8')))
      seen.set(tool, new Set([...(seen.get(tool) ?? []), ...points]))
  }
  // Tools with the same output schema share the coverage of their result fields.
  /** @type {Map<string, Set<string>>} */
  const answers = new Map()
  for (const { name, outputSchema } of TOOLS) {
    const points = answers.get(JSON.stringify(outputSchema)) ?? new Set()
    for (const point of seen.get(name) ?? []) points.add(point)
    answers.set(JSON.stringify(outputSchema), points)
  }
  const missingOfTools = TOOLS.flatMap((tool) => {
    const { name, inputSchema, outputSchema } = tool
    const own = [
      'success',
      ...pointsIn(inputSchema, ''),
      ...errorsOf(tool).map((code) => `! ${code}`)
    ]
    const shared = pointsIn(outputSchema, '-> ')
    const unseen = [
      ...own.filter((point) => !seen.get(name)?.has(point)),
      ...shared.filter((point) => !answers.get(JSON.stringify(outputSchema))?.has(point))
    ]
    const points = [...(seen.get(name) ?? [])].filter(
      (point) => outputSchema && point.startsWith('-> ')
    )
    const undeclared = points
      .map((point) => point.slice(3).split('=')[0])
      .filter(
        (field) => !IN_ANY_RESULT.includes(field) && !isDeclared(outputSchema, field.split('.'))
      )
    return [
      ...unseen
        .filter((point) => !UNTESTABLE_PARTS[name]?.includes(point))
        .map((point) => `${name}: ${point}`),
      ...new Set(
        undeclared.map((field) => `${name}: its result has \`${field}\`, which its schema lacks`)
      )
    ]
  })
  return [...unusedOptions(seen.get(OPTIONS)), ...missingOfTools]
}
