// A valid call for every tool, which the tests of all tools vary.
import { TOOLS } from '../support/coverage.mjs'
import { PIXEL } from '../support/pictures.mjs'
import { UNKNOWN_SESSION } from '../support/sessions.mjs'

export const PAGE = `<!doctype html><title>Every tool</title><link rel="icon" href="data:,">
  <button id="go">Go</button> <a href="/form">Form</a> <input id="field" aria-label="Field" value="old"> <input id="box" type="checkbox" aria-label="Box">
  <select id="pick" aria-label="Pick"><option>one<option>two</select> <input id="file" type="file" aria-label="File">
  <table id="table"><tr><th>Key<th>Value<tr><td>a<td>1</table> <p class="twin">Twin</p><p class="twin">Twin</p>
  <button class="twins">Twin</button><button class="twins">Twin</button> <button id="off" disabled>Off</button> <input id="fixed" readonly aria-label="Fixed">`

/** Valid arguments of each tool on `PAGE`. @type {Record<string, object>} */
export const VALID_ARGUMENTS = {
  create_session: {},
  close_session: { sessionId: UNKNOWN_SESSION },
  list_sessions: {},
  get_cookies: {},
  set_cookies: { cookies: [{ name: 'a', value: 'b', domain: '127.0.0.1' }] },
  set_viewport: { width: 800, height: 600 },
  navigate: { url: 'data:text/html,<title>There</title>' },
  go_back: {},
  go_forward: {},
  reload: {},
  wait_for_load: {},
  pages: { action: 'list' },
  click: { selector: '#go' },
  type: { selector: '#field', text: 'x' },
  fill: { selector: '#field', value: 'x' },
  fill_form: { fields: [{ selector: '#field', value: 'x' }] },
  select: { selector: '#pick', value: 'two' },
  check: { selector: '#box' },
  uncheck: { selector: '#box' },
  hover: { selector: '#go' },
  scroll: { selector: '#go' },
  drag_and_drop: { source: '#go', target: '#field' },
  upload_file: { selector: '#file', files: [] },
  press: { key: 'a' },
  handle_dialog: { accept: true },
  snapshot: { selector: '#go' },
  find: { text: 'twin' },
  read_page: {},
  get_text: { selector: '#go' },
  get_all_text: { selector: '.twin' },
  get_attribute: { selector: '#go', attribute: 'id' },
  get_value: { selector: '#field' },
  screenshot: {},
  screenshot_element: { selector: '#go' },
  compare_screenshots: { baseline: PIXEL, selector: '#go' },
  extract_table: { selector: '#table' },
  extract_links: { selector: 'body' },
  get_page_metadata: {},
  evaluate: { script: '1' },
  save_pdf: {},
  find_element: { selector: '#go' },
  find_elements: { selector: '.twin' },
  element_exists: { selector: '#go' },
  is_visible: { selector: '#go' },
  is_enabled: { selector: '#go' },
  wait_for_selector: { selector: '#go' },
  wait_for: { text: 'Twin' },
  block_resource: { resourceType: 'media' },
  mock_response: { url: '**/mocked', response: {} },
  set_offline: { offline: true },
  set_throttling: { latency: 1 },
  get_request_log: {},
  get_content: {},
  get_console_content: {},
  list_requests: {},
  batch: { steps: [] },
  run_script: { script: 'console.log(1); return 2' },
  ask_user: { message: 'Which one?' },
  session_resume: { sessionId: UNKNOWN_SESSION },
  save_state: {},
  restore_state: { state: { cookies: [], origins: [] } }
}

/** The names of the tools with `parameter`. @param {string} parameter */
export const toolsWithParameter = (parameter) =>
  TOOLS.filter(({ inputSchema }) => parameter in (inputSchema.properties ?? {}))

/**
 * The arguments of `tool` with another target, in every parameter for one.
 * @param {string} tool
 * @param {string} selector
 */
export function argumentsForTarget(tool, selector) {
  const call = { ...VALID_ARGUMENTS[tool] }
  if ('fields' in call) return { fields: [{ selector, value: 'x' }] }
  return 'source' in call ? { ...call, source: selector } : { ...call, selector }
}

/** Tools that read the record of a session, also after its end. */
export const READING_ON = ['get_content', 'get_console_content', 'list_requests']

/** Tools with an element as target. */
export const TOOLS_WITH_TARGET = TOOLS.filter(
  ({ inputSchema: { properties = {} } }) =>
    'selector' in properties || 'source' in properties || 'fields' in properties
)
