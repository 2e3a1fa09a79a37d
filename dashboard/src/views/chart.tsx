// Charts by uPlot, in the colors of the page.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

const HEIGHT = 160
const dark = window.matchMedia('(prefers-color-scheme: dark)')

export interface Series {
  name: string
  /** Number of the color in the style sheet: 1, 2 or 3. */
  color: 1 | 2 | 3
  values: (number | null)[]
}

export interface ChartProps {
  title: string
  /** What a screen reader says in place of the chart. */
  summary: string
  /** The positions on the horizontal axis: seconds since 1970, or the numbers of the bars. */
  x: number[]
  series: readonly Series[]
  /** Names of the bars. Without them, the chart has lines over time. */
  bars?: string[]
  format: (value: number) => string
}

export function Chart(props: ChartProps) {
  const { title, summary, series } = props
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const [reading, setReading] = useState<number | null>(null)
  const [theme, setTheme] = useState(dark.matches)
  const latest = useRef(props)
  latest.current = props

  useEffect(() => {
    const change = () => setTheme(dark.matches)
    dark.addEventListener('change', change)
    return () => dark.removeEventListener('change', change)
  }, [])

  const shape = [theme, props.bars?.join(), ...series.map(({ name }) => name)].join()
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return undefined
    const created = new uPlot(
      optionsOf(latest, element, setReading),
      dataOf(latest.current),
      element
    )
    plot.current = created
    const size = new ResizeObserver(() =>
      created.setSize({ width: element.clientWidth, height: HEIGHT })
    )
    size.observe(element)
    return () => {
      size.disconnect()
      created.destroy()
    }
  }, [shape])
  useEffect(() => plot.current?.setData(dataOf(props)), [props.x, props.series])

  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <Legend {...props} at={reading} />
      </figcaption>
      <div ref={box} role="img" aria-label={summary} />
    </figure>
  )
}

/** The names of the series with their values at the pointer, or the newest ones. */
function Legend({ x, series, bars, format, at }: ChartProps & { at: number | null }) {
  const index = at ?? (bars ? null : x.length - 1)
  const position = index === null ? undefined : x[index]
  return (
    <p class="legend small muted">
      {series.map(({ name, color, values }) => {
        const value = (index === null ? null : values[index]) ?? null
        return (
          <span key={name}>
            <span class={`key color-${color}`} aria-hidden="true" /> {name}{' '}
            {value !== null && <strong>{format(value)}</strong>}
          </span>
        )
      })}
      {at !== null && position !== undefined && (
        <span>{bars ? bars[position] : new Date(position * 1000).toLocaleTimeString()}</span>
      )}
    </p>
  )
}

const dataOf = ({ x, series }: ChartProps) =>
  [x, ...series.map(({ values }) => values)] as uPlot.AlignedData

function optionsOf(
  latest: { current: ChartProps },
  element: HTMLElement,
  onCursor: (index: number | null) => void
): uPlot.Options {
  const { bars, series } = latest.current
  const style = getComputedStyle(element)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const axis: uPlot.Axis = {
    stroke: color('--muted'),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: color('--border'), width: 1 },
    ticks: { show: false }
  }
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: !bars } },
    scales: bars
      ? {
          x: { time: false, range: () => [-0.5, latest.current.x.length - 0.5] },
          y: { range: above }
        }
      : { x: { time: true }, y: { range: above } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        ...(bars
          ? {
              splits: () => latest.current.x,
              values: (plot: uPlot) => namesOf(bars, plot.width),
              rotate: -45,
              size: 52
            }
          : {})
      },
      {
        ...axis,
        size: 56,
        values: (_plot, values) => values.map((value) => latest.current.format(value))
      }
    ],
    series: [
      {},
      ...series.map(({ name, color: number }) => ({
        label: name,
        stroke: color(`--chart-${number}`),
        width: 2,
        points: { show: false },
        ...(bars
          ? {
              fill: color(`--chart-${number}`),
              paths: uPlot.paths.bars?.({ size: [0.8, 60] }) as uPlot.Series.PathBuilder
            }
          : {})
      }))
    ],
    hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)] }
  }
}

/** Leaves out every second name if the names would overlap. */
function namesOf(bars: string[], width: number): string[] {
  const step = bars.length * 30 > width ? 2 : 1
  return bars.map((name, index) => (index % step === 0 ? name : ''))
}

/** The range from 0 to a bit more than the largest value. */
function above(_plot: uPlot, _min: number | null, max: number | null): [number, number] {
  return [0, max ? max * 1.1 : 1]
}
