// An agent's jobs in third-party apps. The agent uses only the results of its calls.
import { describe, test } from 'node:test'
import { startServer } from '../support/server.mjs'
import { OFFLINE } from './app.mjs'
import { JobAgent } from './jobs/agent.mjs'
import { JOBS } from './jobs/index.mjs'

describe("an agent's jobs", { timeout: 300_000 }, () => {
  for (const job of JOBS) {
    test(`${job.title}: ${job.task}`, { skip: job.missing() }, async (t) => {
      const url = await job.start(t)
      const server = await startServer(t, OFFLINE)
      const call = async (/** @type {string} */ tool, /** @type {object} */ args) =>
        (await server.request('tools/call', { name: tool, arguments: args })).result
      await job.troupe(new JobAgent(call, 'snapshot'), url)
    })
  }
})
