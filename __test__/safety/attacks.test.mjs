// A page that tries to reach a forbidden host by every method that pages have. No attempt succeeds,
// and the log names each.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { startAttackSite, startInternet, ATTACK_SCRIPTS } from '../support/attacks.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { until } from '../support/wait.mjs'

const NAMES = Object.keys(ATTACK_SCRIPTS)
/**
 * Does not wait for the load event: some requests of the page never finish.
 * @param {any} server
 * @param {string} url
 */
const go = (server, url) => server.ok('navigate', { url, waitUntil: 'domcontentloaded' })

/**
 * Minimum number of attacks that reach an allowed host. With fewer, the page would not test what it
 * should.
 */
const MIN_ATTACKS = BROWSER === 'firefox' ? 32 : 38

describe('a malicious page', { timeout: 240_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startAttackSite>>} */
  let site
  /** Ways that reach an open host with this browser. @type {string[]} */
  let working

  /**
   * The attack page of `from` on hosts below `domain`.
   * @param {string} from
   * @param {string} domain
   * @param {string[]} [ways]
   */
  const attack = (from, domain, ways = NAMES) => {
    const query = new URLSearchParams({ to: `http://WAY.${domain}:${site.port}` })
    for (const way of ways) query.append('way', way)
    return `${from}/attack?${query}`
  }
  /** Returns the ways that have reached hosts below `domain`. @param {string} domain */
  const waysThatReached = (domain) =>
    NAMES.filter((way) => site.reached.some((at) => at.startsWith(`${way}.${domain}:`)))

  /**
   * Waits until the log names each of `ways`, and checks that none has reached its host.
   * @param {any} server
   * @param {string} domain
   * @param {string[]} ways
   * @param {string} rule
   */
  async function assertNoRequestArrives(server, domain, ways, rule) {
    const named = () =>
      ways.filter(
        (way) =>
          !new RegExp(`blocked by policy.*${way}\\.${domain}:${site.port}.*${rule}`).test(
            server.stderr()
          )
      )
    await until(
      () => named().length === 0,
      () => `log lines of ${named()}`,
      30_000
    )
    assert.deepEqual(waysThatReached(domain), [])
  }

  before(async () => {
    site = await startAttackSite(scope)
    const server = await startServer(scope, ['--max-sessions', '4'])
    await go(server, attack(`http://127.0.0.1:${site.port}`, 'open.localhost'))
    const missing = () => NAMES.filter((way) => !waysThatReached('open.localhost').includes(way))
    await until(
      () => NAMES.length - missing().length >= MIN_ATTACKS,
      () => `${MIN_ATTACKS} ways to an allowed host, without ${missing()}`,
      30_000
    )
    working = waysThatReached('open.localhost')
  })

  test('cannot reach blocked domains', async (t) => {
    const server = await startServer(t, ['--blocked-domains', '*.blocked.localhost'])
    await go(server, attack(`http://127.0.0.1:${site.port}`, 'blocked.localhost'))
    await assertNoRequestArrives(server, 'blocked.localhost', working, 'blockedDomains')
    const { requests } = await server.ok('get_request_log', { filter: 'image.blocked.localhost' })
    assert.match(
      JSON.stringify(requests),
      /image\.blocked\.localhost.*policy: blockedDomains/,
      'so does the log of requests'
    )
  })

  test('can reach only allowed domains', async (t) => {
    const server = await startServer(t, ['--allowed-domains', '127.0.0.1'])
    await go(server, attack(`http://127.0.0.1:${site.port}`, 'else.localhost'))
    await assertNoRequestArrives(server, 'else.localhost', working, 'allowedDomains')
  })

  describe('from the internet', () => {
    const far = () => `http://public.example`

    test('cannot reach private addresses', async (t) => {
      const internet = await startInternet(t, site.port)
      const server = await startServer(t, ['--proxy-server', `http://127.0.0.1:${internet.port}`])
      await go(server, attack(far(), 'never.localhost'))
      const ways = working.filter((way) => way !== 'service-worker')
      await assertNoRequestArrives(server, 'never.localhost', ways, 'privateNetwork')
    })

    test('cannot reach private addresses that the client has navigated to', async (t) => {
      const internet = await startInternet(t, site.port)
      const server = await startServer(t, ['--proxy-server', `http://127.0.0.1:${internet.port}`])
      const own = `http://127.0.0.1:${site.port}`
      await go(server, attack(own, 'before.localhost', ['fetch', 'image']))
      await until(
        () => waysThatReached('before.localhost').length === 2,
        'a private page reaches private hosts'
      )
      await server.ok('pages', { action: 'new', url: attack(far(), 'mixed.localhost') })
      // Shared workers do not run there, and early connections send no request.
      const silent = ['service-worker', 'shared-worker', 'preconnect']
      await assertNoRequestArrives(
        server,
        'mixed.localhost',
        working.filter((way) => !silent.includes(way)),
        'privateNetwork'
      )
      await server.ok('pages', { action: 'select', pageId: 'page-1' })
      await go(
        server,
        attack(own, 'after.localhost', [
          'fetch',
          'image',
          'websocket',
          'iframe',
          'redirect-fetch',
          'worker'
        ])
      )
      await until(
        () => waysThatReached('after.localhost').length === 6,
        () => `six ways from a private page, not only ${waysThatReached('after.localhost')}`
      )
    })
  })
})
