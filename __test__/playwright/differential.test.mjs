// The same calls on the same pages, answered by Troupe's Playwright set and by @playwright/mcp.
//
// The answers of @playwright/mcp are recorded in answers.json, because it waits after each action.
// `UPDATE=1 node --test __test__/playwright/differential.test.mjs` records them again.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { shared } from '../support/scope.mjs'
import { ACCEPTED, MAX_ACCEPTED } from './accepted-differences.mjs'
import { differencesOf, installedVersion, recorded, withoutAccepted } from './comparison.mjs'
import { listTools } from './listings.mjs'
import { record } from './record.mjs'
import { runAll } from './runner.mjs'
import { PAGES, SCENARIOS } from './scenarios.mjs'
import { startPlaywright, startTroupe } from './servers.mjs'
import { startDifferentialSite } from './site.mjs'

/** The scenarios in which @playwright/mcp itself runs in every test run. */
const LIVE = 'text-fields clicks confirm frame requests cookies tables equal-names'.split(' ')

/** How many Troupe servers run at the same time. */
const PARALLEL = 2

/** Tools that need Playwright's own process. */
const UNAVAILABLE = {
  browser_run_code_unsafe: { code: 'async (page) => page.title()' },
  browser_annotate: {},
  browser_resume: {},
  browser_start_recording: {},
  browser_stop_recording: {},
  browser_start_tracing: {},
  browser_stop_tracing: {},
  browser_start_video: {},
  browser_stop_video: {},
  browser_video_chapter: { title: 'One' },
  browser_video_show_actions: {},
  browser_video_hide_actions: {}
}

/** @typedef {import('./runner.mjs').Answer} Answer */

describe('the Playwright set and @playwright/mcp', () => {
  const scope = shared()
  /** @type {Record<string, Answer[]>} */
  let expected = {}
  /** @type {Record<string, Answer[]>} */
  let actual = {}
  /** @type {Record<string, Answer[]>} */
  let live = {}

  before(async () => {
    const site = await startDifferentialSite(scope)
    if (process.env.UPDATE) await record(SCENARIOS, site)
    expected = recorded().answers
    const sample = SCENARIOS.filter(({ name }) => LIVE.includes(name))
    ;[actual, live] = await Promise.all([
      runAll(SCENARIOS, startTroupe, site, PARALLEL),
      runAll(sample, startPlaywright, site, 1)
    ])
  })

  test('the recorded answers are those of the installed version', () => {
    assert.equal(recorded().version, installedVersion(), 'record them again with UPDATE=1')
    for (const { name, calls } of SCENARIOS) {
      const tools = calls.map(([tool]) => tool)
      const answered = expected[name]?.map(({ tool }) => tool)
      assert.deepEqual(answered, tools, `record ${name} again with UPDATE=1`)
    }
  })

  test('at least 60 pages and 400 calls cover all available tools', () => {
    const calls = SCENARIOS.flatMap(({ calls }) => calls)
    assert.ok(Object.keys(PAGES).length >= 60)
    assert.ok(calls.length >= 400)
    const called = new Set(calls.map(([tool]) => tool))
    const missing = toolNames().filter((name) => !called.has(name) && !(name in UNAVAILABLE))
    assert.deepEqual(missing, [])
  })

  for (const scenario of SCENARIOS) {
    const { name } = scenario
    test(`${name}: each call returns what @playwright/mcp returned`, () => {
      assertEqual(scenario, actual[name], expected[name])
    })
    if (!LIVE.includes(name)) continue
    test(`${name}: @playwright/mcp returns what was recorded`, () => {
      assertEqual(scenario, live[name], expected[name])
    })
  }

  test('each accepted difference occurs, and they are at most 25', () => {
    assert.ok(ACCEPTED.length <= MAX_ACCEPTED)
    const used = new Set()
    for (const answers of [actual, expected])
      for (const [name, list] of Object.entries(answers))
        for (const [index, answer] of list.entries())
          withoutAccepted(answer, `${name}[${index}]`, (one) => used.add(one))
    assert.deepEqual(
      ACCEPTED.filter((difference) => !used.has(difference)),
      []
    )
  })

  test('both servers list the same tools with each capability', async () => {
    assert.deepEqual(await listTools(startTroupe), recorded().listings)
  })

  test('tools that need the process of Playwright return an error that says how to get it', async () => {
    const { server } = await startTroupe(scope)
    for (const [name, given] of Object.entries(UNAVAILABLE)) {
      const { isError, text } = await server.call(name, given)
      assert.ok(isError, `${name}: ${text}`)
      assert.match(text, /--upstream/, name)
    }
  })
})

/**
 * Fails with the lines in which answers differ.
 * @param {import('./scenarios.mjs').Scenario} scenario
 * @param {Answer[]} actual @param {Answer[]} expected
 */
function assertEqual(scenario, actual, expected) {
  const differences = differencesOf(scenario, actual, expected)
  const shown = differences.map(({ call, lines }) => [call, ...lines].join('\n'))
  assert.ok(differences.length === 0, `- @playwright/mcp, + this server:\n\n${shown.join('\n\n')}`)
}

/** Returns the names of all tools of the set. @returns {string[]} */
function toolNames() {
  const file = new URL('../../src/tools/playwright/tools.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')).map(({ name }) => name)
}
