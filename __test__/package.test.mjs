// The npm package itself: its files, its start, and its error if the addon is missing.
import assert from 'node:assert/strict'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { THIS_PLATFORM } from '../scripts/platforms.mjs'
import { ROOT } from '../scripts/run.mjs'
import { NATIVE } from './support/command-line.mjs'
import { run } from './support/scripts.mjs'

const require = createRequire(import.meta.url)
const manifest = require('../package.json')
const platforms = require('../lib/platforms.json')

/** Runs a program in the root folder. @type {typeof run} */
const runHere = (program, args, options) =>
  run(program, args, { cwd: ROOT, env: process.env, timeout: 0, ...options })

describe('the npm package', () => {
  let folder

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'troupe-package-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  test('holds the facade, the launcher and the loader, and no addon', async () => {
    const { stdout } = await runHere('npm', ['pack', '--dry-run', '--json'])
    const files = JSON.parse(stdout)[0].files.map(({ path }) => path)
    assert.deepEqual(files.sort(), [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin/troupe',
      'bin/troupe.js',
      'index.d.ts',
      'index.js',
      'lib/addon.js',
      'lib/link-client.js',
      'lib/platforms.json',
      'lib/session-methods.js',
      'package.json',
      'schema.json'
    ])
  })

  test('has one version everywhere', () => {
    const crate = /^version = "(.+)"$/m.exec(readFileSync(join(ROOT, 'Cargo.toml'), 'utf8'))?.[1]
    assert.equal(crate, manifest.version)
    for (const { name } of platforms) {
      const { name: packageName, version } = require(`../npm/${name}/package.json`)
      assert.deepEqual(
        { packageName, version },
        { packageName: `@troupe-mcp/${name}`, version: manifest.version }
      )
    }
  })

  test('has a platform package for each platform, and no other', () => {
    const folders = readdirSync(join(ROOT, 'npm'), { withFileTypes: true })
    assert.deepEqual(
      folders
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
        .sort(),
      platforms.map(({ name }) => name).sort()
    )
  })

  test('is not published without its platform packages', async () => {
    const { status, stdout } = await runHere('npm', ['run', '--silent', 'prepublishOnly'])
    assert.equal(status, 1)
    assert.match(stdout, /npm run package/)
  })

  test('has notices for each crate in the addon', async () => {
    const notices = readFileSync(join(ROOT, 'npm/THIRD-PARTY-NOTICES.md'), 'utf8')
    const listed = new Set([...notices.matchAll(/^- (\S+ \S+)$/gm)].map(([, crate]) => crate))
    // The crates of other platforms are not downloaded.
    const tree = 'tree --workspace --edges normal --prefix none --offline --format {p}'.split(' ')
    const { status, stdout, stderr } = await runHere('cargo', tree)
    assert.equal(status, 0, stderr)
    const crates = stdout.split('\n').map((line) => /^(\S+) v(\S+)/.exec(line) ?? [])
    const missing = crates
      .map(([, name, version]) => `${name} ${version}`)
      .filter((crate) => !/^(undefined|troupe|troupe-client) /.test(crate) && !listed.has(crate))
    assert.deepEqual([...new Set(missing)], [], 'write them with `npm run notices`')
  })

  test('says in one line which platforms have a build where there is none', async () => {
    const program = `
      Object.defineProperty(process, 'arch', { value: 'riscv64' })
      try { require('./lib/addon.js') } catch (error) { console.log(error.message) }`
    const { stdout, stderr } = await runHere(process.execPath, ['-e', program])
    assert.equal(
      stdout,
      'troupe: there is no build for linux-riscv64: Troupe runs on linux-x64, linux-arm64, darwin-x64, darwin-arm64, win32-x64, win32-arm64\n',
      stderr
    )
  })

  test('has types and a table of tools that follow from the schemas of the tools', async () => {
    const { status, stderr } = await runHere(process.execPath, ['scripts/generate.mjs', '--check'])
    assert.equal(status, 0, stderr)
  })

  test('has a command that can be executed and answers --version', async () => {
    assert.ok(statSync(join(ROOT, manifest.bin.troupe)).mode & 0o100)
    const { status, stdout } = await runHere(join(ROOT, manifest.bin.troupe), ['--version'])
    assert.equal(status, 0)
    assert.match(stdout, new RegExp(`\\b${manifest.version.replaceAll('.', '\\.')}\\b`))
  })

  describe('the install script', { skip: process.platform === 'win32' && 'Unix only' }, () => {
    /** Installs the package with a client, runs its script, and returns the command. */
    async function install(name, client, env = {}) {
      const copy = join(folder, name)
      for (const file of ['package.json', 'bin', 'lib'])
        cpSync(join(ROOT, file), join(copy, file), { recursive: true })
      for (const { name } of platforms.filter(({ os }) => os === process.platform)) {
        const made = join(copy, 'node_modules/@troupe-mcp', name)
        mkdirSync(made, { recursive: true })
        writeFileSync(join(made, 'package.json'), '{}')
        if (client) writeFileSync(join(made, 'troupe-client'), client)
      }
      const options = { cwd: copy, env: { ...process.env, ...env } }
      const { status, stderr } = await runHere(process.execPath, ['lib/link-client.js'], options)
      assert.equal(status, 0, stderr)
      return join(copy, 'bin/troupe')
    }
    const isScript = (command) => readFileSync(command, 'latin1').startsWith('#!/usr/bin/env node')
    /** @param {string} command */
    async function answersVersion(command) {
      const addon = require.resolve(`../troupe.${THIS_PLATFORM?.name}.node`)
      const env = { ...process.env, NAPI_RS_NATIVE_LIBRARY_PATH: addon }
      const { stdout, stderr } = await runHere(command, ['--version'], { env })
      assert.equal(stdout, `troupe ${manifest.version}\n`, stderr)
    }

    test('makes the native client the command', async () => {
      const command = await install('native', readFileSync(NATIVE))
      assert.ok(!isScript(command))
      await answersVersion(command)
    })

    test('leaves the command to Node with Yarn, or without a client that runs', async () => {
      const yarn = { npm_config_user_agent: 'yarn/4.18.1 npm/? node/v22 linux x64' }
      const commands = [
        await install('yarn', readFileSync(NATIVE), yarn),
        await install('no-client', undefined),
        await install('other-version', '#!/bin/sh\necho 99.0.0\n'),
        await install('other-machine', 'not a program')
      ]
      for (const command of commands) {
        assert.ok(isScript(command), command)
        await answersVersion(command)
      }
    })
  })

  test('says in one line what to install where the platform package is missing', async () => {
    const copy = join(folder, 'without-addon')
    for (const file of ['package.json', 'bin', 'lib', 'index.js']) {
      cpSync(join(ROOT, file), join(copy, file), { recursive: true })
    }
    const { status, stdout, stderr } = await runHere(process.execPath, ['bin/troupe.js'], {
      cwd: copy
    })
    assert.deepEqual([status, stdout], [1, ''])
    assert.match(stderr, /^troupe: [^\n]*@troupe-mcp\/[\w-]+@\d+\.\d+\.\d+[^\n]*\n$/)
    assert.throws(() => require(join(copy, 'index.js')), { message: stderr.trim() })
  })
})
