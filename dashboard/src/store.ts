// State of all views: the viewer's rights, the sessions, the clock.
import { computed, signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { RequestError, api, isRejection, logIn, serverNow } from './api'
import type { Failure, Me, Session } from './contract'
import { connect, disconnect, liveSessions, resumption } from './live'
import { readFragment } from './route'

export type Access =
  | { state: 'checking' }
  | { state: 'granted'; me: Me }
  /** `usedLink`: whether a link with a token was opened, and the server rejected the token. */
  | { state: 'denied'; usedLink: boolean }
  | { state: 'failed'; error: Failure }

export const access = signal<Access>({ state: 'checking' })

export const me = computed<Me>(() =>
  access.value.state === 'granted'
    ? access.value.me
    : { readOnly: true, session: null, version: '' }
)

/** The sessions that `loadSessions` has loaded, including ended ones. Null before that. */
const loadedSessions = signal<Session[] | null>(null)
export const sessionsFailure = signal<Failure | null>(null)

/** The sessions that do not run: ended or recoverable ones. Newest first. */
export const pastSessions = computed<Session[] | null>(() => {
  const live = new Set(liveSessions.value?.map(({ id }) => id))
  return (
    loadedSessions.value?.filter(({ id, state }) => state !== 'active' && !live.has(id)) ?? null
  )
})

/** Finds a session by its id. */
export function findSession(id: string): Session | undefined {
  const has = (session: Session) => session.id === id
  return liveSessions.value?.find(has) ?? loadedSessions.value?.find(has)
}

/** Returns the name of a session that the views show. */
export function nameOf(session: Session): string {
  return session.name || session.title || shortId(session.id)
}

/** Names a session that has neither a name nor a title. */
export function shortId(id: string): string {
  return `Session ${id.slice(0, 8)}`
}

export async function loadSessions(): Promise<void> {
  try {
    loadedSessions.value = (await api.sessions()).sessions
    sessionsFailure.value = null
  } catch (error) {
    sessionsFailure.value = failureOf(error)
  }
}

/** Returns the error as a message for the viewer. Denies access if the viewer is signed out. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof RequestError)) throw error
  if (error.status === 401) deny(false)
  return error.failure
}

function deny(usedLink: boolean): void {
  disconnect()
  access.value = { state: 'denied', usedLink }
}

/** Signs in with the token of the address, if it has one, and connects. */
export async function start(): Promise<void> {
  const token = readFragment()
  if (token === null && access.value.state === 'granted') return
  disconnect()
  access.value = { state: 'checking' }
  let isUsed = false
  try {
    // A browser that is signed in may open its used link again.
    isUsed = token !== null && !(await logIn(token))
    access.value = { state: 'granted', me: await api.me() }
    connect(() => void checkAccess())
  } catch (error) {
    if (isRejection(error)) deny(isUsed)
    else access.value = { state: 'failed', error: failureOf(error) }
  }
}

/** Denies access if the cookie is not valid anymore. Ignores a server that does not respond. */
async function checkAccess(): Promise<void> {
  try {
    await api.me()
  } catch (error) {
    failureOf(error)
  }
}

// A session that has left the live list is now in the list of past ones, which is loaded again.
let liveBefore: string[] = []
liveSessions.subscribe((live) => {
  const ids = live?.map(({ id }) => id) ?? []
  if (liveBefore.some((id) => !ids.includes(id))) void loadSessions()
  liveBefore = ids
})
resumption.subscribe((count) => {
  if (count > 0) void loadSessions()
})

/**
 * Loads data, and again when a dependency changes. Keeps the previous data while it loads. Loads
 * nothing if `load` is null.
 */
export function useLoaded<T>(load: (() => Promise<T>) | null, dependencies: unknown[]) {
  const [loaded, setLoaded] = useState<T | null>(null)
  const [error, setError] = useState<Failure | null>(null)
  useEffect(() => {
    if (!load) return undefined
    let isCurrent = true
    load().then(
      (data) => {
        if (!isCurrent) return
        setLoaded(data)
        setError(null)
      },
      (reason: unknown) => isCurrent && setError(failureOf(reason))
    )
    return () => void (isCurrent = false)
  }, dependencies)
  return { loaded, error }
}

/** Returns the server's time. Updates it every second while `isRunning`, otherwise every 30 s. */
export function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    setNow(serverNow())
    const timer = setInterval(() => setNow(serverNow()), isRunning ? 1000 : 30_000)
    return () => clearInterval(timer)
  }, [isRunning])
  return now
}
