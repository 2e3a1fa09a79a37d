// The jobs of an agent in third-party apps, with the command line. The agent uses only the output
// of its commands. A chain of commands is one turn.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { JobAgent } from './jobs/agent.mjs'
import { JOBS } from './jobs/index.mjs'
import { commandLine } from '../support/command-calls.mjs'
import { CommandLine, NO_NATIVE_CLIENT } from '../support/command-line.mjs'

/** What the jobs may cost in all. */
const MAX = { turns: 30, bytes: 30_000 }

describe("an agent's jobs with commands", { timeout: 300_000, skip: NO_NATIVE_CLIENT }, () => {
  const total = { turns: 0, bytes: 0 }

  for (const job of JOBS) {
    test(`${job.title}: ${job.task}`, { skip: job.missing() }, async (t) => {
      const url = await job.start(t)
      const cli = new CommandLine(t, { TROUPE_ALLOWED_DOMAINS: '127.0.0.1,localhost' })
      const agent = new JobAgent(async (tool, args) => {
        const { status, stdout, stderr } = await cli.shell(commandLine(tool, args))
        return { content: [{ text: stdout + stderr }], isError: status !== 0 }
      }, 'snapshot')
      await job.troupe(agent, url)
      t.diagnostic(`${agent.turns} turns, ${agent.calls} commands, ${agent.bytes} bytes`)
      total.turns += agent.turns
      total.bytes += agent.bytes
    })
  }

  test(`need at most ${MAX.turns} turns and ${MAX.bytes} bytes of output`, () => {
    assert.ok(total.turns <= MAX.turns && total.bytes <= MAX.bytes, JSON.stringify(total))
  })
})
