// `troupe sessions`: the record as a person reads it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { BROWSER_ARGUMENTS, cleanEnvironment } from '../support/browser.mjs'
import { recordFile, temporaryFolder } from '../support/record.mjs'
import { BIN, startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

/** What a program says; the site of the test goes on serving meanwhile. @param {string} program @param {string[]} args */
function run(program, args, env = cleanEnvironment({ TROUPE_STORE: '' })) {
  return /** @type {Promise<{ status: number, stdout: string, stderr: string }>} */ (
    new Promise((resolve) => {
      execFile(program, args, { env }, (error, stdout, stderr) => resolve({ status: Number(error?.code ?? 0), stdout, stderr }))
    })
  )
}

/** @param {string[]} args */
const troupe = (...args) => run(process.execPath, [BIN, ...args])

describe('troupe sessions', { timeout: 120_000 }, () => {
  test('lists, exports what can be read and run again, and purges', async (t) => {
    const file = recordFile(t)
    const site = await startSite(t, { '/shop': '<title>Shop</title><h1>Shop</h1><button onclick="document.title = \'Bought\'; console.log(\'bought\')">Buy</button>' })
    const server = await startServer(t, ['--store', file])
    const sessionId = await server.createSession({ viewport: { width: 801, height: 602 }, locale: 'de-DE' })
    await server.ok('navigate', { sessionId, url: site.url('/shop') })
    await server.ok('click', { sessionId, selector: 'role=button[name="Buy"]' })
    const shot = await server.call('screenshot', { sessionId })
    await server.call('click', { sessionId, selector: "#it's-not-there", timeout: 1 })
    await server.end()

    const { stdout: list } = await troupe('sessions', '--store', file)
    assert.match(list, /^SESSION +STATE +CREATED +LAST CALL +CALLS\n/)
    assert.match(list, new RegExp(`${sessionId} +(closed|recoverable) .* 5\n`))
    const { stdout: calls } = await troupe('sessions', 'show', sessionId.slice(0, 8), '--store', file)
    assert.match(calls, /^# +TIME +TOOL +MS +RESULT +PARAMETERS$/m)
    assert.match(calls, /^2 +.* navigate +\d+ +ok +\{"url":"http.*\/shop"\}$/m)
    assert.match(calls, /^5 +.* click +\d+ +#it's-not-there is no CSS selector +\{/m)

    const folder = join(temporaryFolder(t), 'out')
    const exported = await troupe('sessions', 'export', sessionId, folder, '--store', file)
    assert.equal(exported.status, 0, exported.stderr)
    assert.deepEqual(readdirSync(folder).sort(), ['004-screenshot-1.png', 'report.md', 'run.sh'])
    const png = readFileSync(join(folder, '004-screenshot-1.png'))
    assert.equal(png.toString('base64'), shot.result.content[0].data)
    const report = readFileSync(join(folder, 'report.md'), 'utf8')
    for (const part of [sessionId, '## 2. navigate', '## 3. click', '![screenshot](004-screenshot-1.png)', 'heading "Shop"', '[info] bought (', 'Failed: ']) {
      assert.ok(report.includes(part), `${part} in ${report}`)
    }

    assert.match(readFileSync(join(folder, 'run.sh'), 'utf8'), / --locale 'de-DE' --viewport-size '801x602' "\$@"\n$/)
    // The script does the same once more, the step that failed included.
    const path = temporaryFolder(t)
    symlinkSync(BIN, join(path, 'troupe'))
    const env = cleanEnvironment({ PATH: `${path}:${process.env.PATH}` })
    const again = await run(join(folder, 'run.sh'), [...BROWSER_ARGUMENTS, '--store', 'none'], env)
    const { results } = JSON.parse(again.stdout)
    assert.deepEqual(results.map(({ tool, error }) => [tool, error?.errorCode]), [['navigate', undefined], ['click', undefined], ['screenshot', undefined], ['click', 'INVALID_SELECTOR']])
    assert.equal(site.requests.filter((request) => request.path === '/shop').length, 2)

    assert.match((await troupe('sessions', 'export', 'nothing-like-this', '--store', file)).stderr, /no session `nothing-like-this`.*troupe sessions/)
    assert.match((await troupe('sessions', 'purge', '--store', file)).stdout, /5 calls are forgotten/)
    assert.match((await troupe('sessions', '--store', file)).stdout, /0 sessions/)
  })

  test('says where it looked when nothing is recorded', async (t) => {
    const file = recordFile(t)
    const { stdout, status } = await troupe('sessions', '--store', file)
    assert.deepEqual([stdout, status], [`Nothing is recorded yet in ${file}.\n`, 0])
  })
})
