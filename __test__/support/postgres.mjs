// A PostgreSQL server with an empty database, on a socket in a temporary folder.
import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { within } from './wait.mjs'

const DEBIAN_FOLDER = '/usr/lib/postgresql'

/** Returns the path of a program of PostgreSQL. Debian does not install them on the PATH. */
function programPath(/** @type {string} */ name) {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER) : []
  const folders = versions.map((version) => join(DEBIAN_FOLDER, version, 'bin'))
  const onPath = (process.env.PATH ?? '').split(delimiter)
  return [...folders, ...onPath].map((folder) => join(folder, name)).find(existsSync) ?? ''
}

const [POSTGRES, INITDB] = ['postgres', 'initdb'].map(programPath)

/** The reason why tests cannot use PostgreSQL; false if they can. */
export const NO_POSTGRES =
  process.platform === 'linux' && POSTGRES ? false : 'PostgreSQL is not installed: npm run setup'

/** PostgreSQL does not run as root. */
const isRoot = process.getuid?.() === 0
const user = (/** @type {string} */ flag) =>
  Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))

/**
 * Starts a server, and ends it with the test.
 * @param {{ after: (end: () => unknown) => void }} t
 */
export async function startPostgres(t) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-postgres-'))
  const database = new Postgres(folder)
  t.after(async () => {
    await database.stop('SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  })
  await database.start()
  return database
}

class Postgres {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child

  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder
    this.account = isRoot ? { uid: user('-u'), gid: user('-g') } : {}
    if (isRoot) chownSync(folder, user('-u'), user('-g'))
    const auth = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C.UTF-8']
    execFileSync(INITDB, ['-D', this.data, ...auth, '--no-sync'], {
      ...this.account,
      cwd: folder,
      stdio: 'pipe'
    })
  }

  get data() {
    return join(this.folder, 'data')
  }

  /** The value of --store. */
  get url() {
    return `postgres://postgres@${encodeURIComponent(this.folder)}/postgres`
  }

  /** Starts the server. Returns when it accepts connections. */
  async start() {
    const settings = ['listen_addresses=', 'fsync=off'].flatMap((setting) => ['-c', setting])
    const child = spawn(POSTGRES, ['-D', this.data, '-k', this.folder, ...settings], {
      ...this.account,
      cwd: this.folder,
      stdio: ['ignore', 'ignore', 'pipe']
    })
    this.#child = child
    // A test that fails in another way must not leave it running.
    process.once('exit', () => child.kill('SIGQUIT'))
    const lines = createInterface({ input: child.stderr })
    const ready = new Promise((resolve, reject) => {
      lines.on('line', (line) => /ready to accept connections/.test(line) && resolve(undefined))
      child.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}`)))
    })
    await within(ready, 'the start of PostgreSQL')
  }

  /**
   * Stops the server. SIGINT closes its connections, SIGQUIT simulates a crash.
   * @param {NodeJS.Signals} signal
   */
  async stop(signal = 'SIGINT') {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await within(ended, 'the end of PostgreSQL')
  }
}
