// Calls of one session run in the order in which they were sent, those of different sessions
// concurrently, and a canceled one stops.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { isPending, until, within } from '../support/wait.mjs'

describe('pipelined calls', { timeout: 60_000 }, () => {
  const { server, site } = startShared()

  /** A new session, at a page. @param {string} [path] */
  async function sessionAt(path = '/') {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url(path) })
    return sessionId
  }

  test('400 calls to one session run in order, and each sees the effects of the one before', async () => {
    const sessionId = await sessionAt()
    await server.ok('evaluate', { sessionId, script: 'window.list = []' })
    const ids = Array.from({ length: 400 }, (_, index) => index)
    const answers = await Promise.all(
      ids.map((index) =>
        server.ok('evaluate', { sessionId, script: `list.push(${index}) && list.length` })
      )
    )
    assert.deepEqual(
      answers.map(({ value }) => value),
      ids.map((index) => index + 1)
    )
    assert.deepEqual((await server.ok('evaluate', { sessionId, script: 'list' })).value, ids)
  })

  test('400 calls of a connection without a session all use the session that the first one creates', async (t) => {
    const own = await startServer(t)
    const ids = Array.from({ length: 400 }, (_, index) => index)
    const script = (index) => `(globalThis.list ??= []).push(${index}) && list.length`
    const answers = await Promise.all(
      ids.map((index) => own.ok('evaluate', { script: script(index) }))
    )
    assert.deepEqual(
      answers.map(({ value }) => value),
      ids.map((index) => index + 1)
    )
    assert.equal((await own.ok('list_sessions')).sessions.length, 1)
  })

  test('calls of different tools to one session also keep their order', async () => {
    const sessionId = await sessionAt('/form')
    const letters = [...'abcdefgh']
    const calls = letters.flatMap((letter) => [
      server.ok('type', { sessionId, selector: '#name', text: letter }),
      server.ok('evaluate', { sessionId, script: 'document.getElementById("name").value' })
    ])
    const values = (await Promise.all(calls))
      .filter((_, index) => index % 2 === 1)
      .map(({ value }) => value)
    assert.deepEqual(
      values,
      letters.map((_, index) => letters.slice(0, index + 1).join(''))
    )
  })

  test('an invalid call and an unknown tool between them do not change the order', async () => {
    const sessionId = await sessionAt()
    const [first, unknown, bad, last] = await Promise.all([
      server.call('evaluate', { sessionId, script: 'window.step = 1' }),
      server.call('fly', {}),
      server.call('evaluate', { sessionId }),
      server.call('evaluate', { sessionId, script: 'step + 1' })
    ])
    assert.equal(first.json.value, 1)
    assert.equal(unknown.error.code, -32602)
    assert.equal(bad.json.errorCode, 'INVALID_PARAMETERS')
    assert.equal(last.json.value, 2)
  })

  test('a slow call in a session does not delay another session', async () => {
    const [slow, quick] = [await sessionAt(), await sessionAt('/form')]
    const page = site.hold('/form')
    const navigation = server.call('navigate', { sessionId: slow, url: site.url('/form') })
    await within(page.requested, 'the request of the slow navigation')
    // A later call in the same session waits; one in another session does not.
    const behind = server.call('evaluate', { sessionId: slow, script: 'document.title' })
    for (let round = 0; round < 5; round++) {
      assert.equal(
        (await server.ok('evaluate', { sessionId: quick, script: 'document.title' })).value,
        'Form'
      )
    }
    assert.ok(await isPending(navigation))
    assert.ok(await isPending(behind))
    page.release()
    assert.equal((await navigation).json.title, 'Form')
    assert.equal((await behind).json.value, 'Form')
  })

  test('a busy script in a session does not delay another session', async () => {
    const [busy, quick] = [await sessionAt(), await sessionAt()]
    const held = site.hold('/held')
    // A synchronous request blocks the page until its response arrives.
    const script = `const request = new XMLHttpRequest()
      request.open('GET', '/held', false); request.send(); 'done'`
    const working = server.call('evaluate', { sessionId: busy, script })
    await within(held.requested, 'the script')
    const { ms, json } = await server.call('evaluate', { sessionId: quick, script: '6 * 7' })
    assert.equal(json.value, 42)
    assert.ok(await isPending(working), `the other session answered only after ${ms} ms`)
    held.release()
    assert.equal((await working).json.value, 'done')
  })

  test('a session can be created while another one is busy', async () => {
    const busy = await sessionAt()
    const working = server.call('evaluate', {
      sessionId: busy,
      script: 'new Promise((done) => { window.done = done })'
    })
    const sessionId = await within(server.createSession(), 'a new session', 10_000)
    assert.ok(await isPending(working))
    await server.ok('close_session', { sessionId })
    await server.ok('close_session', { sessionId: busy })
    assert.equal((await working).json.errorCode, 'SESSION_NOT_FOUND')
  })
})

describe('a canceled call', { timeout: 60_000 }, () => {
  const { server, site } = startShared()

  const cancel = (requestId) =>
    server.notify('notifications/cancelled', { requestId, reason: 'no longer wanted' })

  for (const [what, prepare, call] of /** @type {const} */ ([
    ['a click that waits for its element', '/', ['click', { selector: '#never', timeout: 60_000 }]],
    ['a script that never yields', '/', ['evaluate', { script: 'for (;;) ;' }]],
    ['a script that never ends', '/', ['evaluate', { script: 'new Promise(() => {})' }]],
    ['a navigation that is never answered', '/', ['navigate', { url: '/hang', timeout: 60_000 }]],
    ['a slow typing', '/form', ['type', { selector: '#name', text: 'abc', delay: 20_000 }]]
  ])) {
    test(`${what} stops at once, and the next call works`, async (t) => {
      const server = await startServer(t)
      await server.ok('navigate', { url: site.url(prepare) })
      const [tool, args] = call
      const id = `cancelled ${what}`
      const url = 'url' in args ? { url: site.url(args.url) } : {}
      server.call(tool, { ...args, ...url }, { id }).catch(() => null)
      const behind = server.call('evaluate', { script: '"behind"' })
      behind.catch(() => null)
      // So that it is running when it is canceled.
      if ('url' in args)
        await until(() => site.requests.some(({ path }) => path === '/hang'), 'the request')
      for (let round = 0; round < 20; round++)
        assert.deepEqual((await server.request('ping')).result, {})
      assert.ok(await isPending(behind))
      const begun = performance.now()
      server.notify('notifications/cancelled', { requestId: id, reason: 'no longer wanted' })
      const { json, text } = await within(behind, 'the call behind the cancelled one', 5000)
      assert.equal(json.value, 'behind', text)
      assert.ok(performance.now() - begun < 1000, `it took ${performance.now() - begun} ms`)
      // MCP requires no response to a canceled request. An error is harmless, a result is not.
      const answer = server.received.find((message) => message.id === id)
      assert.ok(!answer?.result, JSON.stringify(answer))
    })
  }

  test('that waits for another call of its session never runs', async () => {
    await server.ok('navigate', { url: site.url('/') })
    const first = server.call('evaluate', {
      script: 'new Promise((done) => setTimeout(done, 300))'
    })
    server
      .call('evaluate', { script: 'window.ran = true' }, { id: 'queued', timeout: 100 })
      .catch(() => null)
    cancel('queued')
    await first
    assert.equal((await server.ok('evaluate', { script: 'window.ran ?? false' })).value, false)
  })

  test('that is unknown or has ended is ignored', async () => {
    cancel('never sent')
    cancel(1)
    server.notify('notifications/cancelled')
    server.notify('notifications/cancelled', {})
    assert.equal((await server.ok('evaluate', { script: '1' })).value, 1)
  })
})
