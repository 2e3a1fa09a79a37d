import { useEffect, useState } from 'preact/hooks'
import { connection, reconnectNow } from '../live'
import { route, type Route } from '../route'
import { access, me, start } from '../store'
import { Grid } from './grid'
import { History } from './history'
import { MetricsView } from './metrics'
import { FailureNotice, Loading, ServerFailure } from './parts'
import { SessionView } from './session'

const VIEWS: { title: string; to: Route }[] = [
  { title: 'Sessions', to: { view: 'grid' } },
  { title: 'History', to: { view: 'history', text: '' } },
  { title: 'Metrics', to: { view: 'metrics' } }
]

export function App() {
  const { value } = access
  if (value.state === 'denied') return <Denied usedLink={value.usedLink} />
  if (value.state === 'failed')
    return (
      <main class="alone">
        <h1>Troupe</h1>
        <FailureNotice error={value.error} retry={() => void start()} />
      </main>
    )
  if (value.state === 'checking')
    return (
      <main class="alone">
        <h1>Troupe</h1>
        <Loading />
      </main>
    )
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        <ServerFailure session={null} />
        <View />
      </main>
    </>
  )
}

/** Focuses the content. The link must not change the fragment, which names the view. */
function skipToMain(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}

function View() {
  const only = me.value.session
  const { value } = route
  if (only !== null) return <SessionView key={only} id={only} call={null} />
  switch (value.view) {
    case 'grid':
      return <Grid />
    case 'session':
      return <SessionView key={value.id} id={value.id} call={value.call} />
    case 'history':
      return <History text={value.text} />
    case 'metrics':
      return <MetricsView />
  }
}

function Header() {
  const { session, readOnly, version } = me.value
  return (
    <header class="top">
      <span class="brand">
        <img src="./icon.svg" alt="" width="20" height="20" /> Troupe
        <span class="muted version">{version}</span>
      </span>
      {session === null && (
        <nav aria-label="Views">
          {VIEWS.map(({ title, to }) => (
            <a
              key={title}
              href={to.view === 'grid' ? '#/' : `#/${to.view}`}
              aria-current={route.value.view === to.view ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
      )}
      <span class="end">
        {readOnly && <span class="badge plain">Read-only</span>}
        <ConnectionState />
      </span>
    </header>
  )
}

function ConnectionState() {
  const { value } = connection
  return (
    <span class="connection">
      <span role="status">
        {value.state === 'open' && <span class="badge good">Connected</span>}
        {value.state === 'connecting' && <span class="badge plain">Connecting…</span>}
        {value.state === 'lost' && <span class="badge bad">Connection lost</span>}
      </span>
      {value.state === 'lost' && <Retry at={value.retryAt} />}
    </span>
  )
}

/** A countdown to the next attempt. It is outside the live region: it changes every second. */
function Retry({ at }: { at: number }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500)
    return () => clearInterval(timer)
  }, [])
  const seconds = Math.max(0, Math.ceil((at - now) / 1000))
  return <button onClick={reconnectNow}>Connect now ({seconds} s)</button>
}

function Denied({ usedLink }: { usedLink: boolean }) {
  return (
    <main class="alone">
      <h1>Sign in to Troupe</h1>
      {usedLink ? (
        <p role="alert">
          <strong>This link was already used, or it has expired.</strong> A link signs in one
          browser, once.
        </p>
      ) : (
        <p role="alert">
          <strong>This browser is not signed in.</strong> The dashboard shows sessions only to
          people who opened its link.
        </p>
      )}
      <p>
        Run this command on the computer where Troupe runs. It serves a dashboard with the sessions
        of all your servers, and prints its link:
      </p>
      <pre>npx troupe dashboard</pre>
      <p>
        <button onClick={() => void start()}>Try again</button>
      </p>
    </main>
  )
}
