// The arguments of the Node library's methods, and the errors for wrong arguments.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { BROWSER_CONFIG } from '../support/browser.mjs'
import {
  SessionManager,
  TroupeError,
  failure,
  inMemoryManager,
  startManager
} from '../support/managers.mjs'
import { sizeOf } from '../support/pictures.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startSite } from '../support/site.mjs'

describe('methods called with invalid arguments', () => {
  const calls = /** @type {const} */ ([
    [
      'click',
      [],
      /`selector` or `position` is missing/,
      /session\.click\(selector\?, options\?: \{ position\?, button\?, clickCount\?, .*pageId\? \}\)/
    ],
    ['click', [() => {}], /./, /session\.click\(selector\?, /],
    ['click', ['#a', 5], /./, /session\.click\(selector\?, /],
    ['click', ['#a', {}, {}], /3 arguments/, /session\.click\(selector\?, /],
    ['click', ['#a', { tmeout: 5 }], /tmeout.*timeout/, /session\.click\(selector\?, /],
    ['click', [/a/], /./, /session\.click\(selector\?, /],
    [
      'dragAndDrop',
      ['#a'],
      /`target` or `targetPosition` is missing/,
      /session\.dragAndDrop\(source\?, target\?, options\?: \{ sourcePosition\?, /
    ],
    ['type', ['#a'], /`text` is missing/, /session\.type\(selector, text, options\?: /],
    ['getText', [5], /./, /session\.getText\(selector\?, options\?: \{ pageId\? \}\)/],
    ['screenshot', ['a.png'], /./, /session\.screenshot\(options\?: \{ fullPage\?, /],
    ['restoreState', [], /`state` is missing/, /session\.restoreState\(args: \{ state \}\)/],
    ['evaluate', ['1', 2, 3], /one argument/, /session\.evaluate\(script, arg\?\)/],
    ['evaluate', [() => 1, 5n], /BigInt/, /session\.evaluate\(script, arg\?\)/],
    [
      'mockResponse',
      ['**/a', { stats: 200 }],
      /stats/,
      /session\.mockResponse\(url, response\?: \{ status\?, headers\?, body\?, json\?, contentType\? \}\)/
    ],
    ['compareScreenshots', [5], /baseline/, /session\.compareScreenshots\(baseline, /]
  ])
  for (const [name, values, problem, signature] of calls) {
    test(`session.${name}(${values.map(String).join(', ')}) throws a TroupeError that shows the signature`, async (t) => {
      const { manager } = inMemoryManager()
      t.after(() => manager.shutdown())
      const session = await manager.createSession()
      const error = await failure(session[name](...values))
      assert.ok(error instanceof TroupeError, error.stack)
      assert.equal(error.code, 'INVALID_PARAMETERS')
      assert.match(error.message, problem)
      assert.match(error.message, signature)
    })
  }

  test('the methods of the manager also show their signatures', async (t) => {
    const { manager } = inMemoryManager()
    t.after(() => manager.shutdown())
    const cyclic = {}
    cyclic.viewport = cyclic
    const wrong = {
      'manager.createSession(options?: {': [
        () => manager.createSession({ viewprt: { width: 1, height: 1 } }),
        () => manager.createSession('a'),
        () => manager.createSession(cyclic)
      ],
      'manager.resumeSession(sessionId)': [
        () => manager.resumeSession(),
        () => manager.resumeSession(5)
      ],
      'manager.closeSession(sessionId)': [() => manager.closeSession()],
      'manager.getSession(sessionId)': [async () => manager.getSession()],
      'manager.validateSession(sessionId)': [async () => manager.validateSession(5)],
      'new SessionManager(config?)': [async () => new SessionManager(cyclic)]
    }
    for (const [signature, calls] of Object.entries(wrong)) {
      for (const call of calls) {
        const error = await failure(call())
        assert.ok(error instanceof TroupeError, `${signature}: ${error.stack}`)
        assert.equal(error.code, 'INVALID_PARAMETERS')
        assert.ok(error.message.includes(signature), error.message)
      }
    }
  })

  test('an error that is not about the arguments shows no signature', async (t) => {
    const { manager } = inMemoryManager()
    t.after(() => manager.shutdown())
    const session = await manager.createSession()
    await session.close()
    const error = await failure(session.click('#a'))
    assert.equal(error.code, 'SESSION_NOT_FOUND')
    assert.doesNotMatch(error.message, /Signature/)
  })
})

describe('methods called as in Playwright', { timeout: 60_000 }, () => {
  const scope = shared()
  let session
  let site

  before(async () => {
    site = await startSite(scope, {
      '/page': '<title>Page</title><h1>Heading</h1><p id="text">One</p><a href="/other">Other</a>'
    })
    session = await (await startManager(scope)).createSession()
  })

  test('the first optional parameter can be passed on its own', async () => {
    await session.navigate(site.url('/page'))
    assert.equal((await session.getText('#text')).text, 'One')
    assert.match((await session.getText()).text, /Heading/)
    assert.match(await session.snapshot('h1'), /Heading/)
    assert.match(await session.find('One'), /One/)
    assert.equal((await session.extractLinks('body')).links.length, 1)
    await session.waitForLoad('load')
    await session.waitFor('Heading', { timeout: 5000 })
    assert.equal((await session.getText({ selector: '#text' })).text, 'One')
  })

  test('evaluate accepts a function and its argument, also an empty object', async () => {
    assert.equal((await session.evaluate((given) => given.a, { a: 1 })).value, 1)
    assert.deepEqual((await session.evaluate((given) => given, {})).value, {})
    assert.equal((await session.evaluate('(a, b) => a + b', { args: [1, 2] })).value, 3)
  })

  test('mockResponse accepts a response, and removes the mock without one', async () => {
    await session.navigate(site.url('/page'))
    const fetched = async () =>
      (
        await session.evaluate(
          "fetch('/data').then(async (answer) => [answer.status, await answer.text()])"
        )
      ).value
    const before = await fetched()
    await session.mockResponse('**/data', { status: 201, json: { a: 1 } })
    assert.deepEqual(await fetched(), [201, '{"a":1}'])
    await session.mockResponse('**/data', { body: 'plain' })
    assert.deepEqual(await fetched(), [200, 'plain'])
    await session.mockResponse('**/data', { response: { body: 'named' } })
    assert.deepEqual(await fetched(), [200, 'named'])
    await session.mockResponse('**/data')
    assert.deepEqual(await fetched(), before)
  })

  test('compareScreenshots accepts the result of screenshot, and the bytes of a file', async () => {
    await session.navigate(site.url('/page'))
    await session.evaluate("document.documentElement.style.overflow = 'hidden'")
    const baseline = await session.screenshot()
    assert.equal(sizeOf(baseline.data).type, 'png')
    for (const given of [
      baseline,
      Buffer.from(baseline.data, 'base64'),
      `data:image/png;base64,${baseline.data}`
    ]) {
      const { percentage, image } = await session.compareScreenshots(given)
      assert.deepEqual([percentage, image.mimeType], [0, 'image/png'])
    }
    assert.equal((await session.compareScreenshots({ baseline })).percentage, 0)
    const heading = await session.screenshotElement('h1')
    assert.equal((await session.compareScreenshots(heading, { selector: 'h1' })).percentage, 0)
  })

  test('screenshot writes a new file below outputDir', async (t) => {
    const folder = temporaryFolder(t)
    const session = await (await startManager(t, { outputDir: folder })).createSession()
    const { data } = await session.screenshot({ path: 'before.png' })
    assert.equal(readFileSync(join(folder, 'before.png'), 'base64'), data)
    const error = await failure(session.screenshot({ path: 'before.png' }))
    assert.match(error.message, /before\.png/)
  })

  test('the configuration accepts the spellings of the command line', async (t) => {
    // As root, Chromium starts only without its sandbox.
    const { sandbox, ...config } = { sandbox: true, ...BROWSER_CONFIG }
    const manager = new SessionManager({ ...config, noSandbox: !sandbox })
    t.after(() => manager.shutdown())
    const session = await manager.createSession()
    assert.equal((await session.evaluate('6 * 7')).value, 42)
    const error = await failure((async () => new SessionManager({ noSandbx: true }))())
    assert.match(error.message, /noSandbx/)
  })
})
