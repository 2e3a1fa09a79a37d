// The start of WebKit's driver.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BROWSER, pathOf } from '../support/browser.mjs'
import { awaitProcessesEnded, descendants } from '../support/processes.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { until } from '../support/wait.mjs'

test(
  'a driver that never responds is replaced by a second one, and ends',
  { skip: BROWSER !== 'webkit' && 'is about the driver of WebKit' },
  async (t) => {
    const folder = temporaryFolder(t)
    const [started, path] = [join(folder, 'started'), join(folder, 'WebKitWebDriver')]
    // The first process waits until it is ended, the others are the driver.
    const lines = [
      `if [ ! -e "${started}" ]; then echo > "${started}"; exec sleep 600; fi`,
      `exec "${pathOf('WebKitWebDriver')}" "$@"`
    ]
    writeFileSync(path, `#!/bin/sh\n${lines.join('\n')}\n`)
    chmodSync(path, 0o755)
    const server = await startServer(t, ['--executable-path', path])
    await server.ok('navigate', { url: 'data:text/html,<title>started</title>' })
    assert.ok(existsSync(started))
    assert.match(server.stderr(), /WebKit has not started within 15 s: starting a second one/)
    const pid = /** @type {number} */ (server.child.pid)
    const isFirst = ({ command }) => command.includes('600')
    await until(() => !descendants(pid).some(isFirst), 'the end of the first driver')
    const below = descendants(pid)
    assert.deepEqual(await server.end(), { code: 0, signal: null })
    await awaitProcessesEnded(below, 500)
  }
)
