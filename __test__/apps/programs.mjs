// Apps that run as a program on 127.0.0.1, each with its data in a temporary folder.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '../support/wait.mjs'
import { PACKAGES, startProgram } from './app.mjs'

/** @typedef {{ after: (end: () => unknown) => void }} Test */

const PYTHON = fileURLToPath(new URL('../../.cache/venv/bin/python', import.meta.url))
const source = (/** @type {string} */ name) =>
  fileURLToPath(new URL(`servers/${name}`, import.meta.url))

const NODE_RED = join(PACKAGES, 'node-red/red.js')

/**
 * The reason to skip the tests of an app that is not installed, or false.
 * @param {string} program
 */
const missing = (program) => (existsSync(program) ? false : 'not installed: run `npm run setup`')

export const missingDjango = () => missing(join(PYTHON, '..', 'django-admin'))
export const missingNodeRed = () => missing(NODE_RED)
export const missingStreamlit = () => missing(join(PYTHON, '..', 'streamlit'))

/**
 * Starts a program in a new folder and waits until it prints its address.
 * @param {Test} t @param {string} program @param {(folder: string) => string[]} args
 * @param {{ name: string, address?: RegExp, env?: Record<string, string> }} app
 */
async function startApp(
  t,
  program,
  args,
  { name, address = /http:\/\/127\.0\.0\.1:\d+\S*/, env = {} }
) {
  const folder = mkdtempSync(join(tmpdir(), `troupe-${name}-`))
  const { output } = startProgram(t, program, args(folder), {
    cwd: folder,
    env: { ...process.env, HOME: folder, ...env }
  })
  // The hooks run in this order, so the program no longer writes to the folder.
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const printed = () => address.exec(output())?.[0]
  return until(printed, `the address of ${name}`, 60_000).catch((error) => {
    throw new Error(`${error.message}; it prints\n${output()}`)
  })
}

/**
 * Django's admin with 31 users and 3 groups; user `admin`, password `troupe-test`.
 * @param {Test} t
 */
export function startDjango(t) {
  return startApp(t, PYTHON, () => [source('django-site.py')], { name: 'django' })
}

/** Node-RED without flows. @param {Test} t */
export function startNodeRed(t) {
  const settings = ['--settings', source('node-red-settings.js')]
  const args = (/** @type {string} */ folder) => [NODE_RED, '--userDir', folder, ...settings]
  return startApp(t, process.execPath, args, { name: 'node-red' })
}

/** An app of Streamlit with four orders. @param {Test} t */
export function startStreamlit(t) {
  const options = {
    'server.address': '127.0.0.1',
    'server.port': '0',
    'server.headless': 'true',
    'server.fileWatcherType': 'none',
    'browser.gatherUsageStats': 'false'
  }
  const args = ['-m', 'streamlit', 'run', source('streamlit-orders.py')]
  for (const [name, value] of Object.entries(options)) args.push(`--${name}`, value)
  return startApp(t, PYTHON, () => args, { name: 'streamlit' })
}

const JUPYTER = join(PYTHON, '..', 'jupyter')

const cell = (type, source, more) => ({ cell_type: type, id: type, metadata: {}, source, ...more })
const NOTEBOOK = {
  nbformat: 4,
  nbformat_minor: 5,
  metadata: {
    kernelspec: { name: 'python3', display_name: 'Python 3 (ipykernel)', language: 'python' }
  },
  cells: [cell('markdown', '# Sums'), cell('code', '', { outputs: [], execution_count: null })]
}

/** The reason to skip the tests of JupyterLab, or false. */
export function missingJupyter() {
  return existsSync(JUPYTER) ? false : 'not installed: run `npm run setup`'
}

/**
 * JupyterLab with a notebook, and all its files in one folder.
 * @param {Test} t
 */
export async function startJupyter(t) {
  let folder = ''
  const args = (/** @type {string} */ made) => {
    folder = made
    writeFileSync(join(folder, 'sums.ipynb'), JSON.stringify(NOTEBOOK))
    return [
      ...['lab', '--no-browser', '--allow-root', '--port=0'],
      ...['--ServerApp.token=', '--ServerApp.password=', '--LabApp.news_url='],
      `--ServerApp.root_dir=${folder}`
    ]
  }
  const url = await startApp(t, JUPYTER, args, {
    name: 'jupyter',
    address: /http:\/\/127\.0\.0\.1:\d+\/lab/
  })
  return { url, file: join(folder, 'sums.ipynb') }
}
