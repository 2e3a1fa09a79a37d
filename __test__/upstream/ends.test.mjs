// The end of an upstream server and its child processes: closed connection, then SIGTERM, then
// SIGKILL, also if Troupe itself is killed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { awaitProcessesEnded, descendants, readProcess } from '../support/processes.mjs'
import { startWithScriptedUpstream, until, callWho } from './upstream.mjs'

const TIMES = ['--upstream-close-timeout', '400', '--upstream-term-timeout', '400']

describe('the end of a session', { timeout: 60_000 }, () => {
  test('asks its server to close the browser, and closes its stdin', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t, { args: [] })
    const sessionId = await server.createSession()
    const { pid } = await callWho(server, { sessionId })
    await server.ok('close_session', { sessionId })
    assert.equal(readProcess(pid), null)
    assert.deepEqual(
      [noted('tools/call', { pid, tool: 'browser_close' }).length, noted('eof', { pid }).length],
      [1, 1]
    )
  })

  test('sends SIGTERM to a server that does not end', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t, {
      options: ['--ignore-eof'],
      args: TIMES
    })
    const sessionId = await server.createSession()
    const { pid } = await callWho(server, { sessionId })
    const begun = performance.now()
    await server.ok('close_session', { sessionId })
    assert.equal(readProcess(pid), null)
    assert.equal(noted('eof', { pid }).length, 1)
    const took = performance.now() - begun
    assert.ok(took > 400, `SIGTERM comes after 400 ms, not ${took}`)
  })

  test('kills a server that ignores that, and its child processes', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t, {
      options: ['--ignore-eof', '--ignore-sigterm'],
      args: TIMES
    })
    const sessionId = await server.createSession()
    const { pid } = await callWho(server, { sessionId })
    const child = JSON.parse((await server.call('start_child', { sessionId })).text).pid
    await server.ok('close_session', { sessionId })
    assert.equal(readProcess(pid), null)
    // The child's new parent may reap it later.
    assert.ok((readProcess(child)?.state ?? 'Z') === 'Z')
    assert.equal(noted('SIGTERM', { pid }).length, 1)
  })

  test('ends a server that hangs', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t, { args: TIMES })
    const sessionId = await server.createSession()
    const { pid } = await callWho(server, { sessionId })
    const hanging = server.call('hang', { sessionId })
    await until(() => noted('tools/call', { tool: 'hang' }).length === 1, 'the hang')
    await server.ok('close_session', { sessionId })
    assert.equal((await hanging).json.errorCode, 'SESSION_NOT_FOUND')
    assert.equal(readProcess(pid), null)
  })
})

describe('the end of Troupe', { timeout: 60_000 }, () => {
  const ended = async (server) => {
    const { code, signal } = await server.exit
    return code ?? signal
  }

  test('ends all servers within 8 s, even if they ignore signals, and exits with 0', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t, {
      options: ['--ignore-eof', '--ignore-sigterm'],
      args: []
    })
    // The implicit session, and those that it has created.
    await callWho(server)
    const sessions = [await server.createSession(), await server.createSession()]
    await Promise.all(sessions.map((sessionId) => callWho(server, { sessionId })))
    const below = descendants(server.child.pid)
    const begun = performance.now()
    server.askToEnd()
    assert.equal(await ended(server), 0)
    const took = performance.now() - begun
    assert.ok(took < 8_500, `${took} ms`)
    assert.ok(took > 6_900, 'they had their 5 and 2 seconds')
    assert.equal(noted('SIGTERM').length >= 2, true)
    await awaitProcessesEnded(below)
  })

  test('by SIGTERM is graceful, too', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t)
    await callWho(server)
    server.child.kill('SIGTERM')
    assert.equal(await ended(server), 0)
    assert.equal(noted('tools/call', { tool: 'browser_close' }).length, 1)
  })

  test('ends a server that was started only to list its tools', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t)
    await server.request('tools/list')
    const [{ pid }] = noted('start')
    assert.ok(readProcess(pid))
    server.askToEnd()
    assert.equal(await ended(server), 0)
    assert.equal(readProcess(pid), null)
  })

  for (const options of [[], ['--ignore-eof', '--ignore-sigterm']]) {
    test(`by kill -9 leaves nothing behind${options.length > 0 ? ', whatever its servers ignore' : ''}`, async (t) => {
      const { server } = await startWithScriptedUpstream(t, { options })
      const sessionId = await server.createSession()
      await callWho(server)
      await server.call('start_child', { sessionId })
      const below = await until(() => {
        const found = descendants(server.child.pid)
        return found.length >= 4 && found
      }, 'two servers, a child, and the shell that watches')
      server.child.kill('SIGKILL')
      await awaitProcessesEnded(below)
    })
  }
})
