// Creates docs/clients.md from the output of `troupe config` for each client that it supports.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from '../run.mjs'
import { fenced } from './tools.mjs'

/** @type {Record<string, string>} */
const TITLES = {
  'claude-code': 'Claude Code',
  'claude-desktop': 'Claude Desktop',
  vscode: 'VS Code',
  cursor: 'Cursor',
  codex: 'Codex',
  windsurf: 'Windsurf',
  'gemini-cli': 'Gemini CLI',
  zed: 'Zed',
  cline: 'Cline',
  kiro: 'Kiro',
  opencode: 'opencode'
}

/** The commands that install this repository as a plugin. @type {Record<string, string>} */
const PLUGINS = {
  'claude-code':
    'claude plugin marketplace add troupe-mcp/troupe\nclaude plugin install troupe@troupe',
  'gemini-cli': 'gemini extensions install https://github.com/troupe-mcp/troupe'
}

const INTRODUCTION = `# Clients

<!-- Generated from what \`troupe config\` prints: \`npm run generate\` writes it. -->

Troupe needs Node 20 or later. It is not on npm yet: with a checkout, write \`node CHECKOUT/bin/troupe.js\` for
\`npx -y troupe\`.

\`npx -y troupe config CLIENT\` prints the configuration for a client. It contains the options
that you add:

\`\`\`bash
npx -y troupe config cursor --headless --max-sessions 20
npx -y troupe config claude-code --http
\`\`\`

With \`--http\`, it prints the URL of a running server, which [any number of clients can share](http.md).

\`npx\` checks the registry at every start. For the fastest start, run \`npm install -g troupe\` once, and use \`troupe\` as the
command.
`

/** @returns {string} */
export function clientDocument() {
  const sections = Object.entries(TITLES).map(([name, title]) => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [join(ROOT, 'bin/troupe.js'), 'config', name],
      { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/home/you' } }
    )
    if (status !== 0) throw new Error(`troupe config ${name}: ${stderr}`)
    const language = stdout.startsWith('{') ? 'json' : 'toml'
    return [
      `## ${title}`,
      stderr.trim(),
      fenced(language, stdout.trim()),
      ...(name in PLUGINS ? ['Or install the plugin:', fenced('bash', PLUGINS[name])] : [])
    ].join('\n\n')
  })
  return `${INTRODUCTION}\n${sections.join('\n\n')}\n`
}
