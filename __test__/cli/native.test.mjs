// The native client, which runs commands in the daemon without starting Node.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { CommandLine, NATIVE, NO_NATIVE_CLIENT } from '../support/command-line.mjs'
import { shared } from '../support/scope.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

const LINUX_ONLY = process.platform === 'linux' ? false : 'uses /proc or `script` of util-linux'
const page =
  '<title>Shop</title><h1>Shop</h1><button onclick="this.remove()">Buy</button>' +
  '<input type="file" aria-label="Photo"><button>Twin</button><button>Twin</button>'

/** A PATH on which no Node is. */
const WITHOUT_NODE = { env: { PATH: '/nonexistent' } }

describe('the native client', { timeout: 180_000, skip: NO_NATIVE_CLIENT }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  /** @type {CommandLine} */
  let cli
  before(async () => {
    site = await startSite(scope, { '/': page })
    cli = new CommandLine(scope)
  })

  test('starts the daemon with Node, and runs the next commands without it', async () => {
    assert.match(await cli.ok('open', site.url('/')), /^title: Shop\n/)
    const clicked = await cli.run(['click', 'role=button[name="Buy"]'], WITHOUT_NODE)
    assert.equal(clicked.stderr, '')
    assert.match(clicked.stdout, /^Clicked button "Buy" \[ref=e\d+\]\nchanges: - /)
    assert.equal(clicked.status, 0)
  })

  test('prints what the Node program prints, with the same exit code', async () => {
    await cli.ok('open', site.url('/'))
    /** @type {[command: string[], input?: string | Buffer][]} */
    const commands = [
      [['snapshot']],
      [['eval', 'document.title', '--json']],
      [['eval', '-'], '1 + "\u00fc"'],
      [['eval', '-'], Buffer.from([0xff])],
      [['run', '-', '--quiet'], 'return 1'],
      [['click', 'role=button[name="Twin"]']],
      [['click', 'e9999', '--json']],
      [['click', '--tint', 'red']],
      [['snapshot', '-s', 'nobody']],
      [['-s', '../up', 'list']],
      [['wait', 'Never there', '--timeout', '200']]
    ]
    for (const [command, input = ''] of commands) {
      // The Node program reports input that is not UTF-8.
      const native = await cli.run(
        command,
        Buffer.isBuffer(input) ? { input } : { ...WITHOUT_NODE, input }
      )
      const node = await cli.onNode(command, { input })
      // Each call has its own id, boundary and time.
      const same = (text) =>
        text
          .replace(/\d+(?= ms)/g, 'N')
          .replace(/(?<="refId":")[^"]+/g, 'ID')
          .replace(/(?<=<\/?page )[0-9a-f]+/g, 'ID')
      const plain = ({ status, stdout, stderr }) => [status, same(stdout), same(stderr)]
      assert.deepEqual(plain(native), plain(node), command.join(' '))
    }
  })

  test('runs the commands of fifty shells at the same time', async () => {
    await cli.ok('open', site.url('/'))
    const shells = Array.from({ length: 50 }, (_, at) =>
      cli.run(['eval', `${at} + 1`], WITHOUT_NODE)
    )
    for (const [at, { stdout, stderr }] of (await Promise.all(shells)).entries())
      assert.equal(stdout, `value: ${at + 1}\n`, stderr)
  })

  test('leaves everything else to the Node program', async () => {
    assert.match(await cli.ok('--version'), /^troupe \d/)
    assert.match(await cli.ok('click', '--help'), /Example: troupe click e12/)
    assert.match(await cli.ok('daemon', 'status'), /^running\n/)
    const missing = await cli.run(['daemon', 'status'], WITHOUT_NODE)
    assert.equal(missing.status, 127)
    assert.match(missing.stderr, /^troupe: `node` cannot be started: /)
  })

  test('prints colors and the running command on a terminal', { skip: LINUX_ONLY }, async () => {
    await cli.ok('open', site.url('/'))
    const onTerminal = async (command) => {
      const env = { TERM: 'xterm' }
      const line = `'${NATIVE}' ${command}`
      return (await cli.program('script', ['-qec', line, '/dev/null'], { env })).stdout
    }
    assert.ok((await onTerminal("eval '6 * 7'")).startsWith('\u001b[1mvalue:\u001b[0m 42'))
    const slow = await onTerminal("wait 'Never there' --timeout 2500")
    assert.match(slow, /\r\u001b\[2K\S troupe wait, 1 s\r\u001b\[2K/)
  })

  test('shows images on a terminal that can', { skip: LINUX_ONLY }, async () => {
    await cli.ok('open', site.url('/'))
    const onTerminal = async (TERM, ...options) => {
      const line = [`'${NATIVE}' screenshot`, ...options].join(' ')
      return (await cli.program('script', ['-qec', line, '/dev/null'], { env: { TERM } })).stdout
    }
    for (const options of [[], ['shown.png']]) {
      const shown = await onTerminal('xterm-kitty', ...options)
      const image = /^\u001b_Ga=T,f=100,q=2,c=80,m=1;iVBORw0KGgo[^]*\u001b_Gm=0;[^]*\u001b\\\r?\n/
      assert.match(shown, image)
      assert.match(shown.replace(image, ''), /\.png\r?\n$/)
    }
    for (const other of [await onTerminal('xterm'), await onTerminal('xterm-kitty', '--json')])
      assert.ok(!other.includes('\u001b_G'), other)
  })

  test('has its command canceled when it is killed', async () => {
    await cli.ok('open', site.url('/'))
    const long = ['click', '#missing', '--timeout', '100000']
    const child = spawn(NATIVE, long, { cwd: cli.folder, env: cli.env, stdio: 'ignore' })
    const ended = new Promise((resolve) => child.on('close', resolve))
    // Other calls of the session wait for this one.
    await until(
      async () => (await cli.run(['eval', '1', '--timeout', '500'])).status !== 0,
      'the command to run'
    )
    child.kill('SIGKILL')
    await ended
    assert.equal(await cli.ok('eval', '6 * 7', '--timeout', '20000'), 'value: 42\n')
  })

  test('reports that the daemon was killed during a command', async (t) => {
    const own = new CommandLine(t)
    const held = site.hold('/')
    const opening = own.run(['open', site.url('/')])
    await held.requested
    process.kill(await own.pid(), 'SIGKILL')
    held.release()
    const opened = await opening
    // `open` has started the daemon, so Node runs it.
    assert.equal(opened.status, 32, opened.stderr)

    assert.equal((await own.run(['open', 'about:blank'])).status, 0)
    const again = site.hold('/')
    const running = own.run(['open', site.url('/'), '--json'], WITHOUT_NODE)
    await again.requested
    process.kill(await own.pid(), 'SIGKILL')
    again.release()
    const { status, stderr } = await running
    assert.equal(status, 32)
    const error = JSON.parse(stderr)
    assert.equal(error.errorCode, 'SERVER_UNAVAILABLE')
    assert.match(error.message, /^the daemon ended during the command, which may have run: /)
    // The next command starts another daemon.
    assert.equal((await own.run(['open', 'about:blank'])).status, 0)
  })

  test(
    'has its command run by the next daemon if the daemon ends before it responds',
    { skip: LINUX_ONLY },
    async (t) => {
      const own = new CommandLine(t)
      await own.ok('daemon', 'start')
      const stopped = await own.pid()
      process.kill(stopped, 'SIGSTOP')
      // Its threads stop one after another.
      const threads = `/proc/${stopped}/task`
      const isStopped = (thread) => {
        const stat = join(threads, thread, 'stat')
        return existsSync(stat) && / \(.*\) T /.test(readFileSync(stat, 'utf8'))
      }
      await until(() => readdirSync(threads).every(isStopped), 'the stop of the daemon')
      // The operating system completes the connection. It keeps the first name of the socket.
      const name = join(own.state, 'socket.new')
      const sockets = () => readFileSync('/proc/net/unix', 'utf8').split(`${name}\n`).length - 1
      const before = sockets()
      const running = own.run(['open', site.url('/')])
      await until(() => sockets() > before, 'the connection of the client')
      process.kill(stopped, 'SIGKILL')
      const { status, stdout, stderr } = await running
      assert.match(stdout, /^title: Shop\n/, stderr)
      assert.equal(status, 0)
      assert.notEqual(await own.pid(), stopped)
    }
  )

  test('of a newer version replaces the daemon', async (t) => {
    const own = new CommandLine(t)
    await own.ok('open', site.url('/'))
    const old = await own.pid()
    // The older daemon refuses the command after the client has read stdin.
    const newer = await own.run(['eval', '-'], {
      input: 'document.title',
      env: { TESTING_VERSION: '99.0.0' }
    })
    assert.equal(newer.stdout, 'value: Shop\n', newer.stderr)
    const pid = await own.pid()
    assert.notEqual(pid, old)
    // An older client uses the newer daemon.
    const older = await own.run(['snapshot'], WITHOUT_NODE)
    assert.match(older.stdout, /heading "Shop"/, older.stderr)
  })
})
