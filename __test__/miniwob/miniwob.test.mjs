// MiniWoB++: 130 small pages, each with a task in words. Scripted policies solve them with the
// tools. A policy gets only the text of the task and the results of its calls. Only the harness
// uses `evaluate`: it starts an episode and reads its reward.
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before, describe, test } from 'node:test'
import { serveFiles } from '../apps/app.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { Agent } from './agent.mjs'
import { PAGES, REWARD_SCRIPT, SOLVED, startScript } from './episodes.mjs'
import { GROUPS, UNSOLVED, seedsOf } from './kinds.mjs'

/** Minimum number of kinds of tasks that must be solved. */
const GOAL = 110

describe('MiniWoB++', { timeout: 600_000 }, () => {
  const scope = shared()
  /** @type {import('../support/server.mjs').Server} */
  let server
  let origin = ''
  /** @type {Set<string>} */
  const solved = new Set()

  before(async () => {
    assert.ok(existsSync(PAGES), `${PAGES} is missing: run \`npm run setup\``)
    origin = await serveFiles(scope, { folder: PAGES })
    server = await startServer(scope)
  })

  /**
   * Runs an episode. Resolves to why it is not solved, or to nothing.
   * @param {(tool: string, args?: object) => Promise<any>} call
   * @param {string} kind @param {(agent: Agent) => Promise<unknown>} policy @param {string} seed
   */
  async function run(call, kind, policy, seed) {
    await call('navigate', { url: `${origin}/miniwob/${kind}.html` })
    const { value: utterance } = await call('evaluate', { script: startScript(seed) })
    let reason = ''
    await policy(new Agent(utterance, call)).catch((error) => (reason = `: ${error.message}`))
    const { value: reward } = await call('evaluate', { script: REWARD_SCRIPT })
    return reward >= SOLVED ? undefined : `${kind}, seed ${seed}, reward ${reward}${reason}`
  }

  describe('an agent does the tasks with', { concurrency: 2 }, () => {
    for (const [group, policies] of Object.entries(GROUPS)) {
      test(group, async () => {
        const sessionId = await server.createSession()
        const call = (tool, args) => server.ok(tool, { ...args, sessionId })
        const failures = []
        for (const [kind, policy] of Object.entries(policies)) {
          const before = failures.length
          for (const seed of seedsOf(kind)) {
            const failure = await run(call, kind, policy, seed)
            if (failure) failures.push(failure)
          }
          if (failures.length === before) solved.add(kind)
        }
        assert.deepEqual(failures, [])
      })
    }
  })

  test(`at least ${GOAL} kinds are solved, and each kind is solved or has a reason`, () => {
    const kinds = readdirSync(join(PAGES, 'miniwob')).map((file) => basename(file, '.html'))
    const withPolicy = Object.values(GROUPS).flatMap(Object.keys)
    assert.ok(solved.size >= GOAL, `${solved.size} of ${kinds.length}`)
    assert.deepEqual([...withPolicy, ...Object.keys(UNSOLVED)].sort(), kinds.sort())
  })
})
