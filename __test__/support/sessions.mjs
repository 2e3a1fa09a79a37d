// Session ids that cannot be used.
import { startServer } from './server.mjs'
import { until } from './wait.mjs'

/** A session id that no server has assigned. */
export const UNKNOWN_SESSION = '00000000-0000-4000-8000-000000000000'

/**
 * Starts a server and returns it with the id of an expired session.
 * @param {{ after: (end: () => unknown) => void }} t
 */
export async function startWithExpiredSession(t) {
  const server = await startServer(t, ['--session-timeout', '50'])
  // Such a session may expire before its creation ends. The error then contains its id.
  const { json } = await server.call('create_session')
  await until(
    async () => (await server.ok('list_sessions')).sessions.length === 0,
    'the expiry of the session'
  )
  return { server, sessionId: /** @type {string} */ (json.sessionId) }
}
