// The calls of one session: loaded in pages, newest first, and as they happen.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { api, type Cursor } from '../api'
import type { Call, Failure } from '../contract'
import { counted } from '../format'
import { listenToCalls, resumption } from '../live'
import { failureOf } from '../store'
import { CallRow } from './calls'
import { ChoiceField, Empty, FailureNotice, Loading, SearchField } from './parts'

const ORDERS = { newest: 'Newest first', errorsFirst: 'Errors first', errors: 'Only errors' }
type Order = keyof typeof ORDERS

/** The delay after the last key before a search begins, in ms. */
const SEARCH_DELAY = 250
/**
 * Maximum calls that a running session keeps in the view. After older ones were dropped, the list
 * is loaded from its beginning.
 */
const KEPT = 500

function ordered(calls: Call[], order: Order): Call[] {
  const errors = calls.filter(({ status }) => status === 'error')
  if (order === 'errors') return errors
  if (order === 'newest') return calls
  return [...errors, ...calls.filter(({ status }) => status !== 'error')]
}

/** `isLive`: whether calls are added as they happen. */
export function Timeline({ session, isLive }: { session: string; isLive: boolean }) {
  const [search, setSearch] = useState('')
  const [order, setOrder] = useState<Order>('newest')
  const { calls, hasOlder, error, load, loadOlder } = useCalls(session, search, isLive)
  const shown = calls && ordered(calls, order)
  // A running session has a live image instead.
  const hasPictures = !isLive && (calls?.some(({ pictureUrl }) => pictureUrl) ?? false)
  return (
    <section class="timeline" aria-label="Calls">
      <div class="bar">
        <h2>Calls</h2>
        <div class="end tools">
          <SearchField label="Search calls" value={search} onInput={setSearch} />
          <ChoiceField label="Order" value={order} choices={ORDERS} onChoose={setOrder} />
        </div>
      </div>
      {error && <FailureNotice error={error} retry={load} />}
      {!shown && !error && <Loading />}
      {shown?.length === 0 && <NoCalls {...{ search, order, isLive }} />}
      {shown && shown.length > 0 && (
        <ol class={hasPictures ? 'calls pictures' : 'calls'}>
          {shown.map((call) => (
            <CallRow key={call.id} call={call} hasPicture={hasPictures} />
          ))}
        </ol>
      )}
      {hasOlder && <button onClick={loadOlder}>Load older calls</button>}
      <p class="hidden" role="status">
        {shown && counted(shown.length, 'call')}
      </p>
    </section>
  )
}

function NoCalls(props: { search: string; order: Order; isLive: boolean }) {
  if (props.search) return <Empty title="No call of this session contains this text." />
  if (props.order === 'errors') return <Empty title="No call failed." />
  return (
    <Empty title="No calls yet.">
      <p>
        {props.isLive
          ? 'Calls appear here as they happen.'
          : 'The record has none of this session.'}
      </p>
    </Empty>
  )
}

/** Loads the calls of a session that contain a text. */
function useCalls(session: string, search: string, isLive: boolean) {
  const [calls, setCalls] = useState<Call[] | null>(null)
  const [next, setNext] = useState<Cursor | null>(null)
  const [isTrimmed, setTrimmed] = useState(false)
  const [error, setError] = useState<Failure | null>(null)
  /** Only the newest request may change the list. */
  const request = useRef(0)

  const load = useCallback(
    async (before: Cursor | null) => {
      const current = ++request.current
      try {
        const page = await api.calls(session, search, before)
        if (current !== request.current) return
        setCalls((former) =>
          before !== null ? merged([...(former ?? []), ...page.calls]) : page.calls
        )
        setNext(page.next)
        if (before === null) setTrimmed(false)
        setError(null)
      } catch (reason) {
        if (current === request.current) setError(failureOf(reason))
      }
    },
    [session, search]
  )

  // Calls may have been missed while there was no connection, and while the page was hidden.
  const missed = resumption.value
  useEffect(() => {
    const timer = setTimeout(() => void load(null), search ? SEARCH_DELAY : 0)
    return () => clearTimeout(timer)
  }, [load, missed, search])

  useEffect(() => {
    if (!isLive || search) return undefined
    return listenToCalls((call) => {
      if (call.session !== session) return
      setCalls((former) => {
        const all = merged([call, ...(former ?? [])])
        if (all.length > KEPT) setTrimmed(true)
        return all.slice(0, KEPT)
      })
    })
  }, [session, search, isLive])

  return {
    calls,
    hasOlder: next !== null || isTrimmed,
    error,
    load: () => void load(null),
    loadOlder: () => void load(isTrimmed ? null : next)
  }
}

/** Returns the calls without duplicates, newest first. The first of two with one id is kept. */
function merged(calls: Call[]): Call[] {
  const byId = new Map<string, Call>()
  for (const call of calls) if (!byId.has(call.id)) byId.set(call.id, call)
  return [...byId.values()].sort((one, other) => other.startedAt.localeCompare(one.startedAt))
}
