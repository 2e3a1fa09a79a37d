// create_session and its options, list_sessions, close_session, batch: as a client has them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { html, startSite } from '../support/site.mjs'

/** WebKit's cannot be chosen. */
const LOCALE = BROWSER === 'webkit' ? {} : { locale: 'de-DE' }

describe('sessions', { timeout: 60_000 }, () => {
  const { server, site } = startShared({ args: ['--max-sessions', '50'] })
  const value = async (sessionId, script) => (await server.ok('evaluate', { sessionId, script })).value

  test('create_session gives the page what it asks for', async () => {
    const storageState = {
      cookies: [{ name: 'kept', value: '1', domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Lax' }],
      origins: [{ origin: site.origin, localStorage: [{ name: 'theme', value: 'dark' }] }]
    }
    const given = { userAgent: 'tester/1', viewport: { width: 640, height: 480 }, ...LOCALE, timezone: 'Asia/Tokyo', storageState }
    const { sessionId, expiresAt, message } = await server.ok('create_session', given)
    assert.match(sessionId, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.ok(expiresAt > Date.now() + 290_000 && expiresAt <= Date.now() + 300_000)
    assert.match(message, /sessionId/)
    await server.ok('navigate', { sessionId, url: site.url('/cookies') })
    assert.deepEqual(await value(sessionId, '[navigator.userAgent, innerWidth, innerHeight, navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, localStorage.theme, out.textContent]'), [
      'tester/1',
      640,
      480,
      LOCALE.locale ?? 'en-US',
      'Asia/Tokyo',
      'dark',
      'kept=1'
    ])
    assert.equal(site.requests.at(-1).headers['user-agent'], 'tester/1')
    if (LOCALE.locale) assert.match(site.requests.at(-1).headers['accept-language'], /^de-DE/)
    await server.ok('close_session', { sessionId })
  })

  test('what create_session asks for holds in the frames of other sites, too', async (t) => {
    const framed = await startSite(t, {
      '/top': (request, response) => html(response, `<title>Top</title><iframe src="http://localhost:${request.socket.localPort}/frame"></iframe>
        <script>const told = new Promise((resolve) => { onmessage = ({ data }) => resolve(data) })</script>`),
      '/frame': (request, response) => html(response, `<script>
        parent.postMessage([navigator.userAgent, navigator.language, (1.5).toLocaleString(), Intl.DateTimeFormat().resolvedOptions().timeZone, ${JSON.stringify(request.headers['user-agent'])}], '*')
      </script>`)
    })
    // In processes of their own.
    const apart = await startServer(t, BROWSER === 'chromium' ? ['--browser-arg=--site-per-process'] : [])
    await apart.ok('create_session', { userAgent: 'tester/1', ...LOCALE, timezone: 'Asia/Tokyo' })
    await apart.ok('navigate', { url: framed.url('/top') })
    assert.deepEqual((await apart.ok('evaluate', { script: 'told' })).value, ['tester/1', LOCALE.locale ?? 'en-US', LOCALE.locale ? '1,5' : '1.5', 'Asia/Tokyo', 'tester/1'])
  })

  test('list_sessions tells of those in one state alone', async () => {
    for (const state of ['stale', 'closed', 'error']) {
      const { sessions } = await server.ok('list_sessions', { state })
      assert.ok(sessions.every((session) => session.state === state), JSON.stringify(sessions))
    }
  })

  test('list_sessions tells of each with its pages', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    const { sessions } = await server.ok('list_sessions')
    const told = sessions.find((session) => session.sessionId === sessionId)
    assert.deepEqual(told.pages, [{ pageId: 'page-1', url: site.url('/form') }])
    assert.ok(told.createdAt <= Date.now() && told.expiresAt > Date.now())
    assert.deepEqual(await server.ok('close_session', { sessionId }), { success: true, message: `Session ${sessionId} is closed.` })
    assert.ok(!(await server.ok('list_sessions')).sessions.some((session) => session.sessionId === sessionId))
  })
})

describe('batch', { timeout: 60_000 }, () => {
  const { server, site } = startShared()

  test('runs its steps in order and tells what each gave; the first that fails is the last, unless it is said otherwise', async () => {
    const steps = [
      { tool: 'navigate', arguments: { url: site.url('/form') } },
      { tool: 'fill', arguments: { selector: '#name', value: 'Ada' } },
      { tool: 'get_value', arguments: { selector: '#name' } }
    ]
    const { success, results, skipped } = await server.ok('batch', { steps })
    assert.deepEqual([success, skipped, results.map(({ tool }) => tool)], [true, undefined, ['navigate', 'fill', 'get_value']])
    assert.equal(results[2].result.value, 'Ada')
    const wrong = [{ tool: 'get_text', arguments: { selector: '#none' } }, { tool: 'no_such_tool' }, steps[2]]
    const stopped = await server.ok('batch', { steps: wrong })
    assert.deepEqual([stopped.success, stopped.results.length, stopped.skipped, stopped.results[0].error.errorCode], [false, 1, 2, 'ELEMENT_NOT_FOUND'])
    const ran = await server.ok('batch', { steps: wrong, stopOnError: false })
    assert.deepEqual(ran.results.map(({ error }) => error?.errorCode), ['ELEMENT_NOT_FOUND', 'INVALID_PARAMETERS', undefined])
    assert.equal((await server.ok('batch', { steps: wrong, stopOnError: true })).skipped, 2)
  })

  test('works in the session and on the page that it names', async () => {
    const sessionId = await server.createSession()
    await server.ok('pages', { sessionId, action: 'new', url: site.url('/buttons') })
    const script = { tool: 'evaluate', arguments: { script: 'document.title' } }
    const { results } = await server.ok('batch', { sessionId, pageId: 'page-2', steps: [script, { ...script, arguments: { ...script.arguments, pageId: 'page-1' } }] })
    assert.deepEqual(results.map(({ result }) => result.value), ['Buttons', ''])
  })
})

describe('answers of actions', { timeout: 60_000 }, () => {
  const { site } = startShared()

  test('are as long as `--after-action` says: nothing, the changes, or the whole page', async (t) => {
    for (const [mode, has] of [['none', []], ['changes', ['changes']], ['snapshot', ['snapshot']]]) {
      const server = await startServer(t, ['--after-action', mode])
      await server.ok('navigate', { url: site.url('/form') })
      for (const [tool, args] of [['fill', { selector: '#name', value: 'Ada' }], ['type', { selector: '#note', text: 'x' }], ['check', { selector: '#agree' }], ['press', { key: 'Tab' }]]) {
        const answer = await server.ok(tool, args)
        assert.deepEqual(Object.keys(answer).filter((name) => ['changes', 'snapshot'].includes(name)), has, `${mode} ${tool}`)
      }
      if (mode === 'snapshot') assert.match((await server.ok('fill', { selector: '#name', value: 'Bo' })).snapshot, /textbox "Name".*Bo/)
    }
  })
})
