// People who watch a session see its page and its calls as they happen.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openDashboard } from '../support/dashboard.mjs'
import { startHttpServer } from '../support/http.mjs'
import { recordCommands, startBrowser } from '../support/running-browser.mjs'
import { shared } from '../support/scope.mjs'
import { Site } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

describe('the live view', { timeout: 120_000 }, () => {
  const scope = shared()
  const site = new Site({
    '/color': (_request, response, { searchParams }) =>
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<title>Color</title><body style="background: ${searchParams.get('is')}">`),
    '/clock': (_request, response) =>
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(
          '<title>Clock</title><h1></h1><script>setInterval(() => (document.querySelector("h1").textContent = performance.now()), 20)</script>'
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
    server = await startHttpServer(scope)
    viewer = await openDashboard(server)
    client = await server.connect()
  })

  /** Opens a session that shows a color. @param {string} color */
  async function open(color) {
    const { sessionId } = (await client.call('create_session')).json
    await client.call('navigate', { sessionId, url: site.url(`/color?is=${color}`) })
    return /** @type {string} */ (sessionId)
  }

  test('sends images of the page, and of the page after a change', async (t) => {
    const id = await open('red')
    const live = await viewer.live(t)
    live.watch(id)
    const first = await live.frame()
    assert.deepEqual([first.id, first.page], [id, 'page-1'])
    assert.ok(first.width > 100 && first.height > 100, JSON.stringify([first.width, first.height]))
    assert.deepEqual([...first.jpeg.subarray(0, 2)], [0xff, 0xd8])
    assert.ok(Math.abs(Date.parse(first.takenAt) - Date.now()) < 60_000)
    const seen = live.frames.length
    const script = "document.body.style.background = 'blue'"
    await client.call('evaluate', { sessionId: id, script })
    await until(() => live.frames.length > seen, 'an image of the change')
  })

  test('sends the next image only after the viewer has acknowledged the last one', async (t) => {
    const id = await open('green')
    const live = await viewer.live(t)
    live.acknowledges = false
    live.watch(id)
    const { frame } = await live.frame()
    for (const color of ['red', 'blue', 'black']) {
      const script = `document.body.style.background = '${color}'`
      await client.call('evaluate', { sessionId: id, script })
    }
    // A call of the session after the changes shows that the server had time to send images.
    await live.message('call', ({ call }) => call.tool === 'evaluate' && call.status === 'ok')
    assert.equal(live.frames.length, 1)
    live.acknowledges = true
    live.say({ type: 'ack', id, frame })
    await until(() => live.frames.length > 1, 'the next image')
  })

  test('sends an overview at most one image of a session per second', async (t) => {
    const { sessionId: id } = (await client.call('create_session')).json
    await client.call('navigate', { sessionId: id, url: site.url('/clock') })
    const overview = await viewer.live(t)
    const size = { width: 320, height: 240 }
    overview.say({ type: 'watch', sessions: [{ id, ...size, calls: false }] })
    await until(() => overview.frames.length > 2, 'three images')
    // A viewer of the session itself gets more images.
    const detail = await viewer.live(t)
    detail.watch(id)
    const before = overview.frames.length
    await until(() => overview.frames.length > before + 1, 'two more images')
    assert.ok(detail.frames.length > 5, `${detail.frames.length} images`)
    const times = overview.frames.map(({ takenAt }) => Date.parse(takenAt))
    const pauses = times.slice(1).map((time, at) => time - times[at])
    // An image of the other viewer is taken up to some frames before it is sent.
    assert.ok(Math.min(...pauses) > 700, String(pauses))
  })

  test('sends the current image to an overview after a change during the pause', async (t) => {
    const id = await open('red')
    const overview = await viewer.live(t)
    const size = { width: 320, height: 240 }
    overview.say({ type: 'watch', sessions: [{ id, ...size, calls: false }] })
    const first = await overview.frame()
    const colors = ['green', 'blue', 'red', 'blue']
    for (const color of colors) {
      const script = `document.body.style.background = '${color}'`
      await client.call('evaluate', { sessionId: id, script })
    }
    const isFirst = () => overview.frames.at(-1)?.jpeg.equals(first.jpeg)
    await until(() => !isFirst(), 'an image of another color')
    const script = "document.body.style.background = 'red'"
    await client.call('evaluate', { sessionId: id, script })
    await until(isFirst, 'an image of the first color')
  })

  test('sends the calls of a watched session when they begin and end', async (t) => {
    const [id, other] = [await open('red'), await open('red')]
    const live = await viewer.live(t)
    live.watch(id)
    await live.frame()
    await client.call('evaluate', { sessionId: other, script: '1' })
    await client.call('evaluate', { sessionId: id, script: '6 * 7' })
    const { call } = await live.message('call', ({ call }) => call.status === 'ok')
    assert.deepEqual([call.session, call.tool, call.arguments.script], [id, 'evaluate', '6 * 7'])
    assert.match(call.summary, /42/)
    assert.ok(live.messages.some(({ type, call }) => type === 'call' && call.status === 'running'))
    assert.ok(live.messages.every(({ call }) => call === undefined || call.session === id))
  })

  test('sends the list of live sessions, and reports the end of one', async (t) => {
    const live = await viewer.live(t)
    const id = await open('red')
    /** @param {any} message */
    const listed = ({ sessions }) =>
      sessions.find((/** @type {any} */ session) => session.id === id && session.title === 'Color')
    // A list can be sent before the call of `open` has ended.
    const isIdle = (/** @type {any} */ message) => listed(message)?.running === null
    const { state, heldBy } = listed(await live.message('sessions', isIdle))
    assert.deepEqual([state, heldBy], ['active', null])
    await client.call('close_session', { sessionId: id })
    await live.message('gone', (gone) => gone.id === id)
    live.watch(id)
    await until(() => live.messages.filter((gone) => gone.id === id).length > 1, 'a second gone')
  })

  test('follows the session to its current page', async (t) => {
    const id = await open('red')
    const live = await viewer.live(t)
    live.watch(id)
    await live.frame(({ page }) => page === 'page-1')
    const opened = await client.call('pages', { sessionId: id, action: 'new' })
    await live.frame(({ page }) => page === opened.json.current)
    await client.call('pages', { sessionId: id, action: 'select', pageId: 'page-1' })
    await until(() => live.frames.at(-1)?.page === 'page-1', 'an image of the selected page')
  })

  test('connects only viewers with a cookie, from a page of the dashboard', async (t) => {
    const { cookie, origin } = viewer.headers
    for (const [headers, status] of /** @type {const} */ ([
      [{ origin }, 401],
      [{ origin, ...server.authorization }, 401],
      [{ cookie }, 403],
      [{ cookie, origin: 'https://evil.example' }, 403],
      [{ cookie, origin: 'http://127.0.0.1:1' }, 403]
    ]))
      await assert.rejects(viewer.live(t, headers), { status })
  })

  test('sends nothing of other sessions to a viewer with a link for one session', async (t) => {
    const [id, other] = [await open('red'), await open('red')]
    const guest = await openDashboard(server, { readOnly: true, session: id })
    const live = await guest.live(t)
    live.watch(other, id)
    await live.message('gone', (gone) => gone.id === other)
    await live.frame()
    await client.call('evaluate', { sessionId: other, script: '1' })
    await client.call('evaluate', { sessionId: id, script: '2' })
    await live.message('call', ({ call }) => call.status === 'ok')
    for (const frame of live.frames) assert.equal(frame.id, id)
    for (const { type, sessions, call } of live.messages) {
      if (type === 'sessions')
        assert.ok(sessions.every((/** @type {{ id: string }} */ session) => session.id === id))
      if (type === 'call') assert.equal(call.session, id)
    }
  })

  test('takes no images while nobody watches', async (t) => {
    const commands = await recordCommands(t, await startBrowser(t))
    const watched = await startHttpServer(t, ['--browser-endpoint', commands.ws])
    const own = await watched.connect()
    const { sessionId } = (await own.call('create_session')).json
    await own.call('navigate', { sessionId, url: site.url('/color?is=red') })
    const live = await (await openDashboard(watched)).live(t)
    await live.message('sessions', ({ sessions }) => sessions.length > 0)
    const imageCommands = () => commands.methods().filter((name) => /Screencast$/i.test(name))
    assert.deepEqual(imageCommands(), [])
    live.watch(sessionId)
    await live.frame()
    assert.deepEqual(imageCommands(), ['Page.startScreencast'])
    // A second viewer gets the same image, from the same screencast.
    const second = await (await openDashboard(watched)).live(t)
    second.watch(sessionId)
    const { frame } = await second.frame()
    assert.deepEqual(second.frames[0], await live.frame((shown) => shown.frame === frame))
    second.watch()
    second.cut()
    // The first viewer still gets images.
    const seen = live.frames.length
    const script = "document.body.style.background = 'blue'"
    await own.call('evaluate', { sessionId, script })
    await until(() => live.frames.length > seen, 'an image for the first viewer')
    assert.deepEqual(imageCommands(), ['Page.startScreencast'])
    live.watch()
    await until(() => imageCommands().length === 2, 'the end of the screencast')
    assert.deepEqual(imageCommands(), ['Page.startScreencast', 'Page.stopScreencast'])
    live.watch(sessionId)
    await until(() => imageCommands().length === 3, 'another screencast')
    live.cut()
    await until(() => imageCommands().length === 4, 'the end of the screencast')
    assert.equal(imageCommands().at(-1), 'Page.stopScreencast')
  })
})
