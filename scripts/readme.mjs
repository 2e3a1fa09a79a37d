// The table of tools in README.md, from the tools' own schemas. `npm run generate` writes it.

const BEGIN = '<!-- tools -->'
const END = '<!-- /tools -->'

/**
 * @param {string} readme the text of README.md
 * @param {import('../lib/session-methods.js').Tool[]} tools
 * @returns {string} the same with the table of these tools
 */
export function withToolTable(readme, tools) {
  const rows = tools.map(
    ({ name, description, inputSchema }) =>
      `| \`${name}\` | ${parametersOf(inputSchema)} | ${cell(description)} |`
  )
  const table = ['| tool | parameters | what it does |', '|---|---|---|', ...rows].join('\n')
  const [before, after] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (before < 0 || after < before) throw new Error(`README.md lacks \`${BEGIN}\` … \`${END}\``)
  return `${readme.slice(0, before)}${BEGIN}\n${table}\n${readme.slice(after)}`
}

/** Which session and page a call means is told once above the table: only where it must be said it is a parameter.
 * @param {any} schema */
function parametersOf({ properties = {}, required = [] }) {
  return Object.keys(properties)
    .filter((key) => required.includes(key) || !['sessionId', 'pageId'].includes(key))
    .map((key) => `\`${key}${required.includes(key) ? '' : '?'}\``)
    .join(' ')
}

/** @param {string} text */
const cell = (text) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ')
