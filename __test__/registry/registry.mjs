// An npm registry on 127.0.0.1 with the packages of this repository, and users whose package
// managers know no other registry.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/ports.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { until } from '../support/wait.mjs'

const TOOLS = fileURLToPath(new URL('node_modules', import.meta.url))

/** Returns the path of a version of Node. @param {string} version */
export const nodeOf = (version) => join(TOOLS, `node-${version}/bin/node`)

/** @typedef {{ after: (end: () => unknown) => void }} Scope */

/** Returns a temporary folder that is removed at the end. @param {Scope} t */
export function folderFor(t) {
  const folder = temporaryFolder(t)
  return folder
}

/** Starts Verdaccio without uplinks, and returns its URL. @param {Scope} t */
export async function startRegistry(t) {
  const folder = folderFor(t)
  const port = await freePort()
  const config = join(folder, 'config.yaml')
  writeFileSync(
    config,
    [
      `storage: ${join(folder, 'storage')}`,
      'max_body_size: 100mb',
      'uplinks: {}',
      'web: { enable: false }',
      'packages:',
      "  '@*/*': { access: $all, publish: $anonymous }",
      "  '**': { access: $all, publish: $anonymous }",
      'log: { type: stdout, level: warn }'
    ].join('\n')
  )
  const listen = `127.0.0.1:${port}`
  const child = spawn(
    nodeOf('22'),
    [join(TOOLS, 'verdaccio/bin/verdaccio'), '--config', config, '--listen', listen],
    { stdio: ['ignore', 'ignore', 'inherit'] }
  )
  const ended = new Promise((resolve) => child.on('close', resolve))
  t.after(async () => {
    child.kill()
    await ended
  })
  const url = `http://${listen}/`
  await until(
    () =>
      fetch(`${url}-/ping`).then(
        ({ ok }) => ok,
        () => false
      ),
    'the registry answers',
    60_000
  )
  return url
}

/**
 * A user with an empty home and cache. `node` is a version of Node, which comes first on the PATH.
 * @param {Scope} t @param {string} registry @param {string} [node]
 */
export function newUser(t, registry, node) {
  const home = folderFor(t)
  const project = join(home, 'project')
  mkdirSync(project)
  writeFileSync(
    join(home, '.npmrc'),
    `registry=${registry}\n${registry.replace('http:', '')}:_authToken=none\n`
  )
  const bins = [
    ...(node ? [dirname(nodeOf(node))] : []),
    join(home, 'global/bin'),
    join(TOOLS, '.bin'),
    dirname(process.execPath),
    '/usr/local/bin',
    '/usr/bin',
    '/bin'
  ]
  const env = {
    HOME: home,
    PATH: bins.join(delimiter),
    npm_config_update_notifier: 'false',
    npm_config_registry: registry,
    // For Yarn and Bun.
    YARN_NPM_REGISTRY_SERVER: registry,
    YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
    YARN_ENABLE_TELEMETRY: '0',
    // The packages were published just now.
    YARN_NPM_MINIMAL_AGE_GATE: '0',
    BUN_CONFIG_REGISTRY: registry
  }
  return {
    home,
    project,
    env,
    /**
     * @param {string} program @param {string[]} args
     * @returns {Promise<{ status: number | null, stdout: string, stderr: string }>}
     */
    run(program, args, options = {}) {
      const child = spawn(program, args, {
        cwd: project,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 120_000,
        ...options
      })
      let stdout = ''
      let stderr = ''
      child.stdout.on('data', (data) => (stdout += data))
      child.stderr.on('data', (data) => (stderr += data))
      return new Promise((resolve, reject) => {
        child.on('error', reject)
        child.on('close', (status) => resolve({ status, stdout, stderr }))
      })
    }
  }
}

/** @typedef {ReturnType<typeof newUser>} User */
