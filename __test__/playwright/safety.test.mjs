// Safety of the Playwright set: secrets, files, read-only servers and options that restrict.
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { emptyFolder, startIn } from './servers.mjs'

const FORM = `<title>Form</title>
  <label>Password <input type="password" id="password"></label>
  <input type="password" aria-label="Known" value="value-of-page">
  <select id="plan"><option>Free</option></select>
  <button onclick="document.querySelector('#out').textContent = password.value">Show</button>
  <p id="out"></p>`

/** All texts in the output directory. @param {string} cwd */
function written(cwd) {
  const output = join(cwd, '.playwright-mcp')
  return readdirSync(output).map((name) => readFileSync(join(output, name), 'utf8'))
}

test('passwords are in no result and in no file', async (t) => {
  const cwd = emptyFolder(t)
  const site = await startSite(t, { '/form': FORM })
  const server = await startIn(t, cwd)
  await server.ok('browser_navigate', { url: site.url('/form') })
  const typed = await server.call('browser_type', {
    target: '#password',
    text: "it's-hunter22",
    slowly: true
  })
  assert.ok(!typed.isError, typed.text)
  const shown = await server.call('browser_click', { target: 'text=Show' })
  const snapshot = await server.call('browser_snapshot')
  const found = await server.call('browser_find', { text: 'value-of' })
  const all = [typed.text, shown.text, snapshot.text, found.text, ...written(cwd)].join('\n')
  assert.doesNotMatch(all, /hunter22|value-of-page/)
  assert.match(snapshot.text, /textbox "Known" \[ref=e\d+\]: ••••/)
})

test('a password is a secret also if a later field of the form fails', async (t) => {
  const cwd = emptyFolder(t)
  const site = await startSite(t, { '/form': FORM })
  const server = await startIn(t, cwd, ['--timeout-action', '500'])
  await server.ok('browser_navigate', { url: site.url('/form') })
  const { isError } = await server.call('browser_fill_form', {
    fields: [
      { target: '#password', name: 'Password', type: 'textbox', value: 'hunter2222' },
      { target: '#plan', name: 'Plan', type: 'combobox', value: 'Gold' }
    ]
  })
  assert.ok(isError)
  await server.ok('browser_click', { target: 'text=Show' })
  const { text } = await server.call('browser_snapshot')
  assert.doesNotMatch([text, ...written(cwd)].join('\n'), /hunter2222/)
})

test('a file is not written through a symbolic link', async (t) => {
  const cwd = emptyFolder(t)
  const outside = emptyFolder(t)
  writeFileSync(join(outside, 'kept.txt'), 'kept')
  symlinkSync(join(outside, 'kept.txt'), join(cwd, 'link.yml'))
  const server = await startIn(t, cwd)
  const { isError, text } = await server.call('browser_snapshot', { filename: 'link.yml' })
  assert.ok(isError)
  assert.match(text, /File access denied/)
  assert.equal(readFileSync(join(outside, 'kept.txt'), 'utf8'), 'kept')
})

test('an output directory that the working directory has as a link to elsewhere is not used', async (t) => {
  const cwd = emptyFolder(t)
  const outside = emptyFolder(t)
  mkdirSync(join(outside, 'ssh'))
  writeFileSync(join(outside, 'ssh/key'), 'private')
  symlinkSync(outside, join(cwd, '.playwright-mcp'))
  const site = await startSite(t, { '/drop': '<div id="drop" ondragover="return false">x</div>' })
  const server = await startIn(t, cwd)
  await server.call('browser_navigate', { url: site.url('/drop') })
  const { isError, text } = await server.call('browser_drop', {
    target: '#drop',
    paths: [join(outside, 'ssh/key')]
  })
  assert.ok(isError)
  assert.match(text, /File access denied/)
  assert.deepEqual(readdirSync(outside), ['ssh'])
})

test('browser_get_config shows no credentials', async (t) => {
  const server = await startIn(t, emptyFolder(t), ['--caps', 'config'], {
    TROUPE_PROXY_SERVER: 'http://user:pass-word@127.0.0.1:9'
  })
  const { text } = await server.call('browser_get_config')
  assert.match(text, /"proxy": \{\n\s+"server": "http:\/\/127\.0\.0\.1:9"/)
  assert.doesNotMatch(text, /pass-word/)
})

test('a read-only server navigates and reads, and replaces no file', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'package.json'), '{}')
  const site = await startSite(t, { '/form': FORM })
  const server = await startIn(t, cwd, ['--read-only'])
  await server.ok('browser_navigate', { url: site.url('/form') })
  await server.ok('browser_snapshot', { filename: 'new.yml' })
  assert.ok(existsSync(join(cwd, 'new.yml')))
  const replaced = await server.call('browser_snapshot', { filename: 'package.json' })
  assert.ok(replaced.isError, replaced.text)
  assert.equal(readFileSync(join(cwd, 'package.json'), 'utf8'), '{}')
  const clicked = await server.call('browser_click', { target: 'text=Show' })
  assert.ok(clicked.isError, clicked.text)
})

test('a batch stops at a step of the set that fails', async (t) => {
  const server = await startServer(t, ['--tools', 'all', '--timeout-action', '300'])
  const { json } = await server.call('batch', {
    steps: [
      { tool: 'browser_click', arguments: { target: '#none' } },
      { tool: 'browser_press_key', arguments: { key: 'Enter' } }
    ]
  })
  assert.equal(json.success, false)
  assert.equal(json.skipped, 1)
})

test('--allowed-origins restricts requests of pages, and not clients of the server', async (t) => {
  const site = await startSite(t, { '/form': FORM })
  for (const [args, env] of /** @type {const} */ ([
    [['--allowed-origins', 'https://a.example'], {}],
    [[], { PLAYWRIGHT_MCP_ALLOWED_ORIGINS: 'https://a.example' }]
  ])) {
    const server = await startIn(t, emptyFolder(t), [...args], env)
    const { text } = await server.call('browser_navigate', { url: site.url('/form') })
    assert.match(text, /net::ERR_BLOCKED_BY_CLIENT/)
  }
})

test('a call waits for a text in the page that it names', async (t) => {
  const site = await startSite(t, { '/first': '<p>First</p>', '/second': '<p>Second</p>' })
  const server = await startIn(t, emptyFolder(t))
  await server.ok('browser_navigate', { url: site.url('/first') })
  await server.ok('browser_tabs', { action: 'new', url: site.url('/second') })
  const waited = await server.call('browser_wait_for', { text: 'First', pageId: 'page-1' })
  assert.ok(!waited.isError, waited.text)
  assert.match(waited.text, /Page URL: .*\/first/)
})
