// The `troupe` commands, as an agent uses them in a shell.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { CommandLine, NO_NATIVE_CLIENT } from '../support/command-line.mjs'
import { shared } from '../support/scope.mjs'
import { BIN } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

const LINUX_ONLY = process.platform === 'linux' ? false : 'uses `script` of util-linux'

const items = Array.from({ length: 700 }, (_, at) => `<p>Paragraph number ${at}</p>`).join('')
const shop =
  '<title>Shop</title><h1>Shop</h1><label>Email <input></label><label>Photo <input type="file"></label>' +
  '<button onclick="document.body.append(\'Saved\')">Save</button><a href="/slow">Slow</a>' +
  '<button>Twin</button><button>Twin</button>'

describe('commands', { timeout: 180_000, skip: NO_NATIVE_CLIENT }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  /** @type {CommandLine} */
  let cli
  before(async () => {
    site = await startSite(scope, {
      '/': shop,
      '/long': `<title>Long</title>${items}`,
      '/slow': '<h1>Late</h1>'
    })
    cli = new CommandLine(scope)
  })

  test('open, read and change a page, and print what has changed', async () => {
    const opened = await cli.ok('open', site.url('/'))
    assert.match(opened, /^title: Shop\nurl: http/)
    assert.doesNotMatch(opened, /timing/)
    assert.match(opened, /textbox "Email" \[ref=e\d+\]/)
    assert.equal(
      (await cli.ok('click', 'role=button[name="Save"]')).replace(/e\d+/, 'e0'),
      'Clicked button "Save" [ref=e0]\nchanges: + text: Saved\n'
    )
    assert.match(await cli.ok('fill', 'label=Email', 'ada@example.com'), /ada@example\.com/)
    assert.equal(await cli.ok('eval', '6 * 7', '--json'), '{"success":true,"value":42}\n')
    const piped = await cli.run(['eval', '-'], { input: 'document.title' })
    assert.equal(piped.stdout, 'value: Shop\n')
  })

  test('fail with the exit code of the error, the candidates and the next step', async () => {
    await cli.ok('open', site.url('/'))
    const twins = await cli.run(['click', 'role=button[name="Twin"]'])
    assert.deepEqual([twins.status, twins.stdout], [20, ''])
    assert.match(twins.stderr, /^error: .* \(ELEMENT_AMBIGUOUS\)\n {2}ref=e\d+ .*\n {2}ref=e\d+ /)
    assert.match(twins.stderr, /\nnext: /)
    await cli.run(['eval', 'setTimeout(() => alert(1)); 1'])
    const blocked = await cli.run(['click', 'e1'])
    assert.match(blocked.stderr, /\nnext: answer it with `troupe dialog`/)
    await cli.ok('dialog', 'true')
    const stale = await cli.run(['click', 'e9999', '--json'])
    assert.equal(stale.status, 19)
    assert.equal(JSON.parse(stale.stderr).errorCode, 'ELEMENT_NOT_FOUND')
    const started = performance.now()
    const late = await cli.run(['wait', 'Never there', '--timeout', '300'])
    assert.equal(late.status, 24)
    assert.ok(performance.now() - started < 20_000)
    const wrong = await cli.run(['click', '--tint', 'red'])
    assert.deepEqual([wrong.status, wrong.stdout], [2, ''])
    assert.match(wrong.stderr, /^troupe: unexpected argument '--tint' found .*--help/)
  })

  test('stop a chain at the first failure, and wait for navigations', async () => {
    const open = `troupe open ${site.url('/')}`
    const held = site.hold('/slow')
    const running = cli.shell(`${open} && troupe click text=Slow && troupe snapshot`)
    await held.requested
    held.release()
    const chained = await running
    assert.equal(chained.status, 0, chained.stderr)
    assert.match(chained.stdout, /heading "Late".*\n<\/page/)
    const quiet = await cli.shell(
      `${open} -q && troupe fill label=Email a@example.com --quiet && troupe eval '1 + 1'`
    )
    assert.deepEqual(quiet, { status: 0, stdout: 'value: 2\n', stderr: '' })
    const failed = await cli.run(['click', '#missing', '--timeout', '100', '-q'])
    assert.match(failed.stderr, /^error: .*ELEMENT_NOT_FOUND/)
    const broken = await cli.shell(
      `${open} && troupe click '#missing' --timeout 100 && troupe list`
    )
    assert.equal(broken.status, 19)
    assert.doesNotMatch(broken.stdout, /sessions:/)
  })

  test('write long results and pictures into files of the caller', async () => {
    await cli.ok('open', site.url('/long'))
    const text = await cli.ok('text')
    const [, count, path = ''] = /… (\d+) lines in (\S+); search them: grep -n/.exec(text) ?? []
    assert.ok(path.startsWith(join(cli.folder, '.troupe', 'text-')), text)
    assert.ok(text.length < 2000, `${text.length}`)
    assert.ok(Number(count) >= 700)
    assert.match(readFileSync(path, 'utf8'), /Paragraph number 699/)
    assert.equal(readFileSync(join(cli.folder, '.troupe', '.gitignore'), 'utf8'), '*\n')
    assert.match(await cli.ok('text', '--inline'), /Paragraph number 350\s/)
    assert.match(JSON.parse(await cli.ok('text', '--json')).text, /Paragraph number 350\s/)

    const shot = (await cli.ok('screenshot')).trim()
    assert.equal(shot, join(cli.folder, '.troupe', 'screenshot-1.png'))
    assert.equal(readFileSync(shot).subarray(1, 4).toString(), 'PNG')
  })

  test('resolve relative paths in the directory of the caller', async () => {
    const inner = join(cli.folder, 'inner')
    mkdirSync(inner, { recursive: true })
    writeFileSync(join(inner, 'photo.txt'), 'photo')
    const from = { cwd: inner, env: { TROUPE_SESSION: 'paths' } }
    assert.equal((await cli.run(['open', site.url('/')], from)).status, 0)
    const shot = await cli.run(['screenshot', 'page.png'], from)
    assert.equal(shot.stdout, `path: ${join(inner, 'page.png')}\n`)
    assert.ok(existsSync(join(inner, 'page.png')))
    const upload = await cli.run(['upload', 'label=Photo', 'photo.txt'], from)
    assert.equal(upload.status, 0, upload.stderr)
    const script = 'document.querySelector("[type=file]").files[0].name'
    assert.equal((await cli.run(['eval', script], from)).stdout, 'value: photo.txt\n')
    assert.match(await cli.ok('list'), /sessionId=paths /)
  })

  test('share a session by its name, and use that of the working tree by default', async () => {
    const tree = join(cli.folder, 'tree')
    mkdirSync(join(tree, '.git'), { recursive: true })
    mkdirSync(join(tree, 'deep'))
    assert.equal((await cli.run(['open', site.url('/')], { cwd: tree })).status, 0)
    const inner = await cli.run(['eval', 'document.title'], { cwd: join(tree, 'deep') })
    assert.equal(inner.stdout, 'value: Shop\n')

    const none = await cli.run(['snapshot', '-s', 'nobody'])
    assert.equal(none.status, 13)
    assert.match(
      none.stderr,
      /the session `nobody` is not open .*\nnext: open it with `troupe open/
    )
    await Promise.all([1, 2, 3].map(() => cli.ok('-s', 'one', 'open', site.url('/'))))
    const { sessions } = JSON.parse(await cli.ok('list', '--json'))
    const named = sessions.filter(({ sessionId }) => sessionId === 'one')
    assert.equal(named.length, 1, 'concurrent shells have opened one session')
    await cli.ok('close', '-s', 'one')
    assert.equal((await cli.run(['snapshot', '-s', 'one'])).status, 13)
    const invalid = await cli.run(['open', site.url('/'), '-s', '../up'])
    assert.equal(invalid.status, 10)
  })

  test('print colors only on a terminal', { skip: LINUX_ONLY }, async () => {
    await cli.ok('open', site.url('/'))
    /** @param {Record<string, string>} env @param {string} command */
    const onTerminal = async (command, env = {}) => {
      const line = `'${process.execPath}' '${BIN}' ${command}`
      const run = await cli.program('script', ['-qec', line, '/dev/null'], {
        env: { TERM: 'xterm', ...env }
      })
      return run.stdout
    }
    const bold = '\u001b[1m'
    assert.ok((await onTerminal("eval '6 * 7'")).startsWith(`${bold}value:\u001b[0m 42`))
    assert.ok((await onTerminal("eval '6 * 7'", { NO_COLOR: '1' })).startsWith('value: 42'))
    assert.match(await onTerminal('click e9999'), /\u001b\[1m\u001b\[31merror:\u001b\[0m /)
    const slow = await onTerminal("wait 'Never there' --timeout 2500")
    assert.match(slow, /\r\u001b\[2K\S troupe wait, 1 s\r\u001b\[2K/)
    const piped = await cli.run(['click', 'e9999'])
    assert.ok(!piped.stderr.includes('\u001b'), piped.stderr)
  })

  test('have help texts with an example', async () => {
    const help = await cli.ok('click', '--help')
    assert.match(help, /Usage: troupe click \[OPTIONS\] \[SELECTOR\]/)
    assert.match(help, /--click-count <VALUE>/)
    assert.match(help, /Example: troupe click e12/)
  })
})
