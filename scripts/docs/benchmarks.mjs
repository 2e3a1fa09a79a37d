// Creates docs/benchmarks.md from the results of the last complete run of `npm run bench`.

/**
 * @typedef {{ id: string, title: string, unit: string, medians: Record<string, number>, intervals:
 *   Record<string, [number, number]>, samples: Record<string, number[]> }} Row
 * @typedef {{ rounds: number, browser: string, date: string, machine: Record<string, string |
 *   number>, servers: { name: string, title: string }[], rows: Row[] }} Results
 */

/** @param {Results} results @returns {string} */
export function benchmarkDocument({ rounds, browser, date, machine, servers, rows }) {
  const [ours, ...others] = servers
  const times = rows.filter(({ medians }) => ours.name in medians)
  const lines = times.map(({ title, unit, medians, intervals, samples }) => {
    const own = cell(medians[ours.name], intervals[ours.name], unit)
    const cells = others.map(({ name }) => {
      if (!(name in medians)) return ''
      const ratio = (medians[ours.name] / medians[name]).toPrecision(2)
      return `${cell(medians[name], intervals[name], unit)}, ratio ${ratio}`
    })
    return `| ${title} | ${own} | ${cells.join(' | ')} | ${samples[ours.name].length} |`
  })
  const table = [
    `| | ${servers.map(({ title }) => title).join(' | ')} | values |`,
    `|${'---|'.repeat(servers.length + 2)}`,
    ...lines
  ].join('\n')
  return `# Benchmarks

<!-- Generated from docs/benchmarks/results.json: \`npm run bench\` writes both. -->

![Medians and ranges of each server](benchmarks/results.svg)

Measured on ${date}: ${rounds} rounds, ${machine.cores} × ${machine.cpu}, ${machine.platform} ${machine.arch}, Node ${machine.node}, ${browser}.

## Method

- \`npm run bench -- --all --floor\` starts every server with the same browser binary and the same pages on 127.0.0.1. The servers
  alternate in each round, and the first one differs from round to round. The first round is not counted.
- A time is that of one call from a client on stdio: from writing the request to reading the response.
- Cells show the median and, in brackets, the 95 % confidence interval of the median (bootstrap with 1,000 resamples). The ratio is
  Troupe's median divided by the other one; below 1, Troupe is faster. The last column counts Troupe's values.
- *floor* is a bare client of the browser that does the least for the same effect, without checks and without a report.
- \`@playwright/mcp\` sleeps 500 ms after most actions. The column without its settling shows it with that sleep turned off.
- The machine is virtual, and its speed varies within an hour. Ratios are more reliable than times.

[results.json](https://github.com/troupe-mcp/troupe/blob/main/docs/benchmarks/results.json) has all values. The
[performance log](internals/performance.md) explains where the time goes.

## Results

${table}
`
}

/** @param {number} median @param {[number, number]} interval @param {string} unit */
function cell(median, [low, high], unit) {
  const range = low === high ? '' : ` (${number(low)}–${number(high)})`
  return `${number(median)}${unit && ` ${unit}`}${range}`
}

/** @param {number} value */
const number = (value) =>
  value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
