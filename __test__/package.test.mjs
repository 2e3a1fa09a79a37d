// The npm package itself: what is in it, how it starts, what it says where its addon is missing.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const require = createRequire(import.meta.url)
const manifest = require('../package.json')

/** @returns {Promise<{ code: number, stdout: string, stderr: string }>} */
function run(program, args, options = {}) {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: root, ...options }, (error, stdout, stderr) => {
      resolve({ code: /** @type {any} */ (error)?.code ?? 0, stdout, stderr })
    })
  })
}

/** @returns {Promise<string>} the path of the tarball */
async function pack(folder, destination) {
  const { code, stdout, stderr } = await run(
    'npm',
    ['pack', '--json', '--pack-destination', destination],
    { cwd: folder }
  )
  assert.equal(code, 0, stderr)
  return join(destination, JSON.parse(stdout)[0].filename)
}

describe('the npm package', () => {
  let folder

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-package-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  test('holds the facade, the launcher, the loader and the papers, and no addon', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json'])
    const files = JSON.parse(stdout)[0].files.map(({ path }) => path)
    assert.deepEqual(files.sort(), [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin/troupe.js',
      'index.d.ts',
      'index.js',
      'lib/addon-error.js',
      'lib/platforms.json',
      'lib/session-methods.js',
      'native.d.ts',
      'native.js',
      'package.json',
      'schema.json'
    ])
  })

  test('has one version everywhere', () => {
    const crate = /^version = "(.+)"$/m.exec(readFileSync(join(root, 'Cargo.toml'), 'utf8'))?.[1]
    assert.equal(crate, manifest.version)
    for (const platform of readdirSync(join(root, 'npm'))) {
      const { name, version } = require(`../npm/${platform}/package.json`)
      assert.deepEqual({ name, version }, { name: `troupe-${platform}`, version: manifest.version })
    }
  })

  test('has a platform package for each platform that has a build, and no other', () => {
    const platforms = require('../lib/platforms.json').filter(({ runner }) => runner)
    assert.deepEqual(
      readdirSync(join(root, 'npm')).sort(),
      platforms.map(({ name }) => name).sort()
    )
  })

  test('says in one line which platforms have a build where there is none', async () => {
    const program = `
      Object.defineProperty(process, 'arch', { value: 'riscv64' })
      console.log(require('./lib/addon-error.js')(new Error('no addon')))`
    const { stdout, stderr } = await run(process.execPath, ['-e', program])
    assert.equal(
      stdout,
      'there is no build for linux-riscv64, only for linux-x64, linux-arm64, darwin-x64, darwin-arm64, win32-x64\n',
      stderr
    )
  })

  test('has types and a table of tools that follow from the schemas of the tools', async () => {
    const { code, stderr } = await run(process.execPath, ['scripts/generate.mjs', '--check'])
    assert.equal(code, 0, stderr)
  })

  test('has a command that can be executed and answers --version', async () => {
    assert.ok(statSync(join(root, manifest.bin.troupe)).mode & 0o100)
    const { code, stdout } = await run(join(root, manifest.bin.troupe), ['--version'])
    assert.equal(code, 0)
    assert.match(stdout, new RegExp(`\\b${manifest.version.replaceAll('.', '\\.')}\\b`))
  })

  test('says in one line what to install where the platform package is missing', async () => {
    const copy = join(folder, 'without-addon')
    for (const file of ['package.json', 'bin', 'lib', 'index.js', 'native.js']) {
      cpSync(join(root, file), join(copy, file), { recursive: true })
    }
    const { code, stdout, stderr } = await run(process.execPath, ['bin/troupe.js'], { cwd: copy })
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
    assert.match(stderr, /^troupe: [^\n]*npm install troupe-[\w-]+@\d+\.\d+\.\d+\n$/)
    assert.throws(() => require(join(copy, 'index.js')), { message: stderr.trim() })
  })

  test('works when it is installed with its platform package', { timeout: 120_000 }, async () => {
    const addon = readdirSync(root).find((file) => /^troupe\..+\.node$/.test(file))
    const platform = /^troupe\.(.+)\.node$/.exec(addon)[1]
    const platformPackage = join(folder, platform)
    cpSync(join(root, 'npm', platform), platformPackage, { recursive: true })
    cpSync(join(root, addon), join(platformPackage, addon))
    const tarballs = [await pack(root, folder), await pack(platformPackage, folder)]
    const user = mkdtempSync(join(folder, 'user-'))
    const install = [
      'install',
      '--offline',
      '--no-audit',
      '--no-fund',
      '--prefix',
      user,
      ...tarballs
    ]
    const installed = await run('npm', install, { cwd: user })
    assert.equal(installed.code, 0, installed.stderr)

    const version = await run('npx', ['--no-install', 'troupe', '--version'], { cwd: user })
    assert.match(version.stdout, /\d+\.\d+\.\d+/)
    const program =
      "import { SessionManager, TroupeError } from 'troupe'; console.log(typeof SessionManager, typeof TroupeError)"
    const imported = await run(process.execPath, ['--input-type=module', '-e', program], {
      cwd: user
    })
    assert.equal(imported.stdout, 'function function\n', imported.stderr)
  })
})
