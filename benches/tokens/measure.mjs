// Counts what one program costs: before the first call, and for each job.
import { mkdtempSync, mkdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent } from './agent.mjs'
import { JOBS } from './jobs.mjs'
import { serveSite } from './site.mjs'

/**
 * Tokens before the first call. `listing` is the complete result of `tools/list`, of which an MCP
 * client passes `schemas` to the model. `description` and `skill` are the parts of a skill.
 * @typedef {{ tools: number, listing: number, schemas: number, instructions: number, description:
 *   number, skill: number }} FixedCost
 * @typedef {{ fixed: FixedCost, jobs: Record<string, import('./agent.mjs').Cost> }} Measured
 */

/**
 * Lets a scripted agent do all jobs with a program, in one session. Throws if a job is not done.
 * @param {import('./programs.mjs').Program} program
 * @param {import('./agent.mjs').Count} count
 * @param {string} [browser] its path, for programs that do not find one
 * @returns {Promise<Measured>}
 */
export async function measure(program, count, browser) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-tokens-')))
  const work = join(folder, 'work')
  mkdirSync(work)
  const site = await serveSite()
  try {
    const { client, fixed } = await program.start({ folder, work, browser })
    try {
      /** @type {Measured['jobs']} */
      const jobs = {}
      for (const job of JOBS) {
        const variable = { url: site.url, folder: work, random: program.random }
        const agent = new Agent(client, count, variable)
        await job.scripts[program.name](agent, site.url)
        job.verify(agent, site)
        jobs[job.name] = agent.cost
      }
      return { fixed: fixedCost(fixed, count), jobs }
    } finally {
      // An error here must not replace that of a job.
      await client.close().catch((error) => console.error(error.message))
    }
  } finally {
    site.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {import('./programs.mjs').Fixed} fixed @param {import('./agent.mjs').Count} count
 * @returns {FixedCost}
 */
function fixedCost({ tools = [], instructions = '', skill }, count) {
  const passedOn = tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema
  }))
  return {
    tools: tools.length,
    listing: tools.length && count(JSON.stringify({ tools })),
    schemas: tools.length && count(JSON.stringify(passedOn)),
    instructions: count(instructions),
    description: count(skill?.description ?? ''),
    skill: count(skill?.text ?? '')
  }
}
