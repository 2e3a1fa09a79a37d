// `get_content` and the record.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { pictureOf } from '../support/pictures.mjs'
import { recordFile } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

const LIST = `<title>List</title><h1>List</h1><button onclick="const item = document.createElement('p');
  item.textContent = 'Item ' + document.querySelectorAll('p').length; document.body.append(item)">Add</button>
  ${Array.from({ length: 20 }, (_, number) => `<a href="#${number}">Link ${number}</a>`).join('')}`

describe('get_content', { timeout: 120_000 }, () => {
  const scope = shared()
  const file = recordFile(scope)
  let server
  let site

  before(async () => {
    server = await startServer(scope, ['--store', file, '--max-sessions', '20'])
    site = await startSite(scope, { '/list': LIST })
  })

  /** Returns a session on the page with the list, and the record of its navigation. */
  async function onList() {
    const sessionId = await server.createSession()
    const { meta } = await server.call('navigate', { sessionId, url: site.url('/list') })
    return { sessionId, ref_id: meta.refId }
  }

  test('get_content(ref_id) returns only content changed since last call for that ref_id', async () => {
    const { sessionId, ref_id } = await onList()
    assert.match(await server.ok('get_content', { ref_id }), /heading "List"/)
    // A record does not change.
    assert.equal(await server.ok('get_content', { ref_id }), '')
    // The session changes: a call without a ref_id uses its cursor.
    assert.match(await server.ok('get_content', { session_id: sessionId }), /heading "List"/)
    await server.ok('click', { sessionId, selector: 'role=button[name="Add"]' })
    const changed = await server.ok('get_content', { session_id: sessionId })
    assert.match(changed, /^@@ .* @@\n[^]*\n\+- paragraph: Item 0\n/)
    assert.ok(!changed.includes('Link 7'), changed)
  })

  test('get_content(ref_id, reset_cursor=True) resets diff and returns full content', async () => {
    const { ref_id } = await onList()
    const whole = await server.ok('get_content', { ref_id })
    assert.equal(await server.ok('get_content', { ref_id }), '')
    assert.equal(await server.ok('get_content', { ref_id, reset_cursor: true }), whole)
    assert.equal(await server.ok('get_content', { ref_id }), '')
  })

  test('cursor persists across server restarts (SQLite-backed)', async (t) => {
    const restarted = recordFile(t)
    const first = await startServer(t, ['--store', restarted])
    const { meta } = await first.call('navigate', { url: site.url('/list') })
    assert.notEqual(await first.ok('get_content', { ref_id: meta.refId }), '')
    await first.end()
    const second = await startServer(t, ['--store', restarted])
    assert.equal(await second.ok('get_content', { ref_id: meta.refId }), '')
    assert.match(
      await second.ok('get_content', { ref_id: meta.refId, reset_cursor: true }),
      /heading "List"/
    )
  })

  test('empty diff returns empty string (not error)', async () => {
    const { sessionId, ref_id } = await onList()
    for (const args of [{ ref_id }, { session_id: sessionId }]) {
      await server.ok('get_content', args)
      const { isError, text } = await server.call('get_content', args)
      assert.deepEqual({ isError, text }, { isError: false, text: '' })
    }
  })

  test('initial read (no cursor) returns full content', async () => {
    const { sessionId, ref_id } = await onList()
    const content = await server.ok('get_content', { ref_id })
    for (let number = 0; number < 20; number++)
      assert.ok(content.includes(`Link ${number}"`), content)
    assert.equal(await server.ok('get_content', { session_id: sessionId }), content)
  })

  test('calls without page content do not move the cursor of the session', async () => {
    const { sessionId } = await onList()
    await server.ok('get_content', { session_id: sessionId })
    await server.ok('click', { sessionId, selector: 'role=button[name="Add"]' })
    await server.ok('evaluate', { sessionId, script: '({ not: "the page" })' })
    await server.ok('get_cookies', { sessionId })
    assert.match(
      await server.ok('get_content', { session_id: sessionId }),
      /\n\+- paragraph: Item 0\n/
    )
    await server.ok('evaluate', { sessionId, script: '1' })
    assert.equal(await server.ok('get_content', { session_id: sessionId }), '')
  })

  test('a session without page content returns its last result', async () => {
    const sessionId = await server.createSession()
    await server.ok('evaluate', { sessionId, script: '[1, 2]' })
    assert.match(JSON.stringify(await server.ok('get_content', { session_id: sessionId })), /1,2/)
    await server.ok('navigate', { sessionId, url: site.url('/list') })
    assert.match(
      await server.ok('get_content', { session_id: sessionId }),
      /^- .*[^]*heading "List"/,
      'the first read of the page returns all of it'
    )
  })

  test('diff algorithm: simple string comparison (hash-based)', async () => {
    // The same content in another record is not a change.
    const { sessionId } = await onList()
    await server.ok('get_content', { session_id: sessionId })
    await server.ok('hover', { sessionId, selector: 'h1' })
    assert.equal(await server.ok('get_content', { session_id: sessionId }), '')
  })

  test('console logs do NOT implement diff (always return full logs for ref_id)', async () => {
    const { sessionId } = await onList()
    await server.ok('evaluate', { sessionId, script: "console.log('said once')" })
    const { meta } = await server.call('evaluate', { sessionId, script: '1' })
    const said = await server.ok('get_console_content', { session_id: sessionId })
    assert.match(said, /\[info\] said once/)
    const [{ refId }] = (await server.ok('list_requests', { sessionId })).requests.filter(
      (request) => request.hasConsoleLogs
    )
    for (let times = 0; times < 2; times++)
      assert.match(await server.ok('get_console_content', { ref_id: refId }), /said once/)
    assert.ok(meta.refId)
  })

  test('offset and searchFor do not move the cursor; searchFor filters lines', async () => {
    const { ref_id } = await onList()
    const lines = await server.ok('get_content', { ref_id, search_for: 'link 1' })
    assert.deepEqual(
      lines.split('\n').map((line) => /Link \d+/.exec(line)[0]),
      ['Link 1', ...Array.from({ length: 10 }, (_, number) => `Link 1${number}`)]
    )
    assert.equal(await server.ok('get_content', { ref_id, search_for: 'not there' }), '')
    const rest = await server.ok('get_content', { ref_id, offset: 5 })
    const whole = await server.ok('get_content', { ref_id })
    assert.equal(whole.slice(5), rest)
  })

  test('the record of a read contains what it returned', async () => {
    const { sessionId } = await onList()
    const { text, meta } = await server.call('snapshot', { sessionId, interactive: true })
    assert.equal(await server.ok('get_content', { refId: meta.refId }), text)
    const value = await server.call('evaluate', { sessionId, script: '[1, 2]' })
    assert.equal((await server.call('get_content', { refId: value.meta.refId })).text, value.text)
  })

  test('a screenshot is returned again as an image, with the text of its result', async () => {
    const { sessionId } = await onList()
    const taken = await server.call('screenshot', { sessionId, type: 'jpeg' })
    for (let times = 0; times < 2; times++) {
      const again = await server.call('get_content', { refId: taken.meta.refId })
      assert.deepEqual(again.result.content, taken.result.content)
    }
    const compared = await server.call('compare_screenshots', {
      sessionId,
      baseline: taken.meta.refId
    })
    const { result } = await server.call('get_content', { refId: compared.meta.refId })
    assert.deepEqual(
      result.content.map(({ type }) => type),
      ['text', 'image']
    )
    assert.equal(pictureOf({ result }), pictureOf(compared))
    assert.match(result.content[0].text, /"percentage":0/)
    // A part of the text has no images.
    assert.deepEqual(
      (
        await server.call('get_content', { refId: compared.meta.refId, offset: 1 })
      ).result.content.map(({ type }) => type),
      ['text']
    )
    // The changes of the page have no images either.
    await server.ok('get_content', { session_id: sessionId })
    assert.deepEqual(
      (await server.call('get_content', { session_id: sessionId })).result.content.filter(
        ({ type }) => type === 'image'
      ),
      []
    )
  })

  test('each step of a batch has its own record, in addition to that of the batch', async () => {
    const { sessionId } = await onList()
    const steps = [
      { tool: 'get_text', arguments: { selector: 'h1' } },
      { tool: 'evaluate', arguments: { script: '7' } }
    ]
    const { meta } = await server.call('batch', { sessionId, steps })
    const { requests } = await server.ok('list_requests', { sessionId })
    assert.deepEqual(
      requests.slice(0, 3).map(({ tool, status }) => [tool, status]),
      [
        ['evaluate', 'success'],
        ['get_text', 'success'],
        ['batch', 'success']
      ]
    )
    assert.equal(requests[2].refId, meta.refId)
  })

  test('reading the record is not recorded; snake_case names of tools and parameters are accepted', async () => {
    const { session_id: sessionId, ...created } = await server.ok('create_new_session', {})
    assert.equal(created.sessionId, sessionId)
    assert.equal((await server.ok('create_session')).session_id, undefined)
    await server.ok('navigate', { session_id: sessionId, url: site.url('/list') })
    for (let times = 0; times < 3; times++) {
      await server.ok('get_content', { session_id: sessionId })
      await server.ok('get_console_content', { session_id: sessionId, level: '' })
      await server.ok('list_requests', { session_id: sessionId })
    }
    const { requests } = await server.ok('list_requests', { session_id: sessionId })
    assert.deepEqual(
      requests.map(({ tool }) => tool),
      ['navigate', 'create_session']
    )
  })

  test('lists contain only sessions that this client created or named', async (t) => {
    const other = await startServer(t, ['--store', file])
    const { sessionId, ref_id } = await onList()
    assert.deepEqual((await other.ok('list_requests')).requests, [])
    // An id is a capability token: a client that has it may read.
    assert.match(await other.ok('get_content', { ref_id }), /heading "List"/)
    assert.deepEqual(
      (await other.ok('list_requests', { sessionId })).requests.map(({ tool }) => tool),
      ['navigate', 'create_session']
    )
    const unknown = await other.call('get_content', { ref_id: 'nothing-like-this' })
    assert.equal(unknown.json.errorCode, 'RECORD_NOT_FOUND')
  })

  test('a failed call is in the record with the error that the client got', async () => {
    const { sessionId } = await onList()
    const failed = await server.call('click', { sessionId, selector: '#nothing', timeout: 50 })
    assert.ok(failed.isError)
    const { requests } = await server.ok('list_requests', { sessionId, limit: 1 })
    assert.deepEqual([requests[0].refId, requests[0].status], [failed.meta.refId, 'error'])
  })
})

describe('the console of a page', { timeout: 60_000 }, () => {
  const SCRIPT =
    "console.debug('d'); console.info('i', {a: 1}); console.warn('w'); console.error('e'); setTimeout(() => { throw new Error('thrown') })"

  for (const store of ['memory', 'none']) {
    test(`is returned with levels and locations, with --store ${store}`, async (t) => {
      const server = await startServer(t, ['--store', store])
      const site = await startSite(t, { '/loud': `<title>Loud</title><script>${SCRIPT}</script>` })
      await server.ok('navigate', { url: site.url('/loud') })
      await server.ok('wait_for_load', { state: 'networkidle' })
      const all = await server.ok('get_console_content')
      for (const [level, text] of [
        ['debug', 'd'],
        ['info', 'i {a: 1}'],
        ['warn', 'w'],
        ['error', 'e']
      ]) {
        assert.ok(all.includes(`[${level}] ${text} (${site.url('/loud')}:1:`), all)
        const lines = (await server.ok('get_console_content', { level })).split('\n')
        assert.ok(
          lines.length > 0 && lines.every((line) => line.startsWith(`[${level}] `)),
          lines.join('\n')
        )
      }
      assert.match(all, /\[error\] Uncaught Error: thrown/)
    })
  }
})

describe('--responses ref', { timeout: 60_000 }, () => {
  test('returns the metadata of the call, and its content on demand', async (t) => {
    const server = await startServer(t, ['--responses', 'ref', '--store', 'memory'])
    const site = await startSite(t, { '/list': LIST })
    const sessionId = await server.createSession()
    const { json, meta } = await server.call('navigate', { sessionId, url: site.url('/list') })
    const { timestamp, ...rest } = json
    assert.deepEqual(rest, {
      ref_id: meta.refId,
      session_id: sessionId,
      status: 'success',
      metadata: {
        tool: 'navigate',
        has_snapshot: true,
        has_console_logs: false,
        console_error_count: 0
      }
    })
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.match(await server.ok('get_content', { ref_id: json.ref_id }), /heading "List"/)

    await server.ok('evaluate', { sessionId, script: "console.error('one'); console.error('two')" })
    const logged = (await server.ok('list_requests', { sessionId })).requests.reduce(
      (sum, request) => sum + request.consoleErrorCount,
      0
    )
    assert.equal(logged, 2)

    const failed = await server.call('click', { sessionId, selector: '#nothing', timeout: 50 })
    assert.ok(failed.isError)
    assert.equal(failed.json.errorCode, 'ELEMENT_NOT_FOUND')
    assert.deepEqual(
      [failed.json.ref_id, failed.json.status, failed.json.error],
      [failed.meta.refId, 'error', failed.json.message]
    )
  })

  test('requires a store', async (t) => {
    const server = await startServer(t, ['--responses', 'ref', '--store', 'none'], {
      handshake: false
    })
    assert.equal((await server.exit).code, 2)
    assert.match(server.stderr(), /responses.*store/)
  })
})

test(
  'without a record, get_content returns the last screenshots of a session',
  { timeout: 60_000 },
  async (t) => {
    const server = await startServer(t, ['--store', 'none'])
    const sessionId = await server.createSession()
    const taken = await server.call('screenshot', { sessionId })
    assert.equal(
      pictureOf(await server.call('get_content', { refId: taken.meta.refId })),
      pictureOf(taken)
    )
    assert.equal(
      (await server.call('get_content', { refId: 'another' })).json.errorCode,
      'RECORD_NOT_FOUND'
    )
  }
)
