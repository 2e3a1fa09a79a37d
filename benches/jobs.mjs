// The cost of an agent's job: scripted agents do the jobs of __test__/apps/jobs once on each
// server. A call is a turn of the agent, and so is a batch. Only the text of the results counts as
// bytes.
import { JobAgent } from '../__test__/apps/jobs/agent.mjs'
import { JOBS } from '../__test__/apps/jobs/index.mjs'

/** Which script of a job each server follows. */
const SCRIPTS = /** @type {const} */ ({
  troupe: { job: 'troupe', snapshot: 'snapshot' },
  peer: { job: 'peer', snapshot: 'browser_snapshot' }
})

/**
 * @param {import('./servers.mjs').Server[]} servers
 * @param {(row: string, server: string, value: number) => void} add
 */
export async function jobCosts(servers, add) {
  for (const server of servers.filter(({ name }) => name in SCRIPTS)) {
    const total = { turns: 0, bytes: 0 }
    for (const job of JOBS.filter((job) => !job.missing())) {
      const { turns, bytes } = await doJob(server, job)
      add(`job-${job.name}`, server.name, turns)
      add(`job-${job.name}-bytes`, server.name, bytes)
      total.turns += turns
      total.bytes += bytes
    }
    add('job', server.name, total.turns)
    add('job-bytes', server.name, total.bytes)
  }
}

/**
 * @param {import('./servers.mjs').Server} server
 * @param {import('../__test__/apps/jobs/agent.mjs').Job} job
 */
async function doJob(server, job) {
  /** @type {(() => unknown)[]} */
  const ends = []
  const script = SCRIPTS[/** @type {keyof typeof SCRIPTS} */ (server.name)]
  try {
    const url = await job.start({ after: (end) => ends.push(end) })
    const client = server.start()
    ends.unshift(() => client.close())
    await client.initialize()
    const call = (/** @type {string} */ name, /** @type {object} */ args) =>
      client.request('tools/call', { name, arguments: args })
    const agent = new JobAgent(call, script.snapshot)
    await job[script.job](agent, url)
    return agent
  } finally {
    for (const end of ends) await end()
  }
}
