// `troupe sessions` lists, prints, exports and deletes recorded sessions.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { BROWSER_ARGUMENTS, cleanEnvironment } from '../support/browser.mjs'
import { recordFile, temporaryFolder } from '../support/record.mjs'
import { replay, run, troupe } from '../support/scripts.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { sendHtml, startSite } from '../support/site.mjs'

/** Why a test is skipped, or false. `script` provides its terminal. */
const NO_TERMINAL =
  process.platform === 'linux' && existsSync('/usr/bin/script')
    ? false
    : 'needs script of util-linux'

describe('troupe sessions', { timeout: 120_000 }, () => {
  test('lists sessions, and exports readable scripts that can be run', async (t) => {
    const file = recordFile(t)
    const site = await startSite(t, {
      '/shop':
        "<title>Shop</title><h1>Shop</h1><button onclick=\"document.title = 'Bought'; console.log('bought')\">Buy</button>"
    })
    const server = await startServer(t, ['--store', file])
    const sessionId = await server.createSession({
      viewport: { width: 801, height: 602 },
      locale: 'de-DE'
    })
    await server.ok('navigate', { sessionId, url: site.url('/shop') })
    await server.ok('click', { sessionId, selector: 'role=button[name="Buy"]' })
    const shot = await server.call('screenshot', { sessionId })
    await server.call('click', { sessionId, selector: "#it's-not-there", timeout: 1 })
    // Longer than an argument of a command may be on Linux.
    await server.ok('evaluate', { sessionId, script: `'${'$x`'.repeat(60_000)}'.length` })
    await server.end()

    const { stdout: list } = await troupe('sessions', '--store', file)
    assert.match(list, /^SESSION +STATE +CREATED +LAST CALL +CALLS\n/)
    assert.match(list, new RegExp(`${sessionId} +(closed|recoverable) .* 6\n`))
    const { stdout: calls } = await troupe(
      'sessions',
      'show',
      sessionId.slice(0, 8),
      '--store',
      file
    )
    assert.match(calls, /^# +TIME +TOOL +MS +RESULT +PARAMETERS$/m)
    assert.match(calls, /^2 +.* navigate +\d+ +ok +\{"url":"http.*\/shop"\}$/m)
    assert.match(calls, /^5 +.* click +\d+ +#it's-not-there is not a valid CSS selector +\{/m)

    const folder = join(temporaryFolder(t), 'out')
    const exported = await troupe('sessions', 'export', sessionId, folder, '--store', file)
    assert.equal(exported.status, 0, exported.stderr)
    assert.deepEqual(readdirSync(folder).sort(), ['004-screenshot-1.png', 'report.md', 'run.sh'])
    if (process.platform !== 'win32') {
      const mode = (name) => statSync(join(folder, name)).mode & 0o777
      assert.deepEqual(
        ['.', '004-screenshot-1.png', 'report.md', 'run.sh'].map(mode),
        [0o700, 0o600, 0o600, 0o700]
      )
    }
    const before = readFileSync(join(folder, 'report.md'))
    const overwriting = await troupe('sessions', 'export', sessionId, folder, '--store', file)
    assert.equal(overwriting.status, 1)
    assert.match(
      overwriting.stderr,
      /out` is not empty, and an export does not overwrite files; pass another folder/
    )
    assert.ok(before.equals(readFileSync(join(folder, 'report.md'))))
    const png = readFileSync(join(folder, '004-screenshot-1.png'))
    assert.equal(png.toString('base64'), shot.result.content[0].data)
    const report = readFileSync(join(folder, 'report.md'), 'utf8')
    for (const part of [
      sessionId,
      '## 2. navigate',
      '## 3. click',
      '![screenshot](004-screenshot-1.png)',
      'heading "Shop"',
      '[info] bought (',
      'Failed: '
    ]) {
      assert.ok(report.includes(part), `${part} in ${report}`)
    }

    assert.match(
      readFileSync(join(folder, 'run.sh'), 'utf8'),
      /^run call batch - --locale 'de-DE' --viewport-size '801x602' "\$@" <</m
    )
    // The script repeats all steps except the one that failed.
    const again = await replay(t, folder)
    assert.deepEqual([again.status, again.stderr], [0, ''])
    const { results } = JSON.parse(again.stdout)
    assert.deepEqual(
      results.map(({ tool, error }) => [tool, error]),
      [
        ['navigate', undefined],
        ['click', undefined],
        ['screenshot', undefined],
        ['evaluate', undefined]
      ]
    )
    assert.equal(results[3].result.value, 180_000)
    assert.equal(site.requests.filter((request) => request.path === '/shop').length, 2)

    assert.match(
      (await troupe('sessions', 'export', 'nothing-like-this', '--store', file)).stderr,
      /no session `nothing-like-this`.*troupe sessions/
    )
  })

  test('an exported script acts on elements with the same role and name, or fails', async (t) => {
    const item = (name, buttons) =>
      `<li>${name} ${buttons.map((button) => `<button onclick="fetch('/done?${name}.${button}', { method: 'POST' })">${button}</button>`).join(' ')}</li>`
    let items = [item('Ann', ['Archive', 'Delete']), item('Ben', ['Archive', 'Delete'])]
    const site = await startSite(t, {
      '/mail': (_request, response) =>
        sendHtml(response, `<title>Mail</title><ul>${items.join('')}</ul>`),
      '/done': ''
    })
    const done = () =>
      site.requests
        .filter(({ path }) => path.startsWith('/done'))
        .map(({ path }) => path.split('?')[1])
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/mail') })
    const snapshot = await server.ok('snapshot', { sessionId })
    const [, archive] = /text: Ben\n.*button "Archive" \[ref=(e\d+)\]/.exec(snapshot) ?? []
    await server.ok('click', { sessionId, selector: archive })
    await server.end()
    const folder = join(temporaryFolder(t), 'out')
    await troupe('sessions', 'export', sessionId, folder, '--store', file)
    const script = readFileSync(join(folder, 'run.sh'), 'utf8')
    assert.ok(
      script.includes(
        JSON.stringify('role=listitem >> has-text="Ben" >> role=button[name="Archive"]')
      ),
      script
    )

    // Another element has the ref now.
    items = [
      item('Zoe', ['Delete all', 'Archive']),
      item('Ann', ['Delete', 'Archive']),
      item('Ben', ['Delete', 'Archive'])
    ]
    assert.equal((await replay(t, folder)).status, 0)
    assert.deepEqual(done(), ['Ben.Archive', 'Ben.Archive'])
    items = [item('Ann', ['Archive']), item('Ben', ['Delete'])]
    const failed = await replay(t, folder)
    assert.equal(failed.status, 1)
    assert.match(failed.stderr, /^troupe: step 3 \(click\) failed: nothing matches/m)
    assert.deepEqual(
      JSON.parse(failed.stdout).results.map(({ error }) => error?.errorCode),
      [undefined, undefined, 'ELEMENT_NOT_FOUND']
    )
    assert.equal(done().length, 2)
  })

  test('an exported script reads passwords from the environment, and types secrets by name', async (t) => {
    const form = `<title>Log in</title><form><input id="user" aria-label="User"> <input id="password" type="password" aria-label="Password">
      <button type="button" onclick="fetch('/log-in', { method: 'POST', body: JSON.stringify([user.value, password.value]) })">Log in</button></form>`
    const site = await startSite(t, { '/': form, '/log-in': '' })
    const sent = () =>
      site.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body))
    const file = recordFile(t)
    const secrets = join(temporaryFolder(t), 'secrets')
    writeFileSync(secrets, 'TOKEN=tomato soup\n')
    const server = await startServer(t, ['--store', file, '--secrets', secrets])
    const log = async (user, password) => {
      const sessionId = await server.createSession()
      await server.ok('navigate', { sessionId, url: site.url('/') })
      await server.ok('fill', { sessionId, selector: '#user', value: user })
      await server.ok('type', { sessionId, selector: '#password', text: password })
      await server.ok('click', { sessionId, selector: 'role=button' })
      return sessionId
    }
    const plain = await log('Ann', 'pass"word$1')
    const named = await log('TOKEN', 'TOKEN')
    await server.end()

    const folders = [plain, named].map(() => join(temporaryFolder(t), 'out'))
    const asking = await troupe('sessions', 'export', plain, folders[0], '--store', file)
    assert.match(asking.stdout, /run\.sh needs values that are not recorded: set PASSWORD_1\n$/)
    assert.ok(!readFileSync(join(folders[0], 'run.sh'), 'utf8').includes('••••'))
    const unset = await replay(t, folders[0])
    assert.deepEqual([unset.status, unset.stdout], [2, ''])
    assert.match(unset.stderr, /environment variables that are not set: PASSWORD_1/)
    assert.equal((await replay(t, folders[0], [], { PASSWORD_1: 'other "$x` \\n' })).status, 0)

    const naming = await troupe('sessions', 'export', named, folders[1], '--store', file)
    assert.match(naming.stdout, /run\.sh types secrets by name: pass --secrets FILE\n$/)
    assert.equal((await replay(t, folders[1], ['--secrets', secrets])).status, 0)
    assert.deepEqual(sent(), [
      ['Ann', 'pass"word$1'],
      ['tomato soup', 'tomato soup'],
      ['Ann', 'other "$x` \\n'],
      ['tomato soup', 'tomato soup']
    ])
  })

  test('an exported script runs with npx if troupe is not installed, and fails if a batch fails', async (t) => {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    const sessionId = await server.createSession()
    await server.ok('evaluate', { sessionId, script: '1' })
    await server.end()
    const folder = join(temporaryFolder(t), 'out')
    await troupe('sessions', 'export', sessionId, folder, '--store', file)
    const path = temporaryFolder(t)
    writeFileSync(
      join(path, 'npx'),
      `#!/bin/sh\n[ "$1 $2" = "-y troupe" ] && shift 2 && exec '${process.execPath}' '${BIN}' "$@"\n`,
      { mode: 0o700 }
    )
    const env = cleanEnvironment({ PATH: `${path}:/usr/bin:/bin` })
    const { status, stdout, stderr } = await run(
      join(folder, 'run.sh'),
      [...BROWSER_ARGUMENTS, '--store', 'none'],
      { env }
    )
    assert.equal(status, 0, stderr)
    assert.equal(JSON.parse(stdout).success, true)

    const steps = [
      { tool: 'evaluate', arguments: { script: '1' } },
      { tool: 'click', arguments: { selector: '#none', timeout: 1 } },
      { tool: 'evaluate', arguments: { script: '2' } }
    ]
    const batch = await troupe(
      'call',
      'batch',
      JSON.stringify({ steps, stopOnError: false }),
      ...BROWSER_ARGUMENTS,
      '--store',
      'none'
    )
    assert.deepEqual([batch.status, JSON.parse(batch.stdout).results.length], [1, 3])
    assert.match(batch.stderr, /^troupe: step 2 \(click\) failed: /m)
  })

  test('purge deletes only the given session, and all sessions only with --all', async (t) => {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    const [first, second] = [await server.createSession(), await server.createSession()]
    for (const sessionId of [first, second])
      await server.ok('evaluate', { sessionId, script: `'to be deleted'.repeat(1000)` })
    const listed = async () => (await troupe('sessions', '--store', file)).stdout

    const inUse = await troupe('sessions', 'purge', first, '--store', file)
    assert.equal(inUse.status, 1)
    assert.match(
      inUse.stderr,
      new RegExp(`session ${first} is in use by a running server, so nothing was deleted; close it`)
    )
    const kept = await troupe('sessions', 'purge', '--all', '--yes', '--store', file)
    assert.match(
      kept.stdout,
      /^Deleted 0 sessions and 0 calls in .*; kept 2 sessions that running servers use\n$/
    )
    // The server still has its calls.
    assert.match(await listed(), new RegExp(`${first} +active .* 2\n`))
    await server.ok('evaluate', { sessionId: first, script: '2' })
    await server.end()

    const one = await troupe('sessions', 'purge', first.slice(0, 8), '--store', file)
    assert.deepEqual([one.status, one.stdout], [0, `Deleted session ${first} with 3 calls\n`])
    assert.match(await listed(), new RegExp(`${second} .* 2\n[^]*1 session in`))
    assert.match((await troupe('sessions', 'purge', first, '--store', file)).stderr, /no session `/)

    const unasked = await troupe('sessions', 'purge', '--all', '--store', file)
    assert.deepEqual([unasked.status, unasked.stdout], [1, ''])
    assert.match(
      unasked.stderr,
      /stdin is not a terminal, so it cannot ask for confirmation; pass --yes/
    )
    assert.match(await listed(), /1 session in/)
    const unnamed = await troupe('sessions', 'purge', '--store', file)
    assert.deepEqual(
      [unnamed.status, unnamed.stderr],
      [
        2,
        "troupe: `troupe sessions purge` needs either a session's id, or --all to delete every session\n"
      ]
    )
    assert.match(
      (await troupe('sessions', 'purge', '--all', '--yes', '--store', file)).stdout,
      /^Deleted 1 session and 2 calls in/
    )
    assert.match(await listed(), /0 sessions in/)
    assert.ok(!readFileSync(file).includes('to be deleted'), 'deleted text is still in the file')
  })

  test('purge --all asks the user at the terminal', { skip: NO_TERMINAL }, async (t) => {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    await server.createSession()
    await server.end()
    const command = `'${process.execPath}' '${BIN}' sessions purge --all --store '${file}'`
    /** @param {string} answer */
    const asked = (answer) =>
      run('sh', ['-c', `echo ${answer} | script -qec "${command}" /dev/null`])
    assert.match(
      (await asked('n')).stdout,
      /Delete 1 session and all calls in .*\? \[y\/N\][^]*Nothing was deleted/
    )
    assert.match((await asked('y')).stdout, /Deleted 1 session and \d+ calls? in/)
  })

  test('names the file when nothing is recorded', async (t) => {
    const file = recordFile(t)
    const { stdout, status } = await troupe('sessions', '--store', file)
    assert.deepEqual([stdout, status], [`${file} has no recorded sessions yet.\n`, 0])
  })
})
