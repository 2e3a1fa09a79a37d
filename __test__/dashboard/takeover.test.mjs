// A person takes control of a session from the dashboard, acts in its page, and gives it back.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { openDashboard } from '../support/dashboard.mjs'
import { ask, startHttpServer } from '../support/http.mjs'
import { kill } from '../support/record.mjs'
import { recordCommands, startBrowser } from '../support/running-browser.mjs'
import { shared } from '../support/scope.mjs'
import { Site } from '../support/site.mjs'
import { isPending, until, within } from '../support/wait.mjs'

const PASSWORD = 'Correct-Horse-7'
const html = { 'content-type': 'text/html' }
/** Lists at fixed places. A dropdown list opens a popup, the others do not. */
const LISTS = `<style>select { position: absolute; left: 10px; width: 200px; height: 40px }</style>
  <select id=size aria-label=Size style="top: 10px">
    <option value=s>Small<option value=s>Second small<option value=x hidden>Hidden
    <optgroup label=Large><option value=l selected>Large<option value=xl disabled>Huge</optgroup>
    <optgroup label=Sold disabled><option>Giant</optgroup></select>
  <select id=off disabled style="top: 60px"><option>Disabled</select>
  <select id=rows size=2 style="top: 110px"><option>One<option>Two</select>
  <select id=many multiple style="top: 160px; height: 60px"><option>Three<option>Four</select>`
/** @param {string} method */
const isMouse = (method) => method === 'Input.dispatchMouseEvent'
/** Shows the events of the lists. */
const LOG = `<script>
  for (const type of ['mousedown', 'mouseup', 'input', 'change'])
    (window.closedRoot ?? window).addEventListener(type, (event) => {
      const [list] = event.composedPath()
      const { id, selectedIndex } = list.closest('select') ?? {}
      log.append(type + ' ' + id + ' ' + selectedIndex + '; ')
    }, true)
</script>`

describe('a person', { timeout: 120_000 }, () => {
  const scope = shared()
  // A longer path would not be used, because the path of a socket of Chromium has a limit.
  const temporary = mkdtempSync(join(process.platform === 'win32' ? tmpdir() : '/tmp', 'up-'))
  scope.after(() => rmSync(temporary, { recursive: true, force: true }))
  const site = new Site({
    '/login': (_request, response) =>
      response.writeHead(200, html).end(
        `<title>Log in</title><form method=post action=/account>
           <input id=user name=user aria-label=User><input id=password name=password type=password aria-label=Password>
           <button>Log in</button></form>`
      ),
    '/account': '<title>Account</title><h1>Welcome back</h1>',
    '/moves': (_request, response) =>
      response.writeHead(200, html).end(
        `<title>Moves</title><body style="height: 100vh; margin: 0"><p id=log></p><script>
           let moves = 0
           onmousemove = () => moves++
           onclick = (event) => (log.textContent = \`clicked \${event.clientX} \${event.clientY}\`)
         </script>`
      ),
    '/dialog': (_request, response) =>
      response.writeHead(200, html).end(
        `<title>Dialog</title><body style="height: 100vh; margin: 0"><p id=log></p><script>
           onclick = () => (log.textContent = 'named ' + prompt('Name?', 'nobody'))
         </script>`
      ),
    '/files': (_request, response) =>
      response.writeHead(200, html).end(
        `<title>Files</title><style>input { position: absolute; left: 10px; width: 200px; height: 40px }</style>
         <input type=file multiple style="top: 10px"><input type=file style="top: 60px"><p id=log></p><script>
           onchange = async ({ target: { files } }) => {
             const texts = [...files].map(async (file) => file.name + ' ' + (await file.text()))
             log.append((await Promise.all(texts)).join(', ') + ';')
           }
         </script>`
      ),
    '/lists': (_request, response) =>
      response.writeHead(200, html).end(`<title>Lists</title>${LISTS}<p id=log></p>${LOG}`),
    '/framed-lists': (_request, response) =>
      response.writeHead(200, html).end(
        `<title>Framed lists</title><body style="margin: 0"><div style="height: 30px"></div>
         <iframe style="border: 0; margin-left: 20px; transform: scale(.5); transform-origin: 0 0"
           width=600 height=400 src="http://localhost:${site.port}/shadow-lists"></iframe>`
      ),
    '/shadow-lists': (_request, response) =>
      response.writeHead(200, html).end(
        `<title>Shadow lists</title><body style="margin: 0"><x-lists></x-lists><p id=log></p><script>
           window.closedRoot = document.querySelector('x-lists').attachShadow({ mode: 'closed' })
           closedRoot.innerHTML = ${JSON.stringify(LISTS)}
         </script>${LOG}`
      )
  })
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof openDashboard>>} */
  let viewer
  /** @type {Awaited<ReturnType<typeof server.connect>>} */
  let client
  before(async () => {
    await site.start(scope)
    server = await startHttpServer(scope, ['--log-level', 'debug'], { env: { TMPDIR: temporary } })
    viewer = await openDashboard(server)
    client = await server.connect()
  })

  /** Opens a session with a page of the site. @param {string} path */
  async function open(path, agent = client) {
    const sessionId = /** @type {string} */ ((await agent.call('create_session')).json.sessionId)
    await agent.call('navigate', { sessionId, url: site.url(path) })
    return sessionId
  }

  /**
   * Takes control of a session.
   * @param {{ after: (end: () => unknown) => void }} t @param {string} id
   */
  async function hold(t, id, person = viewer) {
    const live = await person.live(t)
    live.watch(id)
    await live.frame()
    live.say({ type: 'hold', id })
    await live.message('held', (held) => held.by === 'you')
    return live
  }

  /** The events of a click. @param {number} x @param {number} y */
  const click = (x, y) => [
    { kind: 'mouse', action: 'move', x, y },
    { kind: 'mouse', action: 'down', x, y },
    { kind: 'mouse', action: 'up', x, y }
  ]
  /** The events of typing. @param {string} text */
  const type = (text) =>
    [...text].flatMap((key) => [
      { kind: 'key', action: 'down', key, text: key, modifiers: /[A-Z]/.test(key) ? 8 : 0 },
      { kind: 'key', action: 'up', key, modifiers: /[A-Z]/.test(key) ? 8 : 0 }
    ])
  /** The events of a key without a text. @param {string} key */
  const press = (key) => [
    { kind: 'key', action: 'down', key },
    { kind: 'key', action: 'up', key }
  ]

  test('logs in during the job of an agent, which then continues', async (t) => {
    const id = await open('/login')
    await client.call('type', { sessionId: id, selector: '#user', text: 'ada' })
    const script =
      "(() => { const box = document.querySelector('#password').getBoundingClientRect(); return [box.x + 5, box.y + 5] })()"
    const [x, y] = (await client.call('evaluate', { sessionId: id, script })).json.value
    const live = await hold(t, id)
    const job = client.call('get_text', { sessionId: id })
    live.say({ type: 'input', id, events: [...click(x, y), ...type(PASSWORD), ...press('Enter')] })
    const submitted = () => site.requests.find(({ path }) => path === '/account')?.body
    await until(submitted, 'the form')
    assert.equal(submitted(), `user=ada&password=${PASSWORD}`)
    assert.ok(await isPending(job), 'the call of the agent waits')
    // The person sees the next page before giving control back.
    await live.message('sessions', ({ sessions }) =>
      sessions.some(
        (/** @type {{ id: string, title: string }} */ session) =>
          session.id === id && session.title === 'Account'
      )
    )
    live.say({ type: 'release', id })
    await live.message('held', (held) => held.by === null)
    const { json } = await within(job, 'the call of the agent')
    assert.match(json.text, /Welcome back/)
    assert.match(json.person, /^A person controlled this session/)
    const later = await client.call('get_text', { sessionId: id })
    assert.equal(later.json.person, undefined)
    const { text: record } = await viewer.api(`/sessions/${id}/calls`)
    assert.match(record, /Welcome back/)
    assert.doesNotMatch(record + JSON.stringify(live.messages) + server.stderr(), /Correct-Horse/)
  })

  test('keeps a password from the agent that reads the field', async (t) => {
    const id = await open('/login')
    const live = await hold(t, id)
    const script = "document.querySelector('#password').focus()"
    live.say({ type: 'release', id })
    await client.call('evaluate', { sessionId: id, script })
    live.say({ type: 'hold', id })
    await until(() => live.messages.filter(({ by }) => by === 'you').length > 1, 'control')
    live.say({ type: 'input', id, events: [{ kind: 'text', text: 'Pasted-Secret-9' }] })
    const typed = "document.querySelector('#password').value"
    live.say({ type: 'release', id })
    const read = await client.call('evaluate', { sessionId: id, script: typed })
    assert.match(read.text, /••••/)
    assert.doesNotMatch(read.text, /Pasted-Secret/)
  })

  test('clicks where the pointer is after a burst of moves', async (t) => {
    const id = await open('/moves')
    const live = await hold(t, id)
    const moves = Array.from({ length: 300 }, (_, at) => ({
      kind: 'mouse',
      action: 'move',
      x: at,
      y: 100
    }))
    live.say({ type: 'input', id, events: moves })
    live.say({ type: 'input', id, events: click(250, 140) })
    live.say({ type: 'release', id })
    const { text } = await client.call('get_text', { sessionId: id })
    assert.match(text, /clicked 250 140/)
  })

  test('clicks before the browser has responded to the last move', async (t) => {
    // Chromium responds to a move only with the next frame of the page.
    const commands = await recordCommands(t, await startBrowser(t), /"mouseMoved"/)
    const slow = await startHttpServer(t, ['--browser-endpoint', commands.ws])
    const agent = await slow.connect()
    const id = await open('/moves', agent)
    const live = await hold(t, id, await openDashboard(slow))
    const move = { kind: 'mouse', action: 'move', x: 1, y: 100 }
    live.say({ type: 'input', id, events: [move, { ...move, x: 2 }, ...click(250, 140)] })
    const script = 'document.body.innerText'
    await until(() => commands.methods().filter(isMouse).length === 4, 'the click')
    live.say({ type: 'release', id })
    const { text } = await agent.call('evaluate', { sessionId: id, script })
    assert.match(text, /clicked 250 140/)
  })

  test('answers a dialog', async (t) => {
    const id = await open('/dialog')
    const live = await hold(t, id)
    live.say({ type: 'input', id, events: click(100, 100) })
    const { dialog } = await live.message('dialog', ({ dialog }) => dialog !== null)
    assert.deepEqual(dialog, { kind: 'prompt', message: 'Name?', defaultText: 'nobody' })
    live.say({ type: 'dialog', id, accept: true, text: 'Ada' })
    await live.message('dialog', ({ dialog }) => dialog === null)
    live.say({ type: 'release', id })
    const { text } = await client.call('get_text', { sessionId: id })
    assert.match(text, /named Ada/)
  })

  /**
   * Waits for the list of options that a click opens.
   * @param {import('../support/dashboard.mjs').LiveSocket} live
   */
  async function popup(live) {
    const { select } = await live.message('select', ({ select }) => select !== null)
    live.messages = live.messages.filter(({ type }) => type !== 'select')
    return select
  }

  test('chooses an option of a dropdown list', async (t) => {
    const id = await open('/lists')
    const live = await hold(t, id)
    live.say({ type: 'input', id, events: click(50, 30) })
    const { options, ...shown } = await popup(live)
    assert.deepEqual(shown, { name: 'Size', x: 10, y: 10, width: 200, height: 40, omitted: 0 })
    const option = (index, label, more = {}) => ({
      ...{ index, label, group: null, disabled: false, selected: false },
      ...more
    })
    assert.deepEqual(options, [
      option(0, 'Small'),
      option(1, 'Second small'),
      option(3, 'Large', { group: 'Large', selected: true }),
      option(4, 'Huge', { group: 'Large', disabled: true }),
      option(5, 'Giant', { group: 'Sold', disabled: true })
    ])
    // Escape closes the list without a choice.
    live.say({ type: 'choose', id, index: null })
    await live.message('select', ({ select }) => select === null)
    live.say({ type: 'choose', id, index: 0 })
    live.say({ type: 'input', id, events: click(50, 30) })
    await popup(live)
    live.say({ type: 'choose', id, index: 4 })
    const { error } = await live.message('error')
    assert.equal(error.code, 'ELEMENT_NOT_EDITABLE')
    live.say({ type: 'input', id, events: click(50, 30) })
    await popup(live)
    live.say({ type: 'choose', id, index: 1 })
    await live.message('select', ({ select }) => select === null)
    live.say({ type: 'release', id })
    const { json } = await client.call('get_text', { sessionId: id, selector: '#log' })
    assert.equal(json.text, 'input size 1; change size 1;')
  })

  test('chooses an option of a dropdown list with the keyboard', async (t) => {
    const id = await open('/lists')
    const script = "document.querySelector('#size').focus()"
    await client.call('evaluate', { sessionId: id, script })
    const live = await hold(t, id)
    const down = { kind: 'key', action: 'down' }
    const up = { kind: 'key', action: 'up' }
    for (const key of [
      { key: 'ArrowDown', modifiers: 1 },
      { key: 'ArrowUp', modifiers: 9 },
      ...(process.platform === 'darwin' ? [{ key: 'ArrowDown' }, { key: 'ArrowUp' }] : []),
      { key: 'F4' },
      { key: ' ', text: ' ' },
      { key: 'Enter', text: '\r' }
    ]) {
      const pressed = { ...down, ...key }
      // A key that is held down is repeated.
      live.say({ type: 'input', id, events: [pressed, pressed, { ...up, key: key.key }] })
      const { name, x, y, options } = await popup(live)
      assert.deepEqual([name, x, y, options.length], ['Size', 10, 10, 5])
      live.say({ type: 'choose', id, index: null })
      await live.message('select', ({ select }) => select === null)
      live.messages = live.messages.filter(({ type }) => type !== 'select')
    }
    live.say({ type: 'input', id, events: press(' ') })
    await popup(live)
    live.say({ type: 'choose', id, index: 1 })
    await live.message('select', ({ select }) => select === null)
    // Other keys act on the list in the page.
    live.say({ type: 'input', id, events: press('Home') })
    live.say({ type: 'release', id })
    const { json } = await client.call('get_text', { sessionId: id, selector: '#log' })
    assert.equal(json.text, 'input size 1; change size 1; input size 0; change size 0;')
  })

  test('opens a dropdown list with the keyboard in a cross-site iframe', async (t) => {
    const id = await open('/framed-lists')
    const live = await hold(t, id)
    live.say({ type: 'input', id, events: [...press('Tab'), ...press('Enter')] })
    const { x, y, width, height } = await popup(live)
    assert.deepEqual([x, y, width, height], [25, 35, 100, 20])
  })

  test('chooses an option in a closed shadow root of a cross-site iframe', async (t) => {
    const id = await open('/framed-lists')
    const live = await hold(t, id)
    live.say({ type: 'input', id, events: click(50, 40) })
    const { x, y, width, height, options } = await popup(live)
    assert.deepEqual([x, y, width, height], [25, 35, 100, 20])
    live.say({ type: 'choose', id, index: options[0].index })
    await live.message('select', ({ select }) => select === null)
    live.say({ type: 'release', id })
    const selector = 'iframe >>> #log'
    const { json } = await client.call('get_text', { sessionId: id, selector })
    assert.equal(json.text, 'input size 0; change size 0;')
  })

  test('clicks lists that open no popup', async (t) => {
    const id = await open('/lists')
    const live = await hold(t, id)
    const points = [...click(50, 120), ...click(50, 170)]
    live.say({ type: 'input', id, events: [...points, ...click(50, 80)] })
    live.say({ type: 'release', id })
    const { text } = await client.call('get_text', { sessionId: id, selector: '#log' })
    for (const event of ['mousedown rows', 'change rows 0', 'mousedown many', 'change many 0'])
      assert.match(text, RegExp(event))
    assert.equal(live.messages.filter(({ type }) => type === 'select').length, 0)
  })

  /** Returns the body of an upload. @param {Record<string, string>} files */
  const upload = (files) => {
    const list = Object.entries(files).map(([name, text]) => ({ name, size: text.length }))
    return [JSON.stringify({ files: list }), Object.values(files).join('')].join('\n')
  }

  const uploadFolders = () =>
    readdirSync(join(temporary, `troupe-browsers-${process.getuid?.()}`)).filter((name) =>
      name.startsWith('uploads-')
    )

  test('gives the page files for its file chooser', async (t) => {
    const id = await open('/files')
    const live = await hold(t, id)
    const path = `/sessions/${id}/files`
    const post = (body) => viewer.api(path, 'POST', body)
    const chooser = async (y, multiple) => {
      live.messages = live.messages.filter(({ type }) => type !== 'chooser')
      live.say({ type: 'input', id, events: click(50, y) })
      const { chooser } = await live.message('chooser')
      assert.deepEqual(chooser, { multiple })
    }
    const closed = () => live.message('chooser', ({ chooser }) => chooser === null)
    await chooser(30, true)
    const files = { 'a.txt': 'first', '../b.txt': 'second' }
    assert.equal((await post(upload(files))).status, 204)
    await closed()
    await chooser(80, false)
    const refused = await post(upload(files))
    assert.match(refused.json.error.message, /only one file/)
    assert.equal((await post('{"files": []}\n')).status, 204)
    await closed()
    await chooser(80, false)
    const large = await post(`{"files": [{"name": "a", "size": ${2 ** 27}}]}\n`)
    assert.deepEqual([large.status, large.json.error.code], [413, 'FILES_TOO_LARGE'])
    assert.match(large.json.error.message, /more than 100 MB/)
    assert.equal((await post('no files')).status, 400)
    // Another viewer sees the file chooser, and cannot answer it.
    const answer = upload({ 'c.txt': 'third' })
    for (const code of ['READ_ONLY', 'NOT_HELD']) {
      const other = await openDashboard(server, { readOnly: code === 'READ_ONLY', session: id })
      const watching = await other.live(t)
      watching.watch(id)
      await watching.message('chooser', ({ chooser }) => chooser !== null)
      assert.equal((await other.api(path, 'POST', answer)).json.error.code, code)
    }
    const url = server.at(`/dashboard/api${path}`)
    const { cookie, origin } = viewer.headers
    const statuses = [{ cookie }, { cookie, origin: 'http://evil.example' }, { origin }].map(
      async (headers) => (await ask(url, { method: 'POST', headers, body: answer })).status
    )
    assert.deepEqual(await Promise.all(statuses), [403, 403, 401])
    live.say({ type: 'release', id })
    const { json } = await client.call('get_text', { sessionId: id, selector: '#log' })
    assert.equal(json.text, 'a.txt first, b.txt second;')
    assert.equal(uploadFolders().length, 1)
    await client.call('close_session', { sessionId: id })
    assert.deepEqual(uploadFolders(), [])
  })

  test('leaves no files after a kill of the server and the next start', async (t) => {
    const killed = await startHttpServer(t, [], { env: { TMPDIR: temporary } })
    const person = await openDashboard(killed)
    const id = await open('/files', await killed.connect())
    const live = await hold(t, id, person)
    live.say({ type: 'input', id, events: click(50, 30) })
    await live.message('chooser', ({ chooser }) => chooser !== null)
    const body = upload({ 'a.txt': 'first' })
    assert.equal((await person.api(`/sessions/${id}/files`, 'POST', body)).status, 204)
    await kill(killed)
    assert.equal(uploadFolders().length, 1)
    await startHttpServer(t, [], { env: { TMPDIR: temporary } })
    await until(() => uploadFolders().length === 0, 'the removal of the files')
  })

  test('cannot act without control, or with a read-only link', async (t) => {
    const id = await open('/moves')
    const live = await viewer.live(t)
    live.say({ type: 'input', id, events: click(1, 1) })
    const { error } = await live.message('error')
    assert.equal(error.code, 'NOT_HELD')
    const guest = await openDashboard(server, { readOnly: true, session: id })
    const watching = await guest.live(t)
    for (const message of [
      { type: 'hold', id },
      { type: 'release', id },
      { type: 'input', id, events: click(1, 1) },
      { type: 'dialog', id, accept: true, text: null },
      { type: 'choose', id, index: 0 }
    ]) {
      watching.messages = []
      watching.say(message)
      const refused = await watching.message('error')
      assert.equal(refused.error.code, 'READ_ONLY')
    }
    const read = await client.call('get_text', { sessionId: id })
    assert.doesNotMatch(read.text, /clicked/)
  })

  test('is seen by other viewers as the one who controls the session', async (t) => {
    const id = await open('/moves')
    const live = await hold(t, id)
    const other = await (await openDashboard(server)).live(t)
    other.watch(id)
    await other.message('held', (held) => held.by === 'other')
    await other.message('sessions', ({ sessions }) =>
      sessions.some(
        (/** @type {any} */ session) => session.id === id && session.heldBy === 'viewer'
      )
    )
    live.say({ type: 'release', id })
    await other.message('held', (held) => held.by === null)
  })

  test('gets control back after a lost connection', async (t) => {
    const id = await open('/moves')
    const live = await hold(t, id)
    live.cut()
    const again = await viewer.live(t)
    again.watch(id)
    await again.message('held', (held) => held.by === 'you')
    again.say({ type: 'input', id, events: click(30, 40) })
    again.say({ type: 'release', id })
    const { text } = await client.call('get_text', { sessionId: id })
    assert.match(text, /clicked 30 40/)
  })

  test('delays calls for at most --takeover-timeout', async (t) => {
    const hasty = await startHttpServer(t, ['--takeover-timeout', '300'])
    const own = await hasty.connect()
    const { sessionId: id } = (await own.call('create_session')).json
    await own.call('navigate', { sessionId: id, url: site.url('/moves') })
    const live = await (await openDashboard(hasty)).live(t)
    live.watch(id)
    live.say({ type: 'hold', id })
    await live.message('held', (held) => held.by === 'you')
    const { json } = await own.call('get_text', { sessionId: id })
    assert.deepEqual([json.errorCode, json.retryable, json.sessionId], ['SESSION_HELD', true, id])
    live.say({ type: 'release', id })
    await live.message('held', (held) => held.by === null)
    assert.match((await own.call('get_text', { sessionId: id })).text, /A person controlled/)
  })
})
