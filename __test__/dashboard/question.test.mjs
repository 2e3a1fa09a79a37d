// An agent asks its user, who answers in the dashboard.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { launchChromium } from '../page/world.mjs'
import { openDashboard } from '../support/dashboard.mjs'
import { startHttpServer } from '../support/http.mjs'
import { shared } from '../support/scope.mjs'
import { Site } from '../support/site.mjs'
import { isPending, until, within } from '../support/wait.mjs'

const LINK = /http:\/\/127\.0\.0\.1:\d+\/dashboard\/#token=\w+&view=\/session\/[\w-]+/
const html = { 'content-type': 'text/html' }

describe('a question of an agent', { timeout: 120_000 }, () => {
  const scope = shared()
  const site = new Site({
    '/login': (_request, response) =>
      response
        .writeHead(200, html)
        .end(
          '<title>Log in</title><form action=/account><input name=user style="position: fixed; inset: 0; width: 100%"></form>'
        ),
    '/account': '<title>Account</title><h1>Welcome back</h1>'
  })
  /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
  let server
  /** @type {import('playwright-core').Browser} */
  let browser
  before(async () => {
    await site.start(scope)
    server = await startHttpServer(scope, ['--takeover-timeout', '2000'])
    browser = await launchChromium(scope)
  })

  /**
   * Opens a session with a page of the site.
   * @param {import('../support/rpc.mjs').RpcClient} client
   */
  async function open(client) {
    const sessionId = await client.createSession()
    await client.ok('navigate', { sessionId, url: site.url('/login') })
    return sessionId
  }

  /**
   * Connects a client whose user reads each question. `asked` is the question.
   * @param {import('node:test').TestContext} t @param {object} elicitation its capability
   */
  async function connect(t, elicitation) {
    const client = await server.webSocket()
    t.after(() => client.cut())
    await client.initialize('2025-11-25', { elicitation })
    /** @type {(params: any) => void} */
    let ask = () => {}
    const asked = new Promise((resolve) => (ask = resolve))
    /** @type {(reply: object) => void} */
    let reply = () => {}
    const replied = new Promise((resolve) => (reply = resolve))
    client.answer = ({ params }) => {
      ask(params)
      return replied
    }
    return { client, asked: () => within(asked, 'the question'), reply }
  }

  /** Opens a link in the browser of a person. @param {import('node:test').TestContext} t */
  async function follow(t, url) {
    const context = await browser.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    await page.goto(url)
    return page
  }

  /** The question that the dashboard shows for a session. @param {string} id */
  async function shown(id) {
    const viewer = await openDashboard(server)
    return (await viewer.api(`/sessions/${id}`)).json.question
  }

  test('opens the session in the dashboard, where the user logs in and presses Done', async (t) => {
    const { client, asked, reply } = await connect(t, { url: {} })
    const id = await open(client)
    const asking = client.ok('ask_user', { sessionId: id, message: 'Please log in.' })
    const { mode, message, url, elicitationId } = await asked()
    assert.deepEqual([mode, message], ['url', 'Please log in.'])
    assert.match(url, LINK)
    reply({ action: 'accept' })
    const page = await follow(t, url)
    await page.getByText('Please log in.', { exact: true }).waitFor()
    assert.ok(!page.url().includes('token'), page.url())
    await page.getByRole('button', { name: 'Take control' }).click()
    await page.getByRole('button', { name: 'Give back' }).waitFor()
    await page.locator('canvas[data-frame]').click()
    await page.keyboard.type('ada')
    await page.keyboard.press('Enter')
    await until(
      () => site.requests.some(({ path }) => path.startsWith('/account')),
      'the log-in',
      30_000
    )
    assert.ok(await isPending(asking), 'the agent waits for Done')
    await page.getByRole('button', { name: 'Done' }).click()
    const result = await within(asking, 'the result')
    assert.deepEqual([result.action, result.content], ['accept', undefined])
    assert.match(result.message, /answered in the dashboard/)
    assert.match(result.person, /^A person controlled this session/)
    const read = await client.ok('get_text', { sessionId: id })
    assert.match(read.text, /Welcome back/)
    assert.equal(read.person, undefined, 'the result of the question has said it')
    const complete = client.received.find(({ method }) => /elicitation\/complete/.test(method))
    assert.deepEqual(complete.params, { elicitationId })
    await page.getByText('Please log in.', { exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Take control' }).waitFor()
  })

  test('in a form contains the link, and is answered at either place', async (t) => {
    const { client, asked, reply } = await connect(t, {})
    const id = await open(client)
    const schema = {
      type: 'object',
      properties: { size: { type: 'string', enum: ['S', 'L'] }, name: { type: 'string' } },
      required: ['size']
    }
    const asking = client.ok('ask_user', { message: 'Which size?', schema })
    const { message, requestedSchema } = await asked()
    assert.deepEqual(requestedSchema.required, ['size'])
    const page = await follow(t, LINK.exec(message)?.[0])
    await page.getByLabel('size').selectOption('L')
    await page.getByLabel('name').fill('Ada')
    await page.getByRole('button', { name: 'Done' }).click()
    const result = await within(asking, 'the result')
    assert.deepEqual(result.content, { size: 'L', name: 'Ada' })
    await until(
      () => client.received.some(({ method }) => method === 'notifications/cancelled'),
      'the form to be taken back'
    )
    reply({ action: 'cancel' })
    const other = await connect(t, { form: {} })
    const second = other.client.ok('ask_user', { sessionId: id, message: 'Sure?' })
    assert.match((await other.asked()).message, LINK)
    assert.equal((await shown(id)).message, 'Sure?')
    other.reply({ action: 'accept', content: { answer: 'yes' } })
    assert.deepEqual((await within(second, 'the result')).content, { answer: 'yes' })
    assert.equal(await shown(id), null)
  })

  test('without elicitation returns the link, and the repeated call waits', async (t) => {
    const client = await server.connect()
    const id = await open(client)
    const ask = () => client.ok('ask_user', { sessionId: id, message: 'Ready?' })
    const first = await ask()
    assert.equal(first.action, 'pending')
    const again = await ask()
    assert.equal(again.action, 'pending', 'after --takeover-timeout')
    assert.notEqual(again.url, first.url)
    const { text: record } = await (await openDashboard(server)).api(`/sessions/${id}/calls`)
    assert.match(record, /Nobody has answered yet/)
    assert.doesNotMatch(record, /#token=/)
    const page = await follow(t, again.url)
    await page.getByLabel('Answer').fill('yes')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('Ready?', { exact: true }).waitFor({ state: 'detached' })
    const { action, content } = await ask()
    assert.deepEqual([action, content], ['accept', { answer: 'yes' }])
    assert.equal((await ask()).action, 'pending', 'the question is a new one')
  })

  test('of a client of 2026-07-28 waits in the repeated call', async (t) => {
    const client = server.stateless()
    client.capabilities = { elicitation: { url: {} } }
    const id = await open(client)
    const call = { name: 'ask_user', arguments: { sessionId: id, message: 'Please log in.' } }
    const { result } = await client.request('tools/call', call)
    const [[name, question]] = Object.entries(result.inputRequests)
    assert.equal(question.params.mode, 'url')
    const inputResponses = { [name]: { action: 'accept' } }
    const repeated = client.request('tools/call', { ...call, inputResponses })
    const page = await follow(t, question.params.url)
    await page.getByRole('button', { name: 'Done' }).click()
    const { structuredContent } = (await within(repeated, 'the result')).result
    assert.equal(structuredContent.action, 'accept')
    assert.match(structuredContent.message, /answered in the dashboard/)
  })

  test('is declined by the user, or has no link without a session', async (t) => {
    const { client, asked, reply } = await connect(t, { form: {}, url: {} })
    const asking = client.ok('ask_user', { message: 'Which one?' })
    assert.equal((await asked()).mode, 'form')
    reply({ action: 'decline' })
    assert.equal((await asking).action, 'decline')
    const id = await open(client)
    assert.equal((await client.ok('ask_user', { message: 'Log in?' })).action, 'decline')
    assert.equal(await shown(id), null)
  })

  test('is answered only by people who may act in its session', async (t) => {
    const client = await server.connect()
    const [id, other] = [await open(client), await open(client)]
    const { url } = await client.ok('ask_user', { sessionId: id, message: 'Ready?' })
    const question = (await shown(id)).id
    const done = { type: 'done', id, question, answer: {} }
    for (const [options, code] of /** @type {const} */ ([
      [{ session: other }, 'NOT_ASKED'],
      [{ readOnly: true, session: id }, 'READ_ONLY']
    ])) {
      const live = await (await openDashboard(server, options)).live(t)
      live.say(done)
      assert.equal((await live.message('error')).error.code, code)
    }
    const live = await (await openDashboard(server, { session: id })).live(t)
    live.say({ ...done, question: 'unknown' })
    assert.equal((await live.message('error')).error.code, 'NOT_ASKED')
    assert.equal((await shown(id)).id, question)
    // The link shows no other session.
    const page = await follow(t, url)
    await page.getByText('Ready?', { exact: true }).waitFor()
    const status = await page.evaluate(
      async (other) => (await fetch(`api/sessions/${other}`)).status,
      other
    )
    assert.equal(status, 404)
  })

  test('accepts only an answer that fits its schema', async (t) => {
    const client = await server.connect()
    const id = await open(client)
    const schema = {
      type: 'object',
      properties: { size: { type: 'string', enum: ['S', 'L'] } },
      required: ['size']
    }
    const ask = () => client.ok('ask_user', { sessionId: id, message: 'Which size?', schema })
    await ask()
    const question = (await shown(id)).id
    const live = await (await openDashboard(server)).live(t)
    for (const [at, answer] of [{}, { size: 'M' }, { size: 'S', color: 'red' }].entries()) {
      live.say({ type: 'done', id, question, answer })
      const errors = () => live.messages.filter(({ type }) => type === 'error')
      const { error } = await until(() => errors()[at], `an error for ${JSON.stringify(answer)}`)
      assert.equal(error.code, 'INVALID_ANSWER')
      assert.match(error.message, /does not fit the question: .*(size|color)/)
    }
    live.say({ type: 'done', id, question, answer: { size: 'L' } })
    await until(async () => (await shown(id)) === null, 'the end of the question')
    assert.deepEqual((await ask()).content, { size: 'L' })
  })

  test('does not replace the access of a browser that sees all sessions', async (t) => {
    const client = await server.connect()
    const [id, other] = [await open(client), await open(client)]
    const created = await server.fetch('/dashboard/links', { method: 'POST', body: '{}' })
    const { path } = /** @type {{ path: string }} */ (await created.json())
    const page = await follow(t, server.at(path))
    await page.getByRole('link', { name: 'Sessions' }).first().waitFor()
    const { url } = await client.ok('ask_user', { sessionId: id, message: 'Ready?' })
    await page.goto(url)
    await page.getByRole('button', { name: 'Done' }).waitFor()
    const status = await page.evaluate(
      async (other) => (await fetch(`api/sessions/${other}`)).status,
      other
    )
    assert.equal(status, 200)
  })
})
