// The examples of docs/tools.md: one call of each tool on a small shop, with the result of a real
// server and a real browser. `npm run docs:examples` writes them to `docs/examples.json`. A test
// makes the same calls and compares the results.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { ROOT } from '../run.mjs'
import { serve } from '../serve.mjs'

export const EXAMPLES_FILE = join(ROOT, 'docs/examples.json')

const HEAD = `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">
  <meta name="description" content="A small shop"><title>`

/** @type {Record<string, string>} */
const PAGES = {
  '/': `${HEAD}Shop</title>
    <header><nav><a href="/">Home</a> <a href="/cart">Cart</a></nav></header>
    <main><h1>Shop</h1><p>Fresh fruit every day.</p>
    <table><tr><th>Product<th>Price<tr><td>Apple<td>1.20<tr><td>Pear<td>1.50</table>
    <form><label>Name <input name="name"></label> <label>Note <input name="note"></label>
      <label>Size <select name="size"><option>Small<option>Large</select></label>
      <label><input type="checkbox" name="gift"> Gift wrap</label>
      <label>Photo <input type="file" name="photo"></label>
      <button type="button" onclick="order()">Order</button></form>
    <p role="status"></p><button type="button" onclick="confirm('Empty the cart?')">Empty cart</button>
    <ul><li draggable="true" id="apple">Apple<li id="basket">Basket</ul></main>
    <script>
      const status = document.querySelector('[role=status]')
      function order() { status.textContent = 'Ordered for ' + document.forms[0].name.value; console.log('ordered') }
      basket.ondragover = (event) => event.preventDefault()
      basket.ondrop = () => { basket.textContent = 'Basket: Apple' }
    </script>`,
  '/cart': `${HEAD}Cart</title><main><h1>Cart</h1><p>Your cart is empty.</p><a href="/">Back</a></main>`
}

/** One black pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=='

/**
 * The calls in order. A `hidden` call only prepares the next one. Before a call with `restart`,
 * another server starts with the same record.
 * @typedef {{ tool: string, args: (ids: { session: string, shop: string, folder: string }) =>
 *   object, hidden?: boolean, restart?: boolean }} Step
 * @type {Step[]}
 */
const STEPS = [
  { tool: 'create_session', args: () => ({ locale: 'en-US' }) },
  { tool: 'navigate', args: ({ shop }) => ({ url: shop }) },
  { tool: 'snapshot', args: () => ({ selector: 'form', interactive: true }) },
  { tool: 'find', args: () => ({ text: 'Pear' }) },
  { tool: 'fill', args: () => ({ selector: 'label=Name', value: 'Ada' }) },
  { tool: 'type', args: () => ({ selector: 'label=Note', text: 'Ring twice' }) },
  { tool: 'click', args: () => ({ selector: 'role=button[name="Order"]' }) },
  { tool: 'select', args: () => ({ selector: 'label=Size', value: 'Large' }) },
  { tool: 'check', args: () => ({ selector: 'label=Gift wrap' }) },
  { tool: 'uncheck', args: () => ({ selector: 'label=Gift wrap' }) },
  {
    tool: 'fill_form',
    args: () => ({
      fields: [
        { selector: 'label=Name', value: 'Grace' },
        { selector: 'label=Gift wrap', value: true }
      ]
    })
  },
  { tool: 'press', args: () => ({ key: 'Control+A', selector: 'label=Note' }) },
  { tool: 'hover', args: () => ({ selector: 'role=button[name="Order"]' }) },
  { tool: 'scroll', args: () => ({ selector: '#basket' }) },
  { tool: 'drag_and_drop', args: () => ({ source: '#apple', target: '#basket' }) },
  { tool: 'upload_file', args: () => ({ selector: 'label=Photo', files: ['photo.png'] }) },
  { tool: 'click', args: () => ({ selector: 'text=Empty cart' }), hidden: true },
  { tool: 'handle_dialog', args: () => ({ accept: true }) },
  { tool: 'read_page', args: () => ({}) },
  { tool: 'get_text', args: () => ({ selector: 'main > p' }) },
  { tool: 'get_all_text', args: () => ({ selector: 'td' }) },
  { tool: 'get_attribute', args: () => ({ selector: 'text=Cart', attribute: 'href' }) },
  { tool: 'get_value', args: () => ({ selector: 'label=Size' }) },
  { tool: 'extract_table', args: () => ({ selector: 'table' }) },
  { tool: 'extract_links', args: () => ({}) },
  { tool: 'get_page_metadata', args: () => ({}) },
  { tool: 'evaluate', args: () => ({ script: 'document.links.length' }) },
  { tool: 'find_element', args: () => ({ selector: 'role=button[name="Order"]' }) },
  { tool: 'find_elements', args: () => ({ selector: 'tr' }) },
  { tool: 'element_exists', args: () => ({ selector: '#basket' }) },
  { tool: 'is_visible', args: () => ({ selector: '#basket' }) },
  { tool: 'is_enabled', args: () => ({ selector: 'text=Order' }) },
  { tool: 'wait_for_selector', args: () => ({ selector: 'role=status' }) },
  { tool: 'wait_for', args: () => ({ text: 'Ordered for' }) },
  { tool: 'wait_for_load', args: () => ({ state: 'networkidle' }) },
  { tool: 'screenshot', args: () => ({ type: 'jpeg', quality: 60 }) },
  { tool: 'screenshot_element', args: () => ({ selector: 'table' }) },
  { tool: 'compare_screenshots', args: () => ({ baseline: PIXEL, selector: 'table' }) },
  { tool: 'save_pdf', args: () => ({ path: 'shop.pdf' }) },
  { tool: 'set_viewport', args: () => ({ width: 390, height: 844 }) },
  { tool: 'navigate', args: ({ shop }) => ({ url: `${shop}cart` }), hidden: true },
  { tool: 'go_back', args: () => ({}) },
  { tool: 'go_forward', args: () => ({}) },
  { tool: 'reload', args: () => ({}) },
  { tool: 'pages', args: ({ shop }) => ({ action: 'new', url: shop }) },
  { tool: 'block_resource', args: () => ({ resourceType: 'image' }) },
  {
    tool: 'mock_response',
    args: () => ({ url: '**/api/prices', response: { json: [] } })
  },
  { tool: 'set_throttling', args: () => ({ latency: 100 }) },
  { tool: 'set_offline', args: () => ({ offline: true }) },
  { tool: 'set_offline', args: () => ({ offline: false }), hidden: true },
  { tool: 'get_request_log', args: () => ({ filter: 'document' }) },
  {
    tool: 'set_cookies',
    args: ({ shop }) => ({ cookies: [{ name: 'theme', value: 'dark', url: shop }] })
  },
  { tool: 'get_cookies', args: () => ({}) },
  { tool: 'save_state', args: () => ({}) },
  { tool: 'restore_state', args: () => ({ state: { cookies: [], origins: [] } }) },
  { tool: 'ask_user', args: () => ({ message: 'Which size?' }) },
  {
    tool: 'batch',
    args: ({ shop }) => ({
      steps: [
        { tool: 'navigate', arguments: { url: shop } },
        { tool: 'fill', arguments: { selector: 'label=Name', value: 'Ada' } },
        { tool: 'click', arguments: { selector: 'role=button[name="Order"]' } }
      ]
    })
  },
  { tool: 'get_console_content', args: () => ({}) },
  { tool: 'get_content', args: () => ({ searchFor: 'Ordered' }) },
  { tool: 'list_requests', args: () => ({ limit: 2 }) },
  {
    tool: 'run_script',
    args: () => ({
      script: `const { texts } = await session.getAllText('td')
for (const text of texts) {
  if (Number(text) > 1.4) return text
}`
    })
  },
  { tool: 'list_sessions', args: () => ({}) },
  { tool: 'session_resume', args: ({ session }) => ({ sessionId: session }), restart: true },
  { tool: 'close_session', args: ({ session }) => ({ sessionId: session }) }
]

/** @typedef {{ tool: string, arguments: object, result: string }} Example */

/** Makes all calls on a real server. @returns {Promise<Example[]>} */
export async function makeExamples() {
  const shop = await serveShop()
  const folder = mkdtempSync(join(tmpdir(), 'troupe-examples-'))
  writeFileSync(join(folder, 'photo.png'), Buffer.from(PIXEL, 'base64'))
  let { client, transport } = await connect(folder)
  const examples = []
  let session = ''
  try {
    for (const { tool, args, hidden, restart } of STEPS) {
      if (restart) {
        await transport.close()
        ;({ client, transport } = await connect(folder))
      }
      const parameters = args({ session, shop: shop.url, folder })
      const { content } = await client.callTool({ name: tool, arguments: parameters })
      const result = /** @type {any[]} */ (content)
        .map((part) => (part.type === 'text' ? part.text : `[${part.type}: ${part.mimeType}]`))
        .join('\n')
      if (tool === 'create_session') session = JSON.parse(result).sessionId
      const text = stable(JSON.stringify({ arguments: parameters, result }))
      if (!hidden) examples.push({ tool, ...JSON.parse(text) })
    }
  } finally {
    await transport.close()
    shop.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return examples

  /** Replaces what differs between two runs. @param {string} text */
  function stable(text) {
    let ids = 0
    return text
      .replaceAll(shop.url, 'http://127.0.0.1:8000/')
      .replaceAll(shop.url.slice('http://'.length, -1), '127.0.0.1:8000')
      .replaceAll(folder, '/home/you/project')
      .replaceAll(session || 'no session yet', '5e0f7c1a-2b46-4c55-9d1c-0a6f3f1f7a11')
      .replace(
        /"refId\\":\\"[-0-9a-f]{36}/g,
        () => `"refId\\":\\"0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f${ids++}`
      )
      .replace(/\b1[0-9]{12}\b/g, '1795600000000')
      .replace(/(duration\\":)[\d.]+/g, '$112')
      .replace(
        /(timing\\":\{)[^}]+/g,
        '$1\\"responseStart\\":2.1,\\"domContentLoaded\\":14.4,\\"load\\":14.8'
      )
      .replace(/after \d+ ms/g, 'after 1 ms')
  }
}

/** Starts a server in `folder`. @param {string} folder @param {string[]} [options] */
export async function connect(folder, options = ['--store=record.db', '--enable-scripts']) {
  const args = [
    join(ROOT, 'bin/troupe.js'),
    '--headless',
    ...options,
    '--log-level=warn',
    '--output-dir=troupe-output',
    '--no-boundaries',
    ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])
  ]
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd: folder })
  const client = new Client(
    { name: 'troupe-docs', version: '1.0.0' },
    { capabilities: { elicitation: {} } }
  )
  client.setRequestHandler(ElicitRequestSchema, async () => ({
    action: 'accept',
    content: { answer: 'Large' }
  }))
  await client.connect(transport)
  return { client, transport }
}

async function serveShop() {
  const { url, close } = await serve(({ url = '/' }, response) => {
    const body = PAGES[url]
    response.writeHead(body ? 200 : 404, { 'content-type': 'text/html' }).end(body ?? '')
  })
  return { url: `${url}/`, close }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(EXAMPLES_FILE, `${JSON.stringify(await makeExamples(), null, 2)}\n`)
}
