// Creates docs/tokens.md from the figures of `npm run bench:tokens`.

/**
 * A program with its figures, or with the reason why there are none.
 * @typedef {{ title: string, version: string, measured?:
 *   import('../../benches/tokens/measure.mjs').Measured, reason?: string }} Row
 * @typedef {{ name: string, title: string }} Job
 */

/** @param {number} value */
const number = (value) => value.toLocaleString('en-US')
/**
 * Returns the cell of a part, which is empty if the program lacks the part. @param {number} value
 */
const part = (value) => (value ? number(value) : '')
/** @param {unknown[]} cells */
const line = (cells) => `| ${cells.join(' | ')} |`

/** @param {string[]} head @param {unknown[][]} rows */
const table = (head, rows) =>
  [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')

/** @param {import('../../benches/tokens/agent.mjs').Cost} cost */
const sum = ({ sent, read }) => sent + read

/** @param {Row} row */
const jobSum = ({ measured }) =>
  Object.values(measured.jobs).reduce((all, cost) => all + sum(cost), 0)

/** @param {Row} row */
const before = ({ measured: { fixed } }) =>
  fixed.schemas + fixed.instructions + fixed.description + fixed.skill

/** @param {Row[]} rows @param {Job[]} jobs @param {string} tokenizer its version and encoding */
export function tokenDocument(rows, jobs, tokenizer) {
  const done = rows.filter(({ measured }) => measured)
  const failed = rows.filter(({ measured }) => !measured)
  const sections = [
    `# Token costs

\`npm run bench:tokens\` writes this page. A scripted agent does the same jobs with each program, on the same pages of a local site
and in the same browser. All programs have their default options. The tokenizer is
[gpt-tokenizer](https://github.com/niieani/gpt-tokenizer) ${tokenizer}. Other models count differently, so compare the figures
only with each other.`,
    table(
      ['program', 'version', 'before the first call', `${jobs.length} jobs`, 'sum'],
      done.map((row) => [
        row.title,
        row.version,
        ...[before(row), jobSum(row), before(row) + jobSum(row)].map(number)
      ])
    ),
    ...failed.map(({ title, version, reason }) => `${title} ${version} has no figures: ${reason}`),
    `## Before the first call

An MCP client passes the name, the description and the input schema of each tool to the model, and the instructions of the
server. \`tools/list\` is the complete result with the rest. A coding agent shows the model the name and the description of a
skill. When the skill is used, the model reads its text, and the guide that the text tells it to print first.`,
    table(
      ['program', '`tools/list`', 'tools', 'instructions', 'skill: description', 'skill: text'],
      done.map(({ title, measured: { fixed } }) => [
        title,
        part(fixed.listing),
        fixed.tools ? `${number(fixed.schemas)} (${fixed.tools} tools)` : '',
        ...[fixed.instructions, fixed.description, fixed.skill].map(part)
      ])
    ),
    `## Jobs

A turn is a call of a tool or a line for the shell. *Sent* is the tool and its arguments as JSON, and *read* is the text of the
result. The agent reads a page before it acts. It combines actions between which it need not decide in one turn: with a tool for
several steps, or with \`&&\`. In the shell, it hides output that it does not need. All jobs run in one session.`,
    ...jobs.map(({ name, title }) =>
      [
        `### ${title}`,
        table(
          ['program', 'turns', 'sent', 'read', 'sent and read'],
          done.map(({ title, measured: { jobs } }) => [
            title,
            ...[jobs[name].turns, jobs[name].sent, jobs[name].read, sum(jobs[name])].map(number)
          ])
        )
      ].join('\n\n')
    ),
    `## Limits of the comparison

- The scripts make no mistakes. \`benches/tokens/jobs.mjs\` has them, in the shortest form that each program documents.
- Troupe returns a snapshot of each page that an action opens. The scripts of agent-browser, playwright-cli and @playwright/mcp read
  only what the job needs, such as the title. An agent that goes on from that page takes a snapshot first.
- chrome-devtools-mcp has no search, so its script reads and opens the row with JavaScript. For the agent, that needs a guess
  about the elements of the page.
- The guide of agent-browser recommends \`--session NAME\` on each command. The script sets it in the environment instead.
- agent-browser does not wait for the page after a click. Its script waits for the URL or text that it expects.`
  ]
  return `${sections.join('\n\n')}\n`
}
