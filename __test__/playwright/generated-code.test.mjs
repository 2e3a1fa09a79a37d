// Each line of code in results has the same effect when Playwright runs it on the same page: the
// same URL, text, values, checked states, focus and scroll position.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serveApp } from '../../scripts/demo-app.mjs'
import { shared } from '../support/scope.mjs'
import { Replay, startReplayBrowser } from './code-replay.mjs'
import { ScenarioRun } from './runner.mjs'
import { SCENARIOS } from './scenarios.mjs'
import { FORMS } from './scenarios/forms.mjs'
import { INTERACTION } from './scenarios/interaction.mjs'
import { startTroupe } from './servers.mjs'
import { startDifferentialSite } from './site.mjs'

/** The least number of lines. */
const MIN_LINES = 300

/** Calls that change the page, and whose code does not do the same in @playwright/mcp either. */
const WITHOUT_CODE = new Set([
  ...['browser_tabs', 'browser_handle_dialog', 'browser_set_storage_state', 'browser_route']
])

/** Scenarios that are not replayed. */
const NOT_REPLAYED = {
  'text-fields': 'the code has no passwords',
  'drop-data': 'the code is not valid JavaScript, in @playwright/mcp too',
  downloads: 'Playwright reports a navigation to a download as an error',
  'download-by-navigation': 'Playwright reports a navigation to a download as an error',
  offline: 'a navigation without a network fails, and has no code',
  evaluate: 'a script changes the page',
  'evaluate-navigates': 'a script changes the page',
  incremental: 'a script changes the page',
  covered: 'the actions fail',
  'not-editable': 'the actions fail'
}

/** The number of servers, each with a browser. */
const WORKERS = 2

/** The largest number of elements of a page on which the test acts. */
const MAX_ELEMENTS = 6

/**
 * The action on an element, by the beginning of its line in the snapshot.
 * @type {[RegExp, (target: string, role: string) => [tool: string, given: object]][]}
 */
const ACTIONS = [
  [/^(button|tab|switch|menuitem)$/, (target) => ['browser_click', { target }]],
  [/^(link|heading|img)$/, (target) => ['browser_hover', { target }]],
  [/^(textbox|searchbox)$/, (target) => ['browser_type', { target, text: `it's "new"` }]],
  [
    /^(checkbox|radio)$/,
    (target, type) => [
      'browser_fill_form',
      { fields: [{ name: 'field', type, target, value: 'true' }] }
    ]
  ]
]

/** @typedef {{ name: string, run: (replay: Replay, directory: string) => Promise<unknown> }} Job */

describe('generated code', { timeout: 500_000 }, () => {
  const scope = shared()
  let lines = 0

  const started = (async () => {
    const site = await startDifferentialSite(scope)
    const browser = await startReplayBrowser(scope)
    const servers = Array.from({ length: WORKERS }, () => startTroupe(scope))
    return { site, browser, servers: await Promise.all(servers) }
  })()

  /**
   * Runs each job with a new session and a new page. Fails if a line had another effect.
   * @param {Job[]} jobs
   */
  async function replayAll(jobs) {
    const { servers, browser } = await started
    const queue = [...jobs]
    /** @type {string[]} */
    const failures = []
    const work = async (/** @type {import('./servers.mjs').Started} */ { server, directory }) => {
      for (let job = queue.shift(); job; job = queue.shift()) {
        const context = await browser.newContext({ viewport: { width: 1280, height: 720 } })
        const replay = new Replay(server, await context.newPage())
        await job.run(replay, directory)
        await server.call('browser_close')
        await context.close()
        lines += replay.lines
        for (const failure of replay.failures) failures.push(`${job.name}: ${failure}`)
      }
    }
    await Promise.all(servers.map(work))
    assert.deepEqual(failures, [])
  }

  test('the code of the scenarios has the same effect', async (t) => {
    const { site } = await started
    const comparable = SCENARIOS.filter(
      ({ name, options, calls }) =>
        !options && !(name in NOT_REPLAYED) && !calls.some(([tool]) => WITHOUT_CODE.has(tool))
    )
    const jobs = comparable.map((scenario) => ({
      name: scenario.name,
      run: (/** @type {any} */ server, /** @type {string} */ directory) =>
        new ScenarioRun({ server, directory }, site).run(scenario)
    }))
    await replayAll(jobs).finally(() => t.diagnostic(`${lines} lines of ${jobs.length} scenarios`))
  })

  test('the code of actions on each kind of element has the same effect', async (t) => {
    const app = await serveApp()
    t.after(app.close)
    const { site } = await started
    const before = lines
    const paths = [...FORMS, ...INTERACTION].map(({ name }) => `/${name}`)
    const jobs = [app.url, ...paths.map((path) => site.origin + path)].map((url) => ({
      name: url,
      run: (/** @type {Replay} */ replay) => actOn(replay, url)
    }))
    await replayAll(jobs).finally(() =>
      t.diagnostic(`${lines - before} lines on ${jobs.length} pages`)
    )
  })

  test(`the effects of at least ${MIN_LINES} lines were compared`, () => {
    assert.ok(lines >= MIN_LINES, `${lines} lines`)
  })
})

/**
 * Acts on the first elements of a page.
 * @param {Replay} replay @param {string} url
 */
async function actOn(replay, url) {
  await replay.call('browser_navigate', { url })
  const { text } = await replay.call('browser_snapshot')
  const elements = [...text.matchAll(/^ *- (\w+)\b.*?\[ref=(\w+)\]/gm)]
  const actions = elements.flatMap(([, role, target]) => {
    const action = ACTIONS.find(([pattern]) => pattern.test(role))?.[1]
    return action ? [action(target, role)] : []
  })
  for (const [tool, given] of actions.slice(0, MAX_ELEMENTS)) {
    const { text } = await replay.call(tool, given)
    // A dialog or a file chooser blocks all further actions.
    if (/^### Modal state$/m.test(text)) return
  }
}
