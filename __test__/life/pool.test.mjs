// The configured number of browsers, contexts created in advance, and a machine without free
// memory.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { awaitProcessesEnded, browsers } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

/**
 * Sets a cookie in each session, then reads it again in each.
 * @param {any} server
 * @param {any} site
 * @param {string[]} sessions
 */
async function checkApart(server, site, sessions) {
  await Promise.all(
    sessions.map((sessionId) =>
      server.ok('navigate', { sessionId, url: site.url(`/set-cookie?whose=${sessionId}`) })
    )
  )
  for (const sessionId of sessions) {
    await server.ok('navigate', { sessionId, url: site.url('/cookies') })
    assert.equal(
      (await server.ok('get_text', { sessionId, selector: '#out' })).text,
      `whose=${sessionId}`
    )
  }
}

const creating = (server, count) =>
  Promise.all(Array.from({ length: count }, () => server.createSession()))

describe('several browsers', { timeout: 60_000 }, () => {
  const running = (server) => browsers(server.child.pid)

  test('are started up to the maximum, each session in the one with the fewest, and closed again down to the minimum', async (t) => {
    const site = await startSite(t)
    const server = await startServer(t, [
      '--pool-min-browsers',
      '2',
      '--pool-max-browsers',
      '3',
      '--pool-idle-timeout',
      '300'
    ])
    await until(() => running(server).length === 2, 'the least')
    const sessions = await creating(server, 6)
    assert.equal(running(server).length, 3)
    await checkApart(server, site, sessions)
    await Promise.all(sessions.map((sessionId) => server.ok('close_session', { sessionId })))
    await until(() => running(server).length === 2, 'the end of what is idle')
    assert.equal((await server.ok('evaluate', { script: '6 * 7' })).value, 42)
  })

  test('crash independently: sessions in the others are not affected', async (t) => {
    const server = await startServer(t, ['--pool-min-browsers', '2', '--pool-max-browsers', '2'])
    const sessions = await creating(server, 2)
    const mark = (sessionId) => server.ok('evaluate', { sessionId, script: 'globalThis.mark = 1' })
    await Promise.all(sessions.map(mark))
    const [browser] = running(server)
    process.kill(browser.pid, 'SIGKILL')
    await awaitProcessesEnded([browser])
    const left = async () => {
      const answers = await Promise.all(
        sessions.map((sessionId) =>
          server.call('evaluate', { sessionId, script: 'globalThis.mark ?? 0' })
        )
      )
      const values = answers.map(({ json }) => json.value)
      // The call that is running at the crash gets an error.
      return values.every((value) => value !== undefined) && values
    }
    assert.deepEqual((await until(left, 'both sessions')).sort(), [0, 1])
    await until(() => running(server).length === 2, 'the next browser')
  })
})

describe('contexts created in advance', { timeout: 60_000 }, () => {
  const taken = (server) =>
    server.stderr().split('the session uses a context that was created in advance').length - 1

  test('are used by new sessions: with an empty page, and without data of other sessions', async (t) => {
    const site = await startSite(t)
    const server = await startServer(t, ['--warm-contexts', '2', '--log-level', 'debug'])
    const first = await server.createSession()
    const { sessions } = await server.ok('list_sessions', { state: 'active' })
    assert.deepEqual(
      sessions.map(({ pages }) => pages),
      [[{ pageId: 'page-1', url: 'about:blank' }]]
    )
    await checkApart(server, site, [first, ...(await creating(server, 5))])
    // Sequential sessions each use a context that was created in advance.
    await until(async () => {
      const before = taken(server)
      const sessionId = await server.createSession()
      const isTaken = taken(server) > before
      await server.ok('close_session', { sessionId })
      return isTaken
    }, 'one that is ready')
  })

  test('are not used by sessions with options, and end with their browser', async (t) => {
    const server = await startServer(t, ['--warm-contexts', '1', '--log-level', 'debug'])
    await server.createSession()
    const before = taken(server)
    const { sessionId } = await server.ok('create_session', { locale: 'de-DE' })
    assert.equal(
      (await server.ok('evaluate', { sessionId, script: 'navigator.language' })).value,
      'de-DE'
    )
    assert.equal(taken(server), before)
    const [browser] = browsers(server.child.pid)
    process.kill(browser.pid, 'SIGKILL')
    await awaitProcessesEnded([browser])
    const next = await server.createSession()
    assert.equal((await server.ok('evaluate', { sessionId: next, script: '6 * 7' })).value, 42)
  })
})

describe(
  'without memory',
  {
    timeout: 30_000,
    skip: process.platform !== 'linux' && 'the remaining processes are listed on Linux only'
  },
  () => {
    const SHORT = ['--min-free-memory', '1000000GiB']

    test('no session is created, and the error has the free memory and a suggestion', async (t) => {
      const server = await startServer(t, SHORT)
      for (const [tool, args] of /** @type {const} */ ([
        ['create_session', {}],
        ['navigate', { url: 'about:blank' }]
      ])) {
        const { json, text } = await server.call(tool, args)
        assert.equal(json.errorCode, 'RESOURCE_EXHAUSTED', text)
        assert.equal(json.retryable, true)
        assert.ok(
          json.details.availableMemory > 0 &&
            json.details.availableMemory < json.details.minFreeMemory
        )
        assert.match(json.suggestion, /close_session/)
      }
    })

    test('creation waits for memory as long as for a free slot', async (t) => {
      const server = await startServer(t, [...SHORT, '--queue-timeout', '400'])
      const begun = performance.now()
      assert.equal((await server.call('create_session')).json.errorCode, 'RESOURCE_EXHAUSTED')
      assert.ok(performance.now() - begun >= 400)
    })
  }
)
