// The MCP Inspector: its CLI starts a server for each method; its connection CLI (`mcpdo`) keeps
// one running with a daemon, and so can test what needs a session. Both need Node 22, which their
// package.json installs.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { awaitProcessesEnded, descendants, readProcess } from '../support/processes.mjs'
import { run } from '../support/scripts.mjs'
import { startSite } from '../support/site.mjs'
import { SERVER, playMainJob } from './main-job.mjs'

const NODE_22 = fileURLToPath(new URL('node_modules/.bin/node', import.meta.url))
const INSPECTOR = fileURLToPath(
  new URL('node_modules/@modelcontextprotocol/inspector/clients', import.meta.url)
)
const CLI = join(INSPECTOR, 'launcher/build/index.js')
const MCPDO = join(INSPECTOR, 'mcpdo/build/mcp-bin.js')

/** @param {string} program @param {string[]} args */
const runInspector = (program, args, env = SERVER.env) =>
  run(NODE_22, [program, ...args], { env, timeout: 30_000 })

/**
 * A folder for the data of the Inspector (connections, logins), and a function that runs `mcpdo` in
 * it.
 */
function mcpdoAtHome(t) {
  const home = mkdtempSync(join(tmpdir(), 'troupe-inspector-'))
  const config = join(home, 'servers.json')
  writeFileSync(
    config,
    JSON.stringify({
      mcpServers: { troupe: { type: 'stdio', command: SERVER.command, args: SERVER.args } }
    })
  )
  const env = {
    ...SERVER.env,
    HOME: home,
    XDG_RUNTIME_DIR: home,
    MCP_INSPECTOR_SECRET_STORE: 'file'
  }
  const mcpdo = async (...args) => {
    const { status, stdout, stderr } = await runInspector(
      MCPDO,
      ['--format', 'json', '--config', config, ...args],
      env
    )
    assert.equal(status, 0, `mcpdo ${args.join(' ')}: ${stderr || stdout}`)
    return JSON.parse(stdout)
  }
  t.after(async () => {
    const { pid } = JSON.parse(
      (await runInspector(MCPDO, ['--format', 'json', 'daemon', 'status'], env)).stdout || '{}'
    )
    const daemon = readProcess(pid)
    assert.ok(daemon, 'the daemon of mcpdo runs')
    const all = [...descendants(pid), daemon]
    await runInspector(MCPDO, ['daemon', 'stop'], env)
    await awaitProcessesEnded(all).finally(() => rmSync(home, { recursive: true, force: true }))
  })
  return mcpdo
}

describe('the MCP Inspector', { skip: process.platform === 'win32' }, () => {
  for (const [
    method,
    args,
    found
  ] of /** @type {[string, string[], (answer: any) => boolean][]} */ ([
    // It validates only the schemas of tools.
    ['tools/list', ['--strict'], ({ tools }) => tools.length > 0],
    ['resources/list', [], ({ resources }) => Array.isArray(resources)],
    ['resources/templates/list', [], ({ resourceTemplates }) => resourceTemplates.length > 0],
    ['prompts/list', [], ({ prompts }) => prompts.length === 5],
    [
      'prompts/get',
      [
        '--prompt-name',
        'e2e_test',
        '--prompt-args',
        'test_scenario=buy a book',
        'start_url=http://127.0.0.1/'
      ],
      ({ messages }) => messages[0].content.text.includes('buy a book')
    ]
  ])) {
    test(`finds no error in ${method}`, { timeout: 60_000 }, async () => {
      const { status, stdout, stderr } = await runInspector(CLI, [
        '--cli',
        SERVER.command,
        ...SERVER.args,
        '--method',
        method,
        ...args
      ])
      assert.equal(status, 0, stderr)
      assert.ok(found(JSON.parse(stdout)), stdout)
    })
  }

  test('calls a tool and shows its answer', { timeout: 60_000 }, async (t) => {
    const site = await startSite(t)
    const call = [
      '--method',
      'tools/call',
      '--tool-name',
      'navigate',
      '--tool-arg',
      `url=${site.url('/form')}`
    ]
    const { status, stdout, stderr } = await runInspector(CLI, [
      '--cli',
      SERVER.command,
      ...SERVER.args,
      ...call
    ])
    assert.equal(status, 0, stderr)
    assert.equal(JSON.parse(stdout).structuredContent.title, 'Form')
  })

  test('lists the tools and completes the main job', { timeout: 60_000 }, async (t) => {
    const site = await startSite(t)
    const mcpdo = mcpdoAtHome(t)
    await mcpdo('connect', 'troupe', '--era', 'modern')
    await playMainJob(site, {
      list: async () => (await mcpdo('@troupe', 'tools/list')).tools,
      call: async (tool, args) => {
        const pairs = Object.entries(args).map(([key, value]) => `${key}:=${JSON.stringify(value)}`)
        const { isError, structuredContent, content } = await mcpdo(
          '@troupe',
          'tools/call',
          tool,
          ...pairs
        )
        assert.ok(!isError, JSON.stringify(content))
        return structuredContent
      }
    })
  })
})
