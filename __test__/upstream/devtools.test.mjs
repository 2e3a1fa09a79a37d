// Another upstream server: chrome-devtools-mcp, with its own tool names, snapshots and logs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSite } from '../support/site.mjs'
import { devtools, startWithUpstream } from './real.mjs'
import { until } from './upstream.mjs'
import { descendants } from '../support/processes.mjs'

const PAGE = `<!doctype html><title>Shop</title><link rel="icon" href="data:,"><h1>Shop</h1><button onclick="this.textContent = 'Gone'">Buy</button><script>console.warn('few left')</script>`

test(
  'chrome-devtools-mcp serves sessions, its snapshots and messages are in the record',
  { timeout: 120_000 },
  async (t) => {
    const site = await startSite(t, { '/shop': PAGE })
    const server = await startWithUpstream(t, devtools())
    const { result } = await server.request('tools/list')
    assert.ok(result.tools.some(({ name }) => name === 'take_snapshot'))
    const opened = await server.call('new_page', { url: site.url('/shop') })
    const [, pageId] = /(\d+): .* \[selected\]/.exec(opened.text) ?? []
    const snapshot = await server.call('take_snapshot', { pageId: Number(pageId) })
    assert.equal(snapshot.isError, false, snapshot.text)
    const recorded = await server.ok('get_content', { refId: snapshot.meta.refId })
    assert.match(recorded, /button "Buy"/)
    const [, uid] = /uid=(\S+) button "Buy"/.exec(recorded) ?? []
    const clicked = await server.call('click', {
      pageId: Number(pageId),
      uid,
      includeSnapshot: true
    })
    assert.match(await server.ok('get_content', { refId: clicked.meta.refId }), /Gone/)
    const messages = await server.call('list_console_messages', { pageId: Number(pageId) })
    assert.match(
      await server.ok('get_console_content', { refId: messages.meta.refId }),
      /warn.*few left/
    )
    const { sessions } = await server.ok('list_sessions')
    assert.ok(sessions[0].pages.some(({ url }) => url === site.url('/shop')))
    // It dies, and another one opens its page.
    const isServer = ({ parent, command }) =>
      parent === server.child.pid && command[0] !== '/bin/sh'
    const [{ pid }] = descendants(server.child.pid).filter(isServer)
    process.kill(pid, 'SIGKILL')
    const open = async () => (await server.call('list_pages')).text.includes(site.url('/shop'))
    await until(open, 'the page', 20_000)
  }
)
