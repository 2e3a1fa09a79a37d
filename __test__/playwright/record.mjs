// Records answers of @playwright/mcp in answers.json.
import { existsSync, writeFileSync } from 'node:fs'
import { ANSWERS, installedVersion, recorded } from './comparison.mjs'
import { listTools } from './listings.mjs'
import { runAll } from './runner.mjs'
import { SCENARIOS } from './scenarios.mjs'
import { startPlaywright } from './servers.mjs'

/** How many servers run at the same time. They mostly wait. */
const PARALLEL = 3

/**
 * Records the tools of @playwright/mcp and its answers to `scenarios`. Keeps the other answers.
 * @param {import('./scenarios.mjs').Scenario[]} scenarios
 * @param {import('../support/site.mjs').Site} site
 */
export async function record(scenarios, site) {
  const before = existsSync(ANSWERS) ? recorded().answers : {}
  const now = await runAll(scenarios, startPlaywright, site, PARALLEL)
  const answers = Object.fromEntries(
    SCENARIOS.map(({ name }) => [name, now[name] ?? before[name]]).filter(([, list]) => list)
  )
  const listings = await listTools(startPlaywright)
  const content = { version: installedVersion(), listings, answers }
  writeFileSync(ANSWERS, `${JSON.stringify(content, undefined, 1)}\n`)
}
