// The published packages, installed from a registry by users with an empty home folder.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import { before, describe, test } from 'node:test'
import { ROOT } from '../../scripts/run.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { PLATFORMS, THIS_PLATFORM, builtFiles, packageOf } from '../../scripts/platforms.mjs'
import { releaseAddon } from '../../scripts/setup.mjs'
import { folderFor, newUser, startRegistry } from './registry.mjs'

const VERSION = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version
const NEXT_VERSION = '99.0.0'

/** Versions of Node that the package supports. */
const NODES = ['20', '22', '24', '26']

/** A page that needs no server. */
const PAGE = 'data:text/html,<title>Installed</title><button>Go</button>'

/** Whether this process may mount file systems, which containers can forbid. */
const canMount =
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' })
    .status === 0

/**
 * Returns an archive in the layout of Chrome for Testing. Its program only prints its version.
 * @param {import('./registry.mjs').User} user
 */
function chromeArchive({ home }) {
  const folder = 'chrome-headless-shell-linux64'
  mkdirSync(join(home, folder))
  const program = '#!/bin/sh\necho Google Chrome for Testing 149.0.1.2\n'
  writeFileSync(join(home, folder, 'chrome-headless-shell'), program, { mode: 0o755 })
  const write = `import sys, zipfile
with zipfile.ZipFile('archive.zip', 'w') as archive:
    archive.write(sys.argv[1])`
  execFileSync('python3', ['-c', write, `${folder}/chrome-headless-shell`], { cwd: home })
  return readFileSync(join(home, 'archive.zip'))
}

describe('packages from a registry', { skip: process.platform !== 'linux' && 'Linux only' }, () => {
  const scope = shared()
  /** @type {string} */
  let registry

  before(
    async () => {
      const addons = folderFor(scope)
      // Only this platform's addon is built here. The others are never loaded.
      for (const platform of PLATFORMS)
        for (const file of builtFiles(platform))
          writeFileSync(join(addons, file), 'not built on this machine')
      const built = dirname(await releaseAddon())
      for (const file of builtFiles(THIS_PLATFORM))
        copyFileSync(join(built, file), join(addons, file))
      registry = await startRegistry(scope)
      const publisher = newUser(scope, registry)
      const publications = [
        { version: VERSION, tag: 'latest', platforms: PLATFORMS },
        { version: NEXT_VERSION, tag: 'next', platforms: [THIS_PLATFORM] }
      ]
      for (const { version, tag, platforms } of publications) {
        const out = folderFor(scope)
        const written = await publisher.run(
          process.execPath,
          [
            ...['scripts/package.mjs', '--addons', addons, '--out', out, '--version', version],
            ...['--platforms', platforms.map(({ name }) => name).join()]
          ],
          { cwd: ROOT }
        )
        assert.equal(written.status, 0, written.stderr)
        for (const folder of readdirSync(out)) {
          const cwd = join(out, folder)
          const published = await publisher.run('npm', ['publish', '--tag', tag], { cwd })
          assert.equal(published.status, 0, published.stderr)
        }
      }
    },
    { timeout: 1_800_000 }
  )

  /** @param {import('./registry.mjs').User} user @param {string[]} command */
  async function opensPage(user, [program, ...args]) {
    const server = await startServer(scope, ['--store', 'memory'], {
      command: [program, ...args],
      cwd: user.project,
      env: user.env
    })
    const { text, isError } = await server.call('navigate', { url: PAGE })
    assert.ok(!isError, text)
    assert.match(text, /Installed/)
    await server.end()
  }

  /** @param {import('./registry.mjs').User} user @param {string[]} [options] */
  async function install(user, options = []) {
    const installed = await user.run('npm', ['install', ...options, 'troupe'])
    assert.equal(installed.status, 0, installed.stderr)
    return join(user.project, 'node_modules')
  }

  test('`npx -y troupe` in a client’s configuration opens a page', async () => {
    await opensPage(newUser(scope, registry), ['npx', '-y', 'troupe'])
  })

  test('npm installs the addon of this platform only, with its notices', async () => {
    const modules = await install(newUser(scope, registry))
    assert.deepEqual(readdirSync(join(modules, '@troupe-mcp')), [THIS_PLATFORM?.name])
    assert.deepEqual(readdirSync(join(modules, packageOf(THIS_PLATFORM))).sort(), [
      'LICENSE',
      'README.md',
      'THIRD-PARTY-NOTICES.md',
      'package.json',
      'troupe-client',
      `troupe.${THIS_PLATFORM?.name}.node`
    ])
  })

  test('`npm install -g` puts the command on the PATH', async () => {
    const user = newUser(scope, registry)
    const prefix = ['--prefix', join(user.home, 'global')]
    const installed = await user.run('npm', ['install', '-g', ...prefix, 'troupe'])
    assert.equal(installed.status, 0, installed.stderr)
    const command = join(user.home, 'global/bin/troupe')
    const head = readFileSync(command, 'latin1').slice(0, 4)
    assert.equal(head, '\u007fELF', 'the native client')
    await opensPage(user, [command])
  })

  for (const [name, command] of Object.entries({
    'pnpm dlx': ['pnpm', 'dlx', 'troupe'],
    'yarn dlx': ['yarn', 'dlx', '--quiet', 'troupe'],
    bunx: ['bunx', 'troupe']
  })) {
    test(`\`${name} troupe\` starts the server`, async () => {
      const user = newUser(scope, registry)
      await opensPage(user, command)
    })
  }

  for (const node of NODES) {
    test(`it works with Node ${node}, installed without scripts`, async () => {
      const user = newUser(scope, registry, node)
      const { stdout } = await user.run('node', ['--version'])
      assert.match(stdout, new RegExp(`^v${node}\\.`))
      const modules = await install(user, ['--ignore-scripts'])
      await opensPage(user, ['node', join(modules, 'troupe/bin/troupe.js')])
    })
  }

  test('a server that runs survives the update of its package', async () => {
    const user = newUser(scope, registry)
    const bin = join(await install(user), 'troupe/bin/troupe.js')
    const server = await startServer(scope, ['--store', 'memory'], {
      command: ['node', bin],
      cwd: user.project,
      env: user.env
    })
    const updated = await user.run('npm', ['install', `troupe@${NEXT_VERSION}`])
    assert.equal(updated.status, 0, updated.stderr)
    const manifest = JSON.parse(
      readFileSync(join(user.project, 'node_modules/troupe/package.json'), 'utf8')
    )
    assert.equal(manifest.version, NEXT_VERSION)
    const { text } = await server.call('navigate', { url: PAGE })
    assert.match(text, /Installed/)
    await server.end()
    await opensPage(user, ['node', bin])
  })

  test('programs import it as an ES module, with require and with TypeScript', async () => {
    const user = newUser(scope, registry)
    await install(user)
    const uses = {
      'esm.mjs': "import { SessionManager } from 'troupe'\n",
      'commonjs.cjs': "const { SessionManager } = require('troupe')\n"
    }
    for (const [name, line] of Object.entries(uses)) {
      writeFileSync(join(user.project, name), `${line}console.log(typeof SessionManager)\n`)
      const { stdout, stderr } = await user.run('node', [name])
      assert.equal(stdout, 'function\n', stderr)
    }
    symlinkSync(join(ROOT, 'node_modules/@types'), join(user.project, 'node_modules/@types'))
    copyFileSync(join(ROOT, '__test__/types/usage.ts'), join(user.project, 'usage.ts'))
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    const options =
      '--noEmit --strict --module node20 --target es2023 --lib es2023,esnext.disposable --types node'
    const { status, stdout } = await user.run(tsc, [...options.split(' '), 'usage.ts'])
    assert.equal(status, 0, stdout)
  })

  test('a bundled program loads the addon from node_modules', async () => {
    const user = newUser(scope, registry)
    await install(user)
    writeFileSync(
      join(user.project, 'program.js'),
      "import { SessionManager } from 'troupe'\nconsole.log(typeof SessionManager)\n"
    )
    const esbuild = join(ROOT, 'node_modules/.bin/esbuild')
    const options = ['--bundle', '--platform=node', '--format=cjs', '--outfile=dist/program.cjs']
    const bundled = await user.run(esbuild, ['program.js', ...options])
    assert.equal(bundled.status, 0, bundled.stderr)
    const { stdout, stderr } = await user.run('node', ['dist/program.cjs'])
    assert.equal(stdout, 'function\n', stderr)
  })

  test(
    '`troupe install chromium` downloads from the server of --download-host',
    { skip: !canMount && 'only root can hide the browsers of this machine' },
    async (t) => {
      const user = newUser(scope, registry)
      const bin = join(await install(user), 'troupe/bin/troupe.js')
      const archive = chromeArchive(user)
      const site = await startSite(t, {
        '/chrome-for-testing/last-known-good-versions.json': (_request, response) => {
          const stable = { channel: 'Stable', version: '149.0.1.2', revision: '1500000' }
          const versions = { timestamp: '2026-11-25T00:00:00Z', channels: { Stable: stable } }
          response.end(JSON.stringify(versions))
        },
        '/chrome-for-testing-public/149.0.1.2/linux64/chrome-headless-shell-linux64.zip': (
          _request,
          response
        ) => response.end(archive)
      })
      const command = `node ${bin} install chromium --headless --download-host ${site.origin}`
      const hidden = '/usr/bin/chromium-headless-shell /usr/bin/chromium /usr/bin/apt-get'
      const installed = await user.run('unshare', [
        ...['--mount', '--propagation', 'private', 'sh', '-c'],
        `for file in ${hidden}; do mount --bind /dev/null $file; done
        mount -t tmpfs none /usr/lib/chromium
        ${command} && ${command}`
      ])
      assert.equal(installed.status, 0, installed.stderr)
      assert.match(installed.stderr, /installed Google Chrome for Testing 149\.0\.1\.2/)
      assert.match(installed.stderr, /already installed: .*149\.0\.1\.2/)
      assert.doesNotMatch(installed.stderr, /Debian|npm/)
    }
  )

  test('its MCP bundle starts the server', async () => {
    const user = newUser(scope, registry)
    const modules = await install(user)
    const [packages, out] = [folderFor(scope), folderFor(scope)]
    cpSync(join(modules, 'troupe'), join(packages, 'troupe'), { recursive: true })
    cpSync(join(modules, packageOf(THIS_PLATFORM)), join(packages, THIS_PLATFORM.name), {
      recursive: true
    })
    const bundle = ['scripts/bundle.mjs', '--packages', packages, '--out', out]
    const bundled = await user.run(process.execPath, bundle, { cwd: ROOT })
    assert.equal(bundled.status, 0, bundled.stdout)
    const file = `troupe-${VERSION}-${THIS_PLATFORM.name}.mcpb`
    assert.deepEqual(readdirSync(out).sort(), [
      file,
      `troupe-${VERSION}.tgz`,
      `troupe-mcp-${THIS_PLATFORM.name}-${VERSION}.tgz`
    ])
    const unpacked = folderFor(scope)
    const mcpb = join(ROOT, 'node_modules/.bin/mcpb')
    const opened = await user.run(mcpb, ['unpack', join(out, file), unpacked])
    assert.equal(opened.status, 0, opened.stderr)
    const manifest = JSON.parse(readFileSync(join(unpacked, 'manifest.json'), 'utf8'))
    const { command, args } = manifest.server.mcp_config
    const resolved = args.map((/** @type {string} */ text) =>
      text.replace('${__dirname}', unpacked)
    )
    await opensPage(user, [command, ...resolved])
  })

  test('the addon needs no newer glibc than 2.28', async () => {
    const { stdout } = await newUser(scope, registry).run('objdump', ['-T', await releaseAddon()])
    const needed = [...stdout.matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(([, , minor]) => Number(minor))
    assert.ok(needed.length > 0)
    assert.ok(Math.max(...needed) <= 28, `it needs glibc 2.${Math.max(...needed)}`)
  })
})
