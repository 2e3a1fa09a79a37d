// Secrets that are typed by name are masked in all output, in every encoding.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { BROWSER_CONFIG } from '../support/browser.mjs'
import { NO_SQLITE, recordFile, temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { QUICK, startWithScriptedUpstream } from '../upstream/upstream.mjs'

const VALUE = 'hunter2 & "söhne"/1'
const MARK = '<secret>LOGIN</secret>'

/** Allows `evaluate` on pages that hold a secret. */
const SCRIPTS = ['--enable-script-evaluation', 'true']

/** A page that stores the typed text and shows it in every encoding. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>Keeper</title><link rel="icon" href="data:,">
  <form action="/got" method="get"><label>User <input id="user" name="user"></label><button id="go">Go</button></form><pre id="out"></pre>
  <script>
    const bytes = (text) => String.fromCharCode(...new TextEncoder().encode(text))
    user.oninput = () => {
      // A shortened value is no longer the secret.
      if ([...user.value].length < ${[...VALUE].length}) return
      const forms = [user.value, JSON.stringify(user.value), encodeURIComponent(user.value), btoa(bytes(user.value)), btoa('me:' + bytes(user.value)), String(new URLSearchParams({ user: user.value }))]
      out.textContent = forms.join('\\n')
      document.title = user.value
      localStorage.kept = user.value
      document.cookie = 'kept=' + encodeURIComponent(user.value)
      console.log('typed', ...forms)
      fetch('/seen?' + new URLSearchParams({ user: user.value }), { headers: { 'x-basic': btoa('me:' + bytes(user.value)) } })
    }
  </script>`

/** The encodings that the test searches for. */
const FORMS = () => {
  const base64 = (/** @type {string} */ text) => Buffer.from(text).toString('base64')
  return [
    VALUE,
    JSON.stringify(VALUE).slice(1, -1),
    JSON.stringify(JSON.stringify(VALUE).slice(1, -1)).slice(1, -1),
    encodeURIComponent(VALUE),
    String(new URLSearchParams({ a: VALUE })).slice(2),
    new URL(`http://a/?${VALUE}`).search.slice(1),
    base64(VALUE).slice(0, -3),
    base64(`me:${VALUE}`).slice(4, -3),
    'hunter2'
  ]
}

/** @param {string} text @param {string} where */
function assertNone(text, where) {
  for (const form of FORMS()) {
    const at = text.indexOf(form)
    assert.equal(at, -1, `${where} holds ${form}: ${text.slice(Math.max(0, at - 80), at + 80)}`)
  }
}

/** @param {{ after: (end: () => unknown) => void }} t */
function secretsFile(t) {
  const folder = temporaryFolder(t)
  const file = join(folder, 'secrets.env')
  writeFileSync(file, `# of the shop\nLOGIN='${VALUE}'\n`)
  return { folder, file }
}

describe('a secret', { timeout: 120_000 }, () => {
  test(
    'is typed by its name, and is in nothing that leaves the process',
    { skip: NO_SQLITE },
    async (t) => {
      const { folder, file } = secretsFile(t)
      const record = recordFile(t)
      const log = join(folder, 'log')
      const site = await startSite(t, {
        '/keeper': PAGE,
        '/got': (_request, response, url) => response.end(`got ${url.search}`),
        '/seen': (_request, response) => response.end()
      })
      const args = [
        '--secrets',
        file,
        '--store',
        record,
        '--log-file',
        log,
        '--log-level',
        'debug',
        '--output-dir',
        folder,
        ...SCRIPTS
      ]
      const server = await startServer(t, args)
      await server.request('logging/setLevel', { level: 'debug' })
      await server.ok('navigate', { url: site.url('/keeper') })
      await server.ok('fill', { selector: '#user', value: 'LOGIN' })
      assert.equal((await server.ok('get_value', { selector: '#user' })).value, MARK)
      await server.ok('type', { selector: '#user', text: 'LOGIN', clear: true })
      await server.ok('fill_form', { fields: [{ selector: '#user', value: 'LOGIN' }] })
      await server.ok('batch', {
        steps: [{ tool: 'fill', arguments: { selector: '#user', value: 'LOGIN' } }]
      })
      // The page itself has the value.
      const length = [...VALUE].length
      assert.equal(
        (await server.ok('evaluate', { script: '[...user.value].length' })).value,
        length
      )
      const { meta } = await server.call('snapshot')
      for (const tool of [
        'snapshot',
        'read_page',
        'get_text',
        'get_page_metadata',
        'get_request_log',
        'get_console_content',
        'get_cookies',
        'save_state',
        'list_sessions',
        'list_requests'
      ])
        await server.ok(tool)
      await server.ok('evaluate', {
        script:
          '({ [user.name]: user.value, [user.value]: 1, html: document.documentElement.outerHTML })'
      })
      await server.call('evaluate', { script: 'throw new Error(user.value)' })
      await server.call('click', { selector: `text=${VALUE}`, timeout: 50 })
      for (const uri of [
        `playwright:///page/${meta.sessionId}/page-1`,
        `playwright:///network-log/${meta.sessionId}/page-1`,
        `playwright:///element/${meta.sessionId}/page-1{?selector}`
      ])
        await server.request('resources/read', { uri })
      await server.ok('save_state', { path: 'state.json' })
      await server.ok('click', { selector: '#go' })
      assert.match(await server.ok('read_page'), /<secret>LOGIN:/)
      await server.ok('get_content', { resetCursor: true })
      assert.ok(
        site.requests.some(({ path }) => path.startsWith('/got?user=hunter2')),
        'the site has received it'
      )
      await server.end()
      assertNone(server.received.map((message) => JSON.stringify(message)).join('\n'), 'an answer')
      assertNone(server.stderr(), 'stderr')
      assertNone(readFileSync(log, 'utf8'), 'the log')
      for (const end of ['', '-wal']) assertNone(readIfThere(record + end), `the record${end}`)
      for (const name of readdirSync(folder).filter((name) => name.endsWith('.json')))
        assertNone(readFileSync(join(folder, name), 'utf8'), name)
    }
  )

  test(
    'is in a resumed session again, whose saved state contains only its name',
    { skip: NO_SQLITE },
    async (t) => {
      const { file } = secretsFile(t)
      const record = recordFile(t)
      const site = await startSite(t, {
        '/keeper': PAGE,
        '/seen': (_request, response) => response.end()
      })
      const first = await startServer(t, ['--secrets', file, '--store', record])
      const sessionId = await first.createSession()
      await first.ok('navigate', { sessionId, url: site.url('/keeper') })
      await first.ok('fill', { sessionId, selector: '#user', value: 'LOGIN' })
      await first.end()
      const next = await startServer(t, ['--secrets', file, '--store', record, ...SCRIPTS])
      await next.ok('session_resume', { sessionId })
      const same = await next.ok('evaluate', {
        sessionId,
        script: `localStorage.kept === ${JSON.stringify(VALUE)} && user.value === localStorage.kept`
      })
      assert.equal(same.value, true)
    }
  )

  test('can contain any characters', async (t) => {
    const { folder } = secretsFile(t)
    const file = join(folder, 'literal.env')
    const values = { PW: 'p@ss$word1', SLASH: 'c:\\new\\x', BRACES: '${HOME}$(id)' }
    writeFileSync(
      file,
      Object.entries(values)
        .map(([name, value]) => `${name}=${value}\n`)
        .join('')
    )
    const site = await startSite(t, {
      '/plain':
        '<input id="user"><pre id="out"></pre><script>user.oninput = () => (out.textContent = user.value)</script>'
    })
    const server = await startServer(t, ['--secrets', file, ...SCRIPTS])
    await server.ok('navigate', { url: site.url('/plain') })
    for (const [name, value] of Object.entries(values)) {
      await server.ok('fill', { selector: '#user', value: name })
      assert.equal(
        (await server.ok('evaluate', { script: `user.value === ${JSON.stringify(value)}` })).value,
        true,
        name
      )
      assert.deepEqual(await server.ok('get_text', { selector: '#out' }), {
        text: `<secret>${name}</secret>`
      })
    }
  })

  test('is restored from a saved state in a new session', async (t) => {
    const { folder, file } = secretsFile(t)
    const site = await startSite(t, {
      '/keeper': PAGE,
      '/seen': (_request, response) => response.end()
    })
    const server = await startServer(t, ['--secrets', file, '--output-dir', folder])
    await server.ok('navigate', { url: site.url('/keeper') })
    await server.ok('fill', { selector: '#user', value: 'LOGIN' })
    const { state } = await server.ok('save_state')
    assert.match(JSON.stringify(state), /<secret>LOGIN/)
    await server.ok('save_state', { path: 'state.json' })
    const kept = async (
      /** @type {import('../support/server.mjs').Server} */ server,
      /** @type {string} */ sessionId
    ) => {
      await server.ok('navigate', { sessionId, url: site.url('/keeper') })
      return (
        await server.ok('evaluate', {
          sessionId,
          script: `[localStorage.kept, decodeURIComponent(document.cookie.slice(5))].every((kept) => kept === ${JSON.stringify(VALUE)})`
        })
      ).value
    }
    assert.equal(
      await kept(server, await server.createSession({ storageState: state })),
      true,
      'create_session'
    )
    const next = await startServer(t, [
      '--secrets',
      file,
      '--storage-state',
      join(folder, 'state.json')
    ])
    assert.equal(await kept(next, await next.createSession()), true, '--storage-state')
  })

  test('is masked for programs, too, which see passwords', async (t) => {
    const { file } = secretsFile(t)
    const { SessionManager } = createRequire(import.meta.url)('../../index.js')
    const manager = new SessionManager({
      ...BROWSER_CONFIG,
      secrets: file,
      enableScriptEvaluation: true
    })
    t.after(() => manager.shutdown())
    await manager.initialize()
    const session = await manager.createSession()
    const site = await startSite(t, {
      '/keeper': PAGE,
      '/seen': (_request, response) => response.end()
    })
    await session.navigate({ url: site.url('/keeper') })
    await session.fill({ selector: '#user', value: 'LOGIN' })
    assert.equal((await session.evaluate({ script: 'user.value' })).value, MARK)
    assertNone(
      JSON.stringify([
        await session.snapshot(),
        await session.getPageMetadata(),
        await session.getRequestLog()
      ]),
      'a result'
    )
  })

  test('is typed by its name through an upstream server, and masked in its results', async (t) => {
    const { file } = secretsFile(t)
    const { server } = await startWithScriptedUpstream(t, { args: [...QUICK, '--secrets', file] })
    const { text } = await server.call('browser_type', {
      element: 'the user',
      ref: 'e1',
      text: 'LOGIN'
    })
    assert.match(text, /page\.fill\('<secret>LOGIN<\/secret>'\)/)
    await server.end()
    assertNone(
      server.received.map((message) => JSON.stringify(message)).join('\n') + server.stderr(),
      'the output'
    )
  })

  test('is listed by its name in the instructions, without its value', async (t) => {
    const { folder } = secretsFile(t)
    const file = join(folder, 'two.env')
    writeFileSync(file, 'SHOP_USER=annabel\nSHOP_PASSWORD=tiger-lily\n')
    const server = await startServer(t, ['--secrets', file], { handshake: false })
    const { instructions } = await server.initialize()
    assert.match(instructions, /SHOP_USER, SHOP_PASSWORD/)
    assert.doesNotMatch(instructions, /annabel|tiger/)
    const upstream = await startWithScriptedUpstream(t, {
      args: [...QUICK, '--secrets', file],
      handshake: false
    })
    assert.match((await upstream.server.initialize()).instructions, /SHOP_USER, SHOP_PASSWORD/)
    const without = await startServer(t, [], { handshake: false })
    assert.doesNotMatch((await without.initialize()).instructions, /secret/i)
  })

  test('replaces its placeholder, and an unknown name is an error', async (t) => {
    const { folder } = secretsFile(t)
    const file = join(folder, 'two.env')
    writeFileSync(file, 'LOGIN=annabel\nSHOP_PASSWORD=tiger-lily\n')
    const site = await startSite(t, {
      '/plain': `<link rel="icon" href="data:,"><input id="user"><button onclick="user.value = prompt('Name') ?? ''">Ask</button>
        <script>user.addEventListener('input', () => navigator.sendBeacon('/typed', user.value))</script>`,
      '/typed': (_request, response) => response.end()
    })
    const server = await startServer(t, ['--secrets', file, ...SCRIPTS])
    await server.ok('navigate', { url: site.url('/plain') })
    const holds = async (/** @type {string} */ text) =>
      (await server.ok('evaluate', { script: `user.value === ${JSON.stringify(text)}` })).value
    for (const [text, typed] of [
      ['LOGIN', 'annabel'],
      [MARK, 'annabel'],
      ['me:<secret>SHOP_PASSWORD</secret>!', 'me:tiger-lily!'],
      ['login', 'login'],
      ['HELLO', 'HELLO']
    ]) {
      await server.ok('fill', { selector: '#user', value: text })
      assert.ok(await holds(typed), `fill ${text}`)
      await server.ok('type', { selector: '#user', text, clear: true })
      assert.ok(await holds(typed), `type ${text}`)
      await server.ok('fill_form', { fields: [{ selector: '#user', value: text }] })
      assert.ok(await holds(typed), `fill_form ${text}`)
      await server.ok('click', { selector: 'text=Ask' })
      await server.ok('handle_dialog', { accept: true, promptText: text })
      assert.ok(await holds(typed), `handle_dialog ${text}`)
    }
    await server.ok('fill', { selector: '#user', value: 'before' })
    for (const text of [
      'SHOP_PASWORD',
      'DB_PASSWORD',
      'LOGON',
      '<secret>OTHER</secret>',
      'me:<secret>OTHER</secret>'
    ]) {
      for (const [tool, args] of /** @type {const} */ ([
        ['fill', { selector: '#user', value: text }],
        ['type', { selector: '#user', text }],
        ['fill_form', { fields: [{ selector: '#user', value: text }] }],
        ['batch', { steps: [{ tool: 'fill', arguments: { selector: '#user', value: text } }] }]
      ])) {
        const { json } = await server.call(tool, args)
        const error = tool === 'batch' ? (json.results ?? json.steps)[0].error : json
        assert.deepEqual(
          [error.errorCode, error.details.reason],
          ['INVALID_PARAMETERS', 'unknown secret'],
          `${tool} ${text}: ${JSON.stringify(json)}`
        )
        assert.match(error.suggestion, /LOGIN, SHOP_PASSWORD/)
        assert.ok(await holds('before'), `${tool} ${text}`)
      }
    }
    const { json } = await server.call('fill', { selector: '#user', value: 'SHOP_PASWORD' })
    assert.match(json.message, /no secret `SHOP_PASWORD`; did you mean `SHOP_PASSWORD`\?/)
    // Without secrets, such a text is typed unchanged, but a placeholder is still an error.
    const without = await startServer(t)
    await without.ok('navigate', { url: site.url('/plain') })
    await without.ok('fill', { selector: '#user', value: 'DB_PASSWORD' })
    const refused = (await without.call('fill', { selector: '#user', value: MARK })).json
    assert.equal(refused.errorCode, 'INVALID_PARAMETERS')
    assert.match(refused.suggestion, /--secrets/)
  })

  test('name that is unknown is an error through an upstream server, too', async (t) => {
    const { file } = secretsFile(t)
    const { server } = await startWithScriptedUpstream(t, { args: [...QUICK, '--secrets', file] })
    const { json } = await server.call('browser_type', {
      element: 'the user',
      ref: 'e1',
      text: 'SHOP_PASSWORD'
    })
    assert.deepEqual(
      [json.errorCode, json.details.reason],
      ['INVALID_PARAMETERS', 'unknown secret']
    )
  })

  test('cannot be read with `evaluate` while a document of the session contains it', async (t) => {
    const { folder, file } = secretsFile(t)
    const site = await startSite(t, {
      '/plain':
        '<link rel="icon" href="data:,"><title>Plain</title><form action="/got"><input id="user" name="user" autocomplete="on"><button>Go</button></form>',
      '/framed': '<title>Framed</title><iframe id="frame" src="/plain"></iframe>',
      '/got': '<title>Got</title>'
    })
    const server = await startServer(t, ['--secrets', file, '--output-dir', folder])
    const script = '[...document.title].reverse().join("")'
    const refused = async () => {
      const { isError, json } = await server.call('evaluate', { script })
      assert.ok(isError)
      assert.deepEqual(
        [json.errorCode, json.details.rule],
        ['BLOCKED_BY_POLICY', 'enableScriptEvaluation']
      )
      assert.match(json.message, /page `page-1` contains a secret/)
    }
    await server.ok('navigate', { url: site.url('/plain') })
    await server.ok('fill', { selector: '#user', value: 'plain text' })
    assert.equal((await server.ok('evaluate', { script })).value, 'nialP')
    await server.ok('type', { selector: '#user', text: 'LOGIN', clear: true })
    await refused()
    // After the field was emptied, the value may still be in a variable of the page.
    await server.ok('fill', { selector: '#user', value: '' })
    await refused()
    // A script in another page of the session could read it, for example through `opener`.
    await server.ok('pages', { action: 'new', url: site.url('/got') })
    const other = (await server.call('evaluate', { script, pageId: 'page-2' })).json
    assert.deepEqual(
      [other.errorCode, other.details.rule],
      ['BLOCKED_BY_POLICY', 'enableScriptEvaluation']
    )
    assert.match(other.message, /page `page-1` contains a secret/)
    await server.ok('pages', { action: 'select', pageId: 'page-1' })
    await server.ok('fill', { selector: '#user', value: 'LOGIN' })
    await server.ok('click', { selector: 'text=Go' })
    // The next document does not hold it.
    assert.equal((await server.ok('evaluate', { script })).value, 'toG')
    assert.equal((await server.ok('evaluate', { script, pageId: 'page-2' })).value, 'toG')
    await server.ok('pages', { action: 'close', pageId: 'page-2' })
    // A document whose field a browser or `session_resume` has filled again holds it.
    await server.ok('go_back')
    const held = (await server.ok('get_value', { selector: '#user' })).value === MARK
    if (held) await refused()
    else assert.equal((await server.ok('evaluate', { script })).value, 'nialP')
    // A script of the page can read a frame.
    await server.ok('navigate', { url: site.url('/framed') })
    assert.equal((await server.ok('evaluate', { script })).value, 'demarF')
    await server.ok('fill', { selector: '#frame >>> #user', value: 'LOGIN' })
    await refused()
  })

  test(
    'is out of reach of `evaluate` in a field that `session_resume` has filled',
    { skip: NO_SQLITE },
    async (t) => {
      const { file } = secretsFile(t)
      const record = recordFile(t)
      const site = await startSite(t, {
        '/plain': '<link rel="icon" href="data:,"><title>Plain</title><input id="user">'
      })
      const first = await startServer(t, ['--secrets', file, '--store', record])
      const sessionId = await first.createSession()
      await first.ok('navigate', { sessionId, url: site.url('/plain') })
      await first.ok('fill', { sessionId, selector: '#user', value: 'LOGIN' })
      await first.end()
      const next = await startServer(t, ['--secrets', file, '--store', record])
      await next.ok('session_resume', { sessionId })
      assert.equal((await next.ok('get_value', { sessionId, selector: '#user' })).value, MARK)
      assert.equal(
        (await next.call('evaluate', { sessionId, script: 'document.title' })).json.errorCode,
        'BLOCKED_BY_POLICY'
      )
    }
  )

  test('file that cannot be read prevents the start, and is not quoted', async (t) => {
    const { folder } = secretsFile(t)
    const file = join(folder, 'wrong.env')
    writeFileSync(file, 'PIN=123\n')
    const server = await startServer(t, ['--secrets', file], { handshake: false })
    assert.equal((await server.exit).code, 2)
    assert.match(server.stderr(), /value of `PIN` has fewer than 4 characters/)
    assert.doesNotMatch(server.stderr(), /123/)
  })
})

/** @param {string} path */
function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
