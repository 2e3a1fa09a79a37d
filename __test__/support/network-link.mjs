// A connection through a network namespace, which a test can cut: packets are then dropped in both
// directions, and no end is notified.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { pathOf } from './browser.mjs'
import { within } from './wait.mjs'

const FORWARDER = fileURLToPath(new URL('forwarder.mjs', import.meta.url))
const PORT = 5432

/** The reason why tests cannot cut a network; false if they can. */
export const NO_NETWORK =
  process.getuid?.() === 0 && ['ip', 'tc'].every((program) => pathOf(program))
    ? false
    : 'only root can create network namespaces, with iproute2 on Linux'

const ip = (/** @type {string} */ line) => execFileSync('ip', line.split(' '))

/**
 * Forwards connections to a Unix socket, and ends with the test. `host` and `port` are where it
 * listens.
 * @param {{ after: (end: () => unknown) => void }} t @param {string} socket
 */
export async function startLink(t, socket) {
  const namespace = `troupe-${process.pid}`
  const [near, far] = ['n', 'f'].map((end) => `trp${process.pid}${end}`)
  const network = `10.213.${process.pid % 256}`
  const host = `${network}.2`
  ip(`netns add ${namespace}`)
  // This also removes both ends of the link.
  const remove = () => ip(`netns del ${namespace}`)
  process.once('exit', remove)
  ip(`link add ${near} type veth peer name ${far} netns ${namespace}`)
  ip(`addr add ${network}.1/30 dev ${near}`)
  ip(`link set ${near} up`)
  ip(`-n ${namespace} addr add ${host}/30 dev ${far}`)
  ip(`-n ${namespace} link set ${far} up`)
  const node = ['netns', 'exec', namespace, process.execPath]
  const child = spawn('ip', [...node, FORWARDER, host, String(PORT), socket], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
    process.off('exit', remove)
    remove()
  })
  await within(once(child.stdout, 'data'), 'the forwarder')
  /** Sets the queue of both ends. A queue without space drops every packet. */
  const queue = (/** @type {string} */ change) => {
    execFileSync('tc', `qdisc ${change.replace('END', near)}`.split(' '))
    execFileSync('tc', `-n ${namespace} qdisc ${change.replace('END', far)}`.split(' '))
  }
  return {
    ...{ host, port: PORT },
    cut: () => queue('add dev END root pfifo limit 0'),
    restore: () => queue('del dev END root')
  }
}
