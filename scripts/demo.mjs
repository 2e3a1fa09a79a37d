// `npm run demo` sets up what is missing, starts the server as an MCP client does, and uses a real
// web app (Swagger UI with a local pet store). It prints every call and its result.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT, StepError, bold, cyan, dim, green, red, since } from './run.mjs'
import { runScript, setup } from './setup.mjs'

const ANSWER_LINES = 12
const PET = '#operations-pets-getPet'
const PICTURE = join(ROOT, 'output/demo.png')

await runScript(async () => {
  await setup()
  const started = performance.now()
  const { serveApp } = await import('./demo-app.mjs')
  const app = await serveApp()
  const { client, transport } = await connect()
  try {
    await useApp((tool, args) => call(client, tool, args), app.url)
  } finally {
    await transport.close()
    app.close()
  }
  console.log(`${green('✓')} ${bold('Done')} in ${since(started)}, browser start included.`)
  console.log(`  The page at the end: ${bold(relative(process.cwd(), PICTURE))}`)
  console.log(`  To use it from your client: ${bold('npx -y troupe')} (see README.md)`)
})

/** @param {(tool: string, args: object) => Promise<any>} tool @param {string} url */
async function useApp(tool, url) {
  const { sessionId } = await tool('create_session', {})
  await tool('navigate', { sessionId, url })
  await tool('snapshot', { sessionId })
  await tool('click', { sessionId, selector: `${PET} .opblock-summary-control` })
  await tool('click', { sessionId, selector: `${PET} .try-out__btn` })
  await tool('type', { sessionId, selector: `${PET} input[placeholder=petId]`, text: '7' })
  await tool('click', { sessionId, selector: `${PET} button.execute` })
  const { value } = await tool('evaluate', {
    sessionId,
    script: `document.querySelector('${PET} .live-responses-table pre')?.textContent`
  })
  const { data } = await tool('screenshot', { sessionId, fullPage: true })
  mkdirSync(join(PICTURE, '..'), { recursive: true })
  writeFileSync(PICTURE, Buffer.from(data, 'base64'))
  await tool('close_session', { sessionId })
  if (!String(value).includes('Grace'))
    throw new StepError(`the app should show pet 7, not \`${value}\``)
}

async function connect() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
  // As root, Chromium's sandbox is not available.
  const args = [
    'bin/troupe.js',
    '--headless',
    '--log-level',
    'warn',
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])
  ]
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    cwd: ROOT,
    stderr: 'inherit'
  })
  const client = new Client({ name: 'troupe-demo', version: '0' })
  const started = performance.now()
  console.log(`\n${cyan('▸')} ${bold('start')} ${dim(`node ${args.join(' ')}`)}`)
  await client.connect(transport)
  const { tools } = await client.listTools()
  console.log(
    `  ${client.getServerVersion()?.name} ${client.getServerVersion()?.version}, ${tools.length} tools`
  )
  console.log(green(`  ${since(started)}\n`))
  return { client, transport }
}

/**
 * Calls a tool, prints the call and the result, and returns the result.
 * @param {import('@modelcontextprotocol/sdk/client/index.js').Client} client
 * @param {string} tool
 * @param {any} args
 */
async function call(client, tool, { sessionId, ...shown }) {
  console.log(
    `${cyan('▸')} ${bold(tool)} ${dim(Object.keys(shown).length ? JSON.stringify(shown) : '')}`
  )
  const started = performance.now()
  const result = await client.callTool({
    name: tool,
    arguments: sessionId ? { sessionId, ...shown } : shown
  })
  const took = since(started)
  const content = /** @type {any[]} */ (result.content)
  const image = content.find((part) => part.type === 'image')
  const text = content.map((part) => part.text ?? '').join('\n')
  console.log(
    shortened(
      image ? `${image.mimeType}, ${Math.round((image.data.length * 3) / 4 / 1024)} KiB` : text
    )
  )
  console.log((result.isError ? red : green)(`  ${took}\n`))
  if (result.isError) throw new StepError(`\`${tool}\` failed`)
  return image ?? result.structuredContent ?? text
}

/** @param {string} text */
function shortened(text) {
  const lines = text
    .split('\n')
    .map((line) => (line.length > 110 ? `${line.slice(0, 109)}…` : line))
  const more =
    lines.length > ANSWER_LINES ? [dim(`… ${lines.length - ANSWER_LINES} more lines`)] : []
  return [...lines.slice(0, ANSWER_LINES), ...more].map((line) => `  ${line}`).join('\n')
}
