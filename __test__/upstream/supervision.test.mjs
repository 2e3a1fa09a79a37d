// Failures of an upstream server: crashes, hangs, invalid and excessive output, and a server that
// does not start.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { isAlive, readProcess } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { QUICK, quoted, scripted, startWithScriptedUpstream, until, callWho } from './upstream.mjs'

const pidOf = async (server, args) => (await callWho(server, args)).pid

describe('an upstream server', { timeout: 60_000 }, () => {
  for (const [end, how] of [
    ['die', 'is killed'],
    ['exit', 'exits'],
    ['close_input', 'does not read any more']
  ]) {
    test(`that ${how} is restarted, and the session continues`, async (t) => {
      const { server, noted } = await startWithScriptedUpstream(t)
      const before = await pidOf(server)
      const broken = await server.call(end)
      if (end !== 'close_input') {
        assert.equal(broken.json.errorCode, 'UPSTREAM_UNAVAILABLE')
        assert.equal(broken.json.retryable, true)
      }
      await until(async () => ![before, undefined].includes(await pidOf(server)), 'another server')
      assert.equal(noted('start').length, 2)
      assert.equal(readProcess(before), null, 'it is gone, and not a zombie')
    })
  }

  test('that hangs is detected by pings, ended and restarted', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t)
    const before = await pidOf(server)
    const hung = await server.call('hang')
    assert.equal(hung.json.errorCode, 'UPSTREAM_UNAVAILABLE')
    assert.notEqual(await pidOf(server), before)
    assert.equal(noted('start').length, 2)
    await server.awaitLog(/did not answer a ping[^]*is being ended/)
  })

  test('that hangs is ended after as many pings as --upstream-ping-misses says', async (t) => {
    for (const misses of [1, 4]) {
      const { server } = await startWithScriptedUpstream(t, {
        args: [...QUICK, '--upstream-ping-misses', String(misses)]
      })
      const { json } = await server.call('hang')
      assert.equal(json.errorCode, 'UPSTREAM_UNAVAILABLE')
      await server.awaitLog(/does not answer pings and is being ended/)
      const [before] = server.stderr().split('does not answer pings and is being ended')
      assert.equal(before.match(/did not answer a ping/g)?.length, misses)
    }
  })

  test('that runs a long call is not ended while it answers pings', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t)
    await pidOf(server)
    server.send({ id: 'long', method: 'tools/call', params: { name: 'wait', arguments: {} } })
    await until(() => noted('ping').length > 5, 'pings')
    assert.equal(noted('start').length, 1)
  })

  test('that answers pings but not a call gets the call canceled after --upstream-call-timeout', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t, {
      args: [...QUICK, '--upstream-call-timeout', '300']
    })
    const pid = await pidOf(server)
    const { json } = await server.call('wait')
    assert.equal(json.errorCode, 'TIMEOUT', JSON.stringify(json))
    assert.match(json.message, /`wait` sent no result and no progress for 300 ms/)
    assert.match(json.suggestion, /--upstream-call-timeout/)
    await until(() => noted('notifications/cancelled').length === 1, 'the cancellation')
    // A call that reports progress may take longer, and the server keeps running.
    assert.equal((await server.call('steady', { of: 8, pause: 100 })).text, 'stepped')
    assert.equal(await pidOf(server), pid)
  })

  test('answers calls that arrived during its restart', async (t) => {
    const { server } = await startWithScriptedUpstream(t, {
      args: [...QUICK, '--upstream-restart-pause', '500']
    })
    const sessionId = await server.createSession()
    await server.call('die', { sessionId })
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => server.call('echo', { sessionId, n }))
    )
    assert.deepEqual(
      answers.map(({ json }) => json.n),
      [1, 2, 3, 4]
    )
  })

  test('that writes invalid output or floods stderr keeps working', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t)
    assert.equal((await server.call('garbage')).text, 'clean')
    assert.equal((await server.call('flood', { lines: 20_000 })).text, 'dry')
    assert.equal((await server.call('echo', { a: 1 })).json.a, 1)
    assert.equal(noted('start').length, 1)
    await server.awaitLog(/0 xxx/)
    assert.ok(server.stderr().length < 1_000_000, 'what is logged of it has a bound')
  })

  test('that dies does not affect other sessions', async (t) => {
    const { server } = await startWithScriptedUpstream(t)
    const [one, two] = [await server.createSession(), await server.createSession()]
    const other = await pidOf(server, { sessionId: two })
    await server.call('die', { sessionId: one })
    assert.equal(await pidOf(server, { sessionId: two }), other)
  })

  test('that dies is restored to its page', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t)
    await server.call('browser_navigate', { url: 'http://a/' })
    await server.call('die')
    await server.call('echo')
    assert.equal(noted('tools/call', { tool: 'browser_navigate' }).length, 2)
  })
})

describe('an upstream server that does not start', { timeout: 60_000 }, () => {
  /** Servers that exit at once, by a shell script: their start counts as time. */
  const failing = (args = []) => {
    const { folder, noted, args: given, command } = scripted()
    const broken = join(folder, 'broken')
    const script = `if [ -e ${broken} ]; then echo "{\\"event\\":\\"start\\"}" >> ${folder}/journal; echo there is no display >&2; exit 3; fi; exec "$0" "$@"`
    const upstream = ['--upstream', `/bin/sh -c ${quoted(script)} ${command}`, ...given.slice(2)]
    return {
      noted,
      args: [...upstream, ...QUICK, ...args],
      set: (on) => (on ? writeFileSync(broken, '') : rmSync(broken))
    }
  }

  test('is retried three times, then paused, and recovers automatically', async (t) => {
    const { noted, args, set } = failing(['--upstream-restart-window', '5000'])
    const server = await startHttpServer(t, args, { browser: false })
    const client = await server.connect()
    const health = async () => {
      const response = await fetch(server.at('/health'))
      return { status: response.status, body: await response.json() }
    }
    assert.equal((await client.call('echo')).isError, false)
    assert.deepEqual((await health()).body.upstreams, { healthy: 1 })
    set(true)
    const before = noted('start').length
    await client.call('die')
    const { json } = await client.call('echo')
    assert.equal(json.errorCode, 'UPSTREAM_UNAVAILABLE')
    assert.equal(json.details.reason, 'degraded')
    assert.ok(json.details.retryAt > Date.now())
    assert.match(json.message, /failed 4 times.*there is no display/)
    assert.equal(noted('start').length, before + 3)
    const again = await client.call('echo')
    assert.equal(again.json.details.reason, 'degraded', 'it is not tried for each call')
    assert.equal(noted('start').length, before + 3)
    const response = await health()
    assert.equal(response.status, 503, 'no other session could be served either')
    assert.deepEqual(response.body.upstreams, { degraded: 1 })
    set(false)
    // Another session has a server at once.
    const other = await client.createSession()
    assert.equal((await client.call('echo', { sessionId: other })).isError, false)
    assert.deepEqual(await health().then(({ status, body }) => [status, body.status]), [
      200,
      'degraded'
    ])
    await until(async () => (await health()).body.status === 'ok', 'its return', 10_000)
    assert.deepEqual((await client.call('echo', { a: 1, sessionId: json.sessionId })).json, {
      a: 1
    })
  })

  test('at its first start is retried the same way, then paused, and recovers automatically', async (t) => {
    const { noted, args, set } = failing([
      '--upstream-restart-pause',
      '150',
      '--upstream-restart-window',
      '4000'
    ])
    set(true)
    const server = await startServer(t, args, { browser: false })
    const listed = async () =>
      (await server.request('tools/list')).result.tools.map(({ name }) => name)
    const begun = performance.now()
    assert.ok(!(await listed()).includes('echo'), 'the list does not wait for further attempts')
    const { json } = await server.call('echo')
    assert.ok(performance.now() - begun > 150 + 300 + 600)
    assert.deepEqual([json.errorCode, json.details.reason], ['UPSTREAM_UNAVAILABLE', 'degraded'])
    assert.match(json.message, /failed 4 times.*there is no display/)
    assert.ok(json.details.retryAt > Date.now())
    assert.equal(noted('start').length, 4)
    const again = await server.call('echo')
    assert.equal(again.json.details.reason, 'degraded')
    await listed()
    assert.equal(noted('start').length, 4, 'it is not tried for each call')
    set(false)
    await until(
      () => server.notifications('notifications/tools/list_changed').length > 0,
      'its return',
      10_000
    )
    assert.ok((await listed()).includes('echo'))
    assert.equal((await server.call('echo')).isError, false)
    assert.equal(noted('start').length, 5, 'the server that was started serves the session')
  })

  test('makes POST /api/sessions fail as long as /health reports it', async (t) => {
    const { noted, args, set } = failing(['--upstream-restart-window', '3000'])
    const server = await startHttpServer(t, args, {
      browser: false,
      env: { TROUPE_AUTH_TOKEN: 'correct-horse' }
    })
    const ask = server.program()
    const statuses = async () => [
      (await fetch(server.at('/health'))).status,
      (await ask('POST', '/sessions')).status
    ]
    assert.deepEqual(await statuses(), [200, 201])
    set(true)
    const { json } = await ask('POST', '/requests', { tool: 'echo' })
    assert.equal(json.error, 'UPSTREAM_UNAVAILABLE', JSON.stringify(json))
    assert.deepEqual(await statuses(), [503, 503])
    const refused = await ask('POST', '/sessions')
    assert.deepEqual([refused.status, refused.json.error], [503, 'UPSTREAM_UNAVAILABLE'])
    const before = noted('start').length
    await ask('POST', '/sessions')
    assert.equal(noted('start').length, before, 'it is not tried for each request')
    set(false)
    await until(
      async () => (await fetch(server.at('/health'))).status === 200,
      'its return',
      10_000
    )
    assert.deepEqual(await statuses(), [200, 201])
  })

  test('waits longer before each further attempt', async (t) => {
    const { noted, args, set } = failing(['--upstream-restart-pause', '150'])
    const server = await startServer(t, args, { browser: false })
    assert.equal((await server.call('echo')).isError, false)
    set(true)
    const before = noted('start').length
    const begun = performance.now()
    await server.call('die')
    assert.equal((await server.call('echo')).json.details.reason, 'degraded')
    assert.equal(noted('start').length, before + 3)
    assert.ok(performance.now() - begun > 150 + 300 + 600)
  })
})

test('a process that ends leaves no zombie behind', async (t) => {
  const { server } = await startWithScriptedUpstream(t)
  const sessionId = await server.createSession()
  const child = JSON.parse((await server.call('start_child', { sessionId })).text).pid
  const below = [await pidOf(server, { sessionId }), child].map((pid) => readProcess(pid))
  await server.call('die', { sessionId })
  await server.call('echo', { sessionId })
  assert.deepEqual(
    below.filter((process) => process && isAlive(process)),
    [],
    'what it had started ends with it'
  )
})
