// --browser-endpoint: a browser that another program has started and that outlives the server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { descendants, isAlive } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { freePort } from '../support/ports.mjs'
import { startBrowser } from '../support/running-browser.mjs'
import { startSite } from '../support/site.mjs'
import { until, within } from '../support/wait.mjs'

const attach = (t, endpoint) => startServer(t, ['--browser-endpoint', endpoint], { browser: false })

describe('attached to a running browser', { skip: process.platform !== 'linux' }, () => {
  for (const kind of /** @type {const} */ (['http', 'ws'])) {
    test(
      `by ${kind}, sessions are new contexts in it, and it keeps running after the server`,
      { timeout: 30_000 },
      async (t) => {
        const [site, browser] = [await startSite(t), await startBrowser(t)]
        const server = await attach(t, browser[kind])
        const [one, two] = [await server.createSession(), await server.createSession()]
        await server.ok('navigate', { sessionId: one, url: site.url('/set-cookie?who=one') })
        await server.ok('navigate', { sessionId: two, url: site.url('/cookies') })
        assert.equal(
          (await server.ok('evaluate', { sessionId: two, script: 'out.textContent' })).value,
          ''
        )
        await server.ok('navigate', { sessionId: one, url: site.url('/form') })
        await server.ok('type', { sessionId: one, selector: '#name', text: 'Ada' })
        assert.equal(
          (await server.ok('click', { sessionId: one, selector: '#send' })).page.title,
          'Echo'
        )
        assert.deepEqual(
          descendants(/** @type {number} */ (server.child.pid)),
          [],
          'no browser of its own'
        )
        assert.equal(
          (await browser.pages()).filter(({ url }) => url.startsWith(site.origin)).length,
          2
        )

        assert.deepEqual(await server.end(), { code: 0, signal: null })
        assert.ok(browser.process && isAlive(browser.process))
        await until(
          async () => (await browser.pages()).every(({ url }) => url === 'about:blank'),
          'the end of its pages',
          3000
        )
        assert.equal(
          (await browser.pages()).length,
          1,
          'the page that was there before is there still'
        )
      }
    )
  }

  test(
    'and killed, the server leaves the browser running, and another server can attach',
    { timeout: 30_000 },
    async (t) => {
      const browser = await startBrowser(t)
      const first = await attach(t, browser.http)
      await first.ok('navigate', { url: 'data:text/html,<title>First</title>' })
      first.child.kill('SIGKILL')
      await first.exit
      assert.ok(browser.process && isAlive(browser.process))
      const second = await attach(t, browser.http)
      assert.equal(
        (await second.ok('navigate', { url: 'data:text/html,<title>Second</title>' })).title,
        'Second'
      )
    }
  )

  test(
    'the crash of the browser is reported by the running call and by the next one',
    { timeout: 30_000 },
    async (t) => {
      const browser = await startBrowser(t)
      const server = await attach(t, browser.http)
      await server.ok('navigate', { url: 'about:blank' })
      const call = server.call('evaluate', { script: 'new Promise(() => {})' })
      await server.request('ping')
      browser.child.kill('SIGKILL')
      const { json, text } = await within(call, 'the answer to the call', 5000)
      assert.equal(json?.errorCode, 'BROWSER_CRASHED', text)
      const next = await server.call('navigate', { url: 'about:blank' })
      assert.equal(next.json.errorCode, 'BROWSER_ERROR', next.text)
      assert.match(next.json.message, /no browser responds at `http/)
    }
  )

  test(
    'if no browser responds, page tools report that and how to start one',
    { timeout: 30_000 },
    async (t) => {
      const endpoint = `http://127.0.0.1:${await freePort()}`
      for (const given of [endpoint, endpoint.replace('http', 'ws')]) {
        const server = await attach(t, given)
        const { json, text, ms } = await server.call('navigate', { url: 'about:blank' })
        assert.equal(json.errorCode, 'BROWSER_ERROR', text)
        assert.ok(json.message.includes(`\`${given}\``), text)
        assert.match(json.suggestion, /--remote-debugging-port/)
        assert.ok(ms < 3000, `${ms} ms`)
      }
    }
  )

  test('a server that is not a browser is reported', { timeout: 30_000 }, async (t) => {
    const site = await startSite(t)
    const server = await attach(t, site.origin)
    const { json, text } = await server.call('navigate', { url: 'about:blank' })
    assert.equal(json.errorCode, 'BROWSER_ERROR', text)
    assert.ok(json.message.includes(site.origin), text)
  })
})
