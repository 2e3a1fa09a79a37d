// Properties of concurrent sessions in a real browser.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startManager } from '../support/managers.mjs'
import { browsers } from '../support/processes.mjs'
import { fc } from '../support/random.mjs'
import { shared } from '../support/scope.mjs'
import { startSite } from '../support/site.mjs'

const RUNS = { numRuns: 100 }

describe('concurrent sessions', { timeout: 240_000 }, () => {
  const scope = shared()
  let manager
  let site

  before(async () => {
    manager = await startManager(scope)
    site = await startSite(scope)
  })

  test('Property 11: all sessions run in one browser process', async () => {
    const [browser, ...more] = browsers(process.pid)
    assert.deepEqual(more, [])
    // Mostly few, because each needs a new renderer process.
    const few = { weight: 24, arbitrary: fc.constant(1) }
    const many = { weight: 1, arbitrary: fc.integer({ min: 2, max: 6 }) }
    const counts = fc.oneof(few, many)
    await fc.assert(
      fc.asyncProperty(counts, async (count) => {
        const sessions = await Promise.all(
          Array.from({ length: count }, () => manager.createSession())
        )
        const now = browsers(process.pid).map(({ pid, started }) => ({ pid, started }))
        assert.deepEqual(now, [{ pid: browser.pid, started: browser.started }])
        await Promise.all(sessions.map((session) => session.close()))
      }),
      RUNS
    )
  })

  test('Property 12: Session Isolation', async () => {
    const sessions = await Promise.all([manager.createSession(), manager.createSession()])
    await Promise.all(sessions.map((session) => session.navigate(site.url('/storage'))))
    const read = (session) =>
      session.evaluate(
        `async () => ({
          cookie: document.cookie,
          sent: (await (await fetch('/cookies')).text()).match(/<pre id="out">(.*)<\\/pre>/s)[1],
          local: { ...localStorage },
          session: { ...sessionStorage }
        })`
      )
    const write = (session, { key, value, httpOnly }) =>
      session.evaluate(
        `async (key, value, httpOnly) => {
          if (httpOnly) await fetch('/set-cookie?' + new URLSearchParams({ [key]: value }))
          else document.cookie = key + '=' + encodeURIComponent(value) + '; path=/'
          localStorage.setItem(key, value)
          sessionStorage.setItem(key, value)
        }`,
        { args: [key, value, httpOnly] }
      )
    const clear = (session, { key }) =>
      session.evaluate(
        `async (key) => {
          await fetch('/forget-cookie?name=' + key)
          localStorage.clear()
          sessionStorage.clear()
        }`,
        { args: [key] }
      )
    const nothing = { cookie: '', sent: '', local: {}, session: {} }
    const items = fc.record({
      key: fc.stringMatching(/^[a-z][a-z0-9_-]{0,12}$/),
      value: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
      httpOnly: fc.boolean()
    })
    await fc.assert(
      fc.asyncProperty(fc.boolean(), items, items, async (swap, item, other) => {
        const [one, two] = swap ? [sessions[1], sessions[0]] : sessions
        await write(one, item)
        assert.deepEqual(
          (await read(two)).value,
          nothing,
          'what one session set is seen in the other'
        )
        // The other session may have another value for the same key.
        const same = { ...other, key: item.key }
        await write(two, same)
        for (const [session, { key, value, httpOnly }] of [
          [one, item],
          [two, same]
        ]) {
          const cookie = `${key}=${encodeURIComponent(value)}`
          const mine = {
            cookie: httpOnly ? '' : cookie,
            sent: cookie,
            local: { [key]: value },
            session: { [key]: value }
          }
          assert.deepEqual((await read(session)).value, mine)
        }
        await Promise.all([clear(one, item), clear(two, same)])
      }),
      RUNS
    )
  })
})
