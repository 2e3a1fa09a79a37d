// Creates docs/configuration.md and schema.json from the rows of the options.

/**
 * @typedef {{ group: string, flag: string, variable: string, key: string, nested: string | null,
 *   aliases: string[], help: string, negatable: boolean, choices: string[] | null,
 *   default: string | null }} OptionRow
 */

const INTRODUCTION = `# Configuration

<!-- Generated from src/config/options.rs: \`npm run generate\` writes it. -->

Every option is a flag, an environment variable and a key of a JSON file. The command line overrides the environment, and the
environment overrides the file:

\`\`\`bash
troupe --max-sessions 20
TROUPE_MAX_SESSIONS=20 troupe
troupe --config troupe.json
\`\`\`

\`\`\`json
{
  "$schema": "https://unpkg.com/troupe/schema.json",
  "maxSessions": 20
}
\`\`\`

Editors check the file with [schema.json](https://unpkg.com/troupe/schema.json), which the npm package contains. The Node
library takes the same keys: \`new SessionManager({ maxSessions: 20 })\`. A value that is out of range, an unknown option and
options that contradict each other are errors at startup. Times are in milliseconds and sizes in bytes, unless the table says
otherwise.

A file can also group keys in objects: \`{"browser": {"type": "firefox"}}\`. The tables name such a key as "in groups". The
*Playwright tools* are the tools of @playwright/mcp that \`--tools playwright\` offers.
`

/** @param {OptionRow[]} rows @returns {string} */
export function configurationDocument(rows) {
  const groups = [...new Set(rows.map(({ group }) => group))]
  const sections = groups.map((group) => {
    const lines = rows.filter((row) => row.group === group).map(line)
    const table = ['| option | default | |', '|---|---|---|', ...lines].join('\n')
    return `## ${group}\n\n${table}`
  })
  return `${INTRODUCTION}\n${sections.join('\n\n')}\n`
}

/** @param {OptionRow} row */
function line({ flag, variable, key, nested, aliases, help, negatable, choices, default: value }) {
  const names = [`\`${flag}\``, `\`${variable}\``, `\`${key}\``]
  const others = [
    ...(negatable ? [`the same: \`${variable}=false\`, \`"${key}": false\``] : []),
    ...(nested ? [`in groups: \`${nested}\``] : []),
    ...(aliases.length > 0 ? [`also ${aliases.map((name) => `\`--${name}\``).join(', ')}`] : [])
  ]
  const text = [
    help,
    ...(choices ? [`one of ${choices.map((choice) => `\`${choice}\``).join(', ')}`] : []),
    ...others
  ].join('; ')
  const shown = negatable ? `${key}: ${value}` : value
  return `| ${names.join(' ')} | ${shown === null ? '' : `\`${shown}\``} | ${text.replaceAll('|', '\\|')} |`
}

/** @param {object} schema the schema of the configuration @returns {string} */
export const schemaFile = (schema) =>
  `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', title: 'Configuration file of Troupe', ...schema }, null, 2)}\n`
