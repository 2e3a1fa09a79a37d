// `troupe dashboard` finds all servers of the user, also those over stdio, and shows their
// sessions.
import assert from 'node:assert/strict'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { CommandLine } from '../support/command-line.mjs'
import { Viewer, logIn } from '../support/dashboard.mjs'
import { ask, startHttpServer } from '../support/http.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { Server, startServer } from '../support/server.mjs'
import { Site } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

const page = (/** @type {string} */ title) =>
  `<title>${title}</title><h1>${title}</h1><button style="position: fixed; inset: 0" onclick="document.title = 'Clicked'">B</button>`

/** A running `troupe dashboard`. */
class Dashboard extends Server {
  get link() {
    return this.unparsable.find((line) => line.includes('/dashboard/#token=')) ?? ''
  }

  askToEnd() {
    this.child?.kill()
  }

  get url() {
    return new URL('/', this.link).href
  }

  /** @param {string} path */
  at(path) {
    return new URL(path, this.link).href
  }
}

describe(
  'the dashboard of all servers',
  { timeout: 180_000, skip: process.platform === 'win32' },
  () => {
    const scope = shared()
    const site = new Site({
      ...{ '/one': page('One'), '/two': page('Two'), '/three': page('Three') },
      '/files': `<title>Files</title><input id=input type=file
          onchange="files[0].text().then(({ length }) => (document.title = 'Read ' + length))">
        <button style="position: fixed; inset: 0" onclick="input.click()">Choose</button>`
    })
    const state = temporaryFolder(scope)
    const folder = join(state, 'troupe', 'servers')
    const env = { XDG_STATE_HOME: state }
    /** @type {import('../support/rpc.mjs').RpcClient[]} */
    let clients
    /** @type {string[]} */
    let ids
    /** @type {Viewer} */
    let viewer

    /** Starts `troupe dashboard`, and opens its link. @param {...string} args */
    async function open(...args) {
      const dashboard = new Dashboard(['dashboard', ...args], {
        env,
        browser: false,
        handshake: false
      })
      await dashboard.start(scope)
      await until(() => dashboard.link, 'the link of the dashboard')
      const token = new URLSearchParams(new URL(dashboard.link).hash.slice(1)).get('token') ?? ''
      const { headers } = await logIn(/** @type {any} */ (dashboard), token)
      return new Viewer(/** @type {any} */ (dashboard), headers['set-cookie'][0].split(';')[0])
    }

    before(async () => {
      await site.start(scope)
      const stdio = [await startServer(scope, [], { env }), await startServer(scope, [], { env })]
      const http = await startHttpServer(scope, [], { env })
      clients = [...stdio, await http.connect()]
      const paths = ['/one', '/two', '/three']
      ids = []
      for (const [at, client] of clients.entries()) {
        const sessionId = (await client.call('create_session')).json.sessionId
        await client.call('navigate', { sessionId, url: site.url(paths[at]) })
        ids.push(sessionId)
      }
      viewer = await open()
    })

    test('lists the sessions of servers over stdio and HTTP', async () => {
      const { json } = await viewer.api('/sessions')
      const titles = json.sessions.map((/** @type {{ title: string }} */ { title }) => title)
      assert.deepEqual(titles.sort(), ['One', 'Three', 'Two'])
      const one = await viewer.api(`/sessions/${ids[0]}`)
      assert.deepEqual(
        one.json.pages.map((/** @type {any} */ { title }) => title),
        ['One']
      )
    })

    test('has the calls and the figures of each server', async () => {
      const { calls } = (await viewer.api(`/sessions/${ids[1]}/calls`)).json
      assert.deepEqual(
        calls.map((/** @type {{ tool: string }} */ { tool }) => tool),
        ['navigate', 'create_session']
      )
      const call = (await viewer.api(`/calls/${calls[0].id}`)).json
      assert.match(call.result, /Two/)
      const found = (await viewer.api('/search?text=navigate')).json.calls
      assert.deepEqual(
        new Set(found.map((/** @type {{ session: string }} */ { session }) => session)),
        new Set(ids)
      )
      const latest = (await viewer.api('/search?text=navigate&limit=2')).json.calls
      assert.deepEqual(latest, found.slice(0, 2))
      const figures = (await viewer.api('/metrics')).json
      assert.equal(figures.sessions, 3)
      assert.equal(figures.latencyByTool.navigate.count, 3)
      assert.equal((await viewer.api('/calls/none')).status, 404)
      assert.equal((await viewer.api('/sessions/none')).status, 404)
    })

    test('exports the record of a session as a report and a script', async () => {
      const report = await viewer.api(`/sessions/${ids[0]}/report`)
      assert.match(report.headers['content-disposition'], /^attachment; filename="troupe-session-/)
      assert.match(report.text, /^# Session .*\n\n2 calls/)
      assert.match(report.text, /## 2\. navigate/)
      const script = await viewer.api(`/sessions/${ids[0]}/script`)
      assert.match(script.text, /^#!\/bin\/sh\n/)
      assert.ok(script.text.includes(site.url('/one')))
      for (const kind of ['report', 'script'])
        assert.equal((await viewer.api(`/sessions/none/${kind}`)).status, 404)
    })

    test('shows live images and passes on the input of a person', async (t) => {
      const live = await viewer.live(t)
      await live.message('sessions', ({ sessions }) => sessions.length === 3)
      live.watch(...ids)
      for (const id of ids) await live.frame((frame) => frame.id === id)
      live.say({ type: 'hold', id: ids[1] })
      await live.message('held', ({ id, by }) => id === ids[1] && by === 'you')
      const at = { kind: 'mouse', x: 50, y: 50, button: 'left', clicks: 1, modifiers: 0 }
      const events = [
        { ...at, action: 'down' },
        { ...at, action: 'up' }
      ]
      live.say({ type: 'input', id: ids[1], events })
      await live.message('sessions', ({ sessions }) =>
        sessions.some((/** @type {any} */ { id, title }) => id === ids[1] && title === 'Clicked')
      )
      live.say({ type: 'release', id: ids[1] })
      await live.message('held', ({ id, by }) => id === ids[1] && by === null)
      await clients[0].call('get_text', { sessionId: ids[0] })
      await live.message('call', ({ call }) => call.tool === 'get_text' && call.session === ids[0])
    })

    test('passes on the files of a person', async (t) => {
      const [id] = ids
      await clients[0].call('navigate', { sessionId: id, url: site.url('/files') })
      const live = await viewer.live(t)
      await live.message('sessions', ({ sessions }) => sessions.length === 3)
      live.watch(id)
      live.say({ type: 'hold', id })
      await live.message('held', (held) => held.by === 'you')
      const at = { kind: 'mouse', x: 50, y: 50 }
      const events = ['down', 'up'].map((action) => ({ ...at, action }))
      live.say({ type: 'input', id, events })
      await live.message('chooser')
      const size = 5 * 2 ** 20
      const body = `{"files": [{"name": "a.txt", "size": ${size}}]}\n${'a'.repeat(size)}`
      assert.equal((await viewer.api(`/sessions/${id}/files`, 'POST', body)).status, 204)
      await live.message('sessions', ({ sessions }) =>
        sessions.some((/** @type {any} */ session) => session.title === `Read ${size}`)
      )
      live.say({ type: 'release', id })
      await live.message('held', (held) => held.by === null)
    })

    test('shows only one session to the owner of a read-only link to it', async (t) => {
      const limited = await open('--session', ids[0], '--read-only')
      const { json } = await limited.api('/sessions')
      assert.deepEqual(
        json.sessions.map((/** @type {{ id: string }} */ { id }) => id),
        [ids[0]]
      )
      assert.equal((await limited.api(`/sessions/${ids[0]}/report`)).status, 200)
      const { calls } = (await viewer.api(`/sessions/${ids[1]}/calls`)).json
      const others = [`/sessions/${ids[1]}`, `/sessions/${ids[1]}/report`, `/calls/${calls[0].id}`]
      for (const path of others) assert.equal((await limited.api(path)).status, 404, path)
      assert.equal((await limited.api(`/sessions/${ids[0]}`, 'DELETE')).status, 403)
      const live = await limited.live(t)
      await live.message('sessions', ({ sessions }) => sessions.length === 1)
      live.watch(...ids)
      live.say({ type: 'hold', id: ids[0] })
      await live.message('error', ({ error }) => error.code === 'READ_ONLY')
      await live.frame()
      assert.ok(live.frames.every(({ id }) => id === ids[0]))
    })

    test('shows nothing without its cookie, and serves no MCP', async () => {
      const { server } = viewer
      const origin = new URL(server.url).origin
      for (const path of ['/sessions', `/sessions/${ids[0]}`, '/search?text=a', '/metrics'])
        assert.equal(
          (await ask(server.at(`/dashboard/api${path}`), { headers: { origin } })).status,
          401
        )
      const forged = { ...viewer.headers, 'troupe-person': 'me', cookie: '' }
      assert.equal((await ask(server.at('/dashboard/api/me'), { headers: forged })).status, 401)
      for (const path of ['/mcp', '/ws', '/api/tools', '/metrics'])
        assert.equal((await ask(server.at(path))).status, 404, path)
    })

    test('shows sessions of the command line with their names', async (t) => {
      const cli = new CommandLine(t, env)
      await cli.ok('open', site.url('/one'), '-s', 'shop')
      const names = async () =>
        (await viewer.api('/sessions')).json.sessions.map((/** @type {any} */ { name }) => name)
      await until(async () => (await names()).includes('shop'), 'the name of the session')
      assert.deepEqual(
        (await names()).filter((/** @type {string | null} */ name) => name !== null),
        ['shop']
      )
      await cli.ok('close', '-s', 'shop')
    })

    test('finds servers by private files, and removes those of killed ones', async (t) => {
      assert.equal(statSync(folder).mode & 0o777, 0o700)
      for (const name of readdirSync(folder)) {
        // A server of an earlier test may end meanwhile.
        const file = statSync(join(folder, name), { throwIfNoEntry: false })
        if (file) assert.equal(file.mode & 0o777, 0o600, name)
      }
      const before = readdirSync(folder)
      writeFileSync(join(folder, 'dead.lock'), '1\n')
      const live = await viewer.live(t)
      const killed = await startServer(scope, [], { env })
      const id = (await killed.call('create_session')).json.sessionId
      await live.message('sessions', ({ sessions }) =>
        sessions.some((/** @type {any} */ session) => session.id === id)
      )
      killed.child?.kill('SIGKILL')
      await live.message('gone', (message) => message.id === id)
      const areRemoved = () => readdirSync(folder).every((name) => before.includes(name))
      await until(areRemoved, 'removal of the files of killed servers')
      const ids = (await viewer.api('/sessions')).json.sessions
      assert.ok(!ids.some((/** @type {any} */ session) => session.id === id))
    })
  }
)
