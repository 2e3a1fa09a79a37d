// Starts a virtual display, for browsers with a window.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { onPath } from '../../scripts/run.mjs'
import { startServer } from './server.mjs'
import { within } from './wait.mjs'

/** The reason why tests cannot start a display; null if they can. */
export const NO_DISPLAY = onPath('Xvfb') ? null : 'Xvfb is not installed'

/** The environment variables of a server without a display. */
export const WITHOUT_DISPLAY = { DISPLAY: '', WAYLAND_DISPLAY: '' }

/** Returns whether this command starts a browser without a window. @param {string[]} command */
export const isHeadless = ([program, ...args]) =>
  /headless.shell$/.test(program) || args.some((argument) => argument.startsWith('--headless'))

/**
 * Asserts that a server with these arguments does not start without a display.
 * @param {{ after: (end: () => unknown) => void }} t @param {string[]} args
 */
export async function assertNeedsDisplay(t, args) {
  const server = await startServer(t, args, {
    browser: false,
    handshake: false,
    env: WITHOUT_DISPLAY
  })
  assert.equal((await within(server.exit, 'its end', 5000)).code, 2)
  assert.match(server.stderr(), /^troupe: .*needs a display.*\n$/)
}

/**
 * Starts a display. It ends with the test.
 * @param {{ after: (end: () => unknown) => void }} t
 * @returns {Promise<{ DISPLAY: string, WAYLAND_DISPLAY: string }>} for a server's environment
 */
export async function startDisplay(t) {
  // Xvfb chooses a free number and prints it.
  const child = spawn(
    'Xvfb',
    ['-displayfd', '3', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe']
    }
  )
  process.on('exit', () => child.kill())
  const ended = new Promise((resolve) => child.on('close', resolve))
  t.after(async () => {
    child.kill()
    await ended
  })
  const number = new Promise((resolve, reject) => {
    child.on('error', reject)
    child.stdio[3]?.on('data', (data) => resolve(String(data).trim()))
  })
  return { DISPLAY: `:${await within(number, 'the display', 10_000)}`, WAYLAND_DISPLAY: '' }
}
