// Waits start in order like all calls, and then let the next calls of their session run.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startManager } from '../support/managers.mjs'
import { shared, startShared } from '../support/scope.mjs'
import { startSite } from '../support/site.mjs'
import { isPending, until, within } from '../support/wait.mjs'

/** The number of waits in a session that can run concurrently with other calls. */
const MAX_WAITS = 64

const ROUTES = {
  '/later': `<title>Later</title><button id="go" onclick="document.body.insertAdjacentHTML('beforeend', '<p id=late>Here</p>')">Go</button>
    <button id="leave" onclick="location = '/there'">Leave</button> <button id="alert" onclick="alert('Stop'); go.click()">Alert</button>`,
  '/there': '<title>There</title><p id="late">There</p>'
}

describe('a wait and the calls after it', { timeout: 120_000 }, () => {
  const { server, site } = startShared({ routes: ROUTES, args: ['--store', 'memory'] })

  async function sessionAt(path = '/later') {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url(path) })
    return sessionId
  }

  for (const [tool, args] of /** @type {const} */ ([
    ['wait_for_selector', { selector: '#late' }],
    ['find_element', { selector: '#late' }],
    ['wait_for', { text: 'Here' }]
  ])) {
    test(`${tool} sees the effect of a later click`, async () => {
      const sessionId = await sessionAt()
      const [waited, clicked] = await Promise.all([
        server.call(tool, { sessionId, ...args, timeout: 10_000 }),
        server.call('click', { sessionId, selector: '#go' })
      ])
      assert.ok(!waited.isError, waited.text)
      assert.ok(clicked.json.success, clicked.text)
    })
  }

  test('wait_for and wait_for_load see the navigation of a later click', async () => {
    const sessionId = await sessionAt()
    const page = site.hold('/there')
    const waits = [
      server.call('wait_for', { sessionId, url: '**/there', timeout: 20_000 }),
      server.call('wait_for_selector', { sessionId, selector: 'text=There', timeout: 20_000 })
    ]
    const clicked = server.call('click', { sessionId, selector: '#leave' })
    await within(page.requested, 'the request of the page')
    assert.ok(await isPending(waits[0]))
    page.release()
    for (const answer of await Promise.all([...waits, clicked]))
      assert.ok(answer.json.success, answer.text)
    const [loading] = [
      server.call('wait_for_load', { sessionId }),
      server.call('reload', { sessionId })
    ]
    assert.ok((await loading).json.success)
  })

  test('a wait begins after the calls before it', async () => {
    const sessionId = await sessionAt('/')
    const page = site.hold('/later')
    const navigated = server.call('navigate', { sessionId, url: site.url('/later') })
    await within(page.requested, 'the request of the page')
    // Both conditions are true for the previous page.
    const waits = [
      server.call('wait_for', { sessionId, textGone: 'Nothing like this' }),
      server.call('wait_for_selector', { sessionId, selector: 'h1', timeout: 100 })
    ]
    assert.deepEqual((await server.request('ping')).result, {})
    for (const wait of waits) assert.ok(await isPending(wait))
    page.release()
    assert.ok((await navigated).json.success)
    assert.ok((await waits[0]).json.success)
    assert.equal((await waits[1]).json.errorCode, 'TIMEOUT')
  })

  test('all other calls stay in order during a wait', async () => {
    const sessionId = await sessionAt()
    await server.ok('evaluate', { sessionId, script: 'window.list = []' })
    const waiting = server.call('wait_for_selector', {
      sessionId,
      selector: '#late',
      timeout: 20_000
    })
    const ids = Array.from({ length: 50 }, (_, index) => index)
    const slow = (index) =>
      index % 10 === 0
        ? `new Promise((done) => setTimeout(() => done(list.push(${index})), 20))`
        : `list.push(${index})`
    const answers = await Promise.all(
      ids.map((index) => server.ok('evaluate', { sessionId, script: slow(index) }))
    )
    assert.deepEqual(
      answers.map(({ value }) => value),
      ids.map((index) => index + 1)
    )
    assert.ok(await isPending(waiting))
    await server.ok('click', { sessionId, selector: '#go' })
    assert.ok((await waiting).json.success)
  })

  test('the recording has them in the order of their starts', async () => {
    const sessionId = await sessionAt()
    const [waited, clicked] = await Promise.all([
      server.call('wait_for_selector', { sessionId, selector: '#late' }),
      server.call('click', { sessionId, selector: '#go' })
    ])
    const { requests } = await server.ok('list_requests', { limit: 50 })
    const refIds = [waited, clicked].map(({ result }) => result._meta.refId)
    const listed = requests.filter(({ refId }) => refIds.includes(refId))
    assert.deepEqual(
      listed.map(({ refId, status }) => [refId, status]),
      [
        [refIds[1], 'success'],
        [refIds[0], 'success']
      ]
    )
    // The page of the click is the newest content, independent of when the wait ended.
    assert.match((await server.call('get_content', { sessionId })).text, /Here/)
  })

  test('a wait ends with its session, and with its cancellation', async () => {
    const sessionId = await sessionAt()
    const never = () => ({ sessionId, selector: '#never', timeout: 60_000 })
    const waiting = server.call('wait_for_selector', never())
    server.call('wait_for_selector', never(), { id: 'cancelled' }).catch(() => null)
    assert.equal((await server.ok('evaluate', { sessionId, script: '1' })).value, 1)
    server.notify('notifications/cancelled', { requestId: 'cancelled' })
    const { requests } = await until(async () => {
      const listed = await server.ok('list_requests', { limit: 50 })
      return (
        listed.requests.some(
          ({ tool, status }) => tool === 'wait_for_selector' && status === 'error'
        ) && listed
      )
    }, 'the record of the cancelled wait')
    assert.ok(requests.length > 0)
    assert.ok(await isPending(waiting))
    await server.ok('close_session', { sessionId })
    assert.equal(
      (await within(waiting, 'the end of the wait', 5000)).json.errorCode,
      'SESSION_NOT_FOUND'
    )
  })

  test('a wait fails when a dialog opens, and the click reports the dialog', async () => {
    const sessionId = await sessionAt()
    const [waited, clicked] = await Promise.all([
      server.call('wait_for_selector', { sessionId, selector: '#late', timeout: 10_000 }),
      server.call('click', { sessionId, selector: '#alert' })
    ])
    assert.equal(clicked.json.dialog.message, 'Stop')
    assert.equal(waited.json.errorCode, 'DIALOG_OPEN', waited.text)
    await server.ok('handle_dialog', { sessionId, accept: true })
    assert.ok((await server.ok('wait_for_selector', { sessionId, selector: '#late' })).success)
  })

  test('the steps of a batch wait for each other', async () => {
    const sessionId = await sessionAt()
    const steps = [
      { tool: 'wait_for_selector', arguments: { selector: '#late', timeout: 100 } },
      { tool: 'click', arguments: { selector: '#go' } }
    ]
    const { results } = await server.ok('batch', { sessionId, steps, stopOnError: false })
    assert.deepEqual(
      results.map(({ error }) => error?.errorCode),
      ['TIMEOUT', undefined]
    )
  })

  test('later calls wait if a session has too many concurrent waits', async () => {
    const sessionId = await sessionAt()
    const waits = Array.from({ length: MAX_WAITS + 1 }, (_, number) =>
      server.call('wait_for', { sessionId, time: 600_000 }, { id: `wait ${number}` })
    )
    for (const wait of waits) wait.catch(() => null)
    const behind = server.call('evaluate', { sessionId, script: '"behind"' })
    for (let round = 0; round < 20; round++)
      assert.deepEqual((await server.request('ping')).result, {})
    assert.ok(await isPending(behind))
    server.notify('notifications/cancelled', { requestId: 'wait 0' })
    assert.equal((await within(behind, 'the call behind the waits', 5000)).json.value, 'behind')
    await server.ok('close_session', { sessionId })
  })
})

describe('in the library', { timeout: 60_000 }, () => {
  const scope = shared()
  let session
  let site

  before(async () => {
    session = await (await startManager(scope)).createSession()
    site = await startSite(scope, ROUTES)
  })

  test('a wait and its action can be started together', async () => {
    await session.navigate(site.url('/later'))
    const [found, waited, clicked] = await Promise.all([
      session.findElement('#late', { timeout: 10_000 }),
      session.waitForSelector('#late', { timeout: 10_000 }),
      session.click('#go')
    ])
    assert.deepEqual([found.text, waited.success, clicked.success], ['Here', true, true])
  })

  test('calls that are started together run in order', async () => {
    await session.navigate(site.url('/later'))
    await session.evaluate('window.list = []')
    const ids = Array.from({ length: 200 }, (_, index) => index)
    await Promise.all(ids.map((index) => session.evaluate(`list.push(${index})`)))
    assert.deepEqual((await session.evaluate('list')).value, ids)
  })
})
