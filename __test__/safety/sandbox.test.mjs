// Chromium's sandbox, which root cannot use: the tests as root run the server as another user.
import assert from 'node:assert/strict'
import { chownSync, readFileSync, readlinkSync } from 'node:fs'
import { test } from 'node:test'
import { descendants } from '../support/processes.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { BIN, startServer } from '../support/server.mjs'

/** The user `nobody`. */
const USER = 65_534

test('for a user other than root, pages run in the sandbox of Chromium', async (t) => {
  const home = temporaryFolder(t)
  const isRoot = process.getuid() === 0
  if (isRoot) chownSync(home, USER, USER)
  const user = [`--reuid=${USER}`, `--regid=${USER}`, '--clear-groups']
  const server = await startServer(t, ['--headless', '--warm-browsers', '0'], {
    browser: false,
    command: [...(isRoot ? ['setpriv', ...user] : []), process.execPath, BIN],
    cwd: home,
    env: { HOME: home, TMPDIR: home }
  })

  const { json } = await server.call('navigate', { url: 'data:text/html,<h1>Hello</h1>' })

  assert.match(json.snapshot, /heading "Hello"/)
  const renderers = descendants(server.child.pid).filter(({ command }) =>
    command.join(' ').includes(' --type=renderer ')
  )
  assert.ok(renderers.length > 0)
  for (const { pid } of renderers) {
    assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^Seccomp:\t2$/m)
    assert.notEqual(readlinkSync(`/proc/${pid}/ns/pid`), readlinkSync('/proc/self/ns/pid'))
  }
})
