// Secrets that are typed by name: nothing that leaves the process holds one, in whatever form.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { BROWSER_CONFIG } from '../support/browser.mjs'
import { NO_SQLITE, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { QUICK, startUpstream } from '../upstream/upstream.mjs'

const VALUE = 'hunter2 & "söhne"/1'
const MARK = '<secret>LOGIN</secret>'

/** A page that shows what is typed there in every form, and keeps it. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>Keeper</title><link rel="icon" href="data:,">
  <form action="/got" method="get"><label>User <input id="user" name="user"></label><button id="go">Go</button></form><pre id="out"></pre>
  <script>
    const bytes = (text) => String.fromCharCode(...new TextEncoder().encode(text))
    user.oninput = () => {
      // What is cut short is not the secret any more.
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

/** The forms that are looked for. */
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
  const folder = mkdtempSync(join(tmpdir(), 'troupe-secrets-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'secrets.env')
  writeFileSync(file, `# of the shop\nLOGIN='${VALUE}'\n`)
  return { folder, file }
}

describe('a secret', { timeout: 120_000 }, () => {
  test('is typed by its name, and is in nothing that leaves the process', { skip: NO_SQLITE }, async (t) => {
    const { folder, file } = secretsFile(t)
    const record = recordFile(t)
    const log = join(folder, 'log')
    const site = await startSite(t, { '/keeper': PAGE, '/got': (_request, response, url) => response.end(`got ${url.search}`), '/seen': (_request, response) => response.end() })
    const args = ['--secrets', file, '--store', record, '--log-file', log, '--log-level', 'debug', '--output-dir', folder]
    const server = await startServer(t, args)
    await server.request('logging/setLevel', { level: 'debug' })
    await server.ok('navigate', { url: site.url('/keeper') })
    await server.ok('fill', { selector: '#user', value: 'LOGIN' })
    assert.equal((await server.ok('get_value', { selector: '#user' })).value, MARK)
    await server.ok('type', { selector: '#user', text: 'LOGIN', clear: true })
    await server.ok('fill_form', { fields: [{ selector: '#user', value: 'LOGIN' }] })
    await server.ok('batch', { steps: [{ tool: 'fill', arguments: { selector: '#user', value: 'LOGIN' } }] })
    // The page itself has it.
    const length = [...VALUE].length
    assert.equal((await server.ok('evaluate', { script: '[...user.value].length' })).value, length)
    const { meta } = await server.call('snapshot')
    for (const tool of ['snapshot', 'read_page', 'get_text', 'get_page_metadata', 'get_request_log', 'get_console_content', 'get_cookies', 'save_state', 'list_sessions', 'list_requests'])
      await server.ok(tool)
    await server.ok('evaluate', { script: '({ [user.name]: user.value, [user.value]: 1, html: document.documentElement.outerHTML })' })
    await server.call('evaluate', { script: 'throw new Error(user.value)' })
    await server.call('click', { selector: `text=${VALUE}`, timeout: 50 })
    for (const uri of [`playwright:///page/${meta.sessionId}/page-1`, `playwright:///network-log/${meta.sessionId}/page-1`, `playwright:///element/${meta.sessionId}/page-1{?selector}`])
      await server.request('resources/read', { uri })
    await server.ok('save_state', { path: 'state.json' })
    await server.ok('click', { selector: '#go' })
    assert.match(await server.ok('read_page'), /<secret>LOGIN:/)
    await server.ok('get_content', { resetCursor: true })
    assert.ok(site.requests.some(({ path }) => path.startsWith('/got?user=hunter2')), 'it has come to the site')
    await server.end()
    assertNone(server.received.map((message) => JSON.stringify(message)).join('\n'), 'an answer')
    assertNone(server.stderr(), 'stderr')
    assertNone(readFileSync(log, 'utf8'), 'the log')
    for (const end of ['', '-wal']) assertNone(readIfThere(record + end), `the record${end}`)
    for (const name of readdirSync(folder).filter((name) => name.endsWith('.json'))) assertNone(readFileSync(join(folder, name), 'utf8'), name)
  })

  test('comes back with its session, from where it stands by its name', { skip: NO_SQLITE }, async (t) => {
    const { file } = secretsFile(t)
    const record = recordFile(t)
    const site = await startSite(t, { '/keeper': PAGE, '/seen': (_request, response) => response.end() })
    const first = await startServer(t, ['--secrets', file, '--store', record])
    const sessionId = await first.createSession()
    await first.ok('navigate', { sessionId, url: site.url('/keeper') })
    await first.ok('fill', { sessionId, selector: '#user', value: 'LOGIN' })
    await first.end()
    const next = await startServer(t, ['--secrets', file, '--store', record])
    await next.ok('session_resume', { sessionId })
    const same = await next.ok('evaluate', { sessionId, script: `localStorage.kept === ${JSON.stringify(VALUE)} && user.value === localStorage.kept` })
    assert.equal(same.value, true)
  })

  test('is masked for programs too, which see passwords', async (t) => {
    const { file } = secretsFile(t)
    const { SessionManager } = createRequire(import.meta.url)('../../index.js')
    const manager = new SessionManager({ ...BROWSER_CONFIG, secrets: file })
    t.after(() => manager.shutdown())
    await manager.initialize()
    const session = await manager.createSession()
    const site = await startSite(t, { '/keeper': PAGE, '/seen': (_request, response) => response.end() })
    await session.navigate({ url: site.url('/keeper') })
    await session.fill({ selector: '#user', value: 'LOGIN' })
    assert.equal((await session.evaluate({ script: 'user.value' })).value, MARK)
    assertNone(JSON.stringify([await session.snapshot(), await session.getPageMetadata(), await session.getRequestLog()]), 'a result')
  })

  test('is typed by its name through an upstream server, whose answers do not show it', async (t) => {
    const { file } = secretsFile(t)
    const { server } = await startUpstream(t, { args: [...QUICK, '--secrets', file] })
    const { text } = await server.call('browser_type', { element: 'the user', ref: 'e1', text: 'LOGIN' })
    assert.match(text, /page\.fill\('<secret>LOGIN<\/secret>'\)/)
    await server.end()
    assertNone(server.received.map((message) => JSON.stringify(message)).join('\n') + server.stderr(), 'what was told')
  })

  test('that cannot be read stops the start, without a word of it', async (t) => {
    const { folder } = secretsFile(t)
    const file = join(folder, 'wrong.env')
    writeFileSync(file, 'PIN=123\n')
    const server = await startServer(t, ['--secrets', file], { handshake: false })
    assert.equal((await server.exit).code, 2)
    assert.match(server.stderr(), /`PIN` has less than 4 characters/)
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
