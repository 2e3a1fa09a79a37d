// Calls as rows that expand, for a running session, for a timeline and for results of a search.
import { useState } from 'preact/hooks'
import { api, serverNow } from '../api'
import type { Call } from '../contract'
import { duration, headline, moment, oneLine, readable, timeOfDay } from '../format'
import { findSession, nameOf, shortId, useLoaded, useNow } from '../store'
import { FailureNotice, Link, Loading } from './parts'

const STATUS: Record<Call['status'], string> = {
  ok: 'Succeeded',
  error: 'Failed',
  running: 'Running',
  unknown: 'Result unknown'
}

export function CallRow(props: {
  call: Call
  /** Whether the row has a small image of the page after the call. */
  hasPicture?: boolean
  /** Whether the row links to its session. */
  showSession?: boolean
}) {
  const { call, hasPicture = false, showSession = false } = props
  const [isOpen, setOpen] = useState(false)
  return (
    <li class={`call ${call.status}`} data-call={call.id}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class={`dot ${call.status}`} aria-hidden="true" />
          <span class="hidden">{STATUS[call.status]}: </span>
          {hasPicture && <Thumbnail url={call.pictureUrl} />}
          <code class="tool">{call.tool}</code>
          <span class="arguments">{oneLine(call.arguments)}</span>
          <span class="took">
            <Duration call={call} />
          </span>
          <span class="outcome">{call.error ? call.error.message : headline(call.summary)}</span>
          <time class="at" dateTime={call.startedAt} title={moment(call.startedAt)}>
            {timeOfDay(call.startedAt)}
          </time>
        </summary>
        {isOpen && <Details call={call} />}
      </details>
      {showSession && call.session !== null && <SessionOf call={call.id} session={call.session} />}
    </li>
  )
}

/** The row's text says what the call did, so the image has no text of its own. */
function Thumbnail({ url }: { url: string | null }) {
  if (!url) return <span class="thumbnail" />
  return <img class="thumbnail" src={url} alt="" loading="lazy" />
}

function SessionOf({ call, session }: { call: string; session: string }) {
  const found = findSession(session)
  return (
    <p class="of small muted">
      In the session{' '}
      <Link to={{ view: 'session', id: session, call }}>
        {found ? nameOf(found) : shortId(session)}
      </Link>
    </p>
  )
}

function Duration({ call }: { call: Call }) {
  const isRunning = call.status === 'running'
  useNow(isRunning)
  if (call.durationMs !== null) return <>{duration(call.durationMs)}</>
  if (!isRunning) return null
  return <>{Math.max(0, Math.floor((serverNow() - Date.parse(call.startedAt)) / 1000))} s</>
}

/** All details of a call. They are loaded when they are shown, and again when the call ends. */
export function Details({ call }: { call: Call }) {
  const [attempt, setAttempt] = useState(0)
  const { loaded: details, error } = useLoaded(
    () => api.call(call.id),
    [call.id, call.status, attempt]
  )

  const failure = details?.error ?? call.error
  const picture = details?.pictureUrl ?? call.pictureUrl
  return (
    <div class="details">
      {failure && (
        <div class="notice error">
          <p>
            {failure.code && <code>{failure.code}</code>} <strong>{failure.message}</strong>
          </p>
          {failure.suggestion && <p>{failure.suggestion}</p>}
        </div>
      )}
      <Section title="Arguments">
        <Text>{JSON.stringify(call.arguments, null, 2)}</Text>
      </Section>
      {error && <FailureNotice error={error} retry={() => setAttempt(attempt + 1)} />}
      {!details && !error && <Loading />}
      {details?.changes && (
        <Section title="Changes of the page">
          <Changes text={details.changes} />
        </Section>
      )}
      {details?.result && (
        <Section title="Result">
          <Text>{readable(details.result)}</Text>
        </Section>
      )}
      <Lines title="Console" lines={details?.console} />
      {picture && (
        <Section title="Image after the call">
          <img
            class="picture"
            src={picture}
            alt={`The page after ${call.tool} at ${timeOfDay(call.startedAt)}`}
          />
        </Section>
      )}
    </div>
  )
}

function Section(props: { title: string; children: preact.ComponentChildren }) {
  return (
    <section>
      <h3>{props.title}</h3>
      {props.children}
    </section>
  )
}

/** Text of a page or an agent. It can be scrolled with the keyboard. */
function Text({ children }: { children: preact.ComponentChildren }) {
  return (
    <pre dir="auto" tabIndex={0}>
      {children}
    </pre>
  )
}

/** A diff, whose lines begin with `+` or `-`. */
function Changes({ text }: { text: string }) {
  return (
    <Text>
      {text.split('\n').map((line, index) => (
        <span
          key={index}
          class={line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : undefined}
        >
          {line + '\n'}
        </span>
      ))}
    </Text>
  )
}

function Lines({ title, lines }: { title: string; lines: string[] | undefined }) {
  if (!lines || lines.length === 0) return null
  return (
    <Section title={`${title} (${lines.length})`}>
      <Text>{lines.join('\n')}</Text>
    </Section>
  )
}
