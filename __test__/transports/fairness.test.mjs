// The calls that wait for a free session alternate between the clients.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { until } from '../support/wait.mjs'

const ARGUMENTS = ['--max-sessions', '1', '--queue-timeout', '60000']
/** The number of calls of the client with many calls. */
const MANY = 20
/** The call of the other client has its turn after at most this number of sessions. */
const SOON = 3

/**
 * Creates sessions as two clients, one of which has many calls. Closes each session as soon as it
 * is open. Returns the names of the clients in the order in which they got the first sessions.
 * @param {import('../support/http.mjs').HttpServer} server
 * @param {Record<'many' | 'one', () => Promise<string>>} create returns the session's id
 * @param {(sessionId: string) => Promise<unknown>} close
 */
async function order(server, create, close) {
  /** @type {string[]} */
  const served = []
  /** @type {string[]} */
  const open = [await create.one()]
  /** @param {'many' | 'one'} name */
  const begin = async (name) => {
    const sessionId = await create[name]()
    served.push(name)
    open.push(sessionId)
  }
  const calls = Array.from({ length: MANY }, () => begin('many'))
  await until(async () => (await server.metric('session_queue')) === MANY, 'the calls that wait')
  calls.push(begin('one'))
  await until(
    async () => (await server.metric('session_queue')) === MANY + 1,
    'the call of the other client'
  )
  for (let count = 0; count < SOON; count++) {
    await close(String(open.shift()))
    await until(() => open.length > 0, 'the next session')
    assert.equal(await server.metric('session_queue'), MANY - count)
  }
  const first = [...served]
  for (let count = SOON; count <= MANY; count++) {
    await close(String(open.shift()))
    await until(() => open.length > 0, 'the next session')
  }
  await Promise.all(calls)
  return first
}

describe('calls that wait for a free session', { timeout: 60_000 }, () => {
  test('of a client with one call are not delayed by those of a client with many', async (t) => {
    const server = await startHttpServer(t, ARGUMENTS)
    const [many, one] = [await server.connect(), await server.connect()]
    const first = await order(
      server,
      { many: () => many.createSession(), one: () => one.createSession() },
      (sessionId) => one.ok('close_session', { sessionId })
    )
    assert.deepEqual(first.toSorted(), ['many', 'many', 'one'])
  })

  test('of a client with one call are not delayed by those of a program with the JSON API', async (t) => {
    const server = await startHttpServer(t, ARGUMENTS)
    const [program, one] = [server.program(), await server.connect()]
    const create = async () => {
      const { status, json, text } = await program('POST', '/sessions')
      assert.equal(status, 201, text)
      return json.session_id
    }
    const first = await order(
      server,
      { many: create, one: () => one.createSession() },
      (sessionId) => program('DELETE', `/sessions/${sessionId}`)
    )
    assert.deepEqual(first.toSorted(), ['many', 'many', 'one'])
  })
})
