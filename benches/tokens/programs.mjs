// The compared programs: how each one is started, and the texts that a model reads before the first
// call.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../scripts/run.mjs'
import { McpClient, ShellClient } from './agent.mjs'

/**
 * The texts that a model reads before the first call. An MCP client passes the name, the
 * description and the input schema of each tool to the model. A coding agent passes the name and
 * the description of a skill, and its text when the model uses the skill.
 * @typedef {{
 *   instructions?: string, tools?: any[], skill?: { description: string, text: string }
 * }} Fixed
 * @typedef {{ folder: string, work: string, browser?: string }} StartOptions
 * @typedef {{ name: string, title: string, package: string, random?: [RegExp, string][],
 *   start: (options: StartOptions) =>
 *     Promise<{ client: import('./agent.mjs').Client, fixed: Fixed }>
 * }} Program
 */

const PACKAGES = join(ROOT, 'node_modules')
export const COMMAND_LINES = join(ROOT, 'benches/tokens/node_modules')
const BIN = join(ROOT, 'bin/troupe.js')

/** Playwright names the files of snapshots after the time. @type {[RegExp, string][]} */
const SNAPSHOT_FILES = [[/page-[\dT-]+Z\.yml/g, 'page-2026-02-14T19-22-42-679Z.yml']]

const isRoot = process.getuid?.() === 0

/** The version of an installed package. @param {string} folder @returns {string} */
export const versionIn = (folder) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version

/** Options that Troupe and @playwright/mcp share. @param {string} [browser] */
const flags = (browser) => [
  '--headless',
  ...(browser ? ['--executable-path', browser] : []),
  ...(isRoot ? ['--no-sandbox'] : [])
]

/**
 * @param {string} work the working directory
 * @param {string[]} command
 * @param {Record<string, string>} [env]
 */
async function mcp(work, command, env) {
  const client = new McpClient([process.execPath, ...command], work, env)
  return { client, fixed: await client.initialize() }
}

/**
 * Writes a command of this name, and returns the PATH that begins with its folder.
 * @param {string} folder @param {string} name @param {string[]} program
 */
function writeCommandOnPath(folder, name, program) {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  const file = join(bin, name)
  const words = program.map((word) => `'${word}'`).join(' ')
  writeFileSync(file, `#!/bin/sh\nexec ${words} "$@"\n`)
  chmodSync(file, 0o755)
  return `${bin}:${process.env.PATH}`
}

/** Splits a SKILL.md. @param {string} text @param {string} [more] the guide that it refers to */
function skill(text, more = '') {
  const [, head = '', body = ''] = /^---\n([^]*?)\n---\n([^]*)/.exec(text) ?? []
  const description = head
    .split('\n')
    .filter((line) => /^(name|description):/.test(line))
    .join('\n')
  return { description, text: body + more }
}

/** @type {Program} */
const troupe = {
  name: 'troupe',
  title: 'Troupe (MCP)',
  package: ROOT,
  random: [
    [/(<\/?page )\w+/g, '$10a1b2c3d'],
    [/"timing":\{[^}]*\}/g, '"timing":{"responseStart":8.9,"domContentLoaded":33.4,"load":37.5}']
  ],
  start: ({ folder, work, browser }) =>
    mcp(work, [BIN, ...flags(browser)], { TROUPE_STORE: join(folder, 'record.db') })
}

/** @type {Program} */
const troupeCli = {
  ...troupe,
  name: 'troupeCli',
  title: 'Troupe (command line)',
  async start({ folder, work, browser }) {
    const env = {
      PATH: writeCommandOnPath(folder, 'troupe', [process.execPath, BIN]),
      XDG_STATE_HOME: join(folder, 'state'),
      TROUPE_HEADLESS: 'true',
      ...(browser ? { TROUPE_EXECUTABLE_PATH: browser } : {}),
      ...(isRoot ? { TROUPE_NO_SANDBOX: 'true' } : {})
    }
    const client = new ShellClient({ cwd: work, env }, 'troupe daemon stop')
    await client.call('', { command: `troupe skill install '${folder}'` })
    const stub = readFileSync(join(folder, 'troupe/SKILL.md'), 'utf8')
    const text = await client.call('', { command: 'troupe skill' })
    return { client, fixed: { skill: skill(stub, text) } }
  }
}

/** @type {Program} */
const playwrightMcp = {
  name: 'playwrightMcp',
  title: '@playwright/mcp',
  random: SNAPSHOT_FILES,
  package: join(PACKAGES, '@playwright/mcp'),
  start: ({ work, browser }) =>
    mcp(work, [join(PACKAGES, '@playwright/mcp/cli.js'), ...flags(browser), '--isolated'])
}

/** @type {Program} */
const playwrightCli = {
  name: 'playwrightCli',
  title: 'playwright-cli',
  random: SNAPSHOT_FILES,
  package: join(COMMAND_LINES, '@playwright/cli'),
  async start({ folder, work, browser }) {
    const program = join(COMMAND_LINES, '@playwright/cli/playwright-cli.js')
    const env = {
      PATH: writeCommandOnPath(folder, 'playwright-cli', [process.execPath, program]),
      PLAYWRIGHT_MCP_EXECUTABLE_PATH: browser,
      ...(isRoot ? { PLAYWRIGHT_MCP_SANDBOX: 'false' } : {})
    }
    const client = new ShellClient({ cwd: work, env }, 'playwright-cli close')
    // The file that `playwright-cli install --skills` copies; that command also downloads a
    // browser.
    const file = 'playwright-core/lib/tools/skills/playwright-cli/SKILL.md'
    const text = readFileSync(join(COMMAND_LINES, file), 'utf8')
    return { client, fixed: { skill: skill(text) } }
  }
}

/** Returns the path of the program of agent-browser, which `setup(['tokens'])` installs. */
export function agentBrowserProgram() {
  const system = `${process.platform}-${process.arch}`
  const program = join(COMMAND_LINES, `agent-browser/bin/agent-browser-${system}`)
  // Its install script would do this, but also download a browser.
  chmodSync(program, 0o755)
  return program
}

/** @type {Program} */
const agentBrowser = {
  name: 'agentBrowser',
  title: 'agent-browser',
  package: join(COMMAND_LINES, 'agent-browser'),
  async start({ folder, work, browser }) {
    const env = {
      PATH: writeCommandOnPath(folder, 'agent-browser', [agentBrowserProgram()]),
      AGENT_BROWSER_SESSION: `tokens-${process.pid}`,
      AGENT_BROWSER_EXECUTABLE_PATH: browser,
      ...(isRoot ? { AGENT_BROWSER_ARGS: '--no-sandbox' } : {})
    }
    const client = new ShellClient({ cwd: work, env }, 'agent-browser close')
    const stub = readFileSync(join(agentBrowser.package, 'skills/agent-browser/SKILL.md'), 'utf8')
    const text = await client.call('', { command: 'agent-browser skills get core' })
    return { client, fixed: { skill: skill(stub, text) } }
  }
}

/** @type {Program} */
const devtools = {
  name: 'devtools',
  title: 'chrome-devtools-mcp',
  package: join(PACKAGES, 'chrome-devtools-mcp'),
  start: ({ work, browser }) =>
    mcp(work, [
      join(PACKAGES, 'chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'),
      ...['--headless', '--isolated', '--no-usage-statistics', '--executablePath', browser],
      ...(isRoot ? ['--chromeArg=--no-sandbox'] : [])
    ])
}

export const TROUPE = [troupe, troupeCli]
export const PROGRAMS = [...TROUPE, playwrightMcp, playwrightCli, agentBrowser, devtools]
