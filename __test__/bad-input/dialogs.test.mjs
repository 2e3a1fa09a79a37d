// A dialog blocks its page. This is reported by the call that opens it, and by calls that come
// before it is closed.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { until } from '../support/wait.mjs'
import { assertRefusal } from './refusal.mjs'

describe('a dialog', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/typing': `<title>Typing</title><input id="field" oninput="alert('No ' + this.value)">`,
      '/twice': `<title>Twice</title><button onclick="alert('one'); alert('two')">Go</button>`,
      '/later': `<title>Later</title><button onclick="fetch('/form').then(() => alert('after the fetch'))">Go</button>`
    }
  })

  const at = (path) => server.ok('navigate', { url: site.url(path) })
  const out = async () => (await server.ok('evaluate', { script: 'out.textContent' })).value

  /** Opens it by a click, which answers at once. */
  async function open(selector) {
    await at('/dialogs')
    const { json, ms, text } = await server.call('click', { selector })
    assert.ok(json.dialog, text)
    assert.ok(ms < 1500, `${ms} ms`)
    return json.dialog
  }

  test('is reported by the click that opens it', async () => {
    assert.deepEqual(await open('#alert'), { type: 'alert', message: 'Attention' })
    const { changes } = await server.ok('handle_dialog', { accept: true })
    assert.match(changes, /\+ .*alerted/)
    assert.equal(await out(), 'alerted')
  })

  test('makes other tools fail immediately with DIALOG_OPEN and a suggestion', async () => {
    await open('#alert')
    for (const [tool, args] of /** @type {const} */ ([
      ['click', { selector: '#confirm' }],
      ['type', { selector: '#out', text: 'x' }],
      ['evaluate', { script: '1' }],
      ['snapshot', {}],
      ['screenshot', {}],
      ['navigate', { url: site.url('/') }]
    ])) {
      const expected = {
        errorCode: 'DIALOG_OPEN',
        message: /alert dialog.*Attention/,
        suggestion: /handle_dialog/,
        retryable: false,
        within: 500
      }
      const { details } = await assertRefusal(server, tool, args, expected)
      assert.equal(details.dialog.message, 'Attention')
    }
    await server.ok('handle_dialog', { accept: true })
    assert.equal(await out(), 'alerted')
  })

  test('of a page without a document of its own is closed without a wait', async () => {
    const sessionId = await server.createSession()
    await server.ok('pages', { sessionId, action: 'new' })
    await server.ok('evaluate', { sessionId, script: `setTimeout(() => alert('blank')), 0` })
    await until(async () => {
      const { json } = await server.call('evaluate', { sessionId, script: '1' })
      return json?.errorCode === 'DIALOG_OPEN'
    }, 'the dialog')
    const { json, ms, text } = await server.call('handle_dialog', { sessionId, accept: true })
    assert.equal(json.settled, undefined, text)
    assert.ok(ms < 1500, `${ms} ms`)
  })

  test('does not block other sessions or a new one', async () => {
    await open('#alert')
    const sessionId = await server.createSession()
    assert.equal((await server.ok('evaluate', { sessionId, script: '2' })).value, 2)
    await server.ok('close_session', { sessionId })
    await server.ok('handle_dialog', { accept: true })
  })

  test('that confirms is accepted and dismissed', async () => {
    for (const accept of [true, false]) {
      assert.deepEqual(await open('#confirm'), { type: 'confirm', message: 'Sure?' })
      await server.ok('handle_dialog', { accept })
      assert.equal(await out(), String(accept))
    }
  })

  test('that prompts is answered with its default, with a text, and by dismissal', async () => {
    for (const [answer, expected] of [
      [{ accept: true }, 'nobody'],
      [{ accept: true, promptText: 'Ada' }, 'Ada'],
      [{ accept: true, promptText: '' }, ''],
      [{ accept: false }, '']
    ]) {
      assert.deepEqual(await open('#prompt'), {
        type: 'prompt',
        message: 'Name?',
        defaultValue: 'nobody'
      })
      await server.ok('handle_dialog', answer)
      assert.equal(await out(), expected, JSON.stringify(answer))
    }
  })

  test('that is not open cannot be answered', async () => {
    await at('/dialogs')
    await assertRefusal(
      server,
      'handle_dialog',
      { accept: true },
      { errorCode: 'INVALID_PARAMETERS', message: /no dialog is open/ }
    )
  })

  test('that typing opens is reported, and later typing works', async () => {
    await at('/typing')
    const { dialog } = await server.ok('type', { selector: '#field', text: 'a' })
    assert.deepEqual(dialog, { type: 'alert', message: 'No a' })
    await server.ok('handle_dialog', { accept: true })
    assert.equal((await server.ok('evaluate', { script: 'field.value' })).value, 'a')
  })

  test('that a script opens is reported by the call of the script', async () => {
    await at('/dialogs')
    const { json, ms } = await server.call(
      'evaluate',
      { script: 'alert("from a script")' },
      { timeout: 8000 }
    )
    assert.equal(json.errorCode, 'DIALOG_OPEN')
    assert.ok(ms < 1500, `${ms} ms`)
    await server.ok('handle_dialog', { accept: true })
    assert.equal((await server.ok('evaluate', { script: '1' })).value, 1)
  })

  test('that opens at the response to a fetch of the click is reported by the click', async () => {
    await at('/later')
    const { dialog } = await server.ok('click', { selector: 'button' })
    assert.deepEqual(dialog, { type: 'alert', message: 'after the fetch' })
    await server.ok('handle_dialog', { accept: true })
  })

  test('after another one is reported by the response to the first', async () => {
    await at('/twice')
    assert.equal((await server.ok('click', { selector: 'button' })).dialog.message, 'one')
    const { json, ms, text } = await server.call('handle_dialog', { accept: true })
    assert.ok(ms < 1500, `${ms} ms: ${text}`)
    assert.equal(json.success, true, text)
    await assertRefusal(
      server,
      'evaluate',
      { script: '1' },
      { errorCode: 'DIALOG_OPEN', message: /two/ }
    )
    await server.ok('handle_dialog', { accept: true })
    assert.equal((await server.ok('evaluate', { script: '1' })).value, 1)
  })

  test('does not prevent closing its session', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/alert-on-load') })
    const { json, ms } = await server.call('close_session', { sessionId })
    assert.equal(json.success, true)
    assert.ok(ms < 1500, `${ms} ms`)
  })
})
