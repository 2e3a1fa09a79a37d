// A strict TypeScript program. It is compiled, not run; `@ts-expect-error` marks the expected
// errors.
import {
  SessionManager,
  TroupeError,
  serve,
  type ActionResult,
  type NavigateResult,
  type Session
} from 'troupe'

export async function usage(): Promise<string> {
  await using manager = new SessionManager({ browser: 'chromium', headless: true, maxSessions: 2 })
  await manager.initialize()
  await using session: Session = await manager.createSession()

  const byName = await session.navigate({
    url: 'https://example.com',
    waitUntil: 'domcontentloaded'
  })
  const byPlace = await session.navigate('https://example.com', { timeout: 1000 })
  const status: number = byName.status + byPlace.status
  await session.click('#send', { clickCount: 2 })
  await session.type('#name', 'Ada', { clear: true })
  const { value } = await session.evaluate('document.title')
  await session.evaluate(([first]: number[]) => first, [1])
  await session.evaluate('(a, b) => a + b', { args: [1, 2] })
  const acted: ActionResult[] = [await session.click('#send'), await session.fill('#name', 'Ada')]
  const went: NavigateResult[] = [byName, await session.goBack()]
  session.on('console', ({ level, text, pageId }) => console.log(level, text, pageId))
  session.once('close', ({ reason }) => console.log(reason, acted.length, went.length))
  // @ts-expect-error: no such event
  session.on('whenever', () => {})

  new SessionManager({
    browser: { type: 'chrome', args: ['--mute-audio'] },
    logging: { level: 'warn' },
    viewportSize: { width: 800, height: 600 }
  })
  const read: string | null =
    (await session.getAttribute('#name', 'title')).value ?? (await session.getValue('#name')).value
  await using server = await serve({
    transport: 'http',
    port: 0,
    allowedOrigins: ['https://app.example']
  })
  const url: string | null = server.url

  const saved = await session.saveState()
  const domain: string | undefined = saved.state?.cookies[0]?.domain
  await session.restoreState({ state: saved })
  await session.restoreState({ state: { cookies: [], origins: [] } })
  await session.restoreState({ state: `${domain}.json` })
  await manager.createSession({ storageState: saved })
  await manager.createSession({ storageState: saved.state })
  // @ts-expect-error: no storage state
  await session.restoreState({ state: 5 })
  // @ts-expect-error: no storage state
  await manager.createSession({ storageState: { cookie: [] } })
  const { bytes }: { bytes: number } = await session.savePdf()

  new SessionManager({
    noSandbox: true,
    noAuth: false,
    noBoundaries: true,
    browserArgs: ['--mute-audio'],
    viewport: { width: 800, height: 600 }
  })
  const text: string = (await session.getText('h1')).text
  await session.waitForLoad('networkidle', { timeout: 1000 })
  await session.mockResponse('**/users', { status: 201, json: [{ name: text }] })
  await session.mockResponse('**/users')
  const picture = await session.screenshot({ path: 'before.png' })
  const file: string | undefined = picture.path
  await session.compareScreenshots(picture, { selector: 'h1' })
  await session.compareScreenshots(new Uint8Array(await new Blob([picture.data]).arrayBuffer()))
  await session.compareScreenshots(file ?? 'before.png')
  const content = await session.getContent('0f0e0d0c-0000-4000-8000-000000000000')
  const images: number = typeof content === 'string' ? 0 : content.images.length
  // @ts-expect-error: no such field of a response
  await session.mockResponse('**/users', { stats: 201 })
  // @ts-expect-error: a path is a text
  await session.screenshot({ path: images })

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
    const reason: string | undefined =
      error instanceof TroupeError ? error.details?.reason : undefined
    if (error instanceof TroupeError && error.code === 'SESSION_NOT_FOUND')
      return error.suggestion ?? reason ?? ''
  }
  return `${url} ${bytes} ${status} ${title} ${read} ${manager.getSession(session.sessionId)?.expiresAt}`
}
