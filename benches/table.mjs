// The medians of what was measured, and the table that shows them.
import { bold, green, red } from '../scripts/run.mjs'

/** What was measured: for each row and server the numbers, and the bytes of the text that came back. */
export class Samples {
  /** @type {Map<string, number[]>} */
  #values = new Map()
  /** @type {Map<string, number>} */
  bytes = new Map()

  /** @param {string} row @param {string} server @param {number} value */
  add(row, server, value) {
    const key = `${row} ${server}`
    this.#values.set(key, [...(this.#values.get(key) ?? []), value])
  }

  /** @param {string} row @param {string} server */
  median(row, server) {
    const sorted = this.#values.get(`${row} ${server}`)?.sort((a, b) => a - b)
    return sorted?.[sorted.length >> 1]
  }
}

/** @param {import('./rows.mjs').Row[]} rows @param {import('./servers.mjs').Server[]} compared @param {Samples} samples */
export function table(rows, compared, samples) {
  const [ours, ...peers] = compared
  const head = ['', ours.title, ...peers.flatMap((peer) => [peer.title, 'ratio'])]
  const body = rows.flatMap((row) => {
    const mine = samples.median(row.id, ours.name)
    const cells = peers.flatMap((peer) => {
      const theirs = samples.median(row.id, peer.name)
      return [amount(theirs, row.unit), ratio(mine, theirs, row.bounds[peer.name])]
    })
    const line = [row.title, limited(mine, row), ...cells]
    const bytes = compared.map((server) => samples.bytes.get(`${row.id} ${server.name}`))
    if (bytes.every((count) => count === undefined)) return [line]
    const [first, ...others] = bytes
    return [line, ['  its text', amount(first, 'B'), ...others.flatMap((count) => [amount(count, 'B'), ratio(first, count)])]]
  })
  return columns([head, ...body])
}

/** @param {number | undefined} value @param {string} unit */
function amount(value, unit) {
  if (value === undefined) return '–'
  return `${unit === 'B' || value >= 100 ? Math.round(value) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${unit}`
}

/** Our own value, judged where the row has a limit. @param {number | undefined} mine @param {import('./rows.mjs').Row} row */
function limited(mine, { unit, most }) {
  if (mine === undefined || most === undefined) return amount(mine, unit)
  return mine <= most ? green(`${amount(mine, unit)} ≤ ${most} ok`) : red(`${amount(mine, unit)} > ${most} over`)
}

/** @param {number | undefined} mine @param {number | undefined} theirs @param {number} [bound] */
function ratio(mine, theirs, bound) {
  if (mine === undefined || theirs === undefined) return ''
  const value = mine / theirs
  const text = value < 0.1 ? value.toFixed(3) : value.toFixed(2)
  if (bound === undefined) return text
  return value <= bound ? green(`${text} ≤ ${bound} ok`) : red(`${text} > ${bound} over`)
}

/** @param {string[][]} lines */
function columns(lines) {
  const width = (cell) => cell.replace(/\x1b\[\d+m/g, '').length
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => width(line[column]))))
  const padded = (cell, column) => {
    const gap = ' '.repeat(widths[column] - width(cell))
    return column === 0 ? cell + gap : gap + cell
  }
  return lines.map((line, row) => (row === 0 ? bold : String)(line.map(padded).join('  '))).join('\n')
}
