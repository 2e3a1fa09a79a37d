// A scenario of the differential test: a page and the calls on it.

/**
 * @typedef {[tool: string, parameters?: Record<string, unknown>]} Call
 * @typedef {{
 *   name: string, pages: Record<string, string>, calls: Call[], options?: string[]
 * }} Scenario
 *   `pages` are HTML documents by path. In arguments, `{origin}` is the origin of the site,
 *   `{other}` a second origin of the same site, `{directory}` the working directory, and
 *   `ref:TEXT` the ref in the first line of the last snapshot that contains TEXT. `options` are
 *   options of the server in addition to those of all scenarios.
 */

/**
 * Returns a scenario that opens its page, makes its calls and closes the browser.
 * @param {string} name the path of the page, without its slash
 * @param {string} body
 * @param {Call[]} calls
 * @param {Record<string, string>} [more] further documents, by path
 * @returns {Scenario}
 */
export function scenario(name, body, calls, more = {}) {
  return {
    name,
    pages: { [`/${name}`]: documentOf(name, body), ...more },
    calls: [visit(`/${name}`), ...calls, ['browser_close']]
  }
}

/** @param {string} title @param {string} body */
export function documentOf(title, body) {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
<link rel="icon" href="data:,"><body>${body}</body></html>`
}

/** @param {string} path @returns {Call} */
export const visit = (path) => ['browser_navigate', { url: `{origin}${path}` }]

/** @param {string} target @param {object} [more] @returns {Call} */
export const click = (target, more = {}) => ['browser_click', { target, ...more }]

/** @param {string} target @param {string} text @param {object} [more] @returns {Call} */
export const type = (target, text, more = {}) => ['browser_type', { target, text, ...more }]

/** @param {string} key @returns {Call} */
export const press = (key) => ['browser_press_key', { key }]

/** @param {string} source @param {object} [more] @returns {Call} */
export const evaluate = (source, more = {}) => ['browser_evaluate', { function: source, ...more }]

/** @param {object} [options] @returns {Call} */
export const snapshot = (options = {}) => ['browser_snapshot', options]

/** @param {string} target @param {string[]} values @returns {Call} */
export const select = (target, ...values) => ['browser_select_option', { target, values }]

/** @param {string} target @returns {Call} */
export const hover = (target) => ['browser_hover', { target }]

/** @param {string} target @returns {Call} */
export const locator = (target) => ['browser_generate_locator', { target }]

/** @param {string} text @returns {Call} */
export const awaitText = (text) => ['browser_wait_for', { text }]

/** @param {boolean} accept @param {string} [promptText] @returns {Call} */
export const handleDialog = (accept, promptText) => [
  'browser_handle_dialog',
  { accept, ...(promptText === undefined ? {} : { promptText }) }
]
