// Commands that run on Node, as on Windows and where the native client is not installed.
import { before, describe, test } from 'node:test'
import assert from 'node:assert/strict'
import { CommandLine } from '../support/command-line.mjs'
import { shared } from '../support/scope.mjs'
import { startSite } from '../support/site.mjs'

describe('commands on Node', { timeout: 180_000 }, () => {
  const scope = shared()
  /** @type {CommandLine} */
  let cli
  /** @type {string} */
  let url
  before(async () => {
    url = (await startSite(scope)).url('/')
    cli = new CommandLine(scope)
  })

  /** @param {string[]} args */
  const run = (...args) => cli.onNode([...args, '-s', 'shared'])

  test('share a session in one daemon, also at the same time', async () => {
    const opened = await run('open', url)
    assert.equal(opened.status, 0, opened.stderr)
    const evaluated = await Promise.all(
      Array.from({ length: 20 }, (_, index) => run('eval', `${index} + 1`))
    )
    const expected = evaluated.map((_, index) => ({
      status: 0,
      stdout: `value: ${index + 1}\n`,
      stderr: ''
    }))
    assert.deepEqual(evaluated, expected)
  })

  test('stop the daemon and resume the session in the next one', async () => {
    const { stdout: running } = await cli.onNode(['daemon', 'status'])
    assert.match(
      running,
      /^running\npid: \d+\nversion: \S+\nMCP clients: troupe --connect unix:\/\/\//
    )
    assert.match((await cli.onNode(['daemon', 'stop'])).stdout, /^stopped/)
    assert.match((await cli.onNode(['daemon', 'status'])).stdout, /^not running\n/)
    const resumed = await run('eval', 'location.href')
    assert.match(resumed.stdout, new RegExp(`^value: ${url}$`, 'm'), resumed.stderr)
  })
})
