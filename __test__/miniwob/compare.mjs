// Runs the policies on Troupe and, through `playwright.mjs`, on @playwright/mcp, and writes a
// table:
//   node __test__/miniwob/compare.mjs [kind …]
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from 'simple-statistics'
import { serveFiles } from '../apps/app.mjs'
import { PLAYWRIGHT_COMMAND, browserExecutable } from '../playwright/servers.mjs'
import { Server } from '../support/server.mjs'
import { Agent } from './agent.mjs'
import { PAGES, REWARD_SCRIPT, SOLVED, startScript } from './episodes.mjs'
import { GROUPS, seedsOf } from './kinds.mjs'
import { NO_COUNTERPART, PlaywrightTools } from './playwright.mjs'

/** @typedef {{ solved: boolean, calls: number, bytes: number, reason: string }} Episode */

const POLICIES = Object.assign({}, ...Object.values(GROUPS))
const kinds = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(POLICIES)

/** @type {(() => unknown)[]} */
const ends = []
const scope = { after: (end) => void ends.push(end) }
const origin = await serveFiles(scope, { folder: PAGES })

/** Runs an episode on Troupe. @param {Server} server @param {string} kind @param {string} seed */
async function onTroupe(server, kind, seed) {
  // Its own session: passwords that were typed earlier would be masked in the task's words.
  const sessionId = await server.createSession()
  const call = (tool, args) => server.ok(tool, { ...args, sessionId })
  await call('navigate', { url: `${origin}/miniwob/${kind}.html` })
  const { value } = await call('evaluate', { script: startScript(seed) })
  let bytes = 0
  const agent = new Agent(value, async (tool, args) => {
    const { text, json, isError } = await server.call(tool, { ...args, sessionId })
    bytes += Buffer.byteLength(text)
    if (isError) throw new Error(text)
    return json ?? text
  })
  const reason = await POLICIES[kind](agent).catch((error) => error.message)
  const { value: reward } = await call('evaluate', { script: REWARD_SCRIPT })
  await call('close_session')
  return { solved: reward >= SOLVED, calls: agent.calls, bytes, reason: String(reason ?? '') }
}

/**
 * Runs an episode on @playwright/mcp.
 * @param {Server} server
 * @param {string} kind
 * @param {string} seed
 */
async function onPlaywright(server, kind, seed) {
  const tools = new PlaywrightTools(server)
  await tools.own('navigate', { url: `${origin}/miniwob/${kind}.html` })
  const utterance = await tools.evaluate(startScript(seed))
  tools.calls = tools.bytes = 0
  const agent = new Agent(utterance, (tool, args) => tools.call(tool, args))
  const reason = await POLICIES[kind](agent).catch((error) => error.message)
  const { calls, bytes } = tools
  const reward = await tools.evaluate(REWARD_SCRIPT)
  return { solved: reward >= SOLVED, calls, bytes, reason: String(reason ?? '') }
}

/**
 * Without its pauses after each call, and without the snapshots that it adds to results: policies
 * ask for them.
 */
const FAST = ['--timeout-settle', '0', '--snapshot-mode', 'none']

/** @param {string[]} flags */
async function startPlaywright(flags) {
  const server = new Server(
    [
      ...['--headless', '--isolated', '--no-sandbox', '--caps', 'vision'],
      ...[
        '--executable-path',
        browserExecutable(),
        '--output-dir',
        join(tmpdir(), 'miniwob-playwright')
      ],
      ...['--timeout-action', '3000', ...flags]
    ],
    { browser: false, command: PLAYWRIGHT_COMMAND }
  )
  await server.start(scope)
  return server
}

const troupe = new Server()
await troupe.start(scope)
const fast = await startPlaywright(FAST)
const patient = await startPlaywright(['--snapshot-mode', 'none'])

const rows = []
for (const kind of kinds) {
  const seeds = seedsOf(kind)
  const run = async (episode, server) => {
    /** @type {Episode[]} */
    const episodes = []
    for (const seed of seeds) episodes.push(await episode(server, kind, seed))
    return episodes
  }
  const ours = await run(onTroupe, troupe)
  let playwright = await run(onPlaywright, fast)
  // Some pages need its pauses.
  if (playwright.some(({ solved, reason }) => !solved && !reason.includes(NO_COUNTERPART)))
    playwright = await run(onPlaywright, patient)
  rows.push({ kind, ours, playwright })
  const mark = (episodes) => (episodes.every(({ solved }) => solved) ? 'solved' : 'not')
  const reason =
    playwright
      .find(({ solved }) => !solved)
      ?.reason.split('\n')[0]
      .slice(0, 120) ?? ''
  console.log(`${kind}: Troupe ${mark(ours)}, @playwright/mcp ${mark(playwright)} ${reason}`)
}

const isSolved = (episodes) => episodes.every(({ solved }) => solved)
const both = rows.filter(({ ours, playwright }) => isSolved(ours) && isSolved(playwright))
const count = (of) => rows.filter((row) => isSolved(row[of])).length
const of = (side, what) => median(both.flatMap((row) => row[side].map((episode) => episode[what])))
console.log(`
| | Troupe | @playwright/mcp |
|---|---|---|
| kinds solved, of ${rows.length} with a policy | ${count('ours')} | ${count('playwright')} |
| calls per episode, median of the ${both.length} kinds that both solve | ${of('ours', 'calls')} | ${of('playwright', 'calls')} |
| bytes of results per episode, median of these | ${of('ours', 'bytes')} | ${of('playwright', 'bytes')} |`)
writeFileSync(join(tmpdir(), 'miniwob.json'), JSON.stringify(rows, null, 1))
for (const end of ends.reverse()) await Promise.resolve(end()).catch(() => {})
process.exit()
