// The file of the record, and calls while it cannot be written.
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { NO_SQLITE, kill, query, recordFile, temporaryFolder } from '../support/record.mjs'
import { troupe } from '../support/scripts.mjs'
import { startServer } from '../support/server.mjs'
import { until } from '../support/wait.mjs'

const PAGE = 'data:text/html,<title>Page</title><h1>Page</h1>'

/** Returns the exit code and stderr of a server that fails at startup. @param {string[]} args */
async function refused(t, args) {
  const server = await startServer(t, args, { handshake: false })
  const { code } = await server.exit
  return { code, stderr: server.stderr() }
}

describe('the file of the record', { timeout: 120_000 }, () => {
  test('by default it is in the state folder of the user, readable only by the user, and the first run logs that', async (t) => {
    const folder = temporaryFolder(t)
    const options = { env: { XDG_STATE_HOME: folder, HOME: folder, TROUPE_STORE: '' } }
    const first = await startServer(t, [], options)
    await first.ok('list_sessions')
    await first.end()
    const file = join(folder, 'troupe', 'record.db')
    assert.match(first.stderr(), /recorded in .*record\.db.*--store none/)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const second = await startServer(t, [], options)
    await second.end()
    assert.ok(!second.stderr().includes('record'), second.stderr())
  })

  test('with --store none nothing is written anywhere', async (t) => {
    const folder = temporaryFolder(t)
    const server = await startServer(t, ['--store', 'none'], {
      env: { XDG_STATE_HOME: folder, HOME: folder },
      cwd: folder
    })
    await server.ok('navigate', { url: PAGE })
    await server.end()
    assert.ok(
      !readdirSync(folder, { recursive: true }).some((name) => String(name).includes('record'))
    )
  })

  test(
    'a file of a newer version is rejected with a clear message, and not changed',
    { skip: NO_SQLITE },
    async (t) => {
      const file = recordFile(t)
      await (await startServer(t, ['--store', file])).end()
      query(file, 'PRAGMA user_version = 99')
      const before = readFileSync(file)
      const { code, stderr } = await refused(t, ['--store', file])
      assert.equal(code, 1)
      assert.match(stderr, /newer version/)
      assert.deepEqual(readFileSync(file), before)
    }
  )

  test('a damaged file is rejected, reported by doctor, and moved aside only by doctor --repair', async (t) => {
    const file = recordFile(t)
    writeFileSync(file, 'no database at all '.repeat(500))
    const before = readFileSync(file)
    const { code, stderr } = await refused(t, ['--store', file])
    assert.equal(code, 1)
    assert.match(stderr, /damaged.*troupe doctor --repair/)
    assert.deepEqual(readFileSync(file), before)

    const { stdout } = await troupe('doctor', '--store', file)
    assert.match(stdout, /MISSING +record: .*damaged/)
    assert.deepEqual(readFileSync(file), before)
    await troupe('doctor', '--repair', '--store', file)
    assert.deepEqual(readFileSync(`${file}.damaged-1`), before)
    const server = await startServer(t, ['--store', file])
    await server.ok('list_sessions')
  })

  test(
    'a read-only file causes a warning; calls succeed',
    { skip: process.getuid?.() === 0 && 'root may write everything' },
    async (t) => {
      const file = recordFile(t)
      await (await startServer(t, ['--store', file])).end()
      chmodSync(file, 0o400)
      const server = await startServer(t, ['--store', file])
      const { meta } = await server.call('navigate', { url: PAGE })
      await server.awaitLog(/cannot be written/)
      assert.match(await server.ok('get_content', { refId: meta.refId }), /heading "Page"/)
    }
  )

  test('a file on a read-only disk causes a warning; calls succeed', async (t) => {
    const disk = smallDisk(t)
    if (!disk) return
    const file = join(disk.folder, 'record.db')
    await (await startServer(t, ['--store', file])).end()
    await until(() => disk.remount('ro'), 'the disk to be read-only')
    const server = await startServer(t, ['--store', file])
    const { meta } = await server.call('navigate', { url: PAGE })
    await server.awaitLog(/cannot be written/)
    assert.match(await server.ok('get_content', { refId: meta.refId }), /heading "Page"/)
  })

  test('a folder that cannot be created causes a warning; calls succeed and are recorded in memory', async (t) => {
    const server = await startServer(t, ['--store', '/proc/no/place/for/record.db'])
    const { meta } = await server.call('navigate', { url: PAGE })
    await server.awaitLog(/cannot be written/)
    assert.match(await server.ok('get_content', { refId: meta.refId }), /heading "Page"/)
  })

  test(
    'a file that another process has locked delays calls only briefly; they are recorded afterwards',
    { skip: NO_SQLITE },
    async (t) => {
      const file = recordFile(t)
      const server = await startServer(t, ['--store', file])
      await server.ok('navigate', { url: PAGE })
      const release = await lock(t, file)
      for (let number = 0; number < 5; number++)
        assert.ok((await server.call('evaluate', { script: `'locked ${number}'` })).ms < 3000)
      await server.awaitLog(/cannot be written.*locked/)
      await release()
      await until(
        () => query(file, "SELECT * FROM responses WHERE result LIKE '%locked 4%'").length === 1,
        'the record to catch up'
      )
    }
  )

  test('a full disk causes a warning; calls succeed, and are recorded once there is space again', async (t) => {
    const disk = smallDisk(t)
    if (!disk) return
    const server = await startServer(t, ['--store', join(disk.folder, 'record.db')])
    for (let number = 0; number < 8; number++) {
      const { text, isError } = await server.call('evaluate', { script: `'${number}'.repeat(2e5)` })
      assert.ok(!isError && text.includes(String(number).repeat(1000)), text.slice(0, 200))
    }
    await server.awaitLog(/cannot be written.*full/)
    assert.ok(disk.remount('size=64m'))
    const recorded = async () => {
      const { meta } = await server.call('evaluate', { script: "'there is room'" })
      return (await server.call('get_content', { refId: meta.refId })).text.includes(
        'there is room'
      )
    }
    await until(recorded, 'the record to be written again')
    await server.awaitLog(/can be written again/)
  })

  test(
    'a session created while the disk was full is recorded, and can be resumed, once there is space again',
    { skip: NO_SQLITE },
    async (t) => {
      const disk = smallDisk(t)
      if (!disk) return
      const file = join(disk.folder, 'record.db')
      const server = await startServer(t, ['--store', file])
      for (let number = 0; number < 8; number++)
        await server.call('evaluate', { script: `'${number}'.repeat(2e5)` })
      await server.awaitLog(/cannot be written.*full/)
      const sessionId = await server.createSession()
      await server.ok('navigate', { sessionId, url: PAGE })
      assert.ok(disk.remount('size=64m'))
      const has = async (table) => {
        await server.ok('evaluate', { sessionId, script: '1' })
        return query(file, `SELECT 1 FROM ${table} WHERE session_id = '${sessionId}'`).length > 0
      }
      await until(() => has('requests'), 'its calls in the record')
      await until(() => has('session_snapshots'), 'its state in the record')
      await kill(server)
      const next = await startServer(t, ['--store', file])
      const { pages } = await next.ok('session_resume', { sessionId })
      assert.deepEqual(
        pages.map(({ url }) => url),
        [PAGE]
      )
    }
  )

  test('two servers can use one file', { skip: NO_SQLITE }, async (t) => {
    const file = recordFile(t)
    const servers = await Promise.all([
      startServer(t, ['--store', file]),
      startServer(t, ['--store', file])
    ])
    const sessions = await Promise.all(servers.map((server) => server.createSession()))
    await Promise.all(
      servers.flatMap((server, index) =>
        Array.from({ length: 20 }, (_, number) =>
          server.ok('evaluate', {
            sessionId: sessions[index],
            script: `'server ${index} call ${number}'`
          })
        )
      )
    )
    for (const [index, session] of sessions.entries()) {
      const sql = `SELECT result FROM responses JOIN requests USING (ref_id) WHERE tool_name = 'evaluate' AND session_id = '${session}'`
      const all = () => {
        const rows = query(file, sql)
        return rows.length >= 20 && rows
      }
      // Each server soon writes its calls, though the other one locks the file from time to time.
      const rows = await until(all, 'all calls in the record')
      assert.equal(rows.length, 20)
      assert.ok(rows.every(({ result }) => result.includes(`server ${index} call`)))
    }
  })
})

/** Mounts a disk of 1 MiB. Skips the test and returns null if that is not possible. */
function smallDisk(t) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-small-disk-'))
  /** Runs a command, and returns whether it succeeded. @param {string[]} args */
  const mount = (...args) => spawnSync('mount', args, { timeout: 10_000 }).status === 0
  if (!mount('-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder)) {
    rmdirSync(folder)
    t.skip('a small disk cannot be mounted here')
    return null
  }
  t.after(() => {
    execFileSync('umount', ['-l', folder])
    rmdirSync(folder)
  })
  return {
    folder,
    /** @param {string} options */ remount: (options) => mount('-o', `remount,${options}`, folder)
  }
}

/**
 * Holds the write lock in another process. Returns a function that releases it.
 * @param {string} file
 */
async function lock(t, file) {
  const script =
    "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\nc.execute('BEGIN IMMEDIATE')\nprint('locked', flush=True)\nsys.stdin.read()"
  const child = spawn('python3', ['-c', script, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const ended = new Promise((resolve) => child.on('close', resolve))
  await new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve))
  return () => {
    child.stdin.end()
    return ended
  }
}
