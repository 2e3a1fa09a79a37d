// A person takes control of a session from the dashboard, acts in its page, and gives it back.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openDashboard } from '../support/dashboard.mjs'
import { startHttpServer } from '../support/http.mjs'
import { shared } from '../support/scope.mjs'
import { Site } from '../support/site.mjs'
import { isPending, until, within } from '../support/wait.mjs'

const PASSWORD = 'Correct-Horse-7'
const html = { 'content-type': 'text/html' }

describe('a person', { timeout: 120_000 }, () => {
  const scope = shared()
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
    server = await startHttpServer(scope, ['--log-level', 'debug'])
    viewer = await openDashboard(server)
    client = await server.connect()
  })

  /** Opens a session with a page of the site. @param {string} path */
  async function open(path) {
    const sessionId = /** @type {string} */ ((await client.call('create_session')).json.sessionId)
    await client.call('navigate', { sessionId, url: site.url(path) })
    return sessionId
  }

  /**
   * Takes control of a session.
   * @param {{ after: (end: () => unknown) => void }} t @param {string} id
   */
  async function hold(t, id) {
    const live = await viewer.live(t)
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
      { type: 'dialog', id, accept: true, text: null }
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
