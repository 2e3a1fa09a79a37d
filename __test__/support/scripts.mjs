// Runs the command line of the checkout, and the scripts that it exports.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { BROWSER_ARGUMENTS, cleanEnvironment } from './browser.mjs'
import { temporaryFolder } from './record.mjs'
import { BIN } from './server.mjs'

/**
 * Runs a program and returns its output. Does not block the test's site meanwhile.
 * @param {string} program
 * @param {string[]} args
 * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, timeout?: number }} [options]
 */
export function run(program, args, options) {
  const { env = cleanEnvironment({ TROUPE_STORE: '' }), timeout = 60_000, ...more } = options ?? {}
  return /** @type {Promise<{ status: number, stdout: string, stderr: string }>} */ (
    new Promise((resolve) => {
      const child = execFile(program, args, { env, timeout, ...more }, (error, stdout, stderr) => {
        // A program that a signal ended, or that did not start, has no exit code.
        const code = typeof error?.code === 'number' ? error.code : -1
        resolve({ status: error ? code : 0, stdout, stderr })
      })
      child.stdin?.end()
    })
  )
}

/** @param {string[]} args */
export const troupe = (...args) => run(process.execPath, [BIN, ...args])

/** Runs `troupe doctor` in an environment. @param {object} env @param {string[]} args */
export const runDoctor = (env, ...args) =>
  run(process.execPath, [BIN, 'doctor', '--headless', '--no-sandbox', ...args], {
    env: cleanEnvironment(env)
  })

/**
 * Asserts that a server with each of these arguments ends with an error message at startup.
 * @param {[args: string[], message: RegExp][]} cases
 */
export async function assertRejectedAtStartup(cases) {
  for (const [args, message] of cases) {
    const { status, stderr } = await troupe(...args)
    assert.notEqual(status, 0, args.join(' '))
    assert.match(stderr, message)
  }
}

/** Exports a session from the record `file` to a new folder. */
export async function exportSession(t, file, sessionId) {
  const folder = join(temporaryFolder(t), 'out')
  const { status, stdout, stderr } = await troupe(
    'sessions',
    'export',
    sessionId,
    folder,
    '--store',
    file
  )
  assert.equal(status, 0, stderr)
  const script = readFileSync(join(folder, 'run.sh'), 'utf8')
  /** @type {{ steps: { tool: string, arguments: any }[] }} */
  const { steps } = JSON.parse(
    script.slice(script.indexOf('\n{"steps"'), script.lastIndexOf('END_OF_STEPS'))
  )
  return { folder, stdout, script, steps }
}

/** Runs an exported script with the checkout's own command. */
export function replay(t, folder, args = [], env = {}) {
  const path = temporaryFolder(t)
  symlinkSync(BIN, join(path, 'troupe'))
  return run(join(folder, 'run.sh'), [...BROWSER_ARGUMENTS, '--store', 'none', ...args], {
    env: cleanEnvironment({ PATH: `${path}:${process.env.PATH}`, ...env })
  })
}
