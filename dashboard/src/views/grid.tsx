import { useState } from 'preact/hooks'
import type { Session } from '../contract'
import { ago, counted, duration, moment } from '../format'
import { liveSessions } from '../live'
import { nameOf, pastSessions, sessionsFailure, useNow } from '../store'
import { LiveImage } from './image'
import {
  Address,
  ChoiceField,
  Empty,
  FailureNotice,
  Link,
  Loading,
  SearchField,
  StateBadge,
  Title
} from './parts'

const ACTIVITIES = {
  all: 'All activity',
  running: 'Running a call',
  idle: 'Idle',
  person: 'Needs or has a person'
}
type Activity = keyof typeof ACTIVITIES

/** How many past sessions are below the grid. The others are in the history. */
const PAST_SHOWN = 10

function hasText(session: Session, text: string): boolean {
  const { id, name, title, url, browser } = session
  return [id, name, title, url, browser].some((value) =>
    value?.toLowerCase().includes(text.trim().toLowerCase())
  )
}

function hasActivity({ running, heldBy, question }: Session, activity: Activity): boolean {
  if (activity === 'running') return running !== null
  const involvesPerson = heldBy !== null || Boolean(question)
  if (activity === 'person') return involvesPerson
  return activity === 'all' || (running === null && !involvesPerson)
}

export function Grid() {
  const [text, setText] = useState('')
  const [activity, setActivity] = useState<Activity>('all')
  const live = liveSessions.value
  const past = pastSessions.value?.filter((session) => hasText(session, text)) ?? []
  const shown = live?.filter((session) => hasText(session, text) && hasActivity(session, activity))
  return (
    <>
      <div class="bar">
        <Title of="Sessions" />
        <span class="muted" role="status">
          {shown && live && shown.length < live.length
            ? `${shown.length} of ${counted(live.length, 'session')}`
            : live && counted(live.length, 'session')}
        </span>
        <div class="end tools">
          <SearchField label="Search sessions" value={text} onInput={setText} />
          <ChoiceField
            label="Activity"
            value={activity}
            choices={ACTIVITIES}
            onChoose={setActivity}
          />
        </div>
      </div>
      {!shown && <Loading />}
      {live?.length === 0 && (
        <Empty title="No session is running.">
          <p>
            A session starts when an agent calls its first tool, for example <code>navigate</code>.
            In a shell, this command starts one:
          </p>
          <pre>npx troupe open https://example.com</pre>
        </Empty>
      )}
      {live && live.length > 0 && shown?.length === 0 && (
        <Empty title="No running session matches.">
          <button
            onClick={() => {
              setText('')
              setActivity('all')
            }}
          >
            Show all sessions
          </button>
        </Empty>
      )}
      {shown && shown.length > 0 && (
        <ul class="cards">
          {shown.map((session) => (
            <Card key={session.id} session={session} />
          ))}
        </ul>
      )}
      {sessionsFailure.value && <FailureNotice error={sessionsFailure.value} />}
      {past.length > 0 && (
        <section>
          <div class="bar">
            <h2>Past sessions</h2>
            {past.length > PAST_SHOWN && (
              <Link to={{ view: 'history', text: '' }}>All {past.length} in the history</Link>
            )}
          </div>
          <SessionList sessions={past.slice(0, PAST_SHOWN)} />
        </section>
      )}
    </>
  )
}

function Card({ session }: { session: Session }) {
  const { running } = session
  return (
    <li class="card">
      <LiveImage session={session} />
      <div class="caption">
        <div class="row">
          <h2>
            <Link class="cover" to={{ view: 'session', id: session.id, call: null }}>
              {nameOf(session)}
            </Link>
          </h2>
          <StateBadge session={session} />
        </div>
        <Address url={session.url || 'No page'} />
        <div class="row muted small">
          <span>{running ? <Running session={session} /> : <LastUse session={session} />}</span>
          <span>
            {session.browser} · {counted(session.calls, 'call')}
          </span>
        </div>
      </div>
    </li>
  )
}

/** The running call, with the time since its start. */
export function Running({ session: { running } }: { session: Session }) {
  const now = useNow(true)
  if (!running) return null
  const elapsed = Math.max(0, now - Date.parse(running.startedAt))
  return (
    <>
      <code>{running.tool}</code> {Math.floor(elapsed / 1000)} s
    </>
  )
}

function LastUse({ session: { lastUsedAt } }: { session: Session }) {
  const now = useNow(false)
  return <time dateTime={lastUsedAt}>Last used {ago(lastUsedAt, now)}</time>
}

/** Past sessions as a list. */
export function SessionList({ sessions }: { sessions: Session[] }) {
  const now = useNow(false)
  return (
    <ul class="rows">
      {sessions.map((session) => {
        const { id, url, browser, calls, createdAt, lastUsedAt } = session
        const lasted = Date.parse(lastUsedAt) - Date.parse(createdAt)
        return (
          <li key={id} class="session-row">
            <span class="name">
              <Link class="cover" to={{ view: 'session', id, call: null }}>
                {nameOf(session)}
              </Link>
              {url && <Address url={url} />}
            </span>
            <StateBadge session={session} />
            <span class="muted small">
              {browser} · {counted(calls, 'call')} · {duration(lasted)}
            </span>
            <time class="muted small" dateTime={lastUsedAt} title={moment(lastUsedAt)}>
              {ago(lastUsedAt, now)}
            </time>
          </li>
        )
      })}
    </ul>
  )
}
