// The lifetime of sessions, and the limit of sessions, with a clock that the test advances.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { failure, inMemoryManager } from '../support/managers.mjs'

/**
 * @param {any} manager
 * @param {string} id the code of the error that a call to the session would get; undefined where it
 *   lives
 */
const errorCode = (manager, id) => manager.validateSession(id).error?.errorCode

describe('a session', { timeout: 30_000 }, () => {
  test('with fixed expiry ends at its time, regardless of its calls', async () => {
    const { manager, advance, call } = inMemoryManager({
      sessionTimeout: 1000,
      sessionExpiry: 'fixed'
    })
    const { sessionId } = await manager.createSession()
    advance(999)
    assert.ok((await call('navigate', { sessionId, url: 'http://a.test/' })).ok)
    advance(1)
    assert.equal(errorCode(manager, sessionId), 'SESSION_EXPIRED')
    assert.equal(
      (await call('navigate', { sessionId, url: 'http://a.test/' })).error.errorCode,
      'SESSION_EXPIRED'
    )
    await manager.shutdown()
  })

  test('without an option is renewed by each call to it, and only by those', async () => {
    const { manager, advance, call } = inMemoryManager({ sessionTimeout: 1000 })
    const [used, unused] = [await manager.createSession(), await manager.createSession()]
    let now = used.createdAt
    for (let times = 0; times < 3; times++) {
      advance(900)
      now += 900
      assert.ok((await call('navigate', { sessionId: used.sessionId, url: 'http://a.test/' })).ok)
      const { sessions } = (await call('list_sessions', {})).ok
      const listed = sessions.find(({ sessionId }) => sessionId === used.sessionId)
      assert.deepEqual(
        [listed.createdAt, listed.expiresAt, used.expiresAt],
        [used.createdAt, now + 1000, now + 1000]
      )
    }
    assert.equal(errorCode(manager, used.sessionId), undefined)
    assert.equal(errorCode(manager, unused.sessionId), 'SESSION_EXPIRED')
    advance(1000)
    assert.equal(errorCode(manager, used.sessionId), 'SESSION_EXPIRED')
    await manager.shutdown()
  })

  test('is remembered as expired for an hour, and then unknown', async () => {
    const { manager, advance } = inMemoryManager({ sessionTimeout: 1000 })
    const { sessionId } = await manager.createSession()
    advance(1000)
    // Its timer fires on another thread; from then on it is in no list.
    for (const end = Date.now() + 5000; manager.listSessions().length > 0;) {
      assert.ok(Date.now() < end, 'its timer did not fire')
      await new Promise((resolve) => setImmediate(resolve))
    }
    advance(3_600_000)
    assert.equal(errorCode(manager, sessionId), 'SESSION_EXPIRED')
    advance(1)
    assert.equal(errorCode(manager, sessionId), 'SESSION_NOT_FOUND')
    await manager.shutdown()
  })
})

describe('a call without sessionId', { timeout: 30_000 }, () => {
  test('uses the only open session of its connection, regardless of expired ones', async () => {
    const { manager, advance, call } = inMemoryManager({ sessionTimeout: 1000 })
    const created = async () => (await call('create_session', {})).ok.sessionId
    const current = () => call('pages', { action: 'list' })
    for (let number = 0; number < 2; number++) {
      const sessionId = await created()
      await call('navigate', { sessionId, url: `http://session-${number}.test/` })
      const { ok, error } = await current()
      assert.equal(ok?.pages[0].url, `http://session-${number}.test/`, error?.message)
      advance(1000)
      assert.equal((await current()).error.errorCode, 'SESSION_EXPIRED')
    }
    const alive = [await created(), await created()]
    assert.deepEqual((await current()).error.details.sessions, alive)
    await manager.shutdown()
  })
})

describe('with --queue-timeout', { timeout: 30_000 }, () => {
  test('a session over the limit waits for a free slot and gets it', async () => {
    const { manager } = inMemoryManager({ maxSessions: 1, queueTimeout: 10_000 })
    const first = await manager.createSession()
    const second = manager.createSession()
    await first.close()
    assert.notEqual((await second).sessionId, first.sessionId)
    await manager.shutdown()
  })

  test('one that gets no slot in that time fails with a retryable error', async () => {
    const { manager } = inMemoryManager({ maxSessions: 1, queueTimeout: 50 })
    await manager.createSession()
    const error = await failure(manager.createSession())
    assert.deepEqual([error.code, error.retryable], ['MAX_SESSIONS_REACHED', true])
    await manager.shutdown()
  })

  test('a resume that waits for a free slot delays no other resume', async () => {
    const { manager, advance, call } = inMemoryManager({
      maxSessions: 2,
      queueTimeout: 10_000,
      sessionTimeout: 1000
    })
    const { sessionId: waiting } = await manager.createSession()
    assert.ok((await call('navigate', { sessionId: waiting, url: 'http://a.test/' })).ok)
    advance(1000)
    const [used, other] = [await manager.createSession(), await manager.createSession()]
    let settled = false
    const resumed = [1, 2].map(() =>
      call('session_resume', { sessionId: waiting }).finally(() => (settled = true))
    )
    assert.equal((await call('session_resume', { sessionId: used.sessionId })).error, undefined)
    assert.equal(
      (await call('session_resume', { sessionId: randomUUID() })).error.errorCode,
      'SESSION_NOT_FOUND'
    )
    assert.equal(settled, false)
    // One slot is enough for both.
    await other.close()
    for (const { ok } of await Promise.all(resumed)) assert.equal(ok?.sessionId, waiting)
    await manager.shutdown()
  })
})
