// A server whose sessions are served by upstream servers, and the entries of their journals.
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processFolder, startServer } from '../support/server.mjs'
import { until } from '../support/wait.mjs'

const SCRIPTED = fileURLToPath(new URL('scripted.mjs', import.meta.url))

/** Short intervals: Troupe detects a hang and restarts the server within a second. */
export const QUICK = [
  ...['--upstream-ping-interval', '100', '--upstream-ping-timeout', '200'],
  ...[
    '--upstream-restart-pause',
    '50',
    '--upstream-close-timeout',
    '300',
    '--upstream-term-timeout',
    '300'
  ]
]

/** A shell's word. @param {string} word */
export const quoted = (word) => `'${word}'`

/**
 * Returns a folder that is removed when this process exits, not after the test, because servers may
 * write until they exit.
 */
export function outputFolder() {
  return mkdtempSync(join(processFolder(), 'test-'))
}

/**
 * A folder, a journal in it, and the command of a scripted server that writes there.
 * @param {string[]} [options] of the scripted server
 */
export function scripted(options = []) {
  const folder = outputFolder()
  const journal = join(folder, 'journal')
  const command = [process.execPath, SCRIPTED, '--journal', journal, ...options]
    .map(quoted)
    .join(' ')
  /** @returns {any[]} */
  const events = () =>
    existsSync(journal)
      ? readFileSync(journal, 'utf8')
          .trim()
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line))
      : []
  const noted = (name, what = {}) =>
    events().filter(
      ({ event, ...more }) =>
        event === name && Object.entries(what).every(([key, value]) => more[key] === value)
    )
  return { folder, command, events, noted, args: ['--upstream', command, '--output-dir', folder] }
}

/**
 * A Troupe server with scripted servers behind it.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {{ args?: string[], options?: string[], env?: Record<string, string>, handshake?: boolean
 *   }} [setting]
 */
export async function startWithScriptedUpstream(t, { args = QUICK, options, ...more } = {}) {
  const journal = scripted(options)
  const server = await startServer(t, [...journal.args, ...args], { browser: false, ...more })
  return { server, ...journal }
}

/**
 * Returns the response of a scripted server to the tool `who`.
 * @param {import('../support/rpc.mjs').RpcClient} client @param {object} [args]
 */
export const callWho = async (client, args) => JSON.parse((await client.call('who', args)).text)

export { until }
