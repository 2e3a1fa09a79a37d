// The table of a run: medians, 95th percentiles and ratios.
import { bold, green, red } from '../scripts/run.mjs'

/** How many values of this process have missed their bounds. */
let missed = 0

/**
 * Returns the exit code of a benchmark: with `--check`, 1 if a value has missed its bound.
 * @param {boolean | undefined} check
 */
export function exitCodeOf(check) {
  if (missed > 0) console.log(red(`${missed} values have missed their bounds`))
  return check && missed > 0 ? 1 : 0
}

/** @param {boolean} isMet @param {string} met @param {string} unmet */
function verdict(isMet, met, unmet) {
  if (isMet) return green(met)
  missed++
  return red(unmet)
}

/**
 * @param {import('./rows.mjs').Row[]} rows
 * @param {import('./servers.mjs').Server[]} compared
 * @param {import('./samples.mjs').Samples} samples
 */
export function table(rows, compared, samples) {
  const [troupe, ...peers] = compared
  const head = [
    '',
    troupe.title,
    '95th percentile',
    ...peers.flatMap((peer) => [peer.title, 'ratio'])
  ]
  const body = rows.flatMap((row) => {
    const troupeMedian = samples.quantile(row.id, troupe.name, 0.5)
    const cells = peers.flatMap((peer) => {
      const peerMedian = samples.quantile(row.id, peer.name, 0.5)
      return [amount(peerMedian, row.unit), ratio(troupeMedian, peerMedian, row.bounds[peer.name])]
    })
    const p95 = samples.quantile(row.id, troupe.name, 0.95)
    const line = [
      row.title,
      amount(troupeMedian, row.unit, row.limit),
      row.unit === 'ms' ? amount(p95, row.unit) : '',
      ...cells
    ]
    const bytes = compared.map((server) => samples.bytes.get(`${row.id} ${server.name}`))
    if (bytes.every((count) => count === undefined)) return [line]
    const [first, ...others] = bytes
    const counts = others.flatMap((count, peer) => [
      amount(count, 'B'),
      ratio(first, count, row.byteBounds?.[peers[peer].name])
    ])
    return [line, ['  its text', amount(first, 'B'), '', ...counts]]
  })
  return columns([head, ...body])
}

/** @param {number | undefined} value @param {string} unit @param {number} [limit] */
function amount(value, unit, limit) {
  if (value === undefined) return '–'
  const text = `${unit === 'B' || value >= 100 ? Math.round(value) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${unit}`
  return judged(text, value, limit)
}

/**
 * @param {number | undefined} troupeMedian
 * @param {number | undefined} peerMedian
 * @param {number} [bound]
 */
function ratio(troupeMedian, peerMedian, bound) {
  if (troupeMedian === undefined || peerMedian === undefined) return ''
  const value = troupeMedian / peerMedian
  const text = value < 0.1 ? value.toFixed(3) : value.toFixed(2)
  return judged(text, value, bound)
}

/**
 * Formats the ratio and whether it reaches the minimum.
 * @param {number} value
 * @param {number} least
 */
export function atLeast(value, least) {
  const text = value.toFixed(2)
  return verdict(value >= least, `${text} ≥ ${least} ok`, `${text} < ${least} under`)
}

/** @param {string} text @param {number} value @param {number} [bound] */
export function judged(text, value, bound) {
  if (bound === undefined) return text
  return verdict(value <= bound, `${text} ≤ ${bound} ok`, `${text} > ${bound} over`)
}

/** @param {string[][]} lines */
function columns(lines) {
  const width = (cell) => cell.replace(/\x1b\[\d+m/g, '').length
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => width(line[column]))))
  const padded = (cell, column) => {
    const gap = ' '.repeat(widths[column] - width(cell))
    return column === 0 ? cell + gap : gap + cell
  }
  return lines
    .map((line, row) => (row === 0 ? bold : String)(line.map(padded).join('  ')))
    .join('\n')
}
