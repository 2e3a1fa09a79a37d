// An upstream server over HTTP for each conversation, with its own port.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { awaitProcessesEnded, isAlive, readProcess } from '../support/processes.mjs'
import { QUICK, scripted, startWithScriptedUpstream, until, callWho } from './upstream.mjs'

const HTTP = [...QUICK, '--upstream-transport', 'http']
const portOf = (sessionId) =>
  20000 + (parseInt(createHash('sha256').update(sessionId).digest('hex').slice(0, 4), 16) % 20000)

describe('an upstream server over HTTP', { timeout: 60_000 }, () => {
  test('has the port of its session, and the same features as over stdio', async (t) => {
    const { server, noted } = await startWithScriptedUpstream(t, { args: HTTP })
    const { session, port, pid } = await callWho(server)
    assert.equal(Number(port), portOf(session))
    const meta = { _meta: { progressToken: 1 } }
    await server.request('tools/call', { name: 'step', arguments: { of: 3 }, ...meta })
    assert.equal(server.notifications('notifications/progress').at(-1).progress, 3)
    const id = server.nextId()
    server.send({ id, method: 'tools/call', params: { name: 'wait', arguments: {} } })
    await until(() => noted('tools/call', { tool: 'wait' }).length === 1, 'the call')
    server.notify('notifications/cancelled', { requestId: id })
    await until(() => noted('notifications/cancelled').length === 1, 'the cancellation')
    const {
      meta: { refId }
    } = await server.call('browser_navigate', { url: 'http://a/' })
    assert.match(await server.ok('get_content', { refId }), /http:\/\/a\//)
    const broken = await server.call('die')
    assert.equal(broken.json.errorCode, 'UPSTREAM_UNAVAILABLE')
    const again = await callWho(server)
    assert.notEqual(again.pid, pid)
    assert.equal(again.port, port)
    assert.equal((await server.call('hang')).json.errorCode, 'UPSTREAM_UNAVAILABLE')
    assert.equal((await server.call('echo', { a: 1 })).json.a, 1)
    const sessionId = await server.createSession()
    await callWho(server, { sessionId })
    await server.ok('close_session', { sessionId })
    assert.equal(noted('DELETE').length, 1)
  })

  test('has the next free port if the port of its session is taken', async (t) => {
    const { server } = await startWithScriptedUpstream(t, { args: HTTP })
    const sessionId = await server.createSession()
    const taken = createServer((_, response) => void response.end('not yours'))
    t.after(() => taken.close())
    taken.listen(portOf(sessionId), '127.0.0.1')
    await once(taken, 'listening')
    assert.equal(Number((await callWho(server, { sessionId })).port), portOf(sessionId) + 1)
  })
})

describe('an upstream server for each conversation', { timeout: 120_000 }, () => {
  const startFront = async (t, args = []) => {
    const journal = scripted()
    const server = await startHttpServer(
      t,
      [...journal.args, '--upstream-transport', 'http', ...args],
      { browser: false }
    )
    return { server, ...journal }
  }

  test('two conversations have different ids, servers and ports', async (t) => {
    const { server } = await startFront(t)
    const [one, two] = await Promise.all([server.connect(), server.connect()])
    assert.notEqual(one.sessionId, two.sessionId)
    const [first, second] = await Promise.all([callWho(one), callWho(two)])
    assert.notEqual(first.pid, second.pid)
    assert.notEqual(first.port, second.port)
    assert.deepEqual(
      [first.port, second.port].map(Number),
      [first.session, second.session].map(portOf)
    )
  })

  test('the server of an idle conversation ends after the timeout, the other keeps running', async (t) => {
    const { server } = await startFront(t, ['--idle-timeout', '600'])
    const [one, two] = await Promise.all([server.connect(), server.connect()])
    // The first client sends nothing more. The second keeps its stream open.
    const { pid } = await callWho(one)
    const left = performance.now()
    const process = readProcess(pid)
    const stop = new AbortController()
    t.after(() => stop.abort())
    await two.fetch('GET', { signal: stop.signal, headers: { accept: 'text/event-stream' } })
    const other = await callWho(two)
    assert.ok(process)
    await awaitProcessesEnded([process])
    assert.ok(performance.now() - left > 400, 'it is kept for a while')
    assert.equal((await callWho(two)).pid, other.pid)
    // The returning client continues its session with another server.
    const { result } = await one.call('who')
    assert.notEqual(JSON.parse(result.content[0].text).pid, pid)
    assert.match(result.content[1].text, /suspended.*resumed/)
    const second = await callWho(two)
    await two.fetch('DELETE')
    await until(() => !readProcess(second.pid), 'the end with DELETE')
  })

  test('a hundred conversations at once share no port', async (t) => {
    const { server } = await startFront(t, ['--max-sessions', '100'])
    const clients = await Promise.all(Array.from({ length: 100 }, () => server.connect()))
    const servers = await Promise.all(clients.map((client) => callWho(client)))
    assert.equal(new Set(servers.map(({ port }) => port)).size, clients.length)
    assert.equal(new Set(servers.map(({ pid }) => pid)).size, clients.length)
    const processes = servers.map(({ pid }) => readProcess(pid))
    assert.ok(processes.every((process) => process && isAlive(process)))
  })
})
