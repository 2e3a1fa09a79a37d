// A PostgreSQL server with an empty database, on a socket in a temporary folder, or also on a port
// with TLS and a password.
import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
  writeSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathOf } from './browser.mjs'
import { freePort } from './ports.mjs'
import { tlsFile } from './tls.mjs'
import { within } from './wait.mjs'

const DEBIAN_FOLDER = '/usr/lib/postgresql'

/** Returns the path of a program of PostgreSQL. Debian does not install them on the PATH. */
function programPath(/** @type {string} */ name) {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER) : []
  const folders = versions.map((version) => join(DEBIAN_FOLDER, version, 'bin'))
  return pathOf(name, folders) ?? ''
}

const [POSTGRES, INITDB] = ['postgres', 'initdb'].map(programPath)

/** The reason why tests cannot use PostgreSQL; false if they can. */
export const NO_POSTGRES =
  process.platform === 'linux' && POSTGRES ? false : 'PostgreSQL is not installed: npm run setup'

/** PostgreSQL does not run as root. */
const isRoot = process.getuid?.() === 0
const user = (/** @type {string} */ flag) =>
  Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))

/** The password of a server with a port. It contains characters that a URL must escape. */
export const PASSWORD = 'p@ss/word'

/** The authority that has signed the certificate of a server with a port. */
export const AUTHORITY = tlsFile('authority')

/** Another authority. */
export const OTHER_AUTHORITY = tlsFile('certificate')

/** The reason why tests cannot give a server a disk of its own; false if they can. */
export const NO_DISK = isRoot && process.platform === 'linux' ? false : 'only root can mount a disk'

/**
 * Starts a server, and ends it with the test. With `tls`, it also listens on 127.0.0.1. With
 * `durable`, a commit waits for the disk, which tests do not need. With `disk`, its files are on a
 * file system of this size (MiB).
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {{ tls?: boolean, durable?: boolean, disk?: number }} [options]
 */
export async function startPostgres(t, { tls = false, durable = false, disk } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-postgres-'))
  if (disk) execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${disk}m`, 'tmpfs', folder])
  const database = new Postgres(folder, durable)
  t.after(async () => {
    await database.stop('SIGQUIT')
    if (disk) execFileSync('umount', [folder])
    rmSync(folder, { recursive: true, force: true })
  })
  if (tls) await database.listen()
  await database.start()
  return database
}

class Postgres {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child
  #port = 0

  /** @param {string} folder @param {boolean} durable */
  constructor(folder, durable) {
    this.folder = folder
    this.settings = [`fsync=${durable ? 'on' : 'off'}`]
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

  /** The socket of the server. */
  get socket() {
    return join(this.folder, '.s.PGSQL.5432')
  }

  get pid() {
    return /** @type {number} */ (this.#child?.pid)
  }

  get isRunning() {
    return this.#child?.exitCode === null && this.#child.signalCode === null
  }

  /** Fills the file system of the server. */
  fillDisk() {
    const file = openSync(join(this.folder, 'filler'), 'a')
    try {
      for (let size = 1 << 20; size >= 1; size >>= 1) fill(file, size)
    } finally {
      closeSync(file)
    }
  }

  /** Frees the space that `fillDisk` has taken. */
  freeDisk() {
    rmSync(join(this.folder, 'filler'))
  }

  /** The value of --store. */
  get url() {
    return `postgres://postgres@${encodeURIComponent(this.folder)}/postgres`
  }

  /** The value of --store for a connection over TCP. @param {string} host @param {string} query */
  tcpUrl(host, query, password = PASSWORD) {
    return `postgres://postgres:${encodeURIComponent(password)}@${host}:${this.#port}/postgres?${query}`
  }

  /** Lets the server listen on 127.0.0.1, where clients need TLS and a password, from its start. */
  async listen() {
    this.#port = await freePort()
    for (const name of ['database', 'database-key']) {
      const copy = join(this.folder, `${name}.pem`)
      copyFileSync(tlsFile(name), copy)
      // PostgreSQL rejects a key that other users can read.
      chmodSync(copy, 0o600)
      if (isRoot) chownSync(copy, user('-u'), user('-g'))
    }
    const rules = ['local all all trust', 'hostssl all all 127.0.0.1/32 scram-sha-256']
    writeFileSync(join(this.data, 'pg_hba.conf'), `${rules.join('\n')}\n`)
    this.#runSql(`ALTER ROLE postgres PASSWORD '${PASSWORD}'`)
    this.settings.push(
      ...['ssl=on', `ssl_cert_file=${join(this.folder, 'database.pem')}`],
      `ssl_key_file=${join(this.folder, 'database-key.pem')}`
    )
  }

  /** Runs a statement in the stopped server. @param {string} sql */
  #runSql(sql) {
    execFileSync(POSTGRES, ['--single', '-D', this.data, 'postgres'], {
      ...this.account,
      cwd: this.folder,
      input: `${sql}\n`,
      stdio: ['pipe', 'pipe', 'pipe']
    })
  }

  /** Starts the server. Returns when it accepts connections. */
  async start() {
    const address = this.#port
      ? ['listen_addresses=127.0.0.1', `port=${this.#port}`]
      : ['listen_addresses=']
    const settings = [...this.settings, ...address].flatMap((setting) => ['-c', setting])
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
    if (!child || !this.isRunning) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await within(ended, 'the end of PostgreSQL')
  }
}

/** Appends to a file in blocks until there is no space for one. @param {number} file */
function fill(file, /** @type {number} */ size) {
  const block = Buffer.alloc(size)
  try {
    while (writeSync(file, block) === size);
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'ENOSPC') throw error
  }
}
