// Real load balancers in front of several servers, with the configurations of docs/scaling.md.
import { freePort } from './ports.mjs'
import {
  REVERSE_PROXIES,
  documentedConfiguration,
  programPath,
  startProxyProgram
} from './reverse-proxies.mjs'

const DOCUMENT = new URL('../../docs/scaling.md', import.meta.url)

/**
 * @typedef {object} LoadBalancer
 * @property {[string | RegExp, string][]} changes to the documented configuration: another port, no
 *   TLS. PORT is the placeholder of the port
 * @property {(number: number) => string} server the documented address of a server
 * @property {RegExp} sticky the lines that keep a client at its server
 * @property {(site: string, folder: string) => string} configuration the whole file
 * @property {(file: string, folder: string) => string[]} args of the program
 */

/** The load balancers by program. @type {Record<string, LoadBalancer>} */
const LOAD_BALANCERS = {
  haproxy: {
    changes: [['bind :4000', 'bind 127.0.0.1:PORT']],
    server: (number) => `troupe-${number}:4000`,
    sticky: /^ +stick.*\n/gm,
    configuration: (site) => site,
    args: (file) => ['-db', '-f', file]
  },
  nginx: {
    ...REVERSE_PROXIES.nginx,
    server: (number) => `10.0.0.1${number}:4000`,
    sticky: /^ +hash .*\n/gm
  }
}

/** The reason why tests cannot use a load balancer; false if they can. @param {string} name */
export const missing = (name) =>
  programPath(name) ? false : `${name} is not installed: npm run setup`

/**
 * Starts a load balancer in front of three servers, and ends it with the test. Returns its port.
 * @param {{ after: (end: () => unknown) => void }} t @param {string} name @param {number[]} ports
 * @param {{ sticky: boolean }} options
 */
export async function startLoadBalancer(t, name, ports, { sticky }) {
  const balancer = LOAD_BALANCERS[name]
  const port = await freePort()
  /** @type {[string | RegExp, string][]} */
  const changes = [
    ...balancer.changes,
    ...ports.map(
      (to, index) =>
        /** @type {[string, string]} */ ([balancer.server(index + 1), `127.0.0.1:${to}`])
    )
  ]
  if (!sticky) changes.push([balancer.sticky, ''])
  const site = documentedConfiguration(DOCUMENT, name, changes, port)
  await startProxyProgram(t, name, balancer, site, `http://127.0.0.1:${port}/ready`)
  return port
}
