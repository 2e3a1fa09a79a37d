// Runs the commands of the command line, with a separate daemon and working directory.
import { spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { BROWSER, cleanEnvironment } from './browser.mjs'
import { noteOptions } from './notes.mjs'
import { BIN } from './server.mjs'
import { THIS_PLATFORM, clientOf } from '../../scripts/platforms.mjs'

/** Windows has neither the native client nor a POSIX shell. @type {string | false} */
export const NO_NATIVE_CLIENT = process.platform === 'win32' ? 'needs the native client' : false

/** The native client that `npm run build` has built. It runs the commands of the tests. */
export const NATIVE = join(BIN, '../..', (THIS_PLATFORM && clientOf(THIS_PLATFORM)) ?? '')

/** @typedef {{ status: number, stdout: string, stderr: string }} Finished */

export class CommandLine {
  /**
   * @param {{ after: (end: () => unknown) => void }} t
   * @param {Record<string, string>} [env]
   */
  constructor(t, env = {}) {
    const [state, folder] = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'troupe-cli-')))
    t.after(async () => {
      await this.onNode(['daemon', 'stop'])
      for (const made of [state, folder]) rmSync(made, { recursive: true, force: true })
    })
    this.folder = realpathSync(folder)
    this.state = join(state, 'troupe', 'daemon')
    this.env = cleanEnvironment({
      ...{ XDG_STATE_HOME: state, TROUPE_STORE: '', TROUPE_BROWSER: BROWSER },
      ...{ TROUPE_HEADLESS: 'true', TROUPE_WARM_BROWSERS: '0' },
      // The native client starts Node.
      PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
      ...(process.getuid?.() === 0 ? { TROUPE_NO_SANDBOX: 'true' } : {}),
      ...env
    })
  }

  /**
   * Runs `troupe ARGS` in the working directory.
   * @param {string[]} args
   * @param {{ env?: Record<string, string>, cwd?: string, input?: string | Buffer }} [options]
   * @returns {Promise<Finished>}
   */
  run(args, options = {}) {
    return this.program(NATIVE, args, options)
  }

  /**
   * Runs `troupe ARGS` with Node, as on platforms without a native client.
   * @param {string[]} args
   * @param {{ env?: Record<string, string>, cwd?: string, input?: string | Buffer }} [options]
   */
  onNode(args, options = {}) {
    return this.program(process.execPath, [BIN, ...args], options)
  }

  /**
   * Runs a line of a POSIX shell, in which `troupe` is the command.
   * @param {string} line
   */
  shell(line) {
    const command = `troupe() { '${NATIVE}' "$@"; }\n${line}`
    return this.program('/bin/sh', ['-c', command])
  }

  /**
   * @param {string} program
   * @param {string[]} args
   * @param {{ env?: Record<string, string>, cwd?: string, input?: string | Buffer }} [options]
   * @returns {Promise<Finished>}
   */
  program(program, args, { env = {}, cwd = this.folder, input = '' } = {}) {
    const child = spawn(program, args, { cwd, env: { ...this.env, ...env }, timeout: 90_000 })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text))
    child.stdin.on('error', () => {}).end(input)
    return new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code) => {
        if (code === 0) noteOptions({ args, env: { ...this.env, ...env }, cwd })
        resolve({ status: code ?? -1, stdout, stderr })
      })
    })
  }

  /** Returns the output of a command that must succeed. @param {string[]} args */
  async ok(...args) {
    const { status, stdout, stderr } = await this.run(args)
    if (status !== 0) throw new Error(`troupe ${args.join(' ')}: ${status}\n${stdout}${stderr}`)
    return stdout
  }

  /** Returns the process id of the daemon. */
  async pid() {
    const [, pid] = /^pid: (\d+)$/m.exec(await this.ok('daemon', 'status')) ?? []
    return Number(pid)
  }
}
