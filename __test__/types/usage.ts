// A strict TypeScript user's program. It is compiled, not run: what must be an error says so.
import { SessionManager, TroupeError, serve, type Session } from 'troupe'

export async function usage(): Promise<string> {
  await using manager = new SessionManager({ browser: 'chromium', headless: true, maxSessions: 2 })
  await manager.initialize()
  await using session: Session = await manager.createSession()

  const byName = await session.navigate({ url: 'https://example.com', waitUntil: 'domcontentloaded' })
  const byPlace = await session.navigate('https://example.com', { timeout: 1000 })
  const status: number = byName.status + byPlace.status
  await session.click('#send', { clickCount: 2 })
  await session.type('#name', 'Ada', { clear: true })
  const { value } = await session.evaluate('document.title')

  new SessionManager({ browser: { type: 'chrome', args: ['--mute-audio'] }, logging: { level: 'warn' }, viewportSize: { width: 800, height: 600 } })
  const read: string | null = (await session.getAttribute('#name', 'title')).value ?? (await session.getValue('#name')).value
  await using server = await serve({ transport: 'http', port: 0, allowedOrigins: ['https://app.example'] })
  const url: string | null = server.url

  // @ts-expect-error: no such transport
  await serve({ transport: 'pigeon' })
  // @ts-expect-error: an unknown browser
  new SessionManager({ browser: 'lynx' })
  // @ts-expect-error: the URL is missing
  await session.navigate({ timeout: 1000 })
  // @ts-expect-error: no such event to wait for
  await session.navigate('https://example.com', { waitUntil: 'whenever' })
  // @ts-expect-error: the session is the object, not an argument
  await session.click('#send', { sessionId: session.sessionId })
  // @ts-expect-error: what a script answers is not known
  const title: string = value

  const checked = manager.validateSession(session.sessionId)
  if (!checked.valid) return checked.error.message
  try {
    await manager.closeSession(session.sessionId)
  } catch (error) {
    if (error instanceof TroupeError && error.code === 'SESSION_NOT_FOUND') return error.suggestion ?? ''
  }
  return `${url} ${status} ${title} ${read} ${manager.getSession(session.sessionId)?.expiresAt}`
}
