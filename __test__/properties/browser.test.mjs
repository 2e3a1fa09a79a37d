// Properties of the browser that is started: all of a few values are tested.
import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { BROWSER, BROWSER_ARGUMENTS, BROWSER_CONFIG } from '../support/browser.mjs'
import { NO_DISPLAY, assertNeedsDisplay, isHeadless, startDisplay } from '../support/display.mjs'
import { SessionManager, failure } from '../support/managers.mjs'
import { browsers } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { within } from '../support/wait.mjs'

describe('the browser', { timeout: 60_000 }, () => {
  test('Property 7: each value of `browser` starts that browser, and an unknown value is an error', async (t) => {
    const start = async (browser) => {
      const manager = new SessionManager({ ...BROWSER_CONFIG, browser })
      t.after(() => manager.shutdown())
      await manager.initialize()
      return manager
    }
    for (const [browser, program, userAgent] of /** @type {const} */ ([
      ['chromium', /chrom|headless.shell/i, /Chrome\//],
      ['firefox', /firefox/i, /Gecko.* Firefox\//],
      ['webkit', /MiniBrowser/, /AppleWebKit.* Version\/.* Safari\//]
    ])) {
      const manager = await start(browser)
      // Only WebKit has one browser per session.
      if (browser === 'webkit') await manager.createSession()
      const [{ command }, ...more] = browsers(process.pid)
      assert.match(basename(command[0]), program)
      assert.deepEqual(more, [])
      const session = await manager.createSession()
      assert.match((await session.evaluate('navigator.userAgent')).value, userAgent)
      await manager.shutdown()
    }

    // Channels of Chromium: started if they are installed, otherwise the error names them.
    for (const browser of ['chrome', 'msedge']) {
      const error = await start(browser).then(
        () => null,
        (reason) => reason
      )
      if (!error) continue
      assert.equal(error.code, 'BROWSER_ERROR')
      assert.match(error.message, new RegExp(`no browser was found for .${browser}`))
    }
    const unknown = await failure(start('netscape'))
    assert.equal(unknown.code, 'INVALID_PARAMETERS')
    assert.match(unknown.message, /netscape/)

    const server = await startServer(t, ['--browser', 'netscape'], { handshake: false })
    const exit = await within(server.exit, 'the end of `--browser netscape`', 5000)
    assert.deepEqual([exit.code, server.unparsable], [2, []])
    assert.match(server.stderr(), /^troupe: .*chromium.*firefox.*webkit.*netscape.*\n$/)
  })

  test('Property 8: Headless Mode Configuration', { skip: NO_DISPLAY ?? false }, async (t) => {
    const display = await startDisplay(t)
    const sandbox = BROWSER_ARGUMENTS.filter((argument) => argument !== '--headless')
    for (const headless of [true, false]) {
      const server = await startServer(t, [`--headless=${headless}`, ...sandbox], {
        browser: false,
        env: display
      })
      const { value: frame } = await server.ok('evaluate', { script: 'outerHeight - innerHeight' })
      const [{ command }] = browsers(server.child.pid)
      assert.equal(isHeadless(command), headless, command.join(' '))
      // A window has a frame with an address bar in it; Firefox draws it without one, too.
      if (BROWSER !== 'firefox')
        assert.equal(frame > 0, !headless, `its frame is ${frame} pixels high`)
      await server.end()
    }
    // If a window was requested but is not possible, there is an error, not a fallback.
    await assertNeedsDisplay(t, [...sandbox, '--headless', 'false'])
  })
})
