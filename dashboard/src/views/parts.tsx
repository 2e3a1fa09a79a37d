// Small components of several views.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Failure, Session } from '../contract'
import { failure, holders } from '../live'
import { linkTo, type Route } from '../route'

/** The title of a view. Receives the focus when the view opens, so that it is read out. */
export function Title({ children, of }: { children?: ComponentChildren; of: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${of} – Troupe`
  }, [of])
  useEffect(() => heading.current?.focus({ preventScroll: true }), [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? of}
    </h1>
  )
}

export function FailureNotice({ error, retry }: { error: Failure; retry?: () => void }) {
  return (
    <div class="notice error" role="alert">
      <p>
        <strong>{error.message}</strong> {error.suggestion}
      </p>
      {error.code && (
        <p class="muted">
          <code>{error.code}</code>
        </p>
      )}
      {retry && <button onClick={retry}>Try again</button>}
    </div>
  )
}

/** The last error that the server reported for a session (null: for no session). */
export function ServerFailure({ session }: { session: string | null }) {
  const { value } = failure
  if (!value || value.id !== session) return null
  return (
    <div class="dismissible">
      <FailureNotice error={value.error} />
      <button onClick={() => (failure.value = null)}>Dismiss</button>
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  )
}

export function Loading() {
  return (
    <p class="muted" role="status">
      Loading…
    </p>
  )
}

export function SearchField(props: {
  label: string
  value: string
  onInput: (text: string) => void
}) {
  const id = useId()
  return (
    <div class="search">
      <label class="hidden" for={id}>
        {props.label}
      </label>
      <input
        id={id}
        type="search"
        placeholder={props.label}
        value={props.value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </div>
  )
}

/** A list of choices. The keys of `choices` are the values. */
export function ChoiceField<T extends string>(props: {
  label: string
  value: T
  choices: Record<T, string>
  onChoose: (value: T) => void
}) {
  const id = useId()
  return (
    <div class="choice">
      <label class="hidden" for={id}>
        {props.label}
      </label>
      <select
        id={id}
        value={props.value}
        onChange={(event) => props.onChoose(event.currentTarget.value as T)}
      >
        {(Object.entries(props.choices) as [T, string][]).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

export function Link(props: { to: Route; class?: string; children: ComponentChildren }) {
  return (
    <a href={linkTo(props.to)} class={props.class}>
      {props.children}
    </a>
  )
}

/** What a session does, in one or two words. */
export function stateOf(session: Session): { text: string; kind: string } {
  const holder = holders.value[session.id] ?? session.heldBy
  if (session.state === 'ended') return { text: 'Ended', kind: 'past' }
  if (session.state === 'recoverable') return { text: 'Can be resumed', kind: 'past' }
  if (session.question) return { text: 'Needs a person', kind: 'warning' }
  if (holder === 'you') return { text: 'You control it', kind: 'warning' }
  if (holder) return { text: 'A viewer controls it', kind: 'warning' }
  return session.running ? { text: 'Running', kind: 'good' } : { text: 'Idle', kind: 'plain' }
}

export function StateBadge({ session }: { session: Session }) {
  const { text, kind } = stateOf(session)
  return <span class={`badge ${kind}`}>{text}</span>
}

/**
 * A URL as text. Pages choose it, so it is neither a link nor able to change the direction of the
 * text around it.
 */
export function Address({ url }: { url: string }) {
  return (
    <bdi class="address" title={url}>
      {url}
    </bdi>
  )
}
