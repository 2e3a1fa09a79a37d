// A Troupe behind another Troupe.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BROWSER_ARGUMENTS } from '../support/browser.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { upstreamArguments, startWithUpstream } from './real.mjs'

const COMMAND = [process.execPath, BIN, '--store', 'none', ...BROWSER_ARGUMENTS]

test('a Troupe serves as the upstream server of another one', { timeout: 60_000 }, async (t) => {
  const site = await startSite(t)
  const server = await startWithUpstream(t, COMMAND)
  const { result } = await server.request('tools/list')
  assert.ok(result.tools.some(({ name }) => name === 'navigate'))
  // `sessionId` is a parameter of its tools: `session_id` names the session of the Troupe in front.
  const [one, other] = [await server.createSession(), await server.createSession()]
  const first = await server.call('navigate', { session_id: one, url: site.url('/form') })
  assert.equal(first.json.title, 'Form', first.text)
  assert.equal(
    (await server.call('navigate', { session_id: other, url: site.url('/buttons') })).json.title,
    'Buttons'
  )
  assert.equal(
    (await server.call('evaluate', { session_id: one, script: 'document.title' })).json.value,
    'Form'
  )
})

test(
  'options in the environment are not passed on to an upstream server',
  { timeout: 60_000 },
  async (t) => {
    const [, command, ...rest] = upstreamArguments(COMMAND)
    const env = {
      TROUPE_UPSTREAM: command,
      TROUPE_UPSTREAM_RESTARTS: '0',
      TROUPE_RESULT_BUDGET: '1234',
      TROUPE_TOOLS: 'navigate,list_sessions'
    }
    const server = await startServer(t, rest, { browser: false, env })
    const { json } = await server.call('navigate', { url: 'data:text/html,<title>There</title>' })
    assert.equal(json.title, 'There', JSON.stringify(json))
  }
)
