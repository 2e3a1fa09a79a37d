// A machine without a browser: the server starts, and its errors have the command that installs
// one.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

const INSTALL = /npx -y troupe install chromium/

/** An environment with an empty home folder and an empty PATH. */
function emptyMachine(t) {
  const home = temporaryFolder(t)
  const env = {
    PATH: join(home, 'bin'),
    HOME: home,
    XDG_CACHE_HOME: join(home, '.cache'),
    PLAYWRIGHT_BROWSERS_PATH: '',
    PUPPETEER_CACHE_DIR: ''
  }
  return { home, env }
}

/** @param {any} answer of a page tool */
function assertTellsWhatToType({ error, isError, json, text, ms }) {
  assert.equal(error, undefined)
  assert.ok(isError, text)
  assert.equal(json.errorCode, 'BROWSER_ERROR')
  assert.match(json.suggestion, INSTALL)
  assert.match(json.message, /no browser was found/)
  assert.ok(ms < 1000, `${ms} ms`)
}

describe('without a browser', { skip: process.platform !== 'linux' }, () => {
  // Google Chrome is found by its own names only. The tests do not install it, and an installed
  // Chromium is not used in its place.
  const CHROME = ['--browser', 'chrome']

  test(
    'the server starts, and page tools return the command that installs one',
    { timeout: 30_000 },
    async (t) => {
      const { env } = emptyMachine(t)
      const server = await startServer(t, CHROME, { env })
      assert.ok((await server.request('tools/list')).result.tools.length > 0)
      assert.deepEqual((await server.ok('list_sessions')).sessions, [])
      for (const [tool, args] of /** @type {const} */ ([
        ['navigate', { url: 'about:blank' }],
        ['snapshot', {}],
        ['click', { selector: 'a' }],
        ['create_session', {}]
      ])) {
        assertTellsWhatToType(await server.call(tool, args))
      }
      assert.deepEqual(
        (await server.ok('list_sessions')).sessions,
        [],
        'what could not be made is not there'
      )
      assert.deepEqual(await server.end(), { code: 0, signal: null })
    }
  )

  test(
    'sessions that could not be created do not count toward the limit',
    { timeout: 30_000 },
    async (t) => {
      const { env } = emptyMachine(t)
      const server = await startServer(t, [...CHROME, '--max-sessions', '2'], { env })
      for (let round = 0; round < 5; round++)
        assertTellsWhatToType(await server.call('create_session'))
    }
  )

  test('one that is installed later is found without a restart', { timeout: 30_000 }, async (t) => {
    const { home, env } = emptyMachine(t)
    const { HEADLESS_SHELL } = await import('../support/delayed-browser.mjs')
    const path = join(home, 'chromium-headless-shell')
    const site = await startSite(t)
    const server = await startServer(t, ['--executable-path', path], { env })
    const { json, text } = await server.call('navigate', { url: site.url('/') })
    assert.equal(json.errorCode, 'BROWSER_ERROR', text)
    assert.ok(json.message.includes(path), text)
    assert.match(json.suggestion, /--executable-path/)
    writeFileSync(path, `#!/bin/sh\nexec "${HEADLESS_SHELL}" "$@"\n`, { mode: 0o755 })
    assert.equal((await server.ok('navigate', { url: site.url('/') })).title, 'Home')
  })

  test('one that does not start is reported with its stderr', { timeout: 30_000 }, async (t) => {
    const { home, env } = emptyMachine(t)
    const path = join(home, 'chromium-headless-shell')
    writeFileSync(
      path,
      '#!/bin/sh\necho "libnss3.so: cannot open shared object file" >&2\nexit 127\n',
      { mode: 0o755 }
    )
    const server = await startServer(t, ['--executable-path', path], { env })
    for (let round = 0; round < 2; round++) {
      const { json, text, ms } = await server.call('navigate', { url: 'about:blank' })
      assert.equal(json.errorCode, 'BROWSER_ERROR', text)
      assert.match(json.message, /libnss3\.so: cannot open shared object file/)
      assert.ok(ms < 2000, `${ms} ms`)
    }
  })

  test('an invalid executable is reported', { timeout: 30_000 }, async (t) => {
    const { home, env } = emptyMachine(t)
    const path = join(home, 'chromium')
    writeFileSync(path, 'not a program', { mode: 0o755 })
    const server = await startServer(t, ['--executable-path', path], { env })
    const { json, text } = await server.call('navigate', { url: 'about:blank' })
    assert.equal(json.errorCode, 'BROWSER_ERROR', text)
    assert.ok(json.message.includes(path), text)
  })
})
