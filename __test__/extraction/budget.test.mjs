// No result exceeds the budget, and the rest of it can be read.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startManager } from '../support/managers.mjs'
import { READING_PAGES } from '../support/reading-pages.mjs'
import { startShared } from '../support/scope.mjs'

const BUDGET = 5000
const ITEMS = `<!doctype html><title>Items</title><ul>${Array.from({ length: 1000 }, (_, item) => `<li>Item ${item}</li>`).join('')}</ul>`
const NOTICE = /\n… cut: characters (\d+) to (\d+) of (\d+)\. Read on with get_content (\{.*\})$/

describe('the result budget', { timeout: 120_000 }, () => {
  // The last long results are kept without a recording too.
  const { server, site, scope } = startShared({
    args: ['--result-budget', String(BUDGET), '--store', 'none'],
    routes: { ...READING_PAGES, '/items': ITEMS }
  })
  before(async () => {
    await server.ok('navigate', { url: site.url('/long') })
  })

  /** Reads a cut result completely. @param {string} text */
  async function readOn(text) {
    let whole = ''
    for (;;) {
      assert.ok(text.length <= BUDGET, `${text.length} characters`)
      const cut = NOTICE.exec(text)
      if (!cut) return whole + text
      whole += text.slice(0, cut.index)
      const answer = await server.call('get_content', JSON.parse(cut[4]))
      assert.ok(!answer.isError, answer.text)
      text = answer.text
    }
  }

  test('a long text ends with the call that reads the next part, up to its end', async () => {
    const first = await server.call('read_page')
    assert.equal(JSON.parse(NOTICE.exec(first.text)[4]).refId, first.meta.refId)
    const whole = await readOn(first.text)
    assert.ok(whole.endsWith('The very end'), whole.slice(-100))
    for (let line = 0; line < 600; line++)
      assert.ok(whole.includes(`\n${line} The quick brown`), `line ${line}`)
  })

  test('a long list without folding can be read to its end', async () => {
    await server.ok('navigate', { url: site.url('/items') })
    const folded = await server.ok('snapshot')
    const [, selector] =
      /more list items: snapshot \{selector: "(e\d+)"\} shows them all/.exec(folded) ?? []
    const whole = await readOn(await server.ok('snapshot', { selector }))
    for (let item = 0; item < 1000; item++)
      assert.ok(
        whole.includes(`: Item ${item}\n`) || whole.endsWith(`: Item ${item}`),
        `item ${item}`
      )
    assert.match(await server.ok('find', { text: 'Item 99' }), /^11 matches/)
    await server.ok('navigate', { url: site.url('/long') })
  })

  test('long JSON becomes text in parts, never a partial object', async () => {
    const answer = await server.call('get_all_text', { selector: 'p' })
    assert.equal(answer.result.structuredContent, undefined)
    assert.equal(answer.json, undefined)
    const { texts, count } = JSON.parse(await readOn(answer.text))
    assert.deepEqual([texts.length, count, texts.at(-1)], [601, 601, 'The very end'])
  })

  test('no tool returns more than the budget', async () => {
    for (const [tool, args] of /** @type {const} */ ([
      ['snapshot', {}],
      ['snapshot', { budget: 100_000 }],
      ['find', { text: 'fox' }],
      ['get_text', {}],
      ['find_elements', { selector: 'p' }],
      ['evaluate', { script: "'x'.repeat(1e5)" }],
      ['evaluate', { script: "throw new Error('x'.repeat(1e5))" }],
      ['batch', { steps: [{ tool: 'get_text' }, { tool: 'read_page' }] }]
    ])) {
      const { text } = await server.call(tool, args)
      assert.ok(text.length <= BUDGET, `${tool}: ${text.length} characters`)
    }
  })

  test('a snapshot cut by its own budget is not cut again', async () => {
    const { text } = await server.call('snapshot', { budget: 3000 })
    assert.ok(!text.includes('get_content'), text.slice(-300))
  })

  test('get_content searches, starts at any offset, and reads the last result without a refId', async () => {
    const { meta } = await server.call('read_page')
    const found = await server.ok('get_content', { ref_id: meta.refId, search_for: 'VERY end' })
    assert.equal(found, 'The very end')
    const offset =
      Number(
        /of (\d+)\./.exec((await server.call('get_content', { refId: meta.refId })).text)?.[1]
      ) - 'very end'.length
    assert.equal(await server.ok('get_content', { refId: meta.refId, offset }), 'very end')
    assert.equal(await server.ok('get_content', { offset }), 'very end')
  })

  test('get_content rejects unknown results and offsets past the end', async () => {
    const { meta } = await server.call('read_page')
    const { meta: short } = await server.call('get_text', { selector: 'h1' })
    for (const refId of [short.refId, 'no-such-result']) {
      assert.equal((await server.call('get_content', { refId })).json.errorCode, 'RECORD_NOT_FOUND')
    }
    const past = (await server.call('get_content', { refId: meta.refId, offset: 1e9 })).json
    assert.equal(past.errorCode, 'INVALID_PARAMETERS')
    assert.ok(past.details.total > BUDGET)
  })

  test('a result can be read only in its own session', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { url: site.url('/long'), sessionId })
    const { meta } = await server.call('read_page', { sessionId })
    assert.ok((await server.ok('get_content', { refId: meta.refId, sessionId })).length > 1000)
    await server.ok('close_session', { sessionId })
    assert.equal(
      (await server.call('get_content', { refId: meta.refId })).json.errorCode,
      'RECORD_NOT_FOUND'
    )
  })

  test('a batch returns its images next to its text', async () => {
    const steps = [
      { tool: 'screenshot' },
      { tool: 'get_text', arguments: { selector: 'h1' } },
      { tool: 'screenshot', arguments: { type: 'jpeg' } }
    ]
    const { result } = await server.call('batch', { steps })
    assert.deepEqual(
      result.content.map((part) => part.mimeType ?? part.type),
      ['text', 'image/png', 'image/jpeg']
    )
    assert.deepEqual(result.structuredContent.results, [
      { tool: 'screenshot', picture: 1 },
      { tool: 'get_text', result: { text: 'Long' } },
      { tool: 'screenshot', picture: 2 }
    ])
  })

  test('the library returns complete results', async () => {
    const manager = await startManager(scope, { resultBudget: BUDGET })
    const session = await manager.createSession()
    await session.navigate(site.url('/long'))
    assert.equal((await session.getAllText('p')).count, 601)
    const { image, percentage } = await session.compareScreenshots(
      (await session.screenshot()).data
    )
    assert.deepEqual([image.mimeType, percentage], ['image/png', 0])
  })
})
