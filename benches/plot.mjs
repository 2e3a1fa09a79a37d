// The plot of a run: for each row and server the median, and the range from the 10th to the 90th
// percentile, on a logarithmic scale because the values are far apart.
import { quantile } from 'simple-statistics'
import { View, parse } from 'vega'
import { compile } from 'vega-lite'

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
const COLORS = ['#0b7285', '#c2410c', '#b08968', '#6b7280', '#7c3aed', '#15803d']

/**
 * @param {{ rows: { id: string, title: string, unit: string, samples: Record<string, number[]> }[],
 *   servers: { name: string, title: string }[] }} results
 * @param {string} caption
 * @returns {Promise<string>} an SVG
 */
export async function plot({ rows, servers }, caption) {
  const shown = rows.filter(({ id, unit }) => unit === 'ms' && SHOWN.includes(id))
  const values = shown.flatMap(({ title, samples }) =>
    servers
      .filter(({ name }) => samples[name]?.length > 0)
      .map(({ name, title: server }) => {
        const [low, middle, high] = [0.1, 0.5, 0.9].map((part) => quantile(samples[name], part))
        return { row: title, server, low, middle, high, label: label(middle) }
      })
  )
  const order = servers.map(({ title }) => title)
  const y = { field: 'server', type: 'nominal', sort: order, axis: null }
  const x = { type: 'quantitative', scale: { type: 'log' }, title: 'ms, logarithmic' }
  const color = {
    field: 'server',
    type: 'nominal',
    sort: order,
    scale: { domain: order, range: COLORS.slice(0, order.length) },
    legend: { orient: 'top', title: null, columns: 3, labelLimit: 0 }
  }
  const spec = /** @type {any} */ ({
    title: { text: caption, anchor: 'start', fontSize: 11, fontWeight: 'normal', offset: 8 },
    data: { values },
    facet: {
      row: {
        field: 'row',
        type: 'nominal',
        sort: shown.map(({ title }) => title),
        header: { title: null, labelAngle: 0, labelAlign: 'left', labelLimit: 0 }
      }
    },
    spacing: 6,
    spec: {
      width: 460,
      height: { step: 13 },
      layer: [
        {
          mark: { type: 'rule', strokeWidth: 2 },
          encoding: { y, x: { ...x, field: 'low' }, x2: { field: 'high' }, color }
        },
        {
          mark: { type: 'point', filled: true, size: 45 },
          encoding: { y, x: { ...x, field: 'middle' }, color }
        },
        {
          mark: { type: 'text', align: 'left', dx: 7, fontSize: 10 },
          encoding: { y, x: { ...x, field: 'high' }, text: { field: 'label' } }
        }
      ]
    },
    config: { background: 'white', view: { stroke: null }, axis: { gridColor: '#eee' } }
  })
  return new View(parse(compile(spec).spec), { renderer: 'none' }).toSVG()
}

/** @param {number} value */
const label = (value) => `${value >= 100 ? Math.round(value) : value.toPrecision(2)} ms`
