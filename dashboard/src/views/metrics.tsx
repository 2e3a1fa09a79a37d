import { useEffect, useMemo, useState } from 'preact/hooks'
import { api, serverNow } from '../api'
import type { Bucket, Failure, Latency, Metrics, Sample } from '../contract'
import { bytes, counted, duration } from '../format'
import { failureOf } from '../store'
import { Chart } from './chart'
import { ChoiceField, Empty, FailureNotice, Loading, Title } from './parts'

/** The time between two requests, in ms. */
const INTERVAL = 5000
/** How many samples are kept: one hour. */
const KEPT = 3_600_000 / INTERVAL

type TimedSample = Sample & { at: number }

/** The samples of this visit. They stay while the viewer looks at other views. */
let samples: TimedSample[] = []

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)

function addSample(metrics: Metrics): void {
  const at = serverNow()
  const { calls, memoryBytes, browsers, sessions, queued } = metrics
  const errors = sum(Object.values(metrics.errorsByCode))
  const sample = { at, calls, errors, memoryBytes, browsers, sessions, queued }
  samples = [...samples, sample].slice(-KEPT)
}

/** Loads the metrics at intervals while the page is visible. */
function useMetrics() {
  const [metrics, setMetrics] = useState<Metrics | null>(null)
  const [error, setError] = useState<Failure | null>(null)
  useEffect(() => {
    let timer = 0
    let isCurrent = true
    const load = async () => {
      clearTimeout(timer)
      if (document.hidden) return
      try {
        const loaded = await api.metrics()
        if (!isCurrent) return
        addSample(loaded)
        setMetrics(loaded)
        setError(null)
      } catch (reason) {
        if (isCurrent) setError(failureOf(reason))
      }
      if (isCurrent) timer = window.setTimeout(load, INTERVAL)
    }
    const loadVisible = () => void load()
    document.addEventListener('visibilitychange', loadVisible)
    void load()
    return () => {
      isCurrent = false
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', loadVisible)
    }
  }, [])
  return { metrics, error }
}

export function MetricsView() {
  const { metrics, error } = useMetrics()
  return (
    <>
      <div class="bar">
        <Title of="Metrics" />
        <span class="muted small">Since the start of the server. Updated every 5 seconds.</span>
      </div>
      {error && <FailureNotice error={error} />}
      {!metrics && !error && <Loading />}
      {metrics && <Figures metrics={metrics} />}
    </>
  )
}

function Figures({ metrics }: { metrics: Metrics }) {
  const errors = sum(Object.values(metrics.errorsByCode))
  const tiles: [string, string][] = [
    ['Calls', metrics.calls.toLocaleString('en')],
    ['Errors', errors.toLocaleString('en')],
    ['Sessions', String(metrics.sessions)],
    ['Browsers', String(metrics.browsers)],
    ['Queued calls', String(metrics.queued)],
    ['Memory', bytes(metrics.memoryBytes)]
  ]
  return (
    <>
      <dl class="tiles">
        {tiles.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div class="charts">
        <OverTime metrics={metrics} />
      </div>
      {metrics.calls === 0 ? (
        <Empty title="No calls yet.">
          <p>Latencies and errors appear with the first calls.</p>
        </Empty>
      ) : (
        <div class="charts">
          <Latencies latencies={metrics.latencyByTool} />
          <Errors errors={metrics.errorsByCode} />
        </div>
      )}
    </>
  )
}

function OverTime({ metrics }: { metrics: Metrics }) {
  const [x, rates, values] = useMemo(() => {
    const positions = samples.map(({ at }) => at / 1000)
    /** The increase per minute since the sample before. */
    const rate = (of: 'calls' | 'errors') =>
      samples.map((sample, index) => {
        const former = samples[index - 1]
        if (!former || sample.at <= former.at) return null
        return (Math.max(0, sample[of] - former[of]) * 60_000) / (sample.at - former.at)
      })
    const column = (of: keyof Sample) => samples.map((sample) => sample[of])
    return [
      positions,
      [
        { name: 'Calls', color: 1 as const, values: rate('calls') },
        { name: 'Errors', color: 2 as const, values: rate('errors') }
      ],
      {
        memory: [{ name: 'Memory', color: 1 as const, values: column('memoryBytes') }],
        load: [
          { name: 'Sessions', color: 1 as const, values: column('sessions') },
          { name: 'Browsers', color: 3 as const, values: column('browsers') },
          { name: 'Queued calls', color: 2 as const, values: column('queued') }
        ]
      }
    ] as const
  }, [metrics])
  const perMinute = rates[0].values.at(-1) ?? 0
  const { sessions, browsers, queued } = metrics
  return (
    <>
      <Chart
        title="Calls per minute"
        summary={`Calls per minute over time. Now ${Math.round(perMinute)}.`}
        x={x}
        series={rates}
        format={(value) => String(Math.round(value * 10) / 10)}
      />
      <Chart
        title="Memory"
        summary={`Memory of the server and its browsers over time. Now ${bytes(metrics.memoryBytes)}.`}
        x={x}
        series={values.memory}
        format={bytes}
      />
      <Chart
        title="Load"
        summary={`Over time. Now ${counted(sessions, 'session')}, ${counted(browsers, 'browser')}, ${counted(queued, 'queued call')}.`}
        x={x}
        series={values.load}
        format={(value) => (Number.isInteger(value) ? String(value) : '')}
      />
    </>
  )
}

/** Adds the histograms of several tools. All have the same limits. */
function total(latencies: Latency[]): Latency {
  const limits = latencies[0]?.buckets ?? []
  return {
    count: sum(latencies.map(({ count }) => count)),
    sumMs: sum(latencies.map(({ sumMs }) => sumMs)),
    buckets: limits.map(([upper], index): Bucket => [
      upper,
      sum(latencies.map(({ buckets }) => buckets[index]?.[1] ?? 0))
    ])
  }
}

/** Adds a bucket for the calls above the last limit, if there are any. */
function withRest(latency: Latency): Latency {
  const { buckets, count } = latency
  const last = buckets.at(-1)?.[1] ?? 0
  return count > last ? { ...latency, buckets: [...buckets, [null, count]] } : latency
}

/** Estimates a quantile: the limit of the bucket that contains it. Null above the last limit. */
function quantile({ buckets, count }: Latency, share: number): number | null {
  return buckets.find(([, cumulative]) => cumulative >= count * share)?.[0] ?? null
}

const ALL = '*'

function Latencies({ latencies }: { latencies: Record<string, Latency> }) {
  const [tool, setTool] = useState(ALL)
  const tools = Object.entries(latencies).sort(([, one], [, other]) => other.count - one.count)
  const shown = useMemo(
    () => withRest(latencies[tool] ?? total(Object.values(latencies))),
    [latencies, tool]
  )
  const names = shown.buckets.map(([upper]) => (upper === null ? 'more' : duration(upper)))
  const counts = useMemo(
    () => shown.buckets.map(([, value], index) => value - (shown.buckets[index - 1]?.[1] ?? 0)),
    [shown]
  )
  const x = useMemo(() => counts.map((_, index) => index), [counts.length])
  const atMost = (share: number) => {
    const limit = quantile(shown, share)
    return limit === null ? 'more than the last limit' : `at most ${duration(limit)}`
  }
  return (
    <section class="wide">
      <ChoiceField
        label="Tool"
        value={tool}
        choices={{
          [ALL]: 'All tools',
          ...Object.fromEntries(tools.map(([name]) => [name, name]))
        }}
        onChoose={setTool}
      />
      <Chart
        title="Latency: calls by duration (at most)"
        summary={`Histogram of ${counted(shown.count, 'call')}: half took ${atMost(0.5)}, 95 % took ${atMost(0.95)}.`}
        x={x}
        series={[{ name: 'Calls', color: 1, values: counts }]}
        bars={names}
        format={(value) => (Number.isInteger(value) ? value.toLocaleString('en') : '')}
      />
      <div class="scrolls" tabIndex={0} role="region" aria-label="Latency by tool">
        <table>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Calls</th>
              <th scope="col">Mean</th>
              <th scope="col">50 % within</th>
              <th scope="col">95 % within</th>
            </tr>
          </thead>
          <tbody>
            {tools.map(([name, latency]) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                </th>
                <td>{latency.count.toLocaleString('en')}</td>
                <td>{duration(latency.sumMs / Math.max(latency.count, 1))}</td>
                <td>{limitOf(latency, 0.5)}</td>
                <td>{limitOf(latency, 0.95)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function limitOf(latency: Latency, share: number): string {
  const limit = quantile(latency, share)
  if (limit !== null) return duration(limit)
  const last = latency.buckets.findLast(([upper]) => upper !== null)?.[0] ?? null
  return last === null ? '–' : `> ${duration(last)}`
}

function Errors({ errors }: { errors: Record<string, number> }) {
  const rows = Object.entries(errors)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one)
  const most = rows[0]?.[1] ?? 1
  return (
    <section>
      <h2>Errors by code</h2>
      {rows.length === 0 ? (
        <Empty title="No call failed." />
      ) : (
        <table class="bars">
          <thead class="hidden">
            <tr>
              <th scope="col">Code</th>
              <th scope="col">Errors</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([code, count]) => (
              <tr key={code}>
                <th scope="row">
                  <code>{code}</code>
                  <span class="bar-of" style={{ width: `${(count / most) * 100}%` }} />
                </th>
                <td>{count.toLocaleString('en')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
