// There are no fixed delays: on an idle page, an action takes little time.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { median } from 'simple-statistics'
import { temporaryFolder } from '../support/record.mjs'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

/** The limit for the debug addon on a busy machine. */
const LIMIT = 60

describe('on an idle page', { timeout: 60_000 }, () => {
  const { server, site } = startShared()
  before(() => server.ok('navigate', { url: site.url('/form') }))

  for (const [tool, args] of /** @type {const} */ ([
    ['click', { selector: '#name' }],
    ['type', { selector: '#name', text: 'x' }],
    ['evaluate', { script: '1' }],
    ['snapshot', {}]
  ])) {
    test(`the median of 20 times ${tool} is under ${LIMIT} ms`, async () => {
      const times = []
      for (let round = 0; round < 20; round++) {
        const { ms, isError, text } = await server.call(tool, args)
        assert.ok(!isError, text)
        times.push(ms)
      }
      assert.ok(
        median(times) < LIMIT,
        `median ${median(times).toFixed(1)} ms of ${times.map((ms) => ms.toFixed(0)).join(' ')}`
      )
    })
  }
})

test(
  'an action is two calls into the page with one batch of input between them; typing reads the resulting value too',
  { timeout: 60_000 },
  async (t) => {
    const folder = temporaryFolder(t)
    const log = join(folder, 'log')
    const frames = Array.from(
      { length: 15 },
      (_, index) => `<iframe srcdoc="<button>${index}</button>"></iframe>`
    )
    const hosts = Array.from({ length: 20 }, () => '<x-host></x-host>')
    const site = await startSite(t, {
      '/frames': `<title>Frames</title><button id="name" onclick="frames[7].document.body.append('changed')">Go</button>${frames.join('')}`,
      '/hosts': `<title>Hosts</title><script>
      customElements.define('x-host', class extends HTMLElement { constructor() { super().attachShadow({ mode: 'open' }).innerHTML = '<p>Shadow</p>' } })
    </script><button id="name">Go</button>${hosts.join('')}`,
      '/closed': `<title>Closed</title><script>
      customElements.define('x-host', class extends HTMLElement { constructor() { super().attachShadow({ mode: 'closed' }).innerHTML = '<p>Shadow</p>' } })
    </script><button id="name">Go</button>${hosts.join('')}`
    })
    const server = await startServer(t, ['--log-level', 'trace', '--log-file', log])
    await server.ok('navigate', { url: site.url('/form') })
    /** Returns the log lines of a call. @param {() => Promise<unknown>} call */
    const logged = async (call) => {
      const before = readFileSync(log, 'utf8').length
      await call()
      return readFileSync(log, 'utf8').slice(before)
    }
    /**
     * Returns the commands to the browser, without the number of input events.
     * @param {() => Promise<unknown>} call
     */
    const sent = async (call) => {
      const messages = (await logged(call)).matchAll(
        /→ \{"id":\d+,"method":"(\w+\.\w+)"(?:.*?"arguments":\[\{"value":"(\w+)")?/g
      )
      const names = [...messages].map(([, method, name]) => name ?? method)
      // The session's state can be saved at any time.
      const ofCall = names.filter((name) => !['saveState', 'Storage.getCookies'].includes(name))
      return ofCall.filter(
        (name, index) => !(name.startsWith('Input.') && name === ofCall[index - 1])
      )
    }
    // On a busy machine, the browser may answer late, and a call then sends further commands.
    /** The fewest commands of five calls. @param {() => Promise<unknown>} call */
    const fewest = async (call) => {
      const calls = []
      for (let round = 0; round < 5; round++) calls.push(await sent(call))
      return calls.reduce((least, commands) => (commands.length < least.length ? commands : least))
    }
    const type = () =>
      server.ok('type', { selector: '#name', text: 'eighteen character', clear: true })
    // The first call reads the page as it was.
    await type()
    assert.deepEqual(await fewest(type), [
      'waitActionable',
      'Input.dispatchKeyEvent',
      'awaitTick',
      'differentFields'
    ])
    const click = () => server.ok('click', { selector: '#name' })
    assert.deepEqual(await fewest(click), [
      'waitActionable',
      'Input.dispatchMouseEvent',
      'awaitTick'
    ])
    // One of these can be answered before the next line is logged.
    const pressed = []
    for (let round = 0; round < 5; round++)
      pressed.push(
        /→ \{"id":\d+,"method":"Input\..*?"arguments":\[\{"value":"awaitTick"/s.exec(
          await logged(click)
        )?.[0]
      )
    assert.ok(
      pressed.some((log) => log && !log.includes('← {"id"')),
      `the tick after a press waits for an answer: ${pressed[0]}`
    )

    await server.ok('navigate', { url: site.url('/frames') })
    await click()
    // Only the changed frame is read.
    assert.deepEqual(await fewest(click), [
      'waitActionable',
      'Input.dispatchMouseEvent',
      'awaitTick',
      'snapshotIfChanged'
    ])
    const [nodes, adopt] = ['DOM.resolveNode', 'Runtime.callFunctionOn']
    for (const [path, expected] of Object.entries({
      '/hosts': [],
      // Scripts cannot read closed roots: each is resolved by its id and passed to the page, where
      // `readNavigation` awaits them.
      '/closed': [...Array.from({ length: 40 }, () => nodes), adopt, 'Runtime.releaseObjectGroup']
    })) {
      const open = () => server.ok('navigate', { url: site.url(path) })
      assert.deepEqual(
        (await fewest(open)).filter((name) => !name.startsWith('Page.')),
        ['Runtime.evaluate', 'readNavigation', ...expected, 'snapshot']
      )
      await click()
      assert.deepEqual(await fewest(click), [
        'waitActionable',
        'Input.dispatchMouseEvent',
        'awaitTick'
      ])
    }
  }
)
