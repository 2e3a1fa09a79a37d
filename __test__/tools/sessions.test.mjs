// create_session and its options, list_sessions, close_session and batch, as a client uses them.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { sendHtml, startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

/** WebKit's viewport cannot be chosen. */
const LOCALE = BROWSER === 'webkit' ? {} : { locale: 'de-DE' }

describe('sessions', { timeout: 60_000 }, () => {
  const { server, site } = startShared({ args: ['--max-sessions', '50'] })
  test('create_session applies its options to the page', async () => {
    const storageState = {
      cookies: [
        {
          name: 'kept',
          value: '1',
          domain: '127.0.0.1',
          path: '/',
          expires: -1,
          httpOnly: true,
          secure: false,
          sameSite: 'Lax'
        }
      ],
      origins: [{ origin: site.origin, localStorage: [{ name: 'theme', value: 'dark' }] }]
    }
    const given = {
      userAgent: 'tester/1',
      viewport: { width: 640, height: 480 },
      ...LOCALE,
      timezone: 'Asia/Tokyo',
      storageState
    }
    const { sessionId, expiresAt, message } = await server.ok('create_session', given)
    assert.match(sessionId, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.ok(expiresAt > Date.now() + 290_000 && expiresAt <= Date.now() + 300_000)
    assert.match(message, /sessionId/)
    await server.ok('navigate', { sessionId, url: site.url('/cookies') })
    assert.deepEqual(
      await server.evaluate(
        '[navigator.userAgent, innerWidth, innerHeight, navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, localStorage.theme, out.textContent]',
        { sessionId }
      ),
      ['tester/1', 640, 480, LOCALE.locale ?? 'en-US', 'Asia/Tokyo', 'dark', 'kept=1']
    )
    assert.equal(site.requests.at(-1).headers['user-agent'], 'tester/1')
    if (LOCALE.locale) assert.match(site.requests.at(-1).headers['accept-language'], /^de-DE/)
    await server.ok('close_session', { sessionId })
  })

  test('the options of create_session also apply to frames of other sites', async (t) => {
    const framed = await startSite(t, {
      '/top': (request, response) =>
        sendHtml(
          response,
          `<title>Top</title><iframe src="http://localhost:${request.socket.localPort}/frame"></iframe>
        <script>const received = new Promise((resolve) => { onmessage = ({ data }) => resolve(data) })</script>`
        ),
      '/frame': (request, response) =>
        sendHtml(
          response,
          `<script>
        parent.postMessage([navigator.userAgent, navigator.language, (1.5).toLocaleString(), Intl.DateTimeFormat().resolvedOptions().timeZone, ${JSON.stringify(request.headers['user-agent'])}], '*')
      </script>`
        )
    })
    // In separate processes.
    const apart = await startServer(
      t,
      BROWSER === 'chromium' ? ['--browser-arg=--site-per-process'] : []
    )
    await apart.ok('create_session', { userAgent: 'tester/1', ...LOCALE, timezone: 'Asia/Tokyo' })
    await apart.ok('navigate', { url: framed.url('/top') })
    assert.deepEqual((await apart.ok('evaluate', { script: 'received' })).value, [
      'tester/1',
      LOCALE.locale ?? 'en-US',
      LOCALE.locale ? '1,5' : '1.5',
      'Asia/Tokyo',
      'tester/1'
    ])
  })

  test('list_sessions lists only sessions in the given state', async () => {
    const sessionId = await server.createSession()
    const listed = async (state) =>
      (await server.ok('list_sessions', { state })).sessions.map((session) => session.sessionId)
    const isListed = async () => [
      (await listed('active')).includes(sessionId),
      (await listed('closed')).includes(sessionId)
    ]
    assert.deepEqual(await isListed(), [true, false])
    await server.ok('close_session', { sessionId })
    assert.deepEqual(await isListed(), [false, true])
    for (const state of ['stale', 'error']) assert.deepEqual(await listed(state), [])
  })

  test('list_sessions lists each session with its pages', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    const { sessions } = await server.ok('list_sessions')
    const listed = sessions.find((session) => session.sessionId === sessionId)
    assert.deepEqual(listed.pages, [{ pageId: 'page-1', url: site.url('/form') }])
    assert.ok(listed.createdAt <= Date.now() && listed.expiresAt > Date.now())
    assert.deepEqual(await server.ok('close_session', { sessionId }), {
      success: true,
      message: `Session ${sessionId} is closed.`
    })
    assert.ok(
      !(await server.ok('list_sessions')).sessions.some(
        (session) => session.sessionId === sessionId
      )
    )
  })
})

describe('set_viewport', { timeout: 60_000 }, () => {
  const { server, site } = startShared()
  const size = async (args) =>
    (await server.ok('evaluate', { ...args, script: '[innerWidth, innerHeight]' })).value

  test('resizes all pages of its session, also later ones, and those of no other session', async () => {
    const [sessionId, other] = [
      await server.createSession({ viewport: { width: 700, height: 500 } }),
      await server.createSession({ viewport: { width: 700, height: 500 } })
    ]
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    await server.ok('pages', { sessionId, action: 'new', url: site.url('/buttons') })
    const { message } = await server.ok('set_viewport', { sessionId, width: 500, height: 844 })
    assert.equal(message, 'The viewport is 500×844 px.')
    await server.ok('pages', { sessionId, action: 'new' })
    for (const pageId of ['page-1', 'page-2', 'page-3'])
      assert.deepEqual(await size({ sessionId, pageId }), [500, 844], pageId)
    await server.ok('navigate', { sessionId, pageId: 'page-1', url: site.url('/form') })
    assert.deepEqual(await size({ sessionId, pageId: 'page-1' }), [500, 844])
    assert.deepEqual(await size({ sessionId: other }), [700, 500])
    assert.equal(
      (await server.call('set_viewport', { sessionId, width: 0, height: 844 })).json.errorCode,
      'INVALID_PARAMETERS'
    )
  })
})

describe('batch', { timeout: 60_000 }, () => {
  const { server, site } = startShared({ args: ['--max-sessions', '50'] })

  test('runs its steps in order and returns each result; stops at the first failure unless stopOnError is false', async () => {
    const steps = [
      { tool: 'navigate', arguments: { url: site.url('/form') } },
      { tool: 'fill', arguments: { selector: '#name', value: 'Ada' } },
      { tool: 'get_value', arguments: { selector: '#name' } }
    ]
    const { success, results, skipped } = await server.ok('batch', { steps })
    assert.deepEqual(
      [success, skipped, results.map(({ tool }) => tool)],
      [true, undefined, ['navigate', 'fill', 'get_value']]
    )
    assert.equal(results[2].result.value, 'Ada')
    const wrong = [
      { tool: 'get_text', arguments: { selector: '#none' } },
      { tool: 'no_such_tool' },
      steps[2]
    ]
    const stopped = await server.ok('batch', { steps: wrong })
    assert.deepEqual(
      [
        stopped.success,
        stopped.results.length,
        stopped.skipped,
        stopped.results[0].error.errorCode
      ],
      [false, 1, 2, 'ELEMENT_NOT_FOUND']
    )
    const ran = await server.ok('batch', { steps: wrong, stopOnError: false })
    assert.deepEqual(
      ran.results.map(({ error }) => error?.errorCode),
      ['ELEMENT_NOT_FOUND', 'INVALID_PARAMETERS', undefined]
    )
    assert.equal((await server.ok('batch', { steps: wrong, stopOnError: true })).skipped, 2)
  })

  test('returns a line for each action, and all changes with the last one', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    const steps = [
      { tool: 'fill', arguments: { selector: '#name', value: 'Ada' } },
      { tool: 'check', arguments: { selector: '#agree' } },
      { tool: 'get_value', arguments: { selector: '#name' } },
      { tool: 'type', arguments: { selector: '#note', text: 'x' } }
    ]
    const { results } = await server.ok('batch', { sessionId, steps })
    assert.match(results[0].result, /^Filled textbox "Name"/)
    assert.match(results[1].result, /^Checked checkbox/)
    assert.equal(results[2].result.value, 'Ada')
    const { changes, earlierChanges } = results[3].result
    assert.match(changes, /: x$/m)
    assert.match(earlierChanges, /: Ada$/m)
    assert.match(earlierChanges, /checked/)
  })

  test('returns the page that a step has navigated to with the last action', async () => {
    const sessionId = await server.createSession()
    const steps = [
      { tool: 'navigate', arguments: { url: site.url('/form') } },
      { tool: 'fill', arguments: { selector: '#name', value: 'Ada' } }
    ]
    const { results } = await server.ok('batch', { sessionId, steps })
    assert.deepEqual(Object.keys(results[0].result).sort(), ['status', 'title', 'url'])
    assert.match(results[1].result.snapshot, /textbox "Name".*Ada/)
    assert.equal(
      'snapshot' in (await server.ok('fill', { sessionId, selector: '#name', value: 'Bo' })),
      false
    )
  })

  test('reports the changes of a failed batch with the next action', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/form') })
    const steps = [
      { tool: 'fill', arguments: { selector: '#name', value: 'Ada' } },
      { tool: 'get_text', arguments: { selector: '#none' } }
    ]
    const { success, results } = await server.ok('batch', { sessionId, steps })
    assert.deepEqual([success, results.length], [false, 2])
    assert.match(
      (await server.ok('check', { sessionId, selector: '#agree' })).earlierChanges,
      /: Ada$/m
    )
  })

  test('runs each step in the session that it names, in both spellings', async () => {
    const [one, other] = [await server.createSession(), await server.createSession()]
    await server.ok('evaluate', { sessionId: one, script: "document.title = 'one'" })
    await server.ok('evaluate', { sessionId: other, script: "document.title = 'other'" })
    const step = (/** @type {object} */ names) => ({
      tool: 'evaluate',
      arguments: { script: 'document.title', ...names }
    })
    const titles = async (/** @type {object} */ args) =>
      (await server.ok('batch', args)).results.map(({ result }) => result.value)
    assert.deepEqual(await titles({ steps: [step({ session_id: other })] }), ['other'])
    assert.deepEqual(
      await titles({ steps: [step({ session_id: one }), step({ sessionId: other })] }),
      ['one', 'other']
    )
    assert.deepEqual(
      await titles({ session_id: one, steps: [step({}), step({ session_id: other })] }),
      ['one', 'other']
    )
    // The batch uses that session: no other session is created for it.
    assert.equal(
      (await server.call('batch', { steps: [step({ session_id: other })] })).meta.sessionId,
      other
    )
    await server.ok('pages', {
      sessionId: one,
      action: 'new',
      url: 'data:text/html,<title>second</title>'
    })
    assert.deepEqual(
      await titles({
        sessionId: one,
        pageId: 'page-2',
        steps: [step({ page_id: 'page-1' }), step({})]
      }),
      ['one', 'second']
    )
  })

  test('works in the session and page of its parameters', async () => {
    const sessionId = await server.createSession()
    await server.ok('pages', { sessionId, action: 'new', url: site.url('/buttons') })
    const script = { tool: 'evaluate', arguments: { script: 'document.title' } }
    const { results } = await server.ok('batch', {
      sessionId,
      pageId: 'page-2',
      steps: [script, { ...script, arguments: { ...script.arguments, pageId: 'page-1' } }]
    })
    assert.deepEqual(
      results.map(({ result }) => result.value),
      ['Buttons', '']
    )
  })

  test(
    'two batches that use the same sessions in opposite order both finish',
    { timeout: 15_000 },
    async () => {
      const ids = [await server.createSession(), await server.createSession()]
      const slow = (sessionId) => ({
        tool: 'evaluate',
        arguments: { sessionId, script: 'new Promise((resolve) => setTimeout(resolve, 100, 1))' }
      })
      const batches = [ids, ids.toReversed()].map((order) =>
        server.ok('batch', { steps: order.map(slow) })
      )
      for (const { success } of await Promise.all(batches)) assert.ok(success)
    }
  )

  test('a call in any session of a batch waits until the batch has ended', async () => {
    const [first, second] = [await server.createSession(), await server.createSession()]
    const script = (value) =>
      `new Promise((resolve) => setTimeout(resolve, 100, globalThis.done = ${value}))`
    const batch = server.ok('batch', {
      steps: [
        { tool: 'evaluate', arguments: { sessionId: first, script: script(1) } },
        { tool: 'evaluate', arguments: { sessionId: second, script: script(1) } }
      ]
    })
    assert.equal(
      (await server.ok('evaluate', { sessionId: second, script: 'globalThis.done' })).value,
      1
    )
    assert.ok((await batch).success)
  })

  test('a step can use a session that an earlier step has resumed, and fails if its session does not exist', async (t) => {
    const brief = await startServer(t, ['--session-timeout', '5000', '--store', 'memory'])
    // The start of the browser counts toward the lifetime of a session that waits for it.
    await brief.awaitBrowserReady()
    const sessionId = await brief.createSession()
    await brief.ok('evaluate', { sessionId, script: 'document.title = "here"' })
    await until(
      async () => (await brief.ok('list_sessions')).sessions.length === 0,
      'the expiry',
      20_000
    )
    const steps = [
      { tool: 'list_sessions' },
      { tool: 'evaluate', arguments: { sessionId: await brief.createSession(), script: '1' } },
      { tool: 'session_resume', arguments: { sessionId } },
      { tool: 'evaluate', arguments: { sessionId, script: '2' } },
      { tool: 'evaluate', arguments: { sessionId: randomUUID(), script: '3' } }
    ]
    const { results } = await brief.ok('batch', { steps, stopOnError: false })
    assert.deepEqual(
      results.map(({ result, error }) => error?.errorCode ?? result.value),
      [undefined, 1, undefined, 2, 'SESSION_NOT_FOUND']
    )
  })
})

describe('results of actions', { timeout: 60_000 }, () => {
  const { site } = startShared()

  test('are as long as `--after-action` says: nothing, the changes, or the whole page', async (t) => {
    for (const [mode, has] of /** @type {const} */ ([
      ['none', []],
      ['changes', ['changes']],
      ['snapshot', ['snapshot']]
    ])) {
      const server = await startServer(t, ['--after-action', mode])
      await server.ok('navigate', { url: site.url('/form') })
      for (const [tool, args] of /** @type {const} */ ([
        ['fill', { selector: '#name', value: 'Ada' }],
        ['type', { selector: '#note', text: 'x' }],
        ['check', { selector: '#agree' }],
        ['press', { key: 'Space' }]
      ])) {
        const answer = await server.ok(tool, args)
        assert.deepEqual(
          Object.keys(answer).filter((name) => ['changes', 'snapshot'].includes(name)),
          has,
          `${mode} ${tool}`
        )
      }
      if (mode === 'snapshot')
        assert.match(
          (await server.ok('fill', { selector: '#name', value: 'Bo' })).snapshot,
          /textbox "Name".*Bo/
        )
    }
  })
})
