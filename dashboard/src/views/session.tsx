import { useRef, useState } from 'preact/hooks'
import { api, exportUrl } from '../api'
import type { Failure, FrameHeader, Session, Tab } from '../contract'
import { counted, duration, moment } from '../format'
import { liveSessions } from '../live'
import { navigate } from '../route'
import { failureOf, findSession, loadSessions, me, nameOf, useLoaded } from '../store'
import { Details } from './calls'
import { Control, ControlButton } from './control'
import { Running } from './grid'
import { LiveImage } from './image'
import { Address, FailureNotice, Link, Loading, ServerFailure, StateBadge, Title } from './parts'
import { QuestionOfAgent } from './question'
import { Timeline } from './timeline'

export function SessionView({ id, call }: { id: string; call: string | null }) {
  const listed = findSession(id)
  const { loaded, error } = useSession(id, listed)
  const session = listed ?? loaded
  if (!session)
    return (
      <>
        <Title of="Session" />
        {error ? <Missing error={error} /> : <Loading />}
      </>
    )
  const isLive = session.state === 'active'
  return (
    <div class={isLive ? 'session live' : 'session'}>
      <div class="bar">
        {me.value.session === null && (
          <Link to={isLive ? { view: 'grid' } : { view: 'history', text: '' }}>
            ← {isLive ? 'Sessions' : 'History'}
          </Link>
        )}
        <Title of={nameOf(session)} />
        <StateBadge session={session} />
        <span class="muted small">
          {session.browser} · {counted(session.calls, 'call')}
        </span>
        <div class="end tools">
          <Exports session={session} />
          {isLive ? <ControlButton session={session} /> : <PastActions session={session} />}
        </div>
      </div>
      <ServerFailure session={id} />
      {isLive ? (
        <LivePanel session={session} pages={loaded?.pages ?? []} />
      ) : (
        <PastSessionDetails session={session} />
      )}
      <div class="side">
        {call && <LinkedCall id={call} />}
        <Timeline session={id} isLive={isLive} />
      </div>
    </div>
  )
}

function Missing({ error }: { error: Failure }) {
  return (
    <>
      <FailureNotice error={error} />
      {me.value.session === null && <Link to={{ view: 'grid' }}>Show all sessions</Link>}
    </>
  )
}

/** Loads a session with its tabs, and again when the session changes. */
function useSession(id: string, listed: Session | undefined) {
  const change = listed && `${listed.url} ${listed.title} ${listed.calls} ${listed.state}`
  // Before the lists have arrived, it is unknown whether the session is in them.
  const isKnown = liveSessions.value !== null
  return useLoaded(isKnown ? () => api.session(id) : null, [id, change, isKnown])
}

function LivePanel({ session, pages }: { session: Session; pages: Tab[] }) {
  const viewport = useRef<FrameHeader | null>(null)
  return (
    <section class="panel" aria-label="Live view">
      {session.question && <QuestionOfAgent session={session} />}
      <div class="address-bar">
        <Address url={session.url || 'No page'} />
        {session.running && (
          <span class="muted small">
            <Running session={session} />
          </span>
        )}
      </div>
      <Control session={session} viewport={viewport}>
        <LiveImage session={session} calls onFrame={(header) => (viewport.current = header)} />
      </Control>
      {pages.length > 0 && <Tabs pages={pages} />}
    </section>
  )
}

function Tabs({ pages }: { pages: Tab[] }) {
  return (
    <section aria-label="Tabs">
      <h2 class="small">{counted(pages.length, 'tab')}</h2>
      <ul class="tabs">
        {pages.map(({ id, url, title, active }) => (
          <li key={id} aria-current={active ? 'true' : undefined}>
            <bdi class="tab-title">{title || 'Untitled'}</bdi>
            {active && <span class="badge plain">Active</span>}
            <Address url={url} />
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Facts about a session that does not run. */
function PastSessionDetails({ session }: { session: Session }) {
  const { createdAt, lastUsedAt, url, id } = session
  const facts: [string, preact.ComponentChildren][] = [
    ['Started', <time dateTime={createdAt}>{moment(createdAt)}</time>],
    ['Last used', <time dateTime={lastUsedAt}>{moment(lastUsedAt)}</time>],
    ['Duration', duration(Date.parse(lastUsedAt) - Date.parse(createdAt))],
    ['Id', <code>{id}</code>]
  ]
  if (url) facts.push(['Last page', <Address url={url} />])
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** The call that a link from the search names. */
function LinkedCall({ id }: { id: string }) {
  const { loaded: call, error } = useLoaded(() => api.call(id), [id])
  return (
    <section class="linked-call" aria-label="Call from the search">
      <h2>{call ? <code>{call.tool}</code> : 'Call'}</h2>
      {call && <p class="muted small">{moment(call.startedAt)}</p>}
      {error ? <FailureNotice error={error} /> : call ? <Details call={call} /> : <Loading />}
    </section>
  )
}

function PastActions({ session }: { session: Session }) {
  return !me.value.readOnly && session.state === 'ended' ? <Deletion session={session} /> : null
}

/** Links that download the record of a session. */
function Exports({ session }: { session: Session }) {
  if (session.calls === 0) return null
  return (
    <>
      <a class="button" href={exportUrl(session.id, 'report')} download>
        Save report
      </a>
      <a class="button" href={exportUrl(session.id, 'script')} download>
        Save script
      </a>
    </>
  )
}

/** Deletes the record of a session after a confirmation. */
function Deletion({ session }: { session: Session }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [error, setError] = useState<Failure | null>(null)
  const [isDeleting, setDeleting] = useState(false)
  const deleteIt = async () => {
    setDeleting(true)
    try {
      await api.deleteSession(session.id)
      await loadSessions()
      navigate({ view: 'history', text: '' }, true)
    } catch (reason) {
      setError(failureOf(reason))
      setDeleting(false)
    }
  }
  return (
    <>
      <button class="danger" onClick={() => dialog.current?.showModal()}>
        Delete…
      </button>
      <dialog ref={dialog} aria-labelledby="delete-title">
        <h2 id="delete-title">Delete the record of “{nameOf(session)}”?</h2>
        <p>
          This removes {counted(session.calls, 'call')} with their results and images. It cannot be
          undone.
        </p>
        {error && <FailureNotice error={error} />}
        <div class="tools">
          <button onClick={() => dialog.current?.close()}>Cancel</button>
          <button class="danger" disabled={isDeleting} onClick={() => void deleteIt()}>
            Delete record
          </button>
        </div>
      </dialog>
    </>
  )
}
