// Reads processes from /proc (Linux). A process is identified by its pid and its start time,
// because process ids are reused.
import { readFileSync, readdirSync } from 'node:fs'
import { until } from './wait.mjs'

/**
 * @typedef {{ pid: number, parent: number, started: string, state: string, command: string[] }}
 *   Process
 */

/** @param {number | string} pid @returns {Process | null} null if the process has ended */
export function readProcess(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name is in parentheses and may contain any characters, also parentheses and spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
    return {
      pid: Number(pid),
      parent: Number(fields[1]),
      started: fields[19],
      state: fields[0],
      command
    }
  } catch {
    return null
  }
}

/**
 * Returns the descendants of `pid`, children first, without zombies.
 * @param {number} pid
 * @returns {Process[]}
 */
export function descendants(pid) {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(readProcess)
    .filter((found) => found !== null && found.state !== 'Z')
  const below = []
  for (let parents = [pid]; parents.length > 0;) {
    const children = all.filter(({ parent }) => parents.includes(parent))
    below.push(...children)
    parents = children.map((child) => child.pid)
  }
  return below
}

/** Returns the threads of `pid` with this name. @param {number} pid @param {string} name */
export function threads(pid, name) {
  const isNamed = (thread) => {
    try {
      return readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8') === `${name}\n`
    } catch {
      return false
    }
  }
  return readdirSync(`/proc/${pid}/task`).filter(isNamed)
}

/**
 * Returns the profile folder of a browser from its command line, or from the environment of
 * WebKit's.
 * @param {Process} process
 * @returns {string | undefined}
 */
export function profileOf({ pid, command }) {
  const [, ofChromium] =
    command.map((argument) => /^--user-data-dir=(.*)/.exec(argument)).find(Boolean) ?? []
  const ofFirefox = command.indexOf('--profile') + 1
  return (
    ofChromium ??
    (ofFirefox > 0
      ? command[ofFirefox]
      : command[0]?.endsWith('/MiniBrowser')
        ? dataFolder(pid)
        : undefined)
  )
}

/** @param {number} pid */
function dataFolder(pid) {
  try {
    return /(?:^|\0)XDG_DATA_HOME=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}

/**
 * Returns the main process of each browser below `pid`.
 * @param {number} pid
 */
export function browsers(pid) {
  const isPart = (argument) => argument.startsWith('--type=') || argument === '-contentproc'
  return descendants(pid).filter(
    (process) => profileOf(process) !== undefined && !process.command.some(isPart)
  )
}

/** @param {Process} process */
export function isAlive({ pid, started }) {
  const now = readProcess(pid)
  return now !== null && now.started === started && now.state !== 'Z'
}

/**
 * Waits until all processes have exited. The error names those that still run. Fails if there are
 * none.
 * @param {Process[]} processes
 * @param {number} [timeout] ms
 */
export async function awaitProcessesEnded(processes, timeout = 5000) {
  if (processes.length === 0) throw new Error('no processes were given, so this checks nothing')
  const left = () =>
    processes
      .filter(isAlive)
      .map(({ pid, command }) => `${pid} ${command.slice(0, 2).join(' ')}`)
      .join(', ')
  await until(
    () => left() === '',
    () => `the end of ${left()}`,
    timeout
  )
}
