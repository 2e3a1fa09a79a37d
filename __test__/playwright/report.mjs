// Lists the differences between Troupe and the recorded answers, grouped by their changed lines.
//   node __test__/playwright/report.mjs [--record] [--answers FILE] [SCENARIO…]
// `--record` first records the answers of @playwright/mcp to these scenarios. `--answers` writes
// those of Troupe to a file.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { differencesOf, recorded } from './comparison.mjs'
import { record } from './record.mjs'
import { runAll } from './runner.mjs'
import { SCENARIOS } from './scenarios.mjs'
import { startTroupe } from './servers.mjs'
import { startDifferentialSite } from './site.mjs'

/** How many lines of a difference are shown. */
const SHOWN_LINES = 14

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    record: { type: 'boolean', default: false },
    'only-record': { type: 'boolean', default: false },
    answers: { type: 'string' },
    read: { type: 'string' }
  }
})
const chosen =
  positionals.length > 0 ? SCENARIOS.filter(({ name }) => positionals.includes(name)) : SCENARIOS
/** @type {(() => unknown)[]} */
const ends = []
const site = await startDifferentialSite({ after: (end) => void ends.push(end) })
if (values.record || values['only-record']) await record(chosen, site)
if (!values['only-record']) {
  const begun = performance.now()
  const actual = values.read
    ? JSON.parse(readFileSync(values.read, 'utf8'))
    : await runAll(chosen, startTroupe, site, 2)
  if (values.answers) writeFileSync(values.answers, `${JSON.stringify(actual, undefined, 1)}\n`)
  report(actual, recorded().answers, performance.now() - begun)
}
for (const end of ends.reverse()) await end()

/**
 * @param {Record<string, import('./runner.mjs').Answer[]>} actual
 * @param {Record<string, import('./runner.mjs').Answer[]>} expected
 * @param {number} milliseconds
 */
function report(actual, expected, milliseconds) {
  /** @type {Map<string, { calls: string[], lines: string[] }>} */
  const groups = new Map()
  let equal = 0
  let total = 0
  for (const scenario of chosen) {
    const { name, calls } = scenario
    const differences = differencesOf(scenario, actual[name], expected[name])
    total += calls.length
    equal += calls.length - differences.length
    for (const { call, lines } of differences) {
      const cause = lines.map(withoutDetails).join('\n')
      const group = groups.get(cause) ?? { calls: [], lines }
      groups.set(cause, group)
      group.calls.push(call)
    }
  }
  console.log(`${equal} of ${total} calls are equal (${Math.round(milliseconds / 1000)} s).\n`)
  const sorted = [...groups.values()].sort((a, b) => b.calls.length - a.calls.length)
  for (const { calls, lines } of sorted) {
    console.log(
      `## ${calls.length}: ${calls.slice(0, 8).join(', ')}${calls.length > 8 ? ', …' : ''}`
    )
    console.log(`\`\`\`diff\n${lines.slice(0, SHOWN_LINES).join('\n')}\n\`\`\`\n`)
  }
}

/** @param {string} line */
function withoutDetails(line) {
  return line
    .replace(/\[ref=\w+\]/g, '[ref]')
    .replace(/box=[-\d,]+/g, 'box')
    .replace(/"[^"]*"|'[^']*'/g, '""')
    .replace(/\d+/g, '0')
}
