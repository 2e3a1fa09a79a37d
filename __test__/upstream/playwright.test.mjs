// The real @playwright/mcp behind Troupe.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { before, describe, test } from 'node:test'
import { awaitProcessesEnded, descendants } from '../support/processes.mjs'
import { NO_SQLITE, query, recordFile } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { refIn } from '../support/snapshots.mjs'
import { memberSite } from '../support/state.mjs'
import { upstreamArguments, playwright, realConversations, startWithUpstream } from './real.mjs'
import { until } from './upstream.mjs'

const { version } = createRequire(import.meta.url)('@playwright/mcp/package.json')
const PAGE = `<!doctype html><title>Shop</title><link rel="icon" href="data:,"><h1>Shop</h1><button onclick="console.error('sold out'); this.textContent = 'Gone'">Buy</button>`
const THROWS = `<!doctype html><link rel="icon" href="data:,"><script>console.log('two\\nlines'); setTimeout(() => { throw new Error('boom') })</script>`

describe(`@playwright/mcp ${version} behind Troupe`, { timeout: 120_000 }, () => {
  const scope = shared()
  let server, site
  before(async () => {
    site = await startSite(scope, { '/shop': PAGE, '/throws': THROWS })
    server = await startWithUpstream(scope, playwright())
  })

  test('lists its tools, whose snapshots and messages are in the record', async () => {
    assert.equal(version, '0.0.83')
    const { result } = await server.request('tools/list')
    assert.ok(result.tools.some(({ name }) => name === 'browser_navigate'))
    const opened = await server.call('browser_navigate', { url: site.url('/shop') })
    assert.match(opened.text, /### Page\n- Page URL/)
    const snapshot = await server.ok('get_content', { refId: opened.meta.refId })
    assert.match(snapshot, /- button "Buy" \[ref=e\d+\]/)
    const clicked = await server.call('browser_click', {
      element: 'Buy',
      target: refIn(snapshot, /"Buy"/)
    })
    assert.equal(clicked.isError, false)
    assert.match(
      await server.ok('get_console_content', { refId: clicked.meta.refId, level: 'error' }),
      /sold out/
    )
    const changed = await server.ok('get_content', {})
    assert.match(changed, /Gone/)
    const picture = await server.call('browser_take_screenshot', {})
    assert.ok(
      picture.result.content.some(({ type, data }) => type === 'image' && data.length > 1000)
    )
    const { sessions } = await server.ok('list_sessions')
    assert.equal(sessions[0].pages[0].url, site.url('/shop'))
  })

  test('has errors that the page does not catch, and listed messages, in the record', async () => {
    const sessionId = await server.createSession()
    await server.call('browser_navigate', { sessionId, url: site.url('/throws') })
    const logged = async () => await server.ok('get_console_content', { sessionId, level: 'error' })
    await until(async () => {
      await server.call('browser_snapshot', { sessionId })
      return /boom/.test(await logged())
    }, 'the error')
    assert.match(await logged(), /^\[error\] Error: boom\n +at [^]*throws:1:\d+\)$/m)
    const listed = await server.call('browser_console_messages', { sessionId })
    assert.match(listed.text, /Total messages: 2 \(Errors: 1/)
    const recorded = await server.ok('get_console_content', { refId: listed.meta.refId })
    assert.match(recorded, /^\[info\] two\nlines \(.*\/throws:\d+\)\n\[error\] Error: boom\n/)
    assert.deepEqual(listed.meta.sessionId, sessionId)
    assert.equal((await logged()).match(/\] Error: boom$/gm)?.length, 1, await logged())
    await server.ok('close_session', { sessionId })
  })

  test('isolates sessions, and returns its own errors', async () => {
    const [one, two] = await Promise.all([server.createSession(), server.createSession()])
    await Promise.all([
      server.call('browser_navigate', { sessionId: one, url: site.url('/set-cookie?who=one') }),
      server.call('browser_navigate', { sessionId: two, url: site.url('/') })
    ])
    await server.call('browser_navigate', { sessionId: one, url: site.url('/cookies') })
    assert.match(await server.ok('get_content', { sessionId: one }), /who=one/)
    await server.call('browser_navigate', { sessionId: two, url: site.url('/cookies') })
    assert.doesNotMatch(await server.ok('get_content', { sessionId: two }), /who=one/)
    const failed = await server.call('browser_click', {
      sessionId: two,
      element: 'x',
      target: 'e999'
    })
    assert.equal(failed.isError, true)
    assert.match(failed.text, /### Error/)
    await Promise.all([one, two].map((sessionId) => server.ok('close_session', { sessionId })))
  })
})

describe('a session on @playwright/mcp', { timeout: 120_000 }, () => {
  test(
    'is restored with its pages and cookies after the death of Troupe, and reports what is lost',
    { skip: NO_SQLITE },
    async (t) => {
      const site = await memberSite(t)
      const args = upstreamArguments(playwright(['--caps=storage']))
      const env = { TROUPE_STORE: recordFile(t) }
      const first = await startServer(t, args, { browser: false, env })
      const sessionId = await first.createSession()
      await first.call('browser_navigate', { sessionId, url: site.url('/log-in') })
      await first.call('browser_tabs', { sessionId, action: 'new', url: site.url('/plain') })
      const saved = async () => (await first.ok('list_sessions', {})).sessions[0].pages.length === 2
      await until(saved, 'two pages')
      await until(
        () =>
          JSON.stringify(query(env.TROUPE_STORE, 'SELECT state FROM session_snapshots')).includes(
            'sid'
          ),
        'the storage state'
      )
      const below = descendants(first.child.pid)
      first.child.kill('SIGKILL')
      await awaitProcessesEnded(below)
      const second = await startServer(t, args, { browser: false, env })
      const back = await second.ok('session_resume', { sessionId })
      assert.match(
        back.message,
        /Restored: cookies and localStorage, the page .*members, the page .*plain\. Not restored: .*sessionStorage/
      )
      const tabs = await second.call('browser_tabs', { sessionId, action: 'list' })
      assert.match(tabs.text, /0: .*members\)\n- 1: \(current\).*plain/)
      await second.call('browser_tabs', { sessionId, action: 'select', index: 0 })
      const { meta } = await second.call('browser_snapshot', { sessionId })
      assert.match(await second.ok('get_content', { refId: meta.refId }), /heading "Members"/)
    }
  )

  test('without --caps=storage is resumed with its page, and reports that cookies are lost', async (t) => {
    const site = await memberSite(t)
    const server = await startWithUpstream(t, playwright())
    await server.call('browser_navigate', { url: site.url('/plain') })
    const [{ pid }] = descendants(server.child.pid).filter(({ command }) =>
      command.some((word) => word.endsWith('cli.js'))
    )
    process.kill(pid, 'SIGKILL')
    await until(
      async () => /Plain/.test((await server.call('browser_snapshot', {})).text),
      'the page'
    )
    const { sessions } = await server.ok('list_sessions')
    const { message } = await server.ok('session_resume', { sessionId: sessions[0].sessionId })
    assert.match(
      message,
      /Not restored: cookies and storage \(they were not saved: start it with --caps=storage\)/
    )
  })
})

test(
  'two conversations with @playwright/mcp over HTTP see only their own cookies, and each has its own port',
  { timeout: 120_000 },
  (t) => realConversations(t, 2)
)
