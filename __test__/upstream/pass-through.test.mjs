// The tools of an upstream server: agents get its complete results, together with Troupe's sessions
// and record.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { NO_SQLITE, query, recordFile } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { isAlive, readProcess } from '../support/processes.mjs'
import { QUICK, quoted, scripted, startWithScriptedUpstream, until, callWho } from './upstream.mjs'

const OURS = [
  'create_session',
  'close_session',
  'list_sessions',
  'session_resume',
  'get_content',
  'get_console_content',
  'list_requests'
]

describe('a tool of an upstream server', { timeout: 60_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startWithScriptedUpstream>>} */
  let up
  before(async () => {
    up = await startWithScriptedUpstream(scope)
  })
  const who = (sessionId) => callWho(up.server, { sessionId })

  test('is listed with its name and description, together with the tools for sessions and the record', async () => {
    const { result } = await up.server.request('tools/list')
    const names = result.tools.map(({ name }) => name)
    assert.deepEqual(names.slice(0, OURS.length), OURS)
    const kinds = result.tools.find(({ name }) => name === 'kinds')
    assert.equal(kinds.title, 'The tool kinds')
    assert.deepEqual(kinds.outputSchema, {
      type: 'object',
      properties: { words: { type: 'integer' } }
    })
    assert.deepEqual(kinds.annotations, { readOnlyHint: true })
    assert.deepEqual(kinds.inputSchema.properties, { sessionId: { type: 'string' } })
  })

  test('is called in the process that listed it, in the first session', async () => {
    await up.server.request('tools/list')
    const { pid, session } = await callWho(up.server)
    assert.deepEqual(
      up.noted('start').map(({ pid }) => pid),
      [pid]
    )
    assert.equal((await up.server.call('echo')).meta.sessionId, session)
  })

  test(
    'is not given the variables that configure Troupe, such as the token',
    { skip: process.platform !== 'linux' },
    async (t) => {
      const { server } = await startWithScriptedUpstream(t, {
        env: { TROUPE_AUTH_TOKEN: 'correct-horse', OTHER: 'inherited' }
      })
      const { pid } = await callWho(server)
      const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
      assert.ok(variables.includes('OTHER=inherited'))
      const names = variables
        .map((variable) => variable.split('=')[0])
        .filter((name) => name.startsWith('TROUPE_'))
      assert.deepEqual(
        names.filter((name) => !name.startsWith('TROUPE_UPSTREAM_')),
        []
      )
    }
  )

  test('returns all kinds of content, structured content and its _meta', async () => {
    const { result } = await up.server.call('kinds')
    assert.deepEqual(
      result.content.map(({ type }) => type),
      ['text', 'image', 'audio', 'resource', 'resource_link']
    )
    assert.deepEqual(result.content[0], {
      type: 'text',
      text: 'words',
      annotations: { priority: 1 }
    })
    assert.equal(result.content[3].resource.text, 'inside')
    assert.deepEqual(result.structuredContent, { words: 1 })
    assert.equal(result._meta.theirs, true)
    assert.match(result._meta.refId, /^[0-9a-f-]{36}$/)
  })

  test('gets its arguments unchanged, without the session id', async () => {
    const sessionId = await up.server.createSession()
    const args = { a: [1, null, { b: 'ü' }], pageId: 7, snake_case: true }
    assert.deepEqual((await up.server.call('echo', { ...args, sessionId })).json, args)
    assert.deepEqual((await up.server.call('echo', { ...args, session_id: sessionId })).json, args)
    await up.server.ok('close_session', { sessionId })
  })

  test('returns the errors of the server, and protocol errors with their reason', async () => {
    const failed = await up.server.call('fail')
    assert.equal(failed.isError, true)
    assert.equal(failed.text, '### Error\nthere is no such button')
    const refused = await up.server.call('refuse')
    assert.equal(refused.json.errorCode, 'INVALID_PARAMETERS')
    assert.match(refused.json.message, /`x` is missing/)
    const unknown = await up.server.call('eccho')
    assert.equal(unknown.error.code, -32602)
    assert.match(unknown.error.message, /did you mean `echo`/)
  })

  test('reports progress to clients that request it', async () => {
    const meta = { _meta: { progressToken: 'mine' } }
    const { result } = await up.server.request('tools/call', {
      name: 'step',
      arguments: { of: 5 },
      ...meta
    })
    assert.equal(result.content[0].text, 'stepped')
    const progress = up.server.notifications('notifications/progress')
    assert.deepEqual(progress.at(-1), {
      progressToken: 'mine',
      progress: 5,
      total: 5,
      message: 'step 5'
    })
  })

  test('is canceled on the server when the client cancels it', async () => {
    const id = up.server.nextId()
    up.server.send({ id, method: 'tools/call', params: { name: 'wait', arguments: {} } })
    await until(() => up.noted('tools/call', { tool: 'wait' }).length === 1, 'the call')
    up.server.notify('notifications/cancelled', { requestId: id })
    await until(() => up.noted('notifications/cancelled').length === 1, 'the cancellation')
    assert.equal((await up.server.call('echo', { again: 1 })).json.again, 1)
  })

  test('runs in a separate process in each session, which ends with the session', async () => {
    const [one, two] = await Promise.all([up.server.createSession(), up.server.createSession()])
    assert.equal(up.noted('start', { session: one }).length, 0, 'it is started by its first call')
    const [first, second] = await Promise.all([who(one), who(two)])
    assert.notEqual(first.pid, second.pid)
    assert.notEqual(first.folder, second.folder)
    assert.deepEqual([first.session, second.session], [one, two])
    const process = readProcess(first.pid)
    await up.server.ok('close_session', { sessionId: one })
    assert.ok(process && !isAlive(process))
    assert.equal(up.noted('tools/call', { session: one, tool: 'browser_close' }).length, 1)
    assert.equal((await who(two)).pid, second.pid)
    await up.server.ok('close_session', { sessionId: two })
  })

  test('is listed again when the server notifies of a change', async () => {
    const count = () => up.server.notifications('notifications/tools/list_changed').length
    // The start of the server may have been reported already.
    const before = count()
    await up.server.ok('more_tools')
    await until(() => count() > before, 'the notification')
    assert.ok(
      (await up.server.request('tools/list')).result.tools.some(({ name }) => name === 'later')
    )
    assert.equal((await up.server.call('later')).text, 'late')
  })

  test('is no longer listed, nor called, when its server has removed it', async (t) => {
    const up = await startWithScriptedUpstream(t)
    const names = async () =>
      (await up.server.request('tools/list')).result.tools.map(({ name }) => name)
    assert.ok((await names()).includes('echo'))
    const count = () => up.server.notifications('notifications/tools/list_changed').length
    const before = count()
    await up.server.ok('fewer_tools', { name: 'echo' })
    await until(() => count() > before, 'the notification')
    assert.ok(!(await names()).includes('echo') && (await names()).includes('who'))
    const calls = () => up.noted('tools/call', { tool: 'echo' }).length
    const { error } = await up.server.request('tools/call', { name: 'echo', arguments: {} })
    assert.equal(error?.code, -32602)
    assert.match(error.message, /echo/)
    assert.equal(calls(), 0)
  })

  test('is selected by `--tools` and removed by `--no-tools`', async (t) => {
    const { server } = await startWithScriptedUpstream(t, {
      args: ['--tools', 'group:session,echo,who', '--no-tools', 'who,session_resume']
    })
    const { result } = await server.request('tools/list')
    assert.deepEqual(
      result.tools.map(({ name }) => name),
      ['create_session', 'close_session', 'list_sessions', 'echo']
    )
  })

  test('does not show the page: create_session and session_resume leave the cursor of the page alone', async (t) => {
    const { server } = await startWithScriptedUpstream(t)
    const sessionId = await server.createSession()
    await server.ok('show', { sessionId, text: '- heading "One"' })
    await server.ok('get_content', { sessionId })
    await server.ok('show', { sessionId, text: '- heading "Two"' })
    await server.ok('echo', { sessionId, not: 'the page' })
    await server.ok('session_resume', { sessionId })
    assert.match(await server.ok('get_content', { sessionId }), /heading "Two"/)
    assert.equal(await server.ok('get_content', { sessionId }), '')
  })

  test('rejects options that only Troupe’s own browsers support', async () => {
    const { json } = await up.server.call('create_session', { locale: 'de-DE' })
    assert.equal(json.errorCode, 'INVALID_PARAMETERS')
  })
})

describe('the record of forwarded calls', { timeout: 60_000 }, () => {
  test('has the snapshot and the messages that the result links', async (t) => {
    const { server } = await startWithScriptedUpstream(t)
    const { meta, text } = await server.call('browser_navigate', { url: 'http://a/' })
    assert.match(text, /\[Snapshot\]\(.*page-1\.yml\)/)
    assert.equal(
      await server.ok('get_content', { refId: meta.refId }),
      '- heading "http://a/" [ref=e1]'
    )
    assert.match(
      await server.ok('get_console_content', { refId: meta.refId }),
      /error.*failed 1.*http:\/\/a\/b\.js:1/i
    )
    await server.call('browser_navigate', { url: 'http://b/' })
    assert.match(await server.ok('get_content', {}), /http:\/\/b\//)
    const { requests } = await server.ok('list_requests', {})
    assert.deepEqual(
      requests.map(({ tool, hasSnapshot, consoleErrorCount }) => [
        tool,
        hasSnapshot,
        consoleErrorCount
      ]),
      [
        ['browser_navigate', true, 1],
        ['browser_navigate', true, 1]
      ]
    )
    const { sessions } = await server.ok('list_sessions')
    assert.deepEqual(sessions[0].pages, [{ pageId: 'page-1', url: 'http://b/' }])
  })

  test('replaces the result with --responses ref', async (t) => {
    const { server } = await startWithScriptedUpstream(t, { args: ['--responses', 'ref'] })
    const answer = await server.ok('browser_navigate', { url: 'http://a/' })
    assert.equal(answer.status, 'success')
    assert.deepEqual(answer.metadata, {
      tool: 'browser_navigate',
      has_snapshot: true,
      has_console_logs: true,
      console_error_count: 1
    })
    assert.match(await server.ok('get_content', { ref_id: answer.ref_id }), /http:\/\/a\//)
    const failed = await server.call('fail')
    assert.equal(failed.json.status, 'error')
  })

  test('has the rest of results over the result budget', async (t) => {
    const { server } = await startWithScriptedUpstream(t, { args: ['--result-budget', '2000'] })
    const { text, meta } = await server.call('long', { length: 10_000 })
    assert.ok(text.length <= 2000)
    const [, offset] = /"offset":(\d+)/.exec(text) ?? []
    assert.match(
      await server.ok('get_content', { refId: meta.refId, offset: Number(offset) }),
      /^line\nline/
    )
  })

  test('has the result byte for byte, and images separately', { skip: NO_SQLITE }, async (t) => {
    const file = recordFile(t)
    const { server } = await startWithScriptedUpstream(t, { args: ['--store', file] })
    const { meta, result } = await server.call('odd')
    assert.equal(result.content[0].text, 'ü/ 1')
    const stored = () =>
      query(file, `SELECT result FROM responses WHERE ref_id = '${meta.refId}'`)[0]?.result
    await until(stored, 'the record')
    const picture = result.content[1].data
    const sent = `{ "content": [{"type":"text", "text":"\\u00fc\\/ 1"},  {"type": "image", "annotations": {"priority": 1.0}, "data":"${picture}", "mimeType":"image/png"}], "structuredContent":{"big":12345678901234567890123,"e":1.50E+2} }`
    assert.equal(
      stored(),
      sent.replace(`"${picture}"`, '""').replace('"image/png"}', '"image/png","picture":1}')
    )
    const [{ data }] = query(file, `SELECT data FROM pictures WHERE ref_id = '${meta.refId}'`)
    assert.equal(data, Buffer.from(picture, 'base64').toString('hex'))
  })

  test('has inline snapshots with their blank lines', async (t) => {
    const { server } = await startWithScriptedUpstream(t)
    const text = '\n- list:\n\n  - text: a\n'
    const { meta } = await server.call('inline', { text })
    assert.equal(await server.ok('get_content', { refId: meta.refId }), text)
  })

  test('has each uncaught error of the page as a separate message', async (t) => {
    const { server } = await startWithScriptedUpstream(t)
    const lines = [
      '[   5ms] [LOG] one @ http://a/:3',
      '[ 109ms] Error: boom',
      '    at f (http://a/x.js:12:5)',
      '[ 110ms] thrown text'
    ]
    const { meta } = await server.call('log', { lines })
    const content = await server.ok('get_console_content', { refId: meta.refId })
    assert.equal(
      content,
      '[info] one (http://a/:3)\n[error] Error: boom\n    at f (http://a/x.js:12:5) (http://a/x.js:12:5)\n[error] thrown text'
    )
  })

  for (const store of ['memory', 'none'])
    test(`has each message of the page once, even if the agent lists them again, with --store ${store}`, async (t) => {
      const { server } = await startWithScriptedUpstream(t, { args: [...QUICK, '--store', store] })
      const sessionId = await server.createSession()
      const inSession = () => server.ok('get_console_content', { sessionId })
      await server.call('log', {
        sessionId,
        lines: [
          '[   5ms] [LOG] one @ http://a/:3',
          '[   6ms] [LOG] one @ http://a/:3',
          '[   7ms] [WARNING] two @ http://a/:4'
        ]
      })
      const expected =
        '[info] one (http://a/:3)\n[info] one (http://a/:3)\n[warn] two (http://a/:4)'
      assert.equal(await inSession(), expected)
      const lines = [
        '[LOG] one @ http://a/:3',
        '[LOG] one @ http://a/:3',
        '[WARNING] two @ http://a/:4',
        'Error: boom'
      ]
      const listed = await server.call('list', { sessionId, lines })
      assert.equal(await inSession(), `${expected}\n[error] Error: boom`)
      await server.call('list', { sessionId, lines })
      assert.equal(await inSession(), `${expected}\n[error] Error: boom`)
      if (store === 'none') return
      // The call itself has all that it has listed.
      assert.equal(
        await server.ok('get_console_content', { refId: listed.meta.refId }),
        `${expected}\n[error] Error: boom`
      )
    })

  test('does not have typed values', async (t) => {
    const { server } = await startWithScriptedUpstream(t)
    const { meta } = await server.call('browser_type', {
      element: 'Name',
      target: 'e1',
      text: 'open sesame'
    })
    assert.doesNotMatch(await server.ok('get_content', { refId: meta.refId }), /sesame/)
    const { text } = await server.call('browser_type', {
      element: 'Password',
      target: 'e1',
      text: 'hunter2'
    })
    assert.doesNotMatch(text, /hunter2/, 'a parameter named `password` is masked too')
  })
})

test('a server with the modern protocol version is called with that version', async (t) => {
  const { server, noted } = await startWithScriptedUpstream(t, { options: ['--modern'] })
  assert.deepEqual((await server.call('echo', { a: 1 })).json, { a: 1 })
  await until(() => noted('server/discover').length > 2, 'requests that stand for pings')
})

test('an invalid command prevents the start, and a missing program is reported by calls', async (t) => {
  const server = await startServer(t, ['--upstream', "npx 'a", '--upstream-transport', 'stdio'], {
    browser: false,
    handshake: false
  })
  assert.equal((await server.exit).code, 2)
  assert.match(server.stderr(), /a quote is not closed/)
  const { folder } = scripted()
  const args = [
    '--upstream',
    quoted(`${folder}/nothing`),
    '--upstream-restarts',
    '1',
    '--upstream-restart-pause',
    '10'
  ]
  const missing = await startServer(t, args, { browser: false })
  const { result } = await missing.request('tools/list')
  assert.deepEqual(
    result.tools.map(({ name }) => name),
    OURS
  )
  const { json } = await missing.call('echo')
  assert.equal(json.errorCode, 'UPSTREAM_UNAVAILABLE')
  assert.match(json.message, /cannot be started/)
})
