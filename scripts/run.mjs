// Runs other programs. Prints their command lines, reasons and durations. Uses Node built-ins only.
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

const colored = process.stdout.isTTY && !process.env.NO_COLOR
const paint = (code) => (text) => (colored ? `\x1b[${code}m${text}\x1b[0m` : String(text))
export const bold = paint(1)
export const dim = paint(2)
export const red = paint(31)
export const green = paint(32)
export const cyan = paint(36)

/** @param {number} started a `performance.now()` */
export const since = (started) => {
  const ms = performance.now() - started
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}

export class StepError extends Error {}

/**
 * Runs one step of the set-up and shows its output. Throws `StepError` unless it exits with 0.
 * @param {string} title the result of the step
 * @param {string} reason why it is needed now
 * @param {string[]} command
 * @param {{ cwd?: string, env?: Record<string, string> }} [options]
 */
export async function step(title, reason, [program, ...args], options = {}) {
  console.log(`${cyan('▸')} ${bold(title)}: ${reason}`)
  console.log(dim(`  $ ${[program, ...args].join(' ')}`))
  const started = performance.now()
  // Without a terminal, programs show no progress bars. So print at intervals that the step is
  // still running.
  const heartbeat = setInterval(() => console.log(dim(`  … ${title}, ${since(started)}`)), 20_000)
  if (process.stdout.isTTY) clearInterval(heartbeat)
  const code = await exitCode(program, args, { ...options, stdio: 'inherit' }).finally(() =>
    clearInterval(heartbeat)
  )
  if (code !== 0)
    throw new StepError(
      `${title} failed after ${since(started)} (\`${program}\` exited with ${code})`
    )
  console.log(`${green('✓')} ${title}, ${since(started)}`)
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 * @returns {Promise<number | string>} the exit code, the signal, or the reason why it did not start
 */
export function exitCode(program, args, { env, ...options }) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      // On Windows, npm and npx are .cmd files, which only a shell can start.
      shell: process.platform === 'win32' && ['npm', 'npx'].includes(program),
      ...options
    })
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'no code'))
  })
}

/** @param {string} program */
export function onPath(program) {
  const names = process.platform === 'win32' ? [`${program}.exe`, `${program}.cmd`] : [program]
  return (process.env.PATH ?? '')
    .split(delimiter)
    .some((folder) => names.some((name) => canRun(join(folder, name))))
}

/** @param {string} path */
export function canRun(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
