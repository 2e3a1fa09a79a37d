// The setup of a client of @playwright/mcp: its roots, options and configuration file.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { emptyFolder, startIn } from './servers.mjs'

/**
 * Starts a server whose client has roots.
 * @param {import('node:test').TestContext} t @param {string} cwd @param {string[]} uris
 */
async function startWithRoots(t, cwd, uris) {
  const server = await startServer(t, ['--tools', 'playwright'], { cwd, handshake: false })
  server.answer = ({ method }) =>
    method === 'roots/list' ? { roots: uris.map((uri) => ({ uri, name: 'root' })) } : {}
  await server.initialize(undefined, { roots: {} })
  return server
}

/** The code in a result. @param {string} text */
const codeIn = (text) => /^### Ran Playwright code\n```js\n([\s\S]*?)\n```$/m.exec(text)?.[1]

test('the code has the URL as the client wrote it', async (t) => {
  const site = await startSite(t, { '/': '<title>Home</title>' })
  const server = await startIn(t, emptyFolder(t))
  const origin = site.url('/').slice(0, -1)
  const { text } = await server.call('browser_navigate', { url: origin })
  assert.equal(codeIn(text), `await page.goto('${origin}');`)
  assert.ok(text.includes(`- Page URL: ${origin}/\n`))
  const { text: opened } = await server.call('browser_tabs', { action: 'new', url: origin })
  assert.equal(codeIn(opened), `await page.goto('${origin}');`)
})

test('a navigation without a response times out with the message of Playwright', async (t) => {
  const site = await startSite(t, { '/slow': () => {} })
  const server = await startIn(t, emptyFolder(t), ['--timeout-navigation', '300'])
  const { text, isError } = await server.call('browser_navigate', { url: site.url('/slow') })
  assert.ok(isError)
  assert.match(text, /^TimeoutError: browserBackend\.callTool: Timeout 300ms exceeded\.$/m)
})

test('a tool whose capability is off is not found', async (t) => {
  const server = await startIn(t, emptyFolder(t))
  const { text, isError } = await server.call('browser_pdf_save')
  assert.ok(isError)
  assert.equal(text, '### Error\nTool "browser_pdf_save" not found')
})

test('errors of the page are messages of level error', async (t) => {
  const site = await startSite(t, { '/': '<script>throw new Error("boom")</script>' })
  const server = await startIn(t, emptyFolder(t))
  await server.call('browser_navigate', { url: site.url('/') })
  const { text } = await server.call('browser_console_messages', { level: 'error' })
  assert.match(text, /Total messages: 1 \(Errors: 1, Warnings: 0\)\n\nError: boom/)
})

test('the first root of the client is the workspace', async (t) => {
  const cwd = emptyFolder(t)
  const root = join(cwd, 'project')
  mkdirSync(root)
  writeFileSync(join(root, 'inside.txt'), 'inside')
  writeFileSync(join(cwd, 'outside.txt'), 'outside')
  symlinkSync(root, join(cwd, 'link'))
  const site = await startSite(t, { '/': '<input type="file">' })
  for (const named of [root, join(cwd, 'link')]) {
    const uris = ['https://example.test/x', pathToFileURL(named).href, pathToFileURL(cwd).href]
    const server = await startWithRoots(t, cwd, uris)
    const { text } = await server.call('browser_navigate', { url: site.url('/') })
    assert.match(text, /^- \[Snapshot\]\(\.playwright-mcp\/page-/m)
    await server.call('browser_click', { target: 'input' })
    const denied = await server.call('browser_file_upload', { paths: [join(cwd, 'outside.txt')] })
    assert.ok(denied.isError)
    assert.match(denied.text, /File access denied: .*outside\.txt is outside allowed roots/)
    const uploaded = await server.call('browser_file_upload', { paths: ['inside.txt'] })
    assert.ok(!uploaded.isError, uploaded.text)
    assert.ok(codeIn(uploaded.text)?.includes(JSON.stringify(join(named, 'inside.txt'))))
    await server.call('browser_take_screenshot', { filename: 'shot.png' })
    assert.ok(readdirSync(root).includes('shot.png'))
    rmSync(join(root, 'shot.png'))
  }
})

test('roots that are no files, or no answer about roots, leave the working directory', async (t) => {
  const cwd = emptyFolder(t)
  const server = await startWithRoots(t, cwd, ['bogus:///non/existent'])
  const { text } = await server.call('browser_take_screenshot', { filename: 'shot.png' })
  assert.match(text, /\(\.\/shot\.png\)/)
  assert.ok(readdirSync(cwd).includes('shot.png'))
})

test('--blocked-origins and --allowed-origins block requests by scheme, host and port', async (t) => {
  const site = await startSite(t, { '/': '<title>Reached</title>' })
  const url = site.url('/')
  const port = new URL(url).port
  for (const [args, isBlocked] of [
    [['--blocked-origins', 'a.test;127.0.0.1'], false],
    [['--blocked-origins', `a.test;127.0.0.1:${port}`], true],
    [['--blocked-origins', 'http://127.0.0.1:*'], true],
    [['--blocked-origins', 'https://127.0.0.1:*'], false],
    [['--allowed-origins', `https://a.test;http://127.0.0.1:${port}`], false],
    [['--allowed-origins', 'a.test'], true]
  ]) {
    const server = await startIn(t, emptyFolder(t), /** @type {string[]} */ (args))
    const { text } = await server.call('browser_navigate', { url })
    const found = isBlocked ? /net::ERR_BLOCKED_BY_CLIENT at http/ : /^- Page Title: Reached$/m
    assert.match(text, found, String(args))
  }
})

test('a route that changes headers does not open a blocked origin', async (t) => {
  const site = await startSite(t, { '/': '<title>Reached</title>' })
  const server = await startIn(t, emptyFolder(t), [
    '--blocked-origins',
    'http://127.0.0.1:*',
    '--caps',
    'network'
  ])
  await server.call('browser_route', { pattern: '**/*', headers: ['X-Test: 1'] })
  const { text } = await server.call('browser_navigate', { url: site.url('/') })
  assert.match(text, /net::ERR_BLOCKED_BY_CLIENT at http/)
})

test('--mobile, --vision and --block-service-workers work as in @playwright/mcp', async (t) => {
  const page = `<meta name="viewport" content="width=device-width"><title>Page</title>
    <script>navigator.serviceWorker.register('/worker.js')</script>`
  const site = await startSite(t, { '/': page })
  const args = ['--mobile', '--vision', '--block-service-workers']
  const server = await startIn(t, emptyFolder(t), args)
  await server.call('browser_navigate', { url: site.url('/') })
  const { text } = await server.call('browser_evaluate', {
    function: '() => `${innerWidth} ${navigator.userAgent}`'
  })
  assert.match(text, /"360 .*Pixel 10.*Mobile/)
  const { text: log } = await server.call('browser_console_messages', { level: 'warning' })
  assert.match(log, /Service Worker registration blocked by Playwright/)
  const { result } = await server.request('tools/list', {})
  const names = result.tools.map((/** @type {{ name: string }} */ { name }) => name)
  assert.ok(names.includes('browser_mouse_click_xy'))
})

test('an INI file configures the server, and browser_get_config shows the result', async (t) => {
  const cwd = emptyFolder(t)
  const lines = [
    '; a comment',
    'capabilities = config, pdf',
    'browser.contextOptions.viewport = 640x480',
    'console.level = error',
    '[timeouts]',
    'action = 12345'
  ]
  writeFileSync(join(cwd, 'settings.ini'), lines.join('\n'))
  const env = { PLAYWRIGHT_MCP_TIMEOUT_NAVIGATION: '45000' }
  const server = await startIn(t, cwd, ['--config', 'settings.ini', '--isolated'], env)
  const { text } = await server.call('browser_get_config')
  const config = JSON.parse(/^### Result\n([\s\S]*?\n\})$/m.exec(text)?.[1] ?? '')
  assert.deepEqual(config.browser.contextOptions.viewport, { width: 640, height: 480 })
  assert.equal(config.browser.isolated, true)
  assert.equal(config.console.level, 'error')
  assert.deepEqual(config.capabilities, ['config', 'pdf'])
  assert.equal(config.timeouts.action, 12345)
  assert.equal(config.timeouts.navigation, 45000)
})

test('a screenshot has the device scale factor of the configuration', async (t) => {
  const cwd = emptyFolder(t)
  const contextOptions = { viewport: { width: 400, height: 300 }, deviceScaleFactor: 2 }
  writeFileSync(join(cwd, 'config.json'), JSON.stringify({ browser: { contextOptions } }))
  const server = await startIn(t, cwd, ['--config', 'config.json'])
  for (const [scale, width] of [
    ['css', 400],
    ['device', 800]
  ]) {
    const { result } = await server.call('browser_take_screenshot', { scale })
    const png = Buffer.from(result.content[1].data, 'base64')
    assert.equal(png.readUInt32BE(16), width, String(scale))
  }
})

test('refs count from e1 after --storage-state has set localStorage', async (t) => {
  const cwd = emptyFolder(t)
  const site = await startSite(t, {
    '/': "<button>Save</button><script>document.title = localStorage.getItem('name')</script>"
  })
  const { origin } = new URL(site.url('/'))
  const origins = [{ origin, localStorage: [{ name: 'name', value: 'stored' }] }]
  writeFileSync(join(cwd, 'state.json'), JSON.stringify({ cookies: [], origins }))
  const server = await startIn(t, cwd, ['--storage-state', 'state.json'])
  await server.call('browser_navigate', { url: `${origin}/` })
  const { text } = await server.call('browser_snapshot')
  assert.match(text, /^- Page Title: stored$/m)
  assert.match(text, /button "Save" \[ref=e2\]/)
})

test('a variable without a value in the file of secrets is ignored', async (t) => {
  const cwd = emptyFolder(t)
  writeFileSync(join(cwd, 'secrets.env'), 'EMPTY=\nTOKEN=password123')
  const site = await startSite(t, { '/': '<p>hello password123</p>' })
  const server = await startIn(t, cwd, ['--secrets', 'secrets.env'])
  await server.call('browser_navigate', { url: site.url('/') })
  const { text } = await server.call('browser_snapshot')
  assert.match(text, /hello <secret>TOKEN<\/secret>/)
})

test('--output-max-size deletes the oldest files, but none that the result names', async (t) => {
  const cwd = emptyFolder(t)
  const output = join(cwd, '.playwright-mcp')
  mkdirSync(output)
  writeFileSync(join(output, 'old.txt'), 'x'.repeat(5000))
  utimesSync(join(output, 'old.txt'), 1, 1)
  const server = await startIn(t, cwd, ['--output-max-size', '100'])
  const { text } = await server.call('browser_take_screenshot')
  const named = /\(\.playwright-mcp\/(page-.*\.png)\)/.exec(text)?.[1]
  assert.deepEqual(readdirSync(output), [named])
})

test('an executable that does not exist is named', async (t) => {
  const cwd = emptyFolder(t)
  const args = ['--tools', 'playwright', '--headless', '--executable-path', join(cwd, 'missing')]
  const server = await startServer(t, args, { cwd, browser: false })
  const { text, isError } = await server.call('browser_navigate', { url: 'about:blank' })
  assert.ok(isError)
  assert.match(text, /Failed to launch the browser: .*missing/)
})
