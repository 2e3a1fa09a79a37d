// A Chromium that Troupe starts and reaches over a WebSocket, as on Windows.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { awaitProcessesEnded, browsers, descendants } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { until } from '../support/wait.mjs'
import { profileFolders } from './profiles.mjs'

const OVER_WEBSOCKET = { env: { CHROMIUM_OVER_WEBSOCKET: '1' } }

describe('a Chromium over a WebSocket', { skip: process.platform !== 'linux' }, () => {
  test('is used without a pipe, also for large messages', { timeout: 60_000 }, async (t) => {
    const server = await startServer(t, [], OVER_WEBSOCKET)
    await server.ok('navigate', { url: 'data:text/html,<button onclick="document.title=1">Press' })
    await server.ok('click', { selector: 'button' })
    assert.equal((await server.ok('evaluate', { script: 'document.title' })).value, '1')
    assert.equal(
      (await server.ok('evaluate', { script: `'${'x'.repeat(1_000_000)}'.length` })).value,
      1_000_000
    )
    const { text } = await server.call('evaluate', { script: "'y'.repeat(3_000_000)" })
    assert.match(text, /y{1000}/)
    const [browser] = browsers(/** @type {number} */ (server.child.pid))
    assert.ok(browser.command.includes('--remote-debugging-port=0'))
    assert.ok(!browser.command.includes('--remote-debugging-pipe'))
  })

  test('ends with the server, and its profile is removed', { timeout: 60_000 }, async (t) => {
    const server = await startServer(t, [], OVER_WEBSOCKET)
    await server.createSession()
    const pid = /** @type {number} */ (server.child.pid)
    const [below, folders] = [descendants(pid), profileFolders(browsers(pid))]
    assert.equal(folders.length, 1)
    server.child.stdin.end()
    await server.exit
    await awaitProcessesEnded(below, 1000)
    assert.ok(!existsSync(folders[0]))
  })

  test('ends after kill -9 of the server', { timeout: 60_000 }, async (t) => {
    const server = await startServer(t, [], OVER_WEBSOCKET)
    await server.createSession()
    const below = descendants(/** @type {number} */ (server.child.pid))
    server.child.kill('SIGKILL')
    await server.exit
    await awaitProcessesEnded(below, 1000)
  })

  test('is started again after it was killed', { timeout: 60_000 }, async (t) => {
    const server = await startServer(t, [], OVER_WEBSOCKET)
    const sessionId = await server.createSession()
    const pid = /** @type {number} */ (server.child.pid)
    const [killed] = browsers(pid)
    process.kill(killed.pid, 'SIGKILL')
    await until(
      () => !browsers(pid).some(({ pid: other }) => other === killed.pid),
      'the end of the browser'
    )
    await server.call('evaluate', { script: '1', sessionId })
    const next = await server.createSession()
    assert.equal((await server.ok('evaluate', { script: '1 + 1', sessionId: next })).value, 2)
  })

  test('that cannot start is reported with its reason', { timeout: 60_000 }, async (t) => {
    const server = await startServer(t, ['--executable-path', '/bin/false'], OVER_WEBSOCKET)
    const { json } = await server.call('navigate', { url: 'about:blank' })
    assert.equal(json.errorCode, 'BROWSER_ERROR')
    assert.match(json.message, /the browser could not be started: it exited before it was ready/)
  })
})
