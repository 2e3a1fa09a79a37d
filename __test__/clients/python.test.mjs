// Python's MCP clients, in the virtual environments that scripts/setup.mjs creates.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../../scripts/run.mjs'
import { startHttpServer } from '../support/http.mjs'
import { awaitProcessesEnded, descendants } from '../support/processes.mjs'
import { startSite } from '../support/site.mjs'
import { within } from '../support/wait.mjs'
import { SERVER, playBesideTools, playMainJob } from './main-job.mjs'

const PROGRAM = fileURLToPath(new URL('python_client.py', import.meta.url))

const CLIENTS = [
  { name: 'mcp 2.2', environment: 'venv', client: ['mcp-2', 'legacy'], protocol: '2025-11-25' },
  { name: 'mcp 2.2', environment: 'venv', client: ['mcp-2', 'auto'], protocol: '2026-07-28' },
  {
    name: 'mcp 1.30',
    environment: 'venv-mcp-1',
    client: ['mcp-1'],
    protocol: '2025-11-25',
    transports: ['stdio', 'http', 'ws']
  },
  { name: 'fastmcp 2.14', environment: 'venv-mcp-1', client: ['fastmcp'], protocol: '2025-11-25' }
]

/**
 * How a client connects to the server.
 * @type {Record<string, (t: import('node:test').TestContext) => Promise<string[]>>}
 */
const SERVERS = {
  stdio: async () => ['stdio', SERVER.command, ...SERVER.args],
  http: async (t) => {
    const { url, token } = await startHttpServer(t)
    return ['http', url, token]
  },
  // This transport sends no headers, so it cannot send a token.
  ws: async (t) => ['ws', (await startHttpServer(t, ['--no-auth'], { transport: 'websocket' })).url]
}

/**
 * @param {import('node:test').TestContext} t
 * @param {{ environment: string, client: string[] }} which
 * @param {string[]} server
 */
function startClient(t, { environment, client }, server) {
  const python = join(ROOT, '.cache', environment, 'bin/python')
  assert.ok(existsSync(python), `${python} is missing: run \`npm run setup\``)
  const child = spawn(python, [PROGRAM, ...client, ...server], { env: SERVER.env, stdio: 'pipe' })
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
        // The client has ended on its own.
      }
    }
    await ended
    if (below.length > 0) await awaitProcessesEnded(below)
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const answer = async () => {
    const { value, done } = await within(lines.next(), 'the answer of the Python client', 30_000)
    if (done) throw new Error(`the Python client has ended: ${stderr}`)
    return JSON.parse(value)
  }
  const say = (wanted) => child.stdin.write(`${JSON.stringify(wanted)}\n`)
  const ask = (wanted) => {
    say(wanted)
    return answer()
  }
  return { child, ended, answer, say, ask }
}

describe("Python's MCP clients", { skip: process.platform === 'win32' }, () => {
  for (const { transports = ['stdio', 'http'], ...which } of CLIENTS) {
    for (const transport of transports) {
      const title = `${which.name} completes the main job, resources, a prompt, progress, cancellation over ${transport} (${which.protocol})`
      const stateless = transport !== 'stdio' && which.protocol === '2026-07-28'
      test(title, { timeout: 90_000 }, async (t) => {
        const site = await startSite(t)
        const { child, ended, answer, say, ask } = startClient(
          t,
          which,
          await SERVERS[transport](t)
        )
        assert.deepEqual(await answer(), { protocol: which.protocol })
        const call = async (tool, args) => {
          const { isError, structured, text } = await ask({ do: 'call', tool, arguments: args })
          assert.ok(!isError, text)
          return structured
        }
        await playMainJob(site, { list: async () => (await ask({ do: 'list' })).tools, call })
        await playBesideTools(site, {
          stateless,
          call,
          resources: async () => (await ask({ do: 'resources' })).resources,
          read: async (uri) => (await ask({ do: 'read', uri })).text,
          prompt: async (name, args) => (await ask({ do: 'prompt', name, arguments: args })).text,
          progress: async (tool, args) =>
            (await ask({ do: 'progress', tool, arguments: args })).progress,
          cancel: async (tool, args, when) => {
            say({ do: 'cancel', tool, arguments: args })
            await when
            assert.deepEqual(await ask({ do: 'now' }), { cancelled: true })
          }
        })
        const failed = await ask({ do: 'call', tool: 'navigate', arguments: { url: 'not a url' } })
        assert.equal(failed.isError, true)
        // A client without a session must name one.
        assert.equal(
          JSON.parse(failed.text).errorCode,
          stateless ? 'INVALID_PARAMETERS' : 'INVALID_URL'
        )
        // Over stdio, the client has started the server.
        const below = descendants(/** @type {number} */ (child.pid))
        assert.equal(below.length > 0, transport === 'stdio')
        child.stdin.end()
        assert.equal(await within(ended, 'the end of the Python client', 10_000), 0)
        if (transport === 'stdio') await awaitProcessesEnded(below)
      })
    }
  }
})
