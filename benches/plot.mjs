// The picture of a run for the README: medians as bars on a scale that is logarithmic, since they lie far apart.

/** Rows that servers are compared by, as far as all of them were measured. */
const SHOWN = [
  'first',
  'navigate',
  'click',
  'clickRows',
  'evaluate',
  'fill',
  'keys',
  'snapshot',
  'rows',
  'screenshot'
]
const COLOURS = ['#0b7285', '#c2410c', '#b08968', '#6b7280', '#7c3aed', '#15803d']
const [LABEL, WIDTH, VALUE, BAR, GAP, TOP] = [190, 440, 70, 9, 12, 46]

/**
 * @param {import('./rows.mjs').Row[]} rows
 * @param {{ name: string, title: string }[]} servers ours first
 * @param {(row: string, server: string) => number | undefined} median
 * @param {string} under what is said below it
 */
export function plot(rows, servers, median, under) {
  const shown = rows.filter(({ id, unit }) => unit === 'ms' && SHOWN.includes(id))
  const values = shown.flatMap(({ id }) => servers.map(({ name }) => median(id, name) ?? 1))
  const [least, most] = [Math.log10(Math.min(...values) / 1.5), Math.log10(Math.max(...values))]
  const length = (/** @type {number} */ value) =>
    ((Math.log10(value) - least) / (most - least)) * WIDTH
  const parts = []
  servers.forEach(({ title }, place) => {
    const x = 12 + place * 165
    parts.push(
      `<rect x="${x}" y="14" width="10" height="10" rx="2" fill="${COLOURS[place]}"/>`,
      text(x + 15, 23, title)
    )
  })
  let y = TOP
  for (const { id, title } of shown) {
    const measured = servers.flatMap(({ name }, place) => {
      const value = median(id, name)
      return value === undefined ? [] : [{ place, value }]
    })
    parts.push(text(LABEL - 10, y + (measured.length * (BAR + 2)) / 2 + 3, title, 'end'))
    for (const { place, value } of measured) {
      const bar = length(value)
      parts.push(
        `<rect x="${LABEL}" y="${y}" width="${bar.toFixed(1)}" height="${BAR}" rx="2" fill="${COLOURS[place]}"/>`
      )
      parts.push(
        text(
          LABEL + bar + 5,
          y + BAR - 1,
          `${value >= 100 ? Math.round(value) : value.toPrecision(2)} ms`
        )
      )
      y += BAR + 2
    }
    y += GAP
  }
  parts.push(text(12, y + 6, under))
  const [width, height] = [LABEL + WIDTH + VALUE, y + 18]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(under)}">
<style>text { font: 11px system-ui, sans-serif; fill: #57606a }</style>
${parts.join('\n')}
</svg>
`
}

/** @param {number} x @param {number} y @param {string} words @param {string} [anchor] */
const text = (x, y, words, anchor = 'start') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(words)}</text>`

/** @param {string} words */
const escaped = (words) => words.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
