// Creates docs/tools.md: one section for each tool, from its schemas and its example in
// docs/examples.json.

/**
 * @typedef {{ name: string, group: string, description: string, inputSchema: any,
 *   neededOption: string | null }} Tool
 */

const TITLES = {
  session: 'Sessions',
  navigation: 'Navigation',
  pages: 'Tabs',
  interaction: 'Actions',
  extraction: 'Reading a page',
  element: 'Questions about elements',
  network: 'Network',
  record: 'The record',
  person: 'Questions to the user',
  batch: 'Batches'
}

/**
 * Descriptions of parameters whose schemas have none. They would make `tools/list` longer.
 * @type {Record<string, Record<string, string>>}
 */
const DESCRIPTIONS = {
  create_session: { viewport: 'CSS px' },
  save_state: { path: 'File to write, in place of returning the state' },
  get_cookies: { urls: 'Only the cookies that requests to these URLs send' },
  set_cookies: { cookies: "`partitionKey` and `_crHasCrossSiteAncestor` as in Playwright's state" },
  set_viewport: { width: 'CSS px', height: 'CSS px' },
  reload: { ignoreCache: 'Request everything again' },
  pages: { url: 'With `new`' },
  click: { button: 'Default: `left`', clickCount: '2 for a double click' },
  type: { clear: 'Empty the field first', submit: 'Press Enter afterwards' },
  scroll: { x: 'CSS px; positive: to the right', y: 'CSS px; positive: down' },
  snapshot: { depth: 'Maximum number of levels of the tree' },
  compare_screenshots: { selector: 'Only this element' },
  wait_for: { text: 'This text is visible', textGone: 'This text is not visible' },
  block_resource: { block: '`false` removes the rule' },
  mock_response: { response: 'Omit it to remove the mock' },
  get_content: {
    refId: 'The call, by the `refId` in the `_meta` of its result',
    searchFor: 'Return only lines that contain this text',
    resetCursor: 'Return the whole content again, in place of its changes'
  },
  get_console_content: { refId: 'The call, by the `refId` in the `_meta` of its result' },
  list_requests: { limit: 'Default: 50' }
}

/** Maximum number of lines of a result. Longer results are truncated. */
const RESULT_LINES = 24

const INTRODUCTION = `# Tools

<!-- markdownlint-disable MD013 -->
<!-- Generated from the registry of tools and docs/examples.json: \`npm run generate\` writes it. -->

Each section has the tool's parameters, an example call and the result that an agent receives. The examples are recorded with
a real browser on a small shop, and a test repeats them.

Every tool that works on a page also takes \`sessionId\` and \`pageId\`. Without \`sessionId\`, the call uses the only open session
that the client has created, or else its [implicit session](sessions.md#lifetime). Without \`pageId\`, it uses the current tab.

A \`selector\` is a ref from the last snapshot (\`e12\`), a CSS selector, an XPath, or one of \`text=\`, \`role=button[name="Go"]\`,
\`label=\`, \`placeholder=\` and \`testid=\`. \`>>>\` enters a frame. Snapshots and refs include elements in open shadow roots, and in
Chromium and Firefox in closed ones. [Network rules](network.md) describes the patterns of URLs.

The calls of one session run in the order in which they arrive, and calls of different sessions run in parallel. While a
\`wait_for\`, \`wait_for_selector\`, \`wait_for_load\` or \`find_element\` waits, later calls of the session run.

An action waits until its element is attached, visible, enabled, stable and not covered. It then dispatches trusted input events
and waits for the navigation and the requests that they caused; in Chromium also for responses to WebSocket messages. It waits
for requests at most \`--timeout-settle\` (2 s), and for a navigation at most 10 s. A failed call returns an [error](errors.md).
`

/** @param {Tool[]} tools @param {import('./examples.mjs').Example[]} examples @returns {string} */
export function toolDocument(tools, examples) {
  const groups = [...new Set(tools.map(({ group }) => group))]
  checkDescriptions(tools)
  const sections = groups.map((group) => {
    if (!(group in TITLES))
      throw new Error(`the group \`${group}\` has no title in ${import.meta.url}`)
    const ofGroup = tools.filter((tool) => tool.group === group)
    return [`## ${TITLES[group]}`, ...ofGroup.map((tool) => section(tool, examples))].join('\n\n')
  })
  return `${INTRODUCTION}\n${groupTable(tools, groups)}\n\n${sections.join('\n\n')}\n`
}

/** @param {Tool[]} tools @param {string[]} groups */
function groupTable(tools, groups) {
  const rows = groups.map((group) => {
    const links = tools
      .filter((tool) => tool.group === group)
      .map(({ name }) => `[\`${name}\`](#${name})`)
    return `| ${TITLES[group]} | \`group:${group}\` | ${links.join(', ')} |`
  })
  return ['| group | name for `--tools` and `--no-tools` | tools |', '|---|---|---|', ...rows].join(
    '\n'
  )
}

/** Fails if a description is superfluous. @param {Tool[]} tools */
function checkDescriptions(tools) {
  for (const [tool, parameters] of Object.entries(DESCRIPTIONS))
    for (const name of Object.keys(parameters)) {
      const { properties = {} } = tools.find((row) => row.name === tool)?.inputSchema ?? {}
      if (!properties[name] || properties[name].description)
        throw new Error(`the description of ${tool}.${name} in ${import.meta.url} is superfluous`)
    }
}

/** @param {Tool} tool @param {import('./examples.mjs').Example[]} examples */
function section({ name, description, inputSchema, neededOption }, examples) {
  const example = examples.find(({ tool }) => tool === name)
  if (!example) throw new Error(`docs/examples.json has no call of \`${name}\``)
  const result = readable(example.result)
  return [
    `### ${name}`,
    escaped(description),
    ...(neededOption ? [`The server offers it only with \`--${neededOption}\`.`] : []),
    ...parameterTable(inputSchema, DESCRIPTIONS[name] ?? {}),
    fenced('json', JSON.stringify(example.arguments, null, 2)),
    'Result:',
    fenced(result.language, result.text)
  ].join('\n\n')
}

/**
 * @param {any} schema @param {Record<string, string>} descriptions of parameters without one
 * @returns {string[]} the table, if there are parameters
 */
function parameterTable({ properties = {}, required = [] }, descriptions) {
  const rows = Object.entries(properties)
    .filter(([key]) => required.includes(key) || !['sessionId', 'pageId'].includes(key))
    .map(
      ([key, schema]) =>
        `| \`${key}\`${required.includes(key) ? ' (required)' : ''} | ${typeOf(schema)} | ${cell(schema.description ?? descriptions[key] ?? '')} |`
    )
  if (rows.length === 0) return []
  return [['| parameter | type | |', '|---|---|---|', ...rows].join('\n')]
}

/** @param {any} schema @returns {string} */
function typeOf(schema) {
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`
  if (schema.type === 'object' && schema.properties) {
    const keys = Object.keys(schema.properties)
    return `object: ${keys.map((key) => `\`${key}\``).join(', ')}`
  }
  if (Array.isArray(schema.type)) return schema.type.join(' or ')
  return schema.type ?? 'any value'
}

/**
 * Formats a result for readers. Indents JSON, and shows a text of several lines in it as lines.
 * @param {string} result @param {number} [maxLines] @returns {{ language: string, text: string }}
 */
export function readable(result, maxLines = RESULT_LINES) {
  const json = parsed(result)
  const indented = json === undefined ? result : JSON.stringify(json, null, 2)
  const text = indented.replace(
    /^( *)(.*\\n.*)$/gm,
    (_, indent, line) =>
      `${indent}${line.replaceAll('\\n', `\n${indent}  `).replaceAll('\\"', '"')}`
  )
  const lines = text
    .split('\n')
    .map((line) => (line.length > 160 ? `${line.slice(0, 160)}…` : line))
  const more = lines.length - maxLines
  if (more > 0) lines.splice(maxLines, more, `… (${more} more lines)`)
  const shown = lines.join('\n')
  return { language: json !== undefined && shown === indented ? 'json' : 'text', text: shown }
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @param {string} language @param {string} text */
export const fenced = (language, text) => `\`\`\`${language}\n${text}\n\`\`\``

/**
 * Escapes tags, because VitePress would read a tag in Markdown as a component.
 * @param {string} text
 */
const escaped = (text) => text.replaceAll('<', '\\<')

/** @param {string} text */
const cell = (text) => escaped(text).replaceAll('|', '\\|').replace(/\s+/g, ' ')
