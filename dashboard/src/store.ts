// What all views share: the viewer's rights, the sessions, the clock.
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

/** The sessions of the last `loadSessions`, with the ended ones. Null before the first. */
const loadedSessions = signal<Session[] | null>(null)
export const sessionsFailure = signal<Failure | null>(null)

/** The sessions that do not run: ended, or to be resumed. Newest first. */
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

/** Returns what a person calls the session. */
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

/** Returns the error as a message for the viewer. Notices when the viewer is signed out. */
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

/** Asks whether the cookie is still valid. A server that does not respond is awaited. */
async function checkAccess(): Promise<void> {
  try {
    await api.me()
  } catch (error) {
    failureOf(error)
  }
}

// A session that leaves the live list is in the list of past ones.
let liveBefore: string[] = []
liveSessions.subscribe((live) => {
  const ids = live?.map(({ id }) => id) ?? []
  if (liveBefore.some((id) => !ids.includes(id))) void loadSessions()
  liveBefore = ids
})
resumption.subscribe((count) => {
  if (count > 0) void loadSessions()
})

/** Returns the server's time, again every second while `isRunning`. */
export function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    setNow(serverNow())
    const timer = setInterval(() => setNow(serverNow()), isRunning ? 1000 : 30_000)
    return () => clearInterval(timer)
  }, [isRunning])
  return now
}
