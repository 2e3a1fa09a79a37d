// Creates docs/tools.md: one section for each tool, from its schemas and its example in
// docs/examples.json.

/** @typedef {{ name: string, group: string, description: string, inputSchema: any }} Tool */

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

The calls of one session run in the order in which they arrive, and calls of different sessions run in parallel. An action waits
until its element is attached, visible, enabled, stable and not covered. It then dispatches trusted input events, and returns
when the navigation, the requests and the messages of WebSockets that it caused have finished, at the latest after
\`--timeout-settle\` (2 s; a navigation may take 10 s). A failed call returns an [error](errors.md).
`

/** @param {Tool[]} tools @param {import('./examples.mjs').Example[]} examples @returns {string} */
export function toolDocument(tools, examples) {
  const groups = [...new Set(tools.map(({ group }) => group))]
  const sections = groups.map((group) => {
    if (!(group in TITLES))
      throw new Error(`the group \`${group}\` has no title in ${import.meta.url}`)
    const ofGroup = tools.filter((tool) => tool.group === group)
    return [`## ${TITLES[group]}`, ...ofGroup.map((tool) => section(tool, examples))].join('\n\n')
  })
  return `${INTRODUCTION}\n${sections.join('\n\n')}\n`
}

/** @param {Tool} tool @param {import('./examples.mjs').Example[]} examples */
function section({ name, description, inputSchema }, examples) {
  const example = examples.find(({ tool }) => tool === name)
  if (!example) throw new Error(`docs/examples.json has no call of \`${name}\``)
  const result = readable(example.result)
  return [
    `### ${name}`,
    escaped(description),
    ...parameterTable(inputSchema),
    fenced('json', JSON.stringify(example.arguments, null, 2)),
    'Result:',
    fenced(result.language, result.text)
  ].join('\n\n')
}

/** @param {any} schema @returns {string[]} the table, if there are parameters */
function parameterTable({ properties = {}, required = [] }) {
  const rows = Object.entries(properties)
    .filter(([key]) => required.includes(key) || !['sessionId', 'pageId'].includes(key))
    .map(
      ([key, schema]) =>
        `| \`${key}\`${required.includes(key) ? ' (required)' : ''} | ${typeOf(schema)} | ${cell(schema.description ?? '')} |`
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
