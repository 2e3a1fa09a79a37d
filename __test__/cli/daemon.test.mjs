// The daemon of the command line. Each user has one, which starts, stops and is replaced
// automatically.
import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { CommandLine, NO_NATIVE_CLIENT } from '../support/command-line.mjs'
import { descendants, readProcess } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { until } from '../support/wait.mjs'

const LINUX_ONLY = process.platform === 'linux' ? false : 'reads processes from /proc'
const page = '<title>Shop</title><h1>Shop</h1><button onclick="this.remove()">Buy</button>'
const member = '<title>Member</title><script>document.cookie = "who=ada; max-age=999"</script>'

describe('the daemon', { timeout: 180_000, skip: NO_NATIVE_CLIENT }, () => {
  test('is one process for fifty shells that start at the same time', async (t) => {
    const cli = new CommandLine(t)
    const shells = Array.from({ length: 50 }, (_, at) =>
      cli.run(['list', '--json', '-s', `shell-${at}`])
    )
    for (const { status, stderr } of await Promise.all(shells)) assert.equal(status, 0, stderr)
    const log = await cli.ok('daemon', 'logs')
    assert.equal(log.match(/the server has started/g)?.length, 1, log)
  })

  test('listens on a socket that only its user can use', async (t) => {
    const cli = new CommandLine(t)
    assert.match(await cli.ok('daemon', 'status'), /^not running\n/)
    assert.match(await cli.ok('daemon', 'start'), /^running\n/)
    const mode = (name) => statSync(join(cli.state, name)).mode & 0o777
    assert.deepEqual([mode('.'), mode('socket'), mode('log')], [0o700, 0o600, 0o600])
    assert.match(await cli.ok('daemon', 'stop'), /^stopped/)
    assert.ok(!existsSync(join(cli.state, 'socket')))
    assert.match(await cli.ok('daemon', 'stop'), /^not running\n/)
  })

  test('resolves file paths in its options in the directory of its caller', async (t) => {
    const cli = new CommandLine(t, { TROUPE_CONFIG: 'troupe.json', TROUPE_LOG_FILE: 'own.log' })
    writeFileSync(join(cli.folder, 'troupe.json'), '{ "maxSessions": 1 }')
    await cli.ok('daemon', 'start')
    assert.ok(existsSync(join(cli.folder, 'own.log')))
    await cli.ok('open', 'about:blank', '-s', 'first')
    const second = await cli.run(['open', 'about:blank', '-s', 'second'])
    assert.match(second.stderr, /MAX_SESSIONS_REACHED/)
  })

  test('exits when it has been idle, and leaves no process', { skip: LINUX_ONLY }, async (t) => {
    const site = await startSite(t, { '/': page })
    const cli = new CommandLine(t, { TROUPE_DAEMON_IDLE: '1500' })
    // Asking for the status after `open` could take longer than the daemon waits.
    const pid = Number(/^pid: (\d+)$/m.exec(await cli.ok('daemon', 'start'))?.[1])
    await cli.ok('open', site.url('/'))
    const all = [readProcess(pid), ...descendants(pid)]
    assert.ok(all.length > 1)
    const isAlive = (then) => readProcess(then?.pid ?? 0)?.started === then?.started
    await until(() => !all.some(isAlive), 'the end of the daemon and its browser', 30_000)
    assert.match(await cli.ok('daemon', 'logs'), /no client has connected for --daemon-idle/)
    // The next command starts another daemon, which resumes the session.
    assert.match(await cli.ok('snapshot'), /heading "Shop"/)
  })

  test('starts again after kill -9, and resumes the sessions', { skip: LINUX_ONLY }, async (t) => {
    const site = await startSite(t, { '/': member, '/shop': page })
    const cli = new CommandLine(t)
    await cli.ok('open', site.url('/'))
    await cli.ok('open', site.url('/shop'))
    await until(
      async () => (await cli.ok('cookies')).includes('value=ada'),
      'the cookie of the page'
    )
    await awaitDurableState()
    const killed = await cli.pid()
    process.kill(killed, 'SIGKILL')
    assert.match(await cli.ok('snapshot'), /\/shop \(Shop\)/)
    assert.match(await cli.ok('cookies'), /name=who value=ada/)
    assert.notEqual(await cli.pid(), killed)
  })

  test('restarts a browser that was killed', { skip: LINUX_ONLY }, async (t) => {
    const site = await startSite(t, { '/': page })
    const cli = new CommandLine(t)
    await cli.ok('open', site.url('/'))
    const pid = await cli.pid()
    const [browser] = descendants(pid).filter(({ parent }) => parent === pid)
    process.kill(browser.pid, 'SIGKILL')
    await until(
      () => readProcess(browser.pid)?.started !== browser.started,
      'the end of the browser'
    )
    await until(
      async () => /heading "Shop"/.test((await cli.run(['snapshot'])).stdout),
      'the page in another browser',
      30_000
    )
    assert.equal(await cli.pid(), pid)
  })

  test('is replaced by a newer version, which takes over the sessions', async (t) => {
    const site = await startSite(t, { '/': page })
    const cli = new CommandLine(t)
    await cli.ok('open', site.url('/'))
    const old = await cli.pid()
    const newer = { env: { TESTING_VERSION: '99.0.0' } }
    const taken = await cli.run(['click', 'role=button[name="Buy"]'], newer)
    assert.equal(taken.status, 0, taken.stderr)
    assert.match(taken.stdout, /Clicked button "Buy"/)
    assert.match(await cli.ok('daemon', 'status'), /^version: 99\.0\.0$/m)
    const pid = await cli.pid()
    assert.notEqual(pid, old)
    // An older client uses the newer daemon.
    assert.match(await cli.ok('snapshot'), /heading "Shop"/)
    assert.equal(await cli.pid(), pid)
  })

  test('also serves MCP clients, which can use the sessions of shells', async (t) => {
    const site = await startSite(t, { '/': page })
    const cli = new CommandLine(t)
    await cli.ok('open', site.url('/'), '-s', 'shared')
    const url = /unix:\S+/.exec(await cli.ok('daemon', 'status'))?.[0] ?? ''
    const client = await startServer(t, ['--connect', url], { browser: false })
    await client.ok('navigate', { url: site.url('/') })
    assert.match(await cli.ok('list'), /sessionId=shared .*\n.*sessionId=[0-9a-f-]{36} /)
  })

  test('offers scripts to MCP clients only with --enable-scripts', async (t) => {
    for (const enabled of [false, true]) {
      const cli = new CommandLine(t, enabled ? { TROUPE_ENABLE_SCRIPTS: 'true' } : {})
      await cli.ok('open', 'about:blank')
      const url = /unix:\S+/.exec(await cli.ok('daemon', 'status'))?.[0] ?? ''
      const client = await startServer(t, ['--connect', url], { browser: false })
      const { tools } = (await client.request('tools/list', {})).result
      assert.equal(
        tools.some(({ name }) => name === 'run_script'),
        enabled
      )
      const called = await client.call('run_script', { script: 'return 6 * 7' })
      if (enabled) assert.match(called.text, /42/)
      else assert.match(called.text, /--enable-scripts/)
      // The user of the shell can do more than a script.
      const { stdout } = await cli.run(['run', '-'], { input: 'return 6 * 7' })
      assert.match(stdout, /42/)
    }
  })

  test('reports why it cannot start', async (t) => {
    const cli = new CommandLine(t, { TROUPE_MAX_SESSIONS: 'many' })
    const { status, stderr } = await cli.run(['list'])
    assert.equal(status, 32)
    assert.match(stderr, /the daemon could not be started: .*TROUPE_MAX_SESSIONS/)
  })
})
