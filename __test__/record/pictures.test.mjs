// With --record-pictures, the record has a small picture of the page after each action.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { openDashboard } from '../support/dashboard.mjs'
import { startHttpServer } from '../support/http.mjs'
import { sizeOf } from '../support/pictures.mjs'
import { recordFile, temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { troupe } from '../support/scripts.mjs'
import { Site } from '../support/site.mjs'

const LOGIN = `<title>Log in</title><style>body { background: teal }</style>
  <input id="password" type="password"><button id="show" onclick="password.type = 'text'">Show</button>
  <button id="empty" onclick="password.value = ''">Empty</button>`

describe('pictures in the record', { timeout: 120_000 }, () => {
  const scope = shared()
  const site = new Site({ '/': LOGIN })
  before(() => site.start(scope))

  /** Starts a server, and opens a session. @param {...string} args */
  async function open(...args) {
    const server = await startHttpServer(scope, args)
    const client = await server.connect()
    const sessionId = (await client.call('create_session')).json.sessionId
    const viewer = await openDashboard(server)
    /** Makes a call, and returns the call in the dashboard. */
    const call = async (/** @type {string} */ tool, /** @type {object} */ given) => {
      await client.call(tool, { sessionId, ...given })
      return (await viewer.api(`/sessions/${sessionId}/calls?limit=1`)).json.calls[0]
    }
    return { call, viewer, sessionId }
  }

  test('are small JPEG images of the page after each action', async () => {
    const { call, viewer } = await open('--record-pictures')
    for (const [tool, given] of /** @type {[string, object][]} */ ([
      ['navigate', { url: site.url('/') }],
      ['click', { selector: '#empty' }]
    ])) {
      const { id, pictureUrl } = await call(tool, given)
      assert.equal(pictureUrl, `api/calls/${id}/pictures/0`, tool)
      const { bytes, headers } = await viewer.api(`/calls/${id}/pictures/0`)
      assert.equal(headers['content-type'], 'image/jpeg')
      assert.ok(bytes.length <= 64 * 1024)
      const { width, height } = sizeOf(bytes.toString('base64'))
      assert.equal(Math.max(width, height), 480)
      assert.equal((await viewer.api(`/calls/${id}`)).json.pictureUrl, pictureUrl)
    }
    const read = await call('get_text', {})
    assert.equal(read.pictureUrl, null)
    const shot = await call('screenshot', {})
    assert.equal(shot.pictureUrl, `api/calls/${shot.id}/pictures/1`)
    assert.equal((await viewer.api(`/calls/${shot.id}/pictures/0`)).status, 404)
  })

  test('are in the exported reports of the session', async (t) => {
    const store = ['--store', recordFile(t)]
    const { call, viewer, sessionId } = await open('--record-pictures', ...store)
    await call('navigate', { url: site.url('/') })
    const { id } = await call('click', { selector: '#empty' })
    const { bytes } = await viewer.api(`/calls/${id}/pictures/0`)
    const { text } = await viewer.api(`/sessions/${sessionId}/report`)
    const pictures = [...text.matchAll(/^!\[(\w+)\]\(data:image\/jpeg;base64,(.+)\)$/gm)]
    assert.deepEqual(
      pictures.map(([, tool]) => tool),
      ['navigate', 'click']
    )
    assert.equal(pictures[1]?.[2], bytes.toString('base64'))
    const folder = join(temporaryFolder(t), 'out')
    const exported = await troupe('sessions', 'export', sessionId, folder, ...store)
    assert.equal(exported.status, 0, exported.stderr)
    assert.ok(bytes.equals(readFileSync(join(folder, '003-click-1.jpeg'))))
  })

  test('never show a typed password', async () => {
    const { call } = await open('--record-pictures')
    await call('navigate', { url: site.url('/') })
    // The browser shows dots.
    const typed = await call('type', { selector: '#password', text: 'Correct-Horse-7' })
    assert.match(typed.pictureUrl, /pictures\/0$/)
    assert.equal((await call('click', { selector: '#show' })).pictureUrl, null)
    assert.match((await call('click', { selector: '#empty' })).pictureUrl, /pictures\/0$/)
  })

  test('are not taken without --record-pictures', async () => {
    const { call } = await open()
    assert.equal((await call('navigate', { url: site.url('/') })).pictureUrl, null)
  })
})
