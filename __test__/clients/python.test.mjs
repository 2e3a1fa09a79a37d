// Python's MCP client, in the virtual environment that scripts/setup.mjs makes.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { allEnded, descendants } from '../support/processes.mjs'
import { startSite } from '../support/site.mjs'
import { within } from '../support/wait.mjs'
import { ROOT, SERVER, playMainJob } from './main-job.mjs'

const PYTHON = join(ROOT, '.cache/venv/bin/python')
const PROGRAM = fileURLToPath(new URL('python_client.py', import.meta.url))

/** @param {import('node:test').TestContext} t @param {string} mode */
function startClient(t, mode) {
  assert.ok(existsSync(PYTHON), `${PYTHON} is missing: run \`npm run setup\``)
  const child = spawn(PYTHON, [PROGRAM, mode, SERVER.command, ...SERVER.args], { env: SERVER.env, stdio: 'pipe' })
  let stderr = ''
  child.stderr.on('data', (data) => (stderr += data))
  const ended = new Promise((resolve) => child.on('close', resolve))
  t.after(async () => {
    const below = descendants(/** @type {number} */ (child.pid))
    child.kill('SIGKILL')
    for (const { pid } of below) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
    await ended
    await allEnded(below)
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const answer = async () => {
    const { value, done } = await within(lines.next(), 'the answer of the Python client', 30_000)
    if (done) throw new Error(`the Python client has ended: ${stderr}`)
    return JSON.parse(value)
  }
  const ask = (wanted) => {
    child.stdin.write(`${JSON.stringify(wanted)}\n`)
    return answer()
  }
  return { child, ended, answer, ask }
}

describe("Python's MCP client", { skip: process.platform === 'win32' }, () => {
  for (const [mode, protocol] of /** @type {const} */ ([
    ['legacy', '2025-11-25'],
    ['auto', '2026-07-28']
  ])) {
    test(`lists the tools and plays the main job (${protocol})`, { timeout: 60_000 }, async (t) => {
      const site = await startSite(t)
      const { child, ended, answer, ask } = startClient(t, mode)
      assert.deepEqual(await answer(), { protocol })
      await playMainJob(site, {
        list: async () => (await ask({ list: true })).tools,
        call: async (tool, args) => {
          const { isError, structured, text } = await ask({ tool, arguments: args })
          assert.ok(!isError, text)
          return structured
        }
      })
      const failed = await ask({ tool: 'navigate', arguments: { url: 'not a url' } })
      assert.equal(failed.isError, true)
      assert.equal(JSON.parse(failed.text).errorCode, 'INVALID_URL')
      const below = descendants(/** @type {number} */ (child.pid))
      child.stdin.end()
      assert.equal(await within(ended, 'the end of the Python client', 10_000), 0)
      await allEnded(below)
    })
  }
})
