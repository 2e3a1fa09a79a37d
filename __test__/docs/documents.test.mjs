// The documents: every command and every snippet in them runs, and every option and error code in
// them exists.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { EXAMPLES_FILE, makeExamples } from '../../scripts/docs/examples.mjs'
import { ROOT } from '../../scripts/run.mjs'
import { BROWSER_CONFIG, cleanEnvironment } from '../support/browser.mjs'
import { CommandLine, NO_NATIVE_CLIENT } from '../support/command-line.mjs'
import { TOOLS } from '../support/coverage.mjs'
import { DOCUMENTS, codeBlocks, shellCommands } from '../support/documents.mjs'
import { startHttpServer } from '../support/http.mjs'
import { recordFile, temporaryFolder } from '../support/record.mjs'
import { run, troupe } from '../support/scripts.mjs'
import { BIN, Server, startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

const native = createRequire(import.meta.url)('../../lib/addon.js')
const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

const HAS_BASH = spawnSync('bash', ['-c', '(( BASH_VERSINFO[0] >= 4 ))']).status === 0
const NO_BASH = HAS_BASH ? false : 'needs Bash 4'
const NO_DOCKER = 'needs Docker'

/** Commands that the tests do not run, each with the reason. */
const NOT_RUN = {
  'npx -y troupe install chromium': 'downloads a browser',
  'claude mcp add troupe -- npx -y troupe': 'a program of another project',
  'codex mcp add troupe -- npx -y troupe': 'a program of another project',
  'claude plugin marketplace add troupe-mcp/troupe': 'a program of another project',
  'claude plugin install troupe@troupe': 'a program of another project',
  'gemini extensions install https://github.com/troupe-mcp/troupe': 'a program of another project',
  'docker build --tag troupe .': NO_DOCKER,
  'docker run --rm --init --publish 127.0.0.1:4000:4000    --security-opt seccomp=deploy/docker/seccomp.json --env TROUPE_AUTH_TOKEN troupe':
    NO_DOCKER,
  'docker compose --file deploy/compose.yaml up --build --detach': NO_DOCKER,
  'npm run demo': 'runs for minutes in a fresh clone; CI runs `npm test`, whose set-up is the same',
  'npm test': 'is what runs this test'
}

/** Replaces packages of a registry by the installed ones. */
const LOCAL = {
  'npx -y @playwright/mcp@latest': 'node node_modules/@playwright/mcp/cli.js',
  'npx -y chrome-devtools-mcp@latest':
    'node node_modules/chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'
}

describe('commands in the documents', { timeout: 120_000 }, () => {
  const commands = new Set(shellCommands().map(({ command }) => command))

  test('are all run here, or are listed with the reason why not', () => {
    for (const command of Object.keys(NOT_RUN)) assert.ok(commands.has(command), command)
    for (const command of commands)
      assert.match(
        command,
        /^(TROUPE_\w+=\S+ )?(npx -y )?troupe\b|^(npm|claude|codex|gemini|docker) /
      )
    for (const [, script] of [...commands].join('\n').matchAll(/^npm run (\S+)/gm))
      assert.ok(script in MANIFEST.scripts, script)
  })

  for (const command of commands) {
    if (command in NOT_RUN) continue
    test(command, async (t) => {
      const [, variable, rest = ''] = /^(TROUPE_\S+)?\s*(?:npx -y )?troupe\s*(.*)$/.exec(command)
      const env = variable ? Object.fromEntries([variable.split('=')]) : {}
      const args = words(rest)
      if (args[0] === 'sessions') return runSessions(t, args)
      if (args[0] === 'store') return runMigration(t, args)
      if (args[0] === 'dashboard') return runDashboard(t, args)
      if (['config', 'doctor'].includes(args[0])) {
        const { status, stdout, stderr } = await troupe(...args)
        assert.ok(status === 0 && stdout.trim(), stderr)
        return
      }
      if (args.includes('--connect')) return runConnect(t, args)
      if (args.includes('--transport')) {
        const server = await startHttpServer(t, withoutPort(args), {
          cwd: ROOT,
          browser: !rest.includes('--upstream')
        })
        const base = args.includes('--base-path') ? args[args.indexOf('--base-path') + 1] : ''
        assert.equal((await server.fetch(`${base}/health`)).status, 200)
        return
      }
      if (args.includes('--config')) {
        const [settings] = codeBlocks('json').filter(({ path }) =>
          path.endsWith('configuration.md')
        )
        const file = join(temporaryFolder(t), 'troupe.json')
        writeFileSync(file, settings.code)
        args.splice(args.indexOf('--config') + 1, 1, file)
      }
      const server = await startServer(t, args, {
        env,
        cwd: ROOT,
        browser: !rest.includes('--upstream')
      })
      const { result } = await server.request('tools/list')
      assert.ok(result.tools.some(({ name }) => name === 'create_session'))
    })
  }

  /** @param {string[]} args */
  async function runSessions(t, args) {
    const file = recordFile(t)
    const server = await startServer(t, ['--store', file])
    const sessionId = await server.createSession()
    await server.ok('evaluate', { sessionId, script: '1' })
    await server.end()
    const given = args.map((arg) => (arg === 'ID' ? sessionId : arg))
    if (args[1] === 'export') given.push(join(temporaryFolder(t), 'export'))
    if (args.includes('--all')) given.push('--yes')
    const { status, stdout, stderr } = await troupe(...given, '--store', file)
    assert.equal(status, 0, stderr)
    if (args.length === 1) assert.match(stdout, new RegExp(sessionId))
  }

  /** Replaces the database by a file. @param {string[]} args */
  async function runMigration(t, args) {
    const source = recordFile(t)
    const server = await startServer(t, ['--store', source])
    await server.createSession()
    await server.end()
    const target = join(temporaryFolder(t), 'copy.db')
    const { status, stdout, stderr } = await troupe(...args.slice(0, 2), source, target)
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^Copied 1 session and 1 call from /)
  }

  /** @param {string[]} args */
  async function runDashboard(t, args) {
    const server = await startHttpServer(t)
    const client = await startServer(t, ['--connect', server.url], { browser: false })
    const sessionId = await client.createSession()
    const given = args.map((arg) => (arg === 'ID' ? sessionId : arg))
    if (!args.includes('--url')) {
      const dashboard = new Server(given, { browser: false, handshake: false })
      dashboard.askToEnd = () => dashboard.child.kill()
      await dashboard.start(t)
      const isLink = (line) => /^http:\/\/127\.0\.0\.1:\d+\/dashboard\/#token=\w+$/.test(line)
      await until(() => dashboard.unparsable.some(isLink), 'the link')
      return
    }
    given.splice(args.indexOf('--url') + 1, 1, server.url)
    const { status, stdout, stderr } = await troupe(...given)
    assert.equal(status, 0, stderr)
    assert.ok(stdout.startsWith(server.at('/dashboard/#token=')), stdout)
  }

  /** @param {string[]} args */
  async function runConnect(t, args) {
    const shared = await startHttpServer(t)
    const given = args.map((arg) => (arg.startsWith('http:') ? shared.url : arg))
    const client = await startServer(t, given, { browser: false })
    assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
  }

  /** @param {string[]} args */
  function withoutPort(args) {
    const at = args.indexOf('--port')
    return args.filter((_, index) => at < 0 || (index !== at && index !== at + 1))
  }

  /** Splits a command line as a shell does. @param {string} line */
  function words(line) {
    return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) =>
      Object.entries(LOCAL).reduce(
        (text, [there, here]) => text.replace(there, here),
        double ?? single ?? plain
      )
    )
  }
})

/** How the code blocks of each language are run. */
const RUN_AS = {
  bash: 'commands, line by line',
  sh: 'whole scripts of a shell',
  js: 'snippets',
  json: 'configurations of clients, a configuration file, calls',
  yaml: 'a prompt',
  dotenv: 'a file with secrets',
  toml: 'a configuration that `npm run generate` writes, which `npm test` compares',
  nginx: 'in __test__/transports/reverse-proxy.test.mjs and __test__/store/balanced.test.mjs',
  haproxy: 'in __test__/store/balanced.test.mjs',
  caddy: 'in __test__/transports/reverse-proxy.test.mjs',
  text: 'is not code: results and a drawing'
}

describe('code blocks in the documents', () => {
  test('have a language that is run, or a reason why not', () => {
    for (const [path, text] of Object.entries(DOCUMENTS))
      for (const [, language] of text.matchAll(/^```(\w+)\n[^]*?^```$/gm))
        assert.ok(language in RUN_AS, `${path}: ${language}`)
    for (const language of Object.keys(RUN_AS))
      assert.ok(codeBlocks(language).length > 0, `no document has a block of ${language}`)
  })
})

describe(
  'scripts of a shell in the documents',
  { timeout: 180_000, skip: NO_NATIVE_CLIENT },
  () => {
    const scripts = codeBlocks('sh')

    test('are all run here', () => {
      assert.deepEqual(
        scripts.map(({ path }) => path),
        ['docs/command-line.md', 'docs/command-line.md', 'docs/http.md']
      )
    })

    test('the calls of the JSON API succeed', async (t) => {
      const site = await startSite(t, { '/': '<title>Example</title><h1>Hello</h1>' })
      const token = 'correct-horse'
      const server = await startHttpServer(t, [], { env: { TROUPE_AUTH_TOKEN: token } })
      const [definition, create, ...calls] = scripts[2].code
        .trim()
        .replace('http://127.0.0.1:4000/', server.at('/'))
        .replace('https://example.com', site.url('/'))
        .split('\n')
      const request = async (/** @type {string} */ command) => {
        const script = `${definition}\n${command}`
        const { status, stdout, stderr } = await run('bash', ['-c', script], {
          env: cleanEnvironment({ TROUPE_AUTH_TOKEN: token })
        })
        assert.equal(status, 0, stderr)
        return JSON.parse(stdout)
      }
      const { session_id } = await request(create)
      const outcomes = []
      for (const call of calls) outcomes.push(await request(call.replace('ID', session_id)))
      assert.deepEqual(
        outcomes.map(({ status, result }) => [status, result.title ?? result.text]),
        [
          ['success', 'Example'],
          ['success', 'Hello']
        ]
      )
    })

    test('the first commands drive a page', async (t) => {
      const site = await startSite(t, {
        '/': '<title>Example</title><label>Email <input></label><button onclick="document.title = \'Saved\'">Save</button>'
      })
      const cli = new CommandLine(t)
      const [{ code }] = scripts
      const { status, stdout, stderr } = await cli.shell(
        `set -e\n${code.replace('https://example.com', site.url('/'))}`
      )
      assert.equal(status, 0, stderr)
      assert.match(stdout, /Clicked button "Save"/)
      assert.match(stdout, /ada@example\.com/)
      assert.doesNotMatch(await cli.ok('list'), /127\.0\.0\.1/)
    })

    test('the commands for completions install them', { skip: NO_BASH }, async (t) => {
      const cli = new CommandLine(t)
      const folder = cli.folder
      const completions = join(folder, '.config/fish/completions')
      mkdirSync(completions, { recursive: true })
      const [, { code }] = scripts
      // Stand-ins for the parts of zsh and PowerShell.
      const script = `
      set -e
      troupe() { '${process.execPath}' '${BIN}' "$@"; }
      fpath=(unused '${folder}')
      Out-String() { cat; }
      Invoke-Expression() { cat > '${folder}/powershell'; }
      ${code}
      complete -p troupe`
      const { status, stdout, stderr } = await cli.program('bash', ['-c', script], {
        env: { HOME: folder }
      })
      assert.equal(status, 0, stderr)
      assert.match(stdout, / -F '?_troupe'? /)
      for (const file of ['_troupe', '.config/fish/completions/troupe.fish', 'powershell'])
        assert.match(readFileSync(join(folder, file), 'utf8'), /click-count/, file)
    })
  }
)

describe('configurations of clients in the documents', { timeout: 120_000 }, () => {
  for (const { path, code } of codeBlocks('json')) {
    const { mcpServers } = JSON.parse(code)
    // docs/clients.md is generated from what `troupe config` prints.
    if (!mcpServers || path === 'docs/clients.md') continue
    const [[name, { command, args }]] = Object.entries(mcpServers)
    test(`${command} ${args.join(' ')}, in ${path}, starts a server`, async (t) => {
      assert.equal(command, 'npx')
      const [program, ...options] = args.filter((/** @type {string} */ arg) => arg !== '-y')
      if (program !== 'troupe') {
        assert.equal(program, '@playwright/mcp@latest', 'the configuration before the migration')
        return
      }
      const server = await startServer(t, options)
      const { result } = await server.request('tools/list')
      const opens = name === 'playwright' ? 'browser_navigate' : 'create_session'
      assert.ok(result.tools.some(({ name }) => name === opens))
    })
  }
})

describe('snippets in the documents', { timeout: 120_000 }, () => {
  for (const [index, { path, code }] of codeBlocks('js').entries())
    test(`JavaScript ${index + 1}, in ${path}, runs`, async (t) => {
      const site = await startSite(t, { '/': '<title>Example</title><a href="/">Link</a>' })
      if (path.endsWith('command-line.md')) return runScript(t, site, code)
      // A file of the package itself, so that it imports `troupe` by name.
      const folder = join(ROOT, '.cache', `snippet-${process.pid}-${index}`)
      mkdirSync(folder, { recursive: true })
      t.after(() => rmSync(folder, { recursive: true, force: true }))
      const file = join(folder, 'snippet.mjs')
      const settings = JSON.stringify(BROWSER_CONFIG).slice(1, -1)
      writeFileSync(
        file,
        code
          .replaceAll('https://example.com', site.url('/'))
          .replaceAll('headless: true', `${settings}, headless: true`)
      )
      const { status, stdout, stderr } = await run(process.execPath, [file], {
        env: cleanEnvironment({})
      })
      assert.equal(status, 0, stderr)
      assert.equal(stderr, '')
      assert.match(stdout, /Example|loaded/)
    })

  /** Runs a script in a session. @param {string} code */
  async function runScript(t, site, code) {
    const server = await startServer(t, ['--enable-scripts'])
    const page =
      '<h1>Tasks</h1><p class="task">Write</p><button onclick="this.previousSibling.textContent = \'Read\'">Next</button>'
    await server.ok('navigate', { url: site.url('/') })
    await server.ok('evaluate', { script: `document.body.innerHTML = ${JSON.stringify(page)}` })
    const { value, console, steps } = await server.ok('run_script', { script: code })
    assert.deepEqual([value, console, steps], ['Tasks', ['Write'], 4])
    assert.match(await server.ok('snapshot'), /Read/)
  }

  test('calls of the cookbook succeed one after the other', async (t) => {
    const site = await startSite(t, {
      '/login':
        '<title>Log in</title><form action="/orders"><label>User <input></label><label>Password <input type="password"></label><button>Log in</button></form>',
      '/orders':
        '<title>Orders</title><h1>Orders</h1><p>Total 12.00</p><p>Report is ready</p><canvas width="200" height="100"></canvas><div style="height:3000px"></div>'
    })
    const folder = temporaryFolder(t)
    const server = await startServer(t, ['--store', 'memory'], { cwd: folder })
    const calls = codeBlocks('json').filter(({ path }) => path === 'docs/cookbook.md')
    assert.ok(calls.length > 8)
    let sessionId
    for (const { code } of calls) {
      const { tool, arguments: given } = JSON.parse(
        code.replaceAll('http://127.0.0.1:8000', site.url('').replace(/\/$/, ''))
      )
      const takesSession = tool !== 'create_session' && sessionId !== undefined
      const result = await server.call(tool, takesSession ? { sessionId, ...given } : given)
      assert.ok(!result.json?.errorCode, `${tool}: ${result.text}`)
      sessionId ??= result.meta?.sessionId
    }
  })

  test('the example of a prompt is offered', async (t) => {
    const folder = temporaryFolder(t)
    const [{ code }] = codeBlocks('yaml')
    writeFileSync(join(folder, 'price_check.yaml'), code)
    const server = await startServer(t, ['--prompts', folder])
    const { result } = await server.request('prompts/get', {
      name: 'price_check',
      arguments: { product: 'Pears' }
    })
    assert.match(result.messages[0].content.text, /price of Pears on:\s+- https:\/\/a\.example/)
  })

  test('the example of a file with secrets is read', async (t) => {
    const file = join(temporaryFolder(t), 'secrets.env')
    const [{ code }] = codeBlocks('dotenv')
    writeFileSync(file, code, { mode: 0o600 })
    const site = await startSite(t, { '/': '<title>S</title><label>Key <input></label>' })
    const server = await startServer(t, ['--secrets', file])
    await server.ok('navigate', { url: site.url('/') })
    const typed = await server.call('fill', { selector: 'label=Key', value: 'API_KEY' })
    assert.match(typed.text, /<secret>API_KEY<\/secret>/)
    assert.doesNotMatch(typed.text, /0123-4567/)
  })
})

describe('facts in the documents', () => {
  test('the examples of docs/tools.md are what the tools return', async () => {
    const committed = JSON.parse(readFileSync(EXAMPLES_FILE, 'utf8'))
    // Numbers depend on fonts and on the machine.
    const shape = (examples) => JSON.stringify(examples, null, 1).replace(/\d+(\.\d+)?/g, '0')
    assert.equal(shape(await makeExamples()), shape(committed), 'run `npm run docs:examples`')
    assert.deepEqual(
      TOOLS.map(({ name }) => name).filter((name) => !committed.some(({ tool }) => tool === name)),
      []
    )
  })

  test('every error code and every option in them exists', () => {
    const codes = JSON.parse(native.errorSchemas()).codes.map(({ code }) => code)
    const options = JSON.parse(native.optionRows()).flatMap(({ flag, aliases }) => [
      flag,
      ...aliases.map((name) => `--${name}`)
    ])
    const help = [
      '',
      'install',
      'doctor',
      'call',
      'sessions',
      'config',
      'dashboard',
      'click',
      'run',
      'skill install'
    ].flatMap((command) => {
      const args = ['bin/troupe.js', ...command.split(' ').filter(Boolean), '--help']
      return spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' }).stdout
    })
    const known = new Set([...options, ...help.join('\n').match(/--[a-z-]+/g)])
    for (const path of [
      'README.md',
      ...Object.keys(DOCUMENTS).filter((path) => /^docs\/\w[^/]*$/.test(path))
    ]) {
      if (['docs/migrating-from-playwright-mcp.md', 'docs/docker.md'].includes(path)) continue
      const text = DOCUMENTS[path]
      for (const [, option] of text.matchAll(/`(--[a-z-]+)/g))
        assert.ok(known.has(option) || FOREIGN.includes(option), `${path}: ${option}`)
      for (const [, code] of text.matchAll(/`([A-Z]+_[A-Z_]+)`/g))
        assert.ok(codes.includes(code) || VARIABLES.test(code), `${path}: ${code}`)
    }
  })

  test('README.md has at most 150 lines', () => {
    assert.ok(DOCUMENTS['README.md'].split('\n').length <= 151)
  })

  test('every document is in the menu of the site', () => {
    const menu = readFileSync(join(ROOT, 'docs/.vitepress/config.mjs'), 'utf8')
    for (const path of Object.keys(DOCUMENTS).filter((path) => path.startsWith('docs/'))) {
      const link = path.slice('docs'.length, -'.md'.length)
      assert.ok(link === '/index' || menu.includes(`'${link}'`), path)
    }
  })

  test('every picture that a document shows exists', () => {
    for (const [path, text] of Object.entries(DOCUMENTS))
      for (const [, link] of text.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g))
        assert.ok(existsSync(join(ROOT, path, '..', link)), `${path}: ${link}`)
  })
})

/** Options of browsers and of other programs that the documents name. */
const FOREIGN = [
  '--remote-debugging-port',
  '--remote-allow-system-access',
  '--enable-managed-downloads',
  '--site-per-process',
  '--host-resolver-rules',
  '--rounds',
  '--only',
  '--port',
  '--caps'
]
/** Names in capitals that are no error codes. */
const VARIABLES =
  /^((TROUPE|PLAYWRIGHT|API|SHOP|AWS)_|SSL_CERT_FILE$|(HTTPS?|ALL|NO)_PROXY$|NO_COLOR$|XDG_(STATE|CACHE)_HOME$|ELEMENT_NOT_INTERACTIVE$|POSTGRES_PASSWORD$)/
