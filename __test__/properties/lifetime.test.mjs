// Properties of sessions without a real browser: an in-memory engine, and a clock that the test
// advances.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inMemoryManager } from '../support/managers.mjs'
import { fc } from '../support/random.mjs'

const RUNS = { numRuns: 100 }
const UUID_V4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
/** The range of the option: from a millisecond to a hundred years. */
const timeouts = fc.oneof(
  fc.integer({ min: 1, max: 600_000 }),
  fc.integer({ min: 1, max: 3_155_760_000_000 })
)

test('Property 1: SessionId Uniqueness', async () => {
  const seen = new Set()
  let made = 0
  // How many are created at once, and whether they are closed again before the next ones.
  const steps = fc.array(
    fc.record({ atOnce: fc.integer({ min: 1, max: 8 }), close: fc.boolean() }),
    { minLength: 1, maxLength: 8 }
  )
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { manager } = inMemoryManager({ maxSessions: 100 })
      for (const { atOnce, close } of sequence) {
        const sessions = await Promise.all(
          Array.from({ length: atOnce }, () => manager.createSession())
        )
        for (const { sessionId } of sessions) {
          assert.match(sessionId, UUID_V4)
          seen.add(sessionId)
        }
        made += atOnce
        assert.equal(seen.size, made, 'a sessionId was issued twice')
        if (close) await Promise.all(sessions.map((session) => session.close()))
      }
      await manager.shutdown()
    }),
    RUNS
  )
})

test('Property 2: a session expires `sessionTimeout` after its creation', async () => {
  await fc.assert(
    fc.asyncProperty(
      timeouts,
      fc.array(fc.nat(1e9), { maxLength: 3 }),
      async (sessionTimeout, pauses) => {
        const { manager, advance, call } = inMemoryManager({ sessionTimeout })
        let now = (await manager.createSession()).createdAt
        for (const pause of [0, ...pauses]) {
          advance(pause)
          now += pause
          const answer = (await call('create_session', {})).ok
          const { createdAt, expiresAt } = manager.getSession(answer.sessionId)
          assert.equal(createdAt, now)
          assert.equal(expiresAt, createdAt + sessionTimeout)
          assert.equal(answer.expiresAt, expiresAt)
        }
        await manager.shutdown()
      }
    ),
    RUNS
  )
})

test('Property 3: Session Closure Removes SessionId', async () => {
  const closings = fc.array(fc.boolean(), { minLength: 1, maxLength: 10 })
  await fc.assert(
    fc.asyncProperty(closings, async (closed) => {
      const { manager } = inMemoryManager()
      const sessions = await Promise.all(closed.map(() => manager.createSession()))
      const toClose = sessions.filter((_, index) => closed[index])
      await Promise.all(toClose.map(({ sessionId }) => manager.closeSession(sessionId)))
      for (const { sessionId } of toClose) {
        assert.equal(manager.getSession(sessionId), null)
        assert.equal(manager.validateSession(sessionId).error.errorCode, 'SESSION_NOT_FOUND')
        await assert.rejects(manager.closeSession(sessionId), { code: 'SESSION_NOT_FOUND' })
      }
      const left = sessions
        .filter((session) => !toClose.includes(session))
        .map(({ sessionId }) => sessionId)
      assert.deepEqual(
        manager
          .listSessions()
          .map(({ sessionId }) => sessionId)
          .sort(),
        left.sort()
      )
      for (const id of left) assert.deepEqual(manager.validateSession(id), { valid: true })
      await manager.shutdown()
    }),
    RUNS
  )
})

test('Property 9: Session Timeout Configuration', async () => {
  await fc.assert(
    fc.asyncProperty(timeouts, async (sessionTimeout) => {
      const { manager, advance } = inMemoryManager({ sessionTimeout })
      const { sessionId } = await manager.createSession()
      advance(sessionTimeout - 1)
      assert.deepEqual(manager.validateSession(sessionId), { valid: true }, 'it ended too early')
      advance(1)
      assert.equal(
        manager.validateSession(sessionId).error?.errorCode,
        'SESSION_EXPIRED',
        'it outlived its time'
      )
      await manager.shutdown()
    }),
    RUNS
  )
})

test('Property 10: Max Sessions Configuration', async () => {
  const limits = fc.integer({ min: 1, max: 25 })
  await fc.assert(
    fc.asyncProperty(
      limits,
      fc.integer({ min: 1, max: 5 }),
      fc.nat(24),
      async (maxSessions, tooMany, closings) => {
        const { manager } = inMemoryManager({ maxSessions })
        const create = async (count) => {
          const outcomes = await Promise.allSettled(
            Array.from({ length: count }, () => manager.createSession())
          )
          return {
            sessions: outcomes.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])),
            failed: outcomes.flatMap((one) => (one.status === 'rejected' ? one.reason.code : []))
          }
        }
        const { sessions, failed } = await create(maxSessions + tooMany)
        assert.equal(sessions.length, maxSessions)
        assert.deepEqual(failed, Array(tooMany).fill('MAX_SESSIONS_REACHED'))
        // Each closed session frees exactly one slot.
        const freed = Math.min(closings, maxSessions)
        await Promise.all(sessions.slice(0, freed).map((session) => session.close()))
        assert.equal((await create(freed + 1)).sessions.length, freed)
        assert.equal(manager.listSessions().length, maxSessions)
        await manager.shutdown()
      }
    ),
    RUNS
  )
})
