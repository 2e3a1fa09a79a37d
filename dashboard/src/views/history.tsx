import { useEffect, useState } from 'preact/hooks'
import { api } from '../api'
import type { Call, Failure } from '../contract'
import { counted } from '../format'
import { navigate } from '../route'
import { failureOf, loadSessions, pastSessions, sessionsFailure } from '../store'
import { CallRow } from './calls'
import { SessionList } from './grid'
import { Empty, FailureNotice, Loading, SearchField, Title } from './parts'

/** The delay after the last key before a search begins, in ms. */
const SEARCH_DELAY = 250

/** Past sessions, and a search in the calls of all sessions. */
export function History({ text }: { text: string }) {
  return (
    <>
      <div class="bar">
        <Title of="History" />
        <div class="end tools">
          <SearchField
            label="Search all calls"
            value={text}
            onInput={(value) => navigate({ view: 'history', text: value }, true)}
          />
        </div>
      </div>
      {text.trim() ? <Results text={text.trim()} /> : <PastSessions />}
    </>
  )
}

function PastSessions() {
  const past = pastSessions.value
  const error = sessionsFailure.value
  if (error) return <FailureNotice error={error} retry={() => void loadSessions()} />
  if (!past) return <Loading />
  if (past.length === 0)
    return (
      <Empty title="No past sessions.">
        <p>
          A session appears here after its end, if the server keeps a record (<code>--store</code>).
        </p>
      </Empty>
    )
  return (
    <>
      <p class="muted small count" role="status">
        {counted(past.length, 'session')}, newest first
      </p>
      <SessionList sessions={past} />
    </>
  )
}

function Results({ text }: { text: string }) {
  const [calls, setCalls] = useState<Call[] | null>(null)
  const [error, setError] = useState<Failure | null>(null)
  useEffect(() => {
    const canceled = new AbortController()
    const timer = setTimeout(async () => {
      try {
        setCalls((await api.search(text, canceled.signal)).calls)
        setError(null)
      } catch (reason) {
        if (!canceled.signal.aborted) setError(failureOf(reason))
      }
    }, SEARCH_DELAY)
    return () => {
      clearTimeout(timer)
      canceled.abort()
    }
  }, [text])
  if (error) return <FailureNotice error={error} />
  if (!calls) return <Loading />
  return (
    <>
      <h2 class="hidden">Calls</h2>
      <p class="muted small count" role="status">
        {counted(calls.length, 'call')} found
      </p>
      {calls.length === 0 ? (
        <Empty title="No call contains this text.">
          <p>The search covers the tools, arguments and results of all recorded calls.</p>
        </Empty>
      ) : (
        <ol class="calls">
          {calls.map((call) => (
            <CallRow key={call.id} call={call} showSession />
          ))}
        </ol>
      )}
    </>
  )
}
