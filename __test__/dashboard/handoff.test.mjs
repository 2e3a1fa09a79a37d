// With --handoff-on, the server asks a person when a page shows a CAPTCHA or a password field.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openDashboard } from '../support/dashboard.mjs'
import { startHttpServer } from '../support/http.mjs'
import { shared } from '../support/scope.mjs'
import { Site } from '../support/site.mjs'
import { isPending, within } from '../support/wait.mjs'

const PAGES = {
  '/login': '<title>Log in</title><input type=password><button>Go</button>',
  '/titled': '<title>Check</title><iframe title="hCaptcha challenge" srcdoc="<p>Box"></iframe>',
  '/turnstile': `<title>Check</title><div id=host></div><script>
    const frame = document.createElement('iframe')
    frame.src = 'https://challenges.cloudflare.com/turnstile/widget'
    host.attachShadow({ mode: 'closed' }).append(frame)
    </script>`,
  '/hidden': `<title>Quiet</title><input type=password style="visibility: hidden">
    <iframe title=captcha style="display: none" srcdoc="<p>Box"></iframe>
    <iframe width=1 height=1 src="https://challenges.cloudflare.com/turnstile/widget"></iframe>`,
  '/plain': '<title>Plain</title><p>Text'
}

describe('--handoff-on', { timeout: 120_000 }, () => {
  const scope = shared()
  const site = new Site(PAGES)
  before(() => site.start(scope))

  /** Starts a server, and opens a session. @param {...string} args */
  async function open(...args) {
    const server = await startHttpServer(scope, ['--takeover-timeout', '3000', ...args])
    const client = await server.connect()
    const sessionId = (await client.call('create_session')).json.sessionId
    const viewer = await openDashboard(server)
    const mocked = { status: 200, contentType: 'text/html', body: '<p>Widget' }
    const url = 'https://challenges.cloudflare.com/**'
    await client.call('mock_response', { sessionId, url, response: mocked })
    /** Opens a page, and returns the notice and the question in the dashboard. */
    const visit = async (/** @type {string} */ path) => {
      const { json } = await client.call('navigate', { sessionId, url: site.url(path) })
      const { question } = (await viewer.api(`/sessions/${sessionId}`)).json
      return { notice: json.handoff, question }
    }
    return { client, sessionId, viewer, visit }
  }

  test('asks a person when a page shows a password field', async (t) => {
    const { client, sessionId, viewer, visit } = await open('--handoff-on', 'captcha,login')
    const { notice, question } = await visit('/login')
    assert.match(question.message, /\/login asks for a password\. Take control/)
    assert.ok(notice.includes(question.message), notice)
    const again = await client.call('click', { sessionId, selector: 'button' })
    assert.equal(again.json.handoff, undefined, 'the question is asked once')
    const { message } = question
    const waiting = client.call('ask_user', { sessionId, message })
    const live = await viewer.live(t)
    await live.message('sessions')
    assert.ok(await isPending(waiting))
    live.say({ type: 'done', id: sessionId, question: question.id, answer: {} })
    assert.equal((await within(waiting, 'the answer')).json.action, 'accept')
    assert.equal((await visit('/plain')).question, null)
  })

  test('asks a person when a page shows a CAPTCHA', async () => {
    const { visit } = await open('--handoff-on', 'captcha')
    const { question } = await visit('/titled')
    assert.match(question?.message ?? 'no question', /shows a CAPTCHA/)
    assert.ok(question.message.includes(site.url('/titled')))
    assert.equal((await visit('/plain')).question, null, 'the question disappears')
    assert.equal((await visit('/login')).question, null, 'only the given signals count')
  })

  test('recognizes the URL of the frame of a CAPTCHA', async () => {
    const { visit } = await open('--handoff-on', 'captcha')
    const { question } = await visit('/turnstile')
    assert.match(question?.message ?? 'no question', /shows a CAPTCHA/)
  })

  for (const tools of ['playwright', 'all'])
    test(`adds the question to a result of --tools ${tools}`, async () => {
      const args = ['--handoff-on', 'login', '--tools', tools]
      const client = await (await startHttpServer(scope, args)).connect()
      const visit = async (/** @type {string} */ path) => {
        const { result } = await client.call('browser_navigate', { url: site.url(path) })
        return result.content.map((/** @type {{ text: string }} */ { text }) => text)
      }
      const [plain, ...none] = await visit('/plain')
      assert.match(plain, /^### /)
      assert.deepEqual(none, [])
      const [, notice = 'no notice', ...more] = await visit('/login')
      assert.match(notice, /The dashboard asks a person: The page .*\/login asks for a password\./)
      assert.equal(notice.includes('`ask_user`'), tools === 'all')
      assert.equal(notice.includes('calls of this session wait'), tools !== 'all')
      assert.deepEqual(more, [])
      assert.equal((await visit('/login')).length, 1, 'the question is asked once')
    })

  test('asks no question if no password field or CAPTCHA is visible, or without the option', async () => {
    const on = await open('--handoff-on', 'captcha,login')
    assert.deepEqual(await on.visit('/hidden'), { notice: undefined, question: null })
    const off = await open()
    assert.deepEqual(await off.visit('/login'), { notice: undefined, question: null })
  })
})
