// `troupe doctor` and `troupe install` for each browser: installed and missing programs, and the
// command that installs them.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, test } from 'node:test'
import { cleanEnvironment } from '../support/browser.mjs'
import { NO_DISPLAY } from '../support/display.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { run, troupe } from '../support/scripts.mjs'
import { BIN } from '../support/server.mjs'

/** The executable of each browser, and its name in `--version`. */
const BROWSERS = {
  chromium: { program: /^chrom/, version: /^Chromium \d+|^Google Chrome \d+/ },
  firefox: { program: /^firefox/, version: /^Mozilla Firefox \d+/ },
  webkit: { program: /^WebKitWebDriver$/, version: /^WebKitWebDriver/ }
}

/** @param {string} browser @param {string[]} [more] @param {Record<string, string>} [env] */
async function doctor(browser, more = [], env) {
  const args = [BIN, 'doctor', '--json', '--browser', browser, ...more]
  const { status, stdout } = await run(process.execPath, args, { env: cleanEnvironment(env) })
  const report = JSON.parse(stdout)
  assert.equal(status, report.usable ? 0 : 1)
  return { ...report, of: (name) => report.checks.find((check) => check.name === name) }
}

describe(
  'each browser',
  { timeout: 60_000, skip: process.platform !== 'linux' ? 'Linux only' : (NO_DISPLAY ?? false) },
  () => {
    for (const [browser, { program, version }] of Object.entries(BROWSERS)) {
      test(`doctor finds ${browser}, and prints the command that starts the server with it`, async () => {
        const { usable, command, of } = await doctor(browser, ['--headless'])
        assert.equal(usable, true)
        assert.equal(of('browser').state, 'fine')
        assert.match(of('browser').found, version)
        if (browser !== 'chromium') assert.match(command, new RegExp(`--browser ${browser}`))
      })

      test(`doctor reports why an executable is not ${browser}`, async () => {
        const { usable, of } = await doctor(browser, ['--executable-path', '/nowhere/at-all'])
        assert.equal(usable, false)
        const { state, found, advice } = of('browser')
        assert.equal(state, 'missing')
        assert.match(found, /\/nowhere\/at-all/)
        assert.match(advice, /--executable-path/)
      })

      test(`install ${browser} finds the installed browser, and prints only its path`, async () => {
        const { status, stdout, stderr } = await troupe('install', browser)
        assert.equal(status, 0, stderr)
        assert.match(stderr, /^already installed: /)
        const path = stdout.trimEnd()
        assert.ok(existsSync(path), path)
        assert.match(basename(path), program)
      })
    }

    test('doctor reports that WebKit has no display, and the command that fixes it', async (t) => {
      const { usable, of } = await doctor('webkit', ['--headless'], { PATH: temporaryFolder(t) })
      assert.equal(usable, false)
      assert.deepEqual(
        [of('virtual display').state, of('virtual display').advice],
        ['missing', 'npx -y troupe install webkit']
      )
    })

    test('install rejects other browsers', async () => {
      const { status, stdout, stderr } = await troupe('install', 'netscape')
      assert.deepEqual([status, stdout], [2, ''])
      assert.match(stderr, /netscape.*chromium, firefox, webkit/)
    })
  }
)
