// With a window, on a display of the test's own (Xvfb); and without a display.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, test } from 'node:test'
import { onPath } from '../../scripts/run.mjs'
import { WITHOUT_DISPLAY, startDisplay } from '../support/display.mjs'
import { browsers } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

const AS_ROOT = process.getuid?.() === 0 ? ['--no-sandbox'] : []

/**
 * Returns the windows on the display, as the X server lists them.
 * @param {{ DISPLAY: string }} display
 * @returns {Promise<string>}
 */
function windows(display) {
  return new Promise((resolve, reject) => {
    execFile(
      'xwininfo',
      ['-root', '-tree'],
      { env: { ...process.env, ...display } },
      (error, stdout) => {
        if (error) reject(error)
        else resolve(stdout)
      }
    )
  })
}

/**
 * Fills in a form in the windows of two sessions, then ends the server.
 * @param {import('../support/server.mjs').Server} server
 * @param {{ url: (path: string) => string }} site
 */
async function mainJob(server, site) {
  await server.ok('navigate', { url: site.url('/form') })
  await server.ok('type', { selector: '#name', text: 'Ada' })
  assert.equal((await server.ok('click', { selector: '#send' })).page.title, 'Echo')

  // A second session has its own window, which does not hide the first.
  const sessionId = await server.createSession()
  await server.ok('navigate', { sessionId, url: site.url('/form') })
  await server.ok('click', { sessionId, selector: '#send' })
  assert.equal(
    (await server.ok('evaluate', { sessionId, script: 'document.visibilityState' })).value,
    'visible'
  )
  await server.ok('close_session', { sessionId })
  assert.deepEqual(await server.end(), { code: 0, signal: null })
}

const skip =
  process.platform !== 'linux'
    ? 'Linux only'
    : !onPath('Xvfb') || !onPath('chromium')
      ? 'needs Xvfb and chromium'
      : false
const NO_OTHERS =
  onPath('firefox-esr') && onPath('WebKitWebDriver')
    ? null
    : 'needs firefox-esr and WebKitWebDriver'

describe('with a display', { skip }, () => {
  test(
    'pages are shown in windows, and the main task works there',
    { timeout: 60_000 },
    async (t) => {
      const display = await startDisplay(t)
      const site = await startSite(t, {
        '/titled': '<title>Shown in a window</title><h1>Shown</h1>'
      })
      const server = await startServer(t, AS_ROOT, { browser: false, env: display })
      // The browser runs, and there is no window before the first session.
      const pid = /** @type {number} */ (server.child.pid)
      const [browser] = await until(
        () => browsers(pid).length > 0 && browsers(pid),
        'the browser',
        20_000
      )
      assert.ok(
        browser.command.every((argument) => !argument.startsWith('--headless')),
        browser.command.join(' ')
      )
      if (onPath('xwininfo')) assert.doesNotMatch(await windows(display), /Chromium"/)

      await server.ok('navigate', { url: site.url('/titled') })
      const { value } = await server.ok('evaluate', {
        script:
          '({ agent: navigator.userAgent, outer: outerHeight - innerHeight, hidden: document.hidden })'
      })
      assert.doesNotMatch(value.agent, /Headless/)
      assert.ok(value.outer > 0, 'a window has a frame with tabs')
      assert.equal(value.hidden, false)
      if (onPath('xwininfo')) {
        await until(
          async () => (await windows(display)).includes('Shown in a window'),
          'the window on the display',
          10_000
        )
      }

      await mainJob(server, site)
    }
  )

  test('`--headless` opens no window there', { timeout: 30_000 }, async (t) => {
    const display = await startDisplay(t)
    const server = await startServer(t, [...AS_ROOT, '--headless'], {
      browser: false,
      env: display
    })
    await server.ok('navigate', { url: 'data:text/html,<title>Unseen</title>' })
    assert.match((await server.ok('evaluate', { script: 'navigator.userAgent' })).value, /Headless/)
    if (onPath('xwininfo')) assert.doesNotMatch(await windows(display), /Unseen/)
  })
})

describe('with a display, by `--headless false`', { skip: skip || (NO_OTHERS ?? false) }, () => {
  for (const browser of ['firefox', 'webkit']) {
    test(
      `${browser} shows its pages in windows there, and the main task works`,
      { timeout: 120_000 },
      async (t) => {
        const display = await startDisplay(t)
        const site = await startSite(t, {
          '/titled': '<title>Shown in a window</title><h1>Shown</h1>'
        })
        const flags = ['--browser', browser, '--headless', 'false', ...AS_ROOT]
        const server = await startServer(t, flags, { browser: false, env: display })
        await server.ok('navigate', { url: site.url('/titled') })
        const { value } = await server.ok('evaluate', {
          script: '({ outer: outerHeight - innerHeight, hidden: document.hidden })'
        })
        assert.ok(value.outer > 0, 'a window has a frame with a bar')
        assert.equal(value.hidden, false)
        if (onPath('xwininfo')) {
          await until(
            async () => (await windows(display)).includes('Shown in a window'),
            'the window on the display',
            10_000
          )
        }
        await mainJob(server, site)
      }
    )
  }
})

describe('without a display', { skip: process.platform !== 'linux' }, () => {
  test('the browser runs headless, with one warning', { timeout: 30_000 }, async (t) => {
    const server = await startServer(t, AS_ROOT, { browser: false, env: WITHOUT_DISPLAY })
    await Promise.all([server.createSession(), server.createSession()])
    assert.match(
      (
        await server.ok('evaluate', {
          sessionId: await server.createSession(),
          script: 'navigator.userAgent'
        })
      ).value,
      /Headless/
    )
    const warnings = server
      .stderr()
      .split('\n')
      .filter((line) => /WARN/.test(line))
    assert.equal(warnings.length, 1, server.stderr())
    assert.match(warnings[0], /no display.*headless/)
    assert.match(warnings[0], /`--headless`/)
  })

  test('there is no warning with `--headless`', { timeout: 30_000 }, async (t) => {
    const server = await startServer(t, [...AS_ROOT, '--headless'], {
      browser: false,
      env: WITHOUT_DISPLAY
    })
    await server.createSession()
    assert.doesNotMatch(server.stderr(), /WARN|display/)
  })

  test(
    '`--headless false` is a clear error, and no headless browser starts',
    { timeout: 30_000 },
    async (t) => {
      const server = await startServer(t, [...AS_ROOT, '--headless', 'false'], {
        browser: false,
        env: WITHOUT_DISPLAY,
        handshake: false
      })
      const { error } = await server.request('initialize', {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 't', version: '0' }
      })
      if (error) {
        // Either the server does not start…
        const { code } = await server.exit
        assert.equal(code, 2)
        assert.match(server.stderr(), /^troupe: [^\n]*display[^\n]*\n$/)
        return
      }
      // …or each call fails.
      server.notify('notifications/initialized')
      const { json, text } = await server.call('navigate', { url: 'about:blank' })
      assert.equal(json.errorCode, 'BROWSER_ERROR', text)
      assert.match(json.message, /display/)
      assert.match(`${json.message} ${json.suggestion ?? ''}`, /--headless|Xvfb|xvfb/)
      assert.deepEqual(browsers(/** @type {number} */ (server.child.pid)), [])
    }
  )
})
