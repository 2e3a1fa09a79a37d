// Each error of the tools that work on pages names a call that would work: its suggestion contains
// the name of an offered tool or of a parameter.
// cspell:ignore selectr Entr
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { browsers, descendants } from '../support/processes.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { sendHtml, startSite } from '../support/site.mjs'
import { within } from '../support/wait.mjs'

const PAGE = `<!doctype html><title>Page</title><style>#cover { position: absolute; inset: 0 }</style>
<button class="twin">One</button><button class="twin">Two</button><button id="send">Send</button>
<button id="hidden" style="display: none">Hidden</button><button id="off" disabled>Off</button>
<div style="position: relative; width: 80px"><button id="covered">Covered</button><div id="cover"></div></div>

<input id="text" aria-label="Text"><input id="fixed" readonly><input id="number" type="number">
<input id="date" type="date"><input id="file" type="file"><input id="gone-file" type="file" hidden>
<input id="disabled-text" disabled><input id="hidden-text" style="display: none">
<select id="plan"><option>Free</option><option>Paid</option></select>
<select id="off-plan"><option disabled>Free</option><option>Paid</option></select>
<p id="plain">Plain text</p><a href="/page" id="link">Link</a>
<button id="ask" onclick="setTimeout(() => confirm('Sure?'))">Ask</button>`

/** The server's limit of the size of an image (bytes). */
const MAX_IMAGE = 1000

/**
 * A name of the row, a call, its parameters, the code, and the calls before it.
 * @type {[
 *   name: string, tool: string, parameters: object, code: string, before?: [string, object][]
 * ][]}
 */
const ERRORS = [
  ['a missing parameter', 'click', {}, 'INVALID_PARAMETERS'],
  ['an unknown parameter', 'click', { selectr: '#send' }, 'INVALID_PARAMETERS'],
  ['a value of another type', 'wait_for', { text: 'x', timeout: 'long' }, 'INVALID_PARAMETERS'],
  ['no element', 'click', { selector: '#absent', timeout: 100 }, 'ELEMENT_NOT_FOUND'],
  [
    'no element, but a similar one',
    'click',
    { selector: '#sent', timeout: 100 },
    'ELEMENT_NOT_FOUND'
  ],
  ['an unknown ref', 'click', { selector: 'e999', timeout: 100 }, 'ELEMENT_NOT_FOUND'],
  ['a ref of an unknown frame', 'click', { selector: 'f9e1', timeout: 100 }, 'ELEMENT_NOT_FOUND'],
  ['several elements', 'click', { selector: '.twin' }, 'ELEMENT_AMBIGUOUS'],
  ['an empty selector', 'click', { selector: '' }, 'INVALID_SELECTOR'],
  ['invalid CSS', 'click', { selector: 'button[' }, 'INVALID_SELECTOR'],
  ['invalid XPath', 'click', { selector: '//[' }, 'INVALID_SELECTOR'],
  ['an unknown role', 'click', { selector: 'role=buttn' }, 'INVALID_SELECTOR'],
  ['an invalid expression', 'click', { selector: 'text=/(/' }, 'INVALID_SELECTOR'],
  ['an invalid index', 'click', { selector: 'button >> nth=x' }, 'INVALID_SELECTOR'],
  ['an empty part', 'click', { selector: 'form >> ' }, 'INVALID_SELECTOR'],
  ['a text filter without text', 'click', { selector: 'button:has-text()' }, 'INVALID_SELECTOR'],
  ['a hidden element', 'click', { selector: '#hidden', timeout: 100 }, 'ELEMENT_NOT_CLICKABLE'],
  ['a disabled button', 'click', { selector: '#off', timeout: 100 }, 'ELEMENT_NOT_CLICKABLE'],
  ['a covered button', 'click', { selector: '#covered', timeout: 300 }, 'ELEMENT_NOT_CLICKABLE'],
  [
    'a point outside of the viewport',
    'click',
    { position: { x: 9000, y: 9000 } },
    'INVALID_PARAMETERS'
  ],
  ['a paragraph to fill', 'fill', { selector: '#plain', value: 'x' }, 'ELEMENT_NOT_EDITABLE'],
  ['a read-only field', 'fill', { selector: '#fixed', value: 'x' }, 'ELEMENT_NOT_EDITABLE'],
  ['a disabled field', 'fill', { selector: '#disabled-text', value: 'x' }, 'ELEMENT_NOT_EDITABLE'],
  ['a hidden field', 'fill', { selector: '#hidden-text', value: 'x' }, 'ELEMENT_NOT_EDITABLE'],
  ['letters for a number', 'fill', { selector: '#number', value: 'x' }, 'ELEMENT_NOT_EDITABLE'],
  ['an invalid date', 'fill', { selector: '#date', value: 'tomorrow' }, 'ELEMENT_NOT_EDITABLE'],
  ['a file field to fill', 'fill', { selector: '#file', value: 'x' }, 'ELEMENT_NOT_EDITABLE'],
  ['a paragraph to type into', 'type', { selector: '#plain', text: 'x' }, 'ELEMENT_NOT_EDITABLE'],
  ['a link to fill', 'fill', { selector: '#link', value: 'x' }, 'ELEMENT_NOT_EDITABLE'],
  ['an unknown option', 'select', { selector: '#plan', value: 'Gold' }, 'ELEMENT_NOT_FOUND'],
  ['a disabled option', 'select', { selector: '#off-plan', value: 'Free' }, 'ELEMENT_NOT_EDITABLE'],
  [
    'two options for one',
    'select',
    { selector: '#plan', value: ['Free', 'Paid'] },
    'INVALID_PARAMETERS'
  ],
  [
    'a paragraph to select in',
    'select',
    { selector: '#plain', value: 'x' },
    'ELEMENT_NOT_EDITABLE'
  ],
  ['a paragraph to check', 'check', { selector: '#plain' }, 'ELEMENT_NOT_CLICKABLE'],
  ['an unknown key', 'press', { key: 'Entr' }, 'INVALID_PARAMETERS'],
  [
    'a paragraph to press in',
    'press',
    { key: 'Enter', selector: '#plain' },
    'ELEMENT_NOT_CLICKABLE'
  ],
  ['nothing to scroll', 'scroll', { selector: '#send', y: 100 }, 'ELEMENT_NOT_CLICKABLE'],
  ['no direction to scroll', 'scroll', {}, 'INVALID_PARAMETERS'],
  [
    'a missing file',
    'upload_file',
    { selector: '#file', files: ['/absent.txt'] },
    'BLOCKED_BY_POLICY'
  ],
  [
    'a paragraph to upload to',
    'upload_file',
    { selector: '#plain', files: ['package.json'] },
    'ELEMENT_NOT_EDITABLE'
  ],
  ['no dialog', 'handle_dialog', { accept: true }, 'INVALID_PARAMETERS'],
  [
    'an open dialog',
    'click',
    { selector: '#send' },
    'DIALOG_OPEN',
    [['click', { selector: '#ask' }]]
  ],
  ['an open dialog for a read', 'snapshot', {}, 'DIALOG_OPEN', [['click', { selector: '#ask' }]]],
  ['a text that does not appear', 'wait_for', { text: 'Never', timeout: 100 }, 'TIMEOUT'],
  [
    'an element that does not appear',
    'wait_for_selector',
    { selector: '#absent', timeout: 100 },
    'TIMEOUT'
  ],
  ['a text that stays', 'wait_for', { textGone: 'Plain', timeout: 100 }, 'TIMEOUT'],
  ['nothing to wait for', 'wait_for', {}, 'INVALID_PARAMETERS'],
  ['nothing to find', 'find', {}, 'INVALID_PARAMETERS'],
  ['no table', 'extract_table', { selector: '#plain' }, 'ELEMENT_NOT_FOUND'],
  ['no element to read', 'get_text', { selector: '#absent' }, 'ELEMENT_NOT_FOUND'],
  ['no element for a snapshot', 'snapshot', { selector: '#absent' }, 'ELEMENT_NOT_FOUND'],
  [
    'a script that throws',
    'evaluate',
    { script: '() => { throw new Error("no") }' },
    'SCRIPT_ERROR'
  ],
  ['a script with a syntax error', 'evaluate', { script: '() => {' }, 'SCRIPT_ERROR'],
  ['a request that fails', 'evaluate', { script: "fetch('http://127.0.0.1:1/')" }, 'NETWORK_ERROR'],
  ['no URL', 'navigate', { url: 'no url' }, 'INVALID_URL'],
  ['a refused connection', 'navigate', { url: 'http://127.0.0.1:1/' }, 'NAVIGATION_FAILED'],
  ['an unknown host', 'navigate', { url: 'http://absent.invalid/' }, 'NAVIGATION_FAILED'],
  ['a slow page', 'navigate', { url: 'SITE/slow', timeout: 200 }, 'NAVIGATION_FAILED'],
  [
    'a page that may not be opened',
    'navigate',
    { url: 'file:///etc/hostname' },
    'BLOCKED_BY_POLICY'
  ],
  ['no page after', 'go_forward', {}, 'NAVIGATION_FAILED'],
  ['an unknown page', 'click', { selector: '#send', pageId: 'page-99' }, 'PAGE_NOT_FOUND'],
  ['an unknown page to select', 'pages', { action: 'select', pageId: 'page-99' }, 'PAGE_NOT_FOUND'],
  ['no page to close', 'pages', { action: 'select' }, 'INVALID_PARAMETERS'],
  ['an unknown session', 'click', { selector: '#send', sessionId: 'absent' }, 'SESSION_NOT_FOUND'],
  ['quality of a PNG', 'screenshot', { type: 'png', quality: 5 }, 'INVALID_PARAMETERS'],
  ['an image over the limit', 'screenshot', { fullPage: true }, 'RESOURCE_EXHAUSTED'],
  [
    'an existing PDF',
    'save_pdf',
    { path: 'report.pdf' },
    'INVALID_PARAMETERS',
    [['save_pdf', { path: 'report.pdf' }]]
  ],
  ['a PDF outside of the folders', 'save_pdf', { path: '/report.pdf' }, 'BLOCKED_BY_POLICY'],
  [
    'a cookie without a URL',
    'set_cookies',
    { cookies: [{ name: 'a', value: 'b' }] },
    'INVALID_PARAMETERS'
  ],
  ['a session over the limit', 'create_session', { sessionId: undefined }, 'MAX_SESSIONS_REACHED']
]

describe('an error of a page tool', { timeout: 180_000 }, () => {
  const t = shared()
  /** @type {Awaited<ReturnType<typeof startServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site
  /** @type {{ names: RegExp }} */
  let offered

  before(async () => {
    site = await startSite(t, {
      '/page': (_request, response) => sendHtml(response, PAGE),
      '/slow': () => {}
    })
    server = await startServer(t, [
      ...['--timeout-action', '300', '--max-sessions', '1'],
      ...['--max-screenshot-size', String(MAX_IMAGE)]
    ])
    const { result } = await server.request('tools/list')
    const tools = result.tools.map(({ name }) => name)
    const parameters = result.tools.flatMap(({ inputSchema }) =>
      Object.keys(inputSchema.properties ?? {})
    )
    // A tool of one word, and a parameter, are marked as code: they may be ordinary words.
    const marked = [...tools, ...parameters].map((name) => `\`${name}\``)
    const called = tools.map((name) => `\\b${name} \\{`)
    const long = tools.filter((name) => name.includes('_')).map((name) => `\\b${name}\\b`)
    offered = { names: new RegExp([...marked, ...called, ...long].join('|')) }
  })

  for (const [name, tool, parameters, code, first = []] of ERRORS)
    test(`names the next call: ${name}`, async () => {
      const { sessionId } = (await server.call('create_session')).json
      await server.ok('navigate', { sessionId, url: site.url('/page') })
      for (const [tool, parameters] of first) await server.call(tool, { sessionId, ...parameters })
      const url = 'url' in parameters ? { url: parameters.url.replace('SITE', site.url('')) } : {}
      const given = { sessionId, ...parameters, ...url }
      const { json, text, isError } = await server.call(tool, given)
      await server.call('close_session', { sessionId })
      assert.ok(isError, text)
      if (process.env.LIST)
        console.log(`| ${name} | ${json.errorCode} | ${json.message} | ${json.suggestion}`)
      assert.equal(json.errorCode, code, text)
      const ofServer = code === 'BLOCKED_BY_POLICY' && /--[a-z-]+/.test(json.suggestion)
      assert.ok(offered.names.test(json.suggestion) || ofServer, text)
    })

  test('names the element of a line of a snapshot', async () => {
    const { sessionId } = await server.ok('create_session')
    await server.ok('navigate', { sessionId, url: site.url('/page') })
    for (const [line, target] of [
      ['button "Send" [ref=e3]', 'e3'],
      ['button "Send"', 'role=button[name="Send"]']
    ]) {
      const { json } = await server.call('click', { sessionId, selector: line })
      assert.equal(json.errorCode, 'INVALID_SELECTOR')
      assert.ok(json.suggestion.endsWith(`pass the \`selector\` ${target}`), json.suggestion)
    }
    await server.ok('click', { sessionId, selector: 'role=button[name="Send"]' })
    await server.call('close_session', { sessionId })
  })

  test('names the call that takes an offline session online', async () => {
    const { sessionId } = await server.ok('create_session')
    await server.ok('set_offline', { sessionId, offline: true })
    const offline = await server.call('navigate', { sessionId, url: site.url('/page') })
    await server.call('close_session', { sessionId })
    assert.equal(offline.json.errorCode, 'NAVIGATION_FAILED')
    assert.match(offline.json.message, /the session or the machine is offline/)
    assert.match(offline.json.suggestion, /^`set_offline` with `offline`: false/)
  })

  test('lists a similar element once, whose ref the suggestion contains', async () => {
    const { sessionId } = await server.ok('create_session')
    await server.ok('navigate', { sessionId, url: site.url('/page') })
    for (const tool of ['click', 'wait_for_selector']) {
      const { json, text } = await server.call(tool, { sessionId, selector: '#sent', timeout: 100 })
      const [{ ref, description }] = json.details.suggestions
      assert.equal(description, `button "Send" [ref=${ref}]`)
      assert.equal(text.split(JSON.stringify(description).slice(1, -1)).length, 2, text)
      assert.match(json.suggestion, new RegExp(`\\b${ref}\\b`))
    }
    await server.ok('close_session', { sessionId })
  })

  test('of the cookies names the cookie and what it lacks', async () => {
    const { sessionId } = await server.ok('create_session')
    const { json } = await server.call('set_cookies', {
      sessionId,
      cookies: [
        { name: 'good', value: '1', url: 'http://a.example/' },
        { name: 'theme', value: 'dark' }
      ]
    })
    assert.match(json.suggestion, /pass `url` for the cookie `theme`/)
    await server.ok('close_session', { sessionId })
  })

  const renderers = (/** @type {number} */ pid) =>
    descendants(pid).filter(({ command }) => command.join(' ').includes('--type=renderer'))
  for (const [what, find, next] of /** @type {const} */ ([
    ['browser', browsers, /repeat the call/],
    ['page', renderers, /`navigate`/]
  ]))
    test(
      `names the next call: a crashed ${what}`,
      { skip: process.platform !== 'linux' || BROWSER !== 'chromium' },
      async (t) => {
        const own = await startServer(t)
        await own.ok('navigate', { url: site.url('/page') })
        const call = own.call('evaluate', { script: 'for (;;) ;' })
        await own.request('ping')
        for (const { pid } of find(own.child.pid ?? 0)) process.kill(pid, 'SIGKILL')
        const { json, text } = await within(call, 'the answer to the call', 5000)
        assert.equal(json.errorCode, 'BROWSER_CRASHED', text)
        assert.match(json.suggestion, next)
      }
    )
})
