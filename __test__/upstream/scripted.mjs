// A scripted MCP server for tests, with valid and invalid behavior: on stdio, or over HTTP if it is
// given a port. It writes each event to its journal.
//   --journal FILE     path of the journal
//   --ignore-sigterm   --ignore-eof   --port N
//   --modern (2026-07-28 alone)   --storage (has tools for it)
import { spawn } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { PIXEL } from '../support/pictures.mjs'

const flag = /** @type {const} */ ({ type: 'boolean', default: false })
const text = /** @type {const} */ ({ type: 'string' })
const { values: options } = parseArgs({
  options: {
    journal: text,
    port: text,
    'ignore-sigterm': flag,
    'ignore-eof': flag,
    modern: flag,
    storage: flag
  }
})
const journal = /** @type {string | undefined} */ (options.journal)
const folder = process.env.TROUPE_UPSTREAM_OUTPUT_DIR ?? '.'

function note(event) {
  if (journal)
    appendFileSync(
      journal,
      `${JSON.stringify({ pid: process.pid, session: process.env.TROUPE_UPSTREAM_SESSION_ID, ...event })}\n`
    )
}

note({ event: 'start', port: options.port })
if (options['ignore-sigterm']) process.on('SIGTERM', () => note({ event: 'SIGTERM' }))

const textResult = (content) => ({
  content: [{ type: 'text', text: typeof content === 'string' ? content : JSON.stringify(content) }]
})
let state = { cookies: [], origins: [] }
let url = ''
let lines = 0
const RAW = Symbol('JSON that is sent as it is')
const ODD = `{ "content": [{"type":"text", "text":"\\u00fc\\/ 1"},  {"type": "image", "annotations": {"priority": 1.0}, "data":"${PIXEL}", "mimeType":"image/png"}], "structuredContent":{"big":12345678901234567890123,"e":1.50E+2} }`

/** The page as @playwright/mcp describes it: links to files in its folder. */
function page(content) {
  const file = join(folder, `page-${++lines}.yml`)
  writeFileSync(file, content)
  appendFileSync(
    join(folder, 'console.log'),
    `[ ${lines}ms] [ERROR] failed ${lines} @ http://a/b.js:${lines}\n`
  )
  const link = (path) => relative(process.cwd(), path)
  return textResult(
    `### Page\n- Page URL: ${url}\n### Snapshot\n- [Snapshot](${link(file)})\n### Events\n- New console entries: ${link(join(folder, 'console.log'))}#L${lines}`
  )
}

/**
 * The tools by name. `notify` sends a notification.
 * @type {Record<string, (args: any, call: { id: unknown, token: unknown, notify: (message: object)
 *   => void }) => any>}
 */
const TOOLS = {
  echo: (args) => textResult(args),
  kinds: () => ({
    content: [
      { type: 'text', text: 'words', annotations: { priority: 1 } },
      { type: 'image', data: PIXEL, mimeType: 'image/png' },
      { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
      {
        type: 'resource',
        resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'inside' }
      },
      { type: 'resource_link', uri: 'file:///b.txt', name: 'b' }
    ],
    structuredContent: { words: 1 },
    _meta: { theirs: true }
  }),
  fail: () => ({ ...textResult('### Error\nthere is no such button'), isError: true }),
  refuse: () => {
    throw Object.assign(new Error('`x` is missing'), { code: -32602 })
  },
  long: ({ length }) => textResult('line\n'.repeat(length / 5)),
  who: () =>
    textResult({
      pid: process.pid,
      session: process.env.TROUPE_UPSTREAM_SESSION_ID,
      folder,
      port: options.port
    }),
  step: ({ of }, { token, notify }) => {
    for (let done = 1; done <= of; done++)
      notify({
        method: 'notifications/progress',
        params: { progressToken: token, progress: done, total: of, message: `step ${done}` }
      })
    return textResult('stepped')
  },
  steady: async ({ of, pause }, { token, notify }) => {
    for (let done = 1; done <= of; done++) {
      // The interval between two reports of progress is what the test is about.
      await new Promise((resolve) => setTimeout(resolve, pause))
      notify({
        method: 'notifications/progress',
        params: { progressToken: token, progress: done, total: of }
      })
    }
    return textResult('stepped')
  },
  wait: () => new Promise(() => {}),
  browser_navigate: (args) => {
    url = args.url
    return page(`- heading "${args.url}" [ref=e1]`)
  },
  show: ({ text }) => page(text),
  inline: ({ text }) =>
    textResult(`### Page\n- Page URL: ${url}\n### Snapshot\n\`\`\`yaml\n${text}\n\`\`\``),
  // Returns JSON in an unusual format, to check that Troupe does not rewrite it.
  odd: () => ({ [RAW]: ODD }),
  log: ({ lines }) => {
    const file = join(folder, 'console.log')
    writeFileSync(file, lines.join('\n') + '\n')
    return textResult(
      `### Events\n- New console entries: ${relative(process.cwd(), file)}#L1-L${lines.length}`
    )
  },
  list: ({ lines }) =>
    textResult(
      `### Result\nTotal messages: ${lines.length} (Errors: 0, Warnings: 0)\n\n${lines.join('\n')}`
    ),
  browser_type: ({ text }) => textResult(`### Ran Playwright code\nawait page.fill('${text}');`),
  browser_close: () => textResult('closed'),
  die: () => process.kill(process.pid, 'SIGKILL'),
  exit: () => process.exit(4),
  hang: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  garbage: () => {
    process.stdout.write(
      'Debugger attached.\n{"jsonrpc": \n\u0000\u0001\n\n{"jsonrpc":"2.0","id":987654,"result":{}}\n[]\n'
    )
    return textResult('clean')
  },
  flood: async ({ lines }) => {
    for (let line = 0; line < lines; line++) {
      if (!process.stderr.write(`${line} ${'x'.repeat(1000)}\n`))
        await new Promise((resolve) => process.stderr.once('drain', resolve))
    }
    return textResult('dry')
  },
  close_input: () => {
    process.stdin.destroy()
    return textResult('deaf')
  },
  start_child: () => {
    const child = spawn('/bin/sh', ['-c', "trap '' TERM; echo up; while :; do sleep 1; done"], {
      stdio: ['ignore', 'pipe', 'ignore']
    })
    return new Promise((resolve) =>
      child.stdout.once('data', () => resolve(textResult({ pid: child.pid })))
    )
  },
  fewer_tools: ({ name }, { notify }) => {
    delete TOOLS[name]
    notify({ method: 'notifications/tools/list_changed' })
    return textResult('fewer')
  },
  more_tools: (_, { notify }) => {
    TOOLS.later = () => textResult('late')
    notify({ method: 'notifications/tools/list_changed' })
    return textResult('more')
  }
}
if (options.storage) {
  TOOLS.browser_set_storage_state = ({ filename }) => {
    state = JSON.parse(readFileSync(filename, 'utf8'))
    return textResult('set')
  }
  TOOLS.browser_storage_state = ({ filename }) => {
    writeFileSync(filename, JSON.stringify(state))
    return textResult('saved')
  }
  TOOLS.log_in = () => {
    state = {
      cookies: [
        {
          name: 'user',
          value: 'me',
          domain: 'a',
          path: '/',
          expires: -1,
          httpOnly: true,
          secure: false,
          sameSite: 'Lax'
        }
      ],
      origins: []
    }
    return textResult('in')
  }
}

const READS = ['echo', 'kinds', 'who']
const listed = () =>
  Object.keys(TOOLS).map((name) => ({
    name,
    title: `The tool ${name}`,
    description: `Does what ${name} does`,
    inputSchema: {
      type: 'object',
      properties: name === 'refuse' ? { x: { type: 'string' } } : {},
      additionalProperties: name === 'echo'
    },
    annotations: { readOnlyHint: READS.includes(name) },
    ...(name === 'kinds' && {
      outputSchema: { type: 'object', properties: { words: { type: 'integer' } } }
    })
  }))

/**
 * @param {any} message
 * @param {(message: object) => void} notify
 * @returns {Promise<object | undefined>} the answer
 */
async function answer({ id, method, params }, notify) {
  note({
    event: method,
    ...(method === 'tools/call' && { tool: params.name }),
    ...(method === 'notifications/cancelled' && { id: params.requestId })
  })
  if (id === undefined) return undefined
  const revision = params?._meta?.['io.modelcontextprotocol/protocolVersion']
  try {
    if (options.modern !== (revision === '2026-07-28'))
      throw Object.assign(new Error('another era'), { code: -32601 })
    return {
      id,
      result: await result(method, params, { id, token: params?._meta?.progressToken, notify })
    }
  } catch (error) {
    return { id, error: { code: error.code ?? -32603, message: error.message } }
  }
}

function result(method, params, call) {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'scripted', version: '1' }
    }
  if (method === 'server/discover')
    return { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
  if (method === 'ping') return {}
  if (method === 'tools/list') return { tools: listed() }
  if (method === 'tools/call' && params.name in TOOLS)
    return TOOLS[params.name](params.arguments ?? {}, call)
  throw Object.assign(new Error(`unknown: ${method} ${params?.name}`), { code: -32601 })
}

const line = ({ ...message }) => {
  const raw = message.result?.[RAW]
  if (raw) message.result = '[raw]'
  return `${JSON.stringify({ jsonrpc: '2.0', ...message }).replace('"[raw]"', () => raw)}\n`
}

function serveStdio() {
  const notify = (message) => process.stdout.write(line(message))
  createInterface({ input: process.stdin })
    .on('line', async (text) => {
      const answered = await answer(JSON.parse(text), notify)
      if (answered) notify(answered)
    })
    .on('close', () => {
      note({ event: 'eof' })
      if (!options['ignore-eof'] && !process.stdin.destroyed) process.exit(0)
    })
  if (options['ignore-eof']) setInterval(() => {}, 1e9)
}

function serveHttp(port) {
  const server = createServer(async (request, response) => {
    if (request.method === 'DELETE') {
      note({ event: 'DELETE', id: request.headers['mcp-session-id'] })
      response.writeHead(200).end()
      return void (!options['ignore-eof'] && process.exit(0))
    }
    if (request.method === 'GET') return void response.writeHead(405).end()
    let body = ''
    for await (const part of request) body += part
    const message = JSON.parse(body)
    if (message.id === undefined) {
      await answer(message, () => {})
      return void response.writeHead(202).end()
    }
    const events = (message) => response.write(`event: message\ndata: ${line(message)}\n`)
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'mcp-session-id': `s-${process.pid}`
    })
    response.flushHeaders()
    events(await answer(message, events))
    response.end()
  })
  server.on('error', (error) => {
    console.error(error.message)
    process.exit(5)
  })
  server.listen(Number(port), '127.0.0.1')
}

if (options.port) serveHttp(options.port)
else serveStdio()
