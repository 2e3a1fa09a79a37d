// Names of files outside the accessible folders: no tool reads or writes one.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startHttpServer } from '../support/http.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'

/**
 * Names that escape from `output`. The folder `out` beside it has the target file.
 * @param {string} root
 */
const escapingNames = (root) => [
  ...[
    '../..',
    '../',
    '../x',
    './../x',
    '../../x',
    'a/../../x',
    'a/b/../../../x',
    'a/./../../x',
    'a//..//..//x',
    '../output/../x',
    '../output2/x',
    '../outputx'
  ],
  ...[
    `${root}/out/x`,
    `${root}/output/../x`,
    `${root}/out/../x`,
    '/x',
    '//x',
    '///etc/passwd',
    '/etc/passwd',
    '/etc/../etc/passwd',
    '/./etc/passwd'
  ],
  ...[
    '/etc/shadow',
    '/root/.ssh/id_rsa',
    '/proc/self/environ',
    '/proc/self/cwd/../../../etc/passwd',
    '/proc/1/root/etc/passwd',
    '/dev/stdin',
    '/dev/shm/x'
  ],
  ...[
    `${'../'.repeat(12)}etc/passwd`,
    'link/x',
    'link/new/x',
    './link/x',
    'a/../link/x',
    'link/deep/x',
    'link/../../x',
    'inner/link/x',
    'chain/x'
  ]
]

test(
  'no name leads out of the output folder, for any tool that takes one',
  { timeout: 60_000, skip: process.platform === 'win32' && 'links need a right there' },
  async (t) => {
    const root = temporaryFolder(t)
    const [output, out] = [join(root, 'output'), join(root, 'out')]
    for (const folder of [join(output, 'inner'), join(out, 'deep')])
      mkdirSync(folder, { recursive: true })
    for (const file of [join(out, 'x'), join(root, 'x')])
      writeFileSync(file, '{"cookies": [], "origins": []}')
    symlinkSync(out, join(output, 'link'))
    symlinkSync(out, join(output, 'inner/link'))
    symlinkSync('link', join(output, 'chain'))
    const server = await startServer(t, ['--output-dir', output], { cwd: output })
    await server.ok('navigate', { url: 'data:text/html,<input type="file">' })
    const names = escapingNames(root)
    assert.ok(names.length >= 30)
    const before = readdirSync(root, { recursive: true }).sort()
    for (const name of names) {
      for (const [tool, args] of /** @type {const} */ ([
        ['save_state', { path: name }],
        ['save_pdf', { path: name }],
        ['restore_state', { state: name }],
        ['compare_screenshots', { baseline: name }],
        ['upload_file', { selector: 'input', files: [name] }]
      ])) {
        const { json } = await server.call(tool, args)
        assert.equal(
          json?.errorCode,
          'BLOCKED_BY_POLICY',
          `${tool} ${name}: ${JSON.stringify(json)}`
        )
        assert.ok(json.details.rule && json.suggestion, JSON.stringify(json))
      }
    }
    assert.deepEqual(
      readdirSync(root, { recursive: true }).sort(),
      before,
      'nothing was made on the way'
    )
    assert.ok(!existsSync('/x'))
  }
)

test(
  'clients over HTTP reach no file of the directory that the server was started in',
  { timeout: 60_000 },
  async (t) => {
    const root = temporaryFolder(t)
    for (const folder of ['output', 'downloads']) mkdirSync(join(root, folder))
    for (const file of ['secret.txt', 'downloads/secret.txt', 'output/own.txt'])
      writeFileSync(join(root, file), '{"cookies": [], "origins": []}')
    const args = ['--output-dir', join(root, 'output'), '--download-path', join(root, 'downloads')]
    const server = await startHttpServer(t, args, { cwd: root })
    const client = await server.connect()
    await client.ok('navigate', { url: 'data:text/html,<input type="file">' })
    const read = (name) => [
      client.call('upload_file', { selector: 'input', files: [name] }),
      client.call('restore_state', { state: name })
    ]
    for (const name of [
      '../secret.txt',
      join(root, 'secret.txt'),
      '../downloads/secret.txt',
      join(root, 'downloads/secret.txt')
    ]) {
      for (const { json, text } of await Promise.all([
        ...read(name),
        client.call('save_state', { path: name })
      ])) {
        assert.equal(json.errorCode, 'BLOCKED_BY_POLICY', `${name}: ${text}`)
      }
    }
    for (const { json, text } of await Promise.all(read('secret.txt')))
      assert.equal(json.errorCode, 'INVALID_PARAMETERS', text)
    await client.ok('upload_file', { selector: 'input', files: ['own.txt'] })
    assert.equal(
      (await client.ok('evaluate', { script: 'document.querySelector("input").files[0].name' }))
        .value,
      'own.txt'
    )
    // The client on stdio has started the server there.
    const own = await startServer(t, args, { cwd: root })
    await own.ok('navigate', { url: 'data:text/html,<input type="file">' })
    await own.ok('upload_file', { selector: 'input', files: ['secret.txt'] })
  }
)
