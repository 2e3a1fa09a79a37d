// Schemathesis generates valid and invalid requests from the OpenAPI document, single ones and
// sequences: no response has the status 500, and every response matches the document.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from '../support/browser.mjs'
import { startHttpServer } from '../support/http.mjs'
import { temporaryFolder } from '../support/record.mjs'

const PROGRAM = fileURLToPath(
  new URL('../../.cache/venv-openapi/bin/schemathesis', import.meta.url)
)
/** No request waits longer than the timeout of the program. */
const HOOKS = fileURLToPath(new URL('no_long_waits.py', import.meta.url))
const TOKEN = 'correct-horse'
/** Number of requests of each kind for an operation; `EXAMPLES=500` for a long run. */
const EXAMPLES = process.env.EXAMPLES ?? '4'
/**
 * A schema cannot list all time zones and URLs, so valid values may be rejected. The record of a
 * session is kept after its end, so its calls can be read after a DELETE.
 */
const WITHOUT = ['positive_data_acceptance', 'use_after_free']

test(
  'Schemathesis finds no fault in the JSON API',
  { timeout: 600_000, skip: process.platform === 'win32' },
  async (t) => {
    assert.ok(existsSync(PROGRAM), `${PROGRAM} is missing: run \`npm run setup\``)
    const folder = temporaryFolder(t)
    const quick = [
      '--timeout-action',
      '200',
      '--timeout-navigation',
      '1000',
      '--max-sessions',
      '200'
    ]
    const server = await startHttpServer(t, [...quick, '--output-dir', folder], {
      env: { TROUPE_AUTH_TOKEN: TOKEN },
      cwd: folder
    })
    const given = [
      '--header',
      `Authorization: Bearer ${TOKEN}`,
      '--max-examples',
      EXAMPLES,
      '--no-color',
      '--exclude-checks',
      WITHOUT.join(',')
    ]
    const { code, output } = await new Promise((resolve) => {
      execFile(
        PROGRAM,
        ['run', server.at('/api/openapi.json'), ...given],
        { cwd: folder, env: cleanEnvironment({ SCHEMATHESIS_HOOKS: HOOKS }), maxBuffer: 64 << 20 },
        (error, stdout, stderr) => {
          resolve({ code: /** @type {any} */ (error)?.code ?? 0, output: `${stdout}\n${stderr}` })
        }
      )
    })
    assert.equal(code, 0, output.slice(Math.max(0, output.search(/= (ERRORS|FAILURES) =/))))
    const [, generated] = /(\d+) generated/.exec(output) ?? []
    t.diagnostic(`${generated} requests`)
    assert.ok(Number(generated) > 100, output)
    assert.ok(!server.stderr().includes('panicked'), server.stderr())
  }
)
