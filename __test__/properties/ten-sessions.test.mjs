// Ten sessions on one site: none sees another's cookies, storage or cache.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

const READ = `async () => ({
  cookie: document.cookie,
  local: { ...localStorage },
  session: { ...sessionStorage },
  cached: await (await fetch('/kept')).text()
})`

describe('ten sessions', { timeout: 90_000 }, () => {
  test('have separate cookies, storage and cache', async (t) => {
    let served = 0
    const site = await startSite(t, {
      '/home': '<title>Home</title>',
      '/kept': (_request, response) =>
        response
          .writeHead(200, { 'cache-control': 'max-age=600' })
          .end(`served ${(served += 1)} times`)
    })
    const server = await startServer(t, ['--max-sessions', '10'])
    const sessions = await Promise.all(Array.from({ length: 10 }, () => server.createSession()))
    const write = (name) =>
      `document.cookie = 'who=${name}'; localStorage.who = '${name}'; sessionStorage.who = '${name}'`
    const cached = await Promise.all(
      sessions.map(async (sessionId, index) => {
        await server.ok('navigate', { sessionId, url: site.url('/home') })
        await server.ok('evaluate', { sessionId, script: write(`number ${index}`) })
        return (await server.ok('evaluate', { sessionId, script: READ })).value.cached
      })
    )
    assert.equal(served, 10)
    assert.equal(new Set(cached).size, 10)
    for (const [index, sessionId] of sessions.entries()) {
      const who = `number ${index}`
      const { cached: again, ...value } = (await server.ok('evaluate', { sessionId, script: READ }))
        .value
      assert.deepEqual(value, { cookie: `who=${who}`, local: { who }, session: { who } })
      // The session's own copy, or a response of the network if the cache is slow. Never that of
      // another session.
      assert.ok(
        again === cached[index] || !cached.includes(again),
        `${again} is of another session`
      )
    }
  })
})
