// Creates docs/errors.md from the rows of src/error.rs, for `npm run generate`.

/**
 * @typedef {{ code: string, when: string, retryable: boolean, status: { refused?: number, failed?:
 *   number }, exit: number, suggestion: string | null }} ErrorRow
 */

const INTRODUCTION = `# Error codes

<!-- Generated from src/error.rs: \`npm run generate\` writes it. -->

A tool call that fails returns \`isError: true\` and one JSON object: \`{errorCode, message, sessionId?, details?, retryable,
suggestion?}\`. The Node library throws it as a \`TroupeError\`. \`retryable\` means that the same call may succeed later although
nothing has changed. An error without a suggestion of its own has the one in the table.

\`exit\` is the exit code of a [command](command-line.md). \`HTTP\` is the status of the JSON API. With a status in bold, the call
did not run. Otherwise it ran and failed: \`POST /api/requests\` then responds with 200 and the error in its body, the other routes
with the status in the table.
`

/** @param {ErrorRow[]} rows @returns {string} */
export function errorDocument(rows) {
  const lines = rows.map(({ code, when, retryable, status, exit, suggestion }) => {
    const http = status.refused ? `**${status.refused}**` : status.failed
    return `| \`${code}\` | ${when} | ${retryable ? 'yes' : 'no'} | ${suggestion ?? ''} | ${exit} | ${http} |`
  })
  const table = [
    '| code | when | retryable | suggestion | exit | HTTP |',
    '|---|---|---|---|---|---|',
    ...lines
  ]
  return `${INTRODUCTION}\n${table.join('\n')}\n`
}
