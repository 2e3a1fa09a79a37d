// The official conformance suite: the requirements of each revision, on the product with the
// fixtures that the suite requires (the addon's feature `testing`), and without fixtures on the
// product itself. The suite needs Node 22.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from '../support/browser.mjs'
import { startHttpServer } from '../support/http.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'

const NODE_22 = fileURLToPath(new URL('node_modules/.bin/node', import.meta.url))
const SUITE = fileURLToPath(
  new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url)
)
const SUITE_0_1 = fileURLToPath(
  new URL('node_modules/conformance-0.1/dist/index.js', import.meta.url)
)

/** Scenarios that need no tool, resource or prompt of the suite. */
const WITHOUT_FIXTURES = {
  '2025-11-25': [
    'server-initialize',
    'server-session-lifecycle',
    'logging-set-level',
    'ping',
    'tools-list',
    'resources-list',
    'prompts-list',
    'dns-rebinding-protection'
  ],
  '2026-07-28': [
    'tools-list',
    'resources-list',
    'prompts-list',
    'sep-2164-resource-not-found',
    'dns-rebinding-protection',
    'caching'
  ]
}

/** @param {import('node:test').TestContext} t @param {string} suite @param {string[]} args */
async function run(t, suite, args) {
  const folder = temporaryFolder(t)
  const { code, output } = await new Promise((resolve) => {
    execFile(
      NODE_22,
      [suite, 'server', ...args],
      { cwd: folder, env: cleanEnvironment(), maxBuffer: 64 << 20 },
      (error, stdout, stderr) => {
        resolve({ code: /** @type {any} */ (error)?.code ?? 0, output: `${stdout}\n${stderr}` })
      }
    )
  })
  const lines = output.split('\n').filter((line) => /✗|FAILURE|failed|Error/i.test(line))
  assert.equal(code, 0, lines.length > 0 ? lines.join('\n') : output.slice(-4000))
}

describe('the conformance suite', { skip: process.platform === 'win32' }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let fixtures
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let product
  before(async () => {
    // The suite cannot send a token.
    fixtures = await startHttpServer(scope, ['--no-auth'], { env: { CONFORMANCE_FIXTURES: '1' } })
    product = await startHttpServer(scope, ['--no-auth'])
  })

  for (const revision of ['2025-11-25', '2026-07-28']) {
    test(`finds all that ${revision} requires`, { timeout: 120_000 }, async (t) => {
      await run(t, SUITE, ['--url', fixtures.url, '--requirements', revision])
    })
  }

  test('of version 0.1.16 finds nothing missing', { timeout: 120_000 }, async (t) => {
    await run(t, SUITE_0_1, ['--url', fixtures.url, '--suite', 'all'])
  })

  for (const [revision, scenarios] of Object.entries(WITHOUT_FIXTURES)) {
    for (const scenario of scenarios) {
      test(
        `finds ${scenario} of ${revision} on the product itself`,
        { timeout: 60_000 },
        async (t) => {
          await run(t, SUITE, [
            '--url',
            product.url,
            '--spec-version',
            revision,
            '--scenario',
            scenario
          ])
        }
      )
    }
  }
})
