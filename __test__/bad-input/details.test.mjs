// The fields of every error: the target, the timeout, a suggestion.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'

/** @typedef {{ selector?: string, reason?: string, timeout?: number }} Details */

describe('an error', { timeout: 60_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/errors': `<title>Errors</title><button id="deaf" style="pointer-events:none">Deaf</button><div inert><button id="inert">Inert</button></div>
        <p id="words">Words</p><button id="off" disabled>Off</button><input id="field"><input id="fixed" readonly>
        <button class="one">One</button><button class="one">Two</button><button id="hidden" style="display:none">Hidden</button>
        <div style="position:relative"><button id="under">Under</button><div style="position:absolute;inset:0">over</div></div>`,
      '/silent': () => {}
    }
  })
  const refused = async (/** @type {string} */ tool, args = {}) => {
    const error = await server.fail(tool, args)
    assert.ok(error.suggestion?.length > 0, `${tool} has no suggestion: ${error.message}`)
    return error
  }

  test('names the target in `details.selector`, the limit in `details.timeout`, and what to do', async () => {
    await server.ok('navigate', { url: site.url('/errors') })
    const timeout = 60
    /** @type {[string, Record<string, any>, string, Details][]} */
    const cases = [
      [
        'click',
        { selector: '#nothing', timeout },
        'ELEMENT_NOT_FOUND',
        { selector: '#nothing', timeout }
      ],
      [
        'click',
        { selector: 'e987654' },
        'ELEMENT_NOT_FOUND',
        { selector: 'e987654', reason: 'unknown' }
      ],
      ['click', { selector: '.one' }, 'ELEMENT_AMBIGUOUS', { selector: '.one' }],
      [
        'click',
        { selector: '#off', timeout },
        'ELEMENT_NOT_CLICKABLE',
        { selector: '#off', timeout, reason: 'disabled' }
      ],
      [
        'click',
        { selector: '#hidden', timeout },
        'ELEMENT_NOT_CLICKABLE',
        { selector: '#hidden', timeout, reason: 'hidden' }
      ],
      [
        'click',
        { selector: '#under', timeout },
        'ELEMENT_NOT_CLICKABLE',
        { selector: '#under', timeout, reason: 'covered' }
      ],
      [
        'click',
        { selector: '#deaf', timeout },
        'ELEMENT_NOT_CLICKABLE',
        { selector: '#deaf', timeout, reason: 'ELEMENT_NOT_INTERACTIVE' }
      ],
      [
        'hover',
        { selector: '#inert', timeout },
        'ELEMENT_NOT_CLICKABLE',
        { selector: '#inert', timeout, reason: 'ELEMENT_NOT_INTERACTIVE' }
      ],
      [
        'check',
        { selector: '#words', timeout },
        'ELEMENT_NOT_CLICKABLE',
        { selector: '#words', reason: 'ELEMENT_NOT_INTERACTIVE' }
      ],
      [
        'type',
        { selector: '#fixed', text: 'x', timeout },
        'ELEMENT_NOT_EDITABLE',
        { selector: '#fixed', timeout, reason: 'read-only' }
      ],
      [
        'fill',
        { selector: '#words', value: 'x' },
        'ELEMENT_NOT_EDITABLE',
        { selector: '#words', reason: 'not-a-text-field' }
      ],
      [
        'drag_and_drop',
        { source: '#field', target: '#gone', timeout },
        'ELEMENT_NOT_FOUND',
        { selector: '#gone' }
      ],
      ['get_text', { selector: '#nothing' }, 'ELEMENT_NOT_FOUND', { selector: '#nothing' }],
      ['get_value', { selector: 'xpath=//[' }, 'INVALID_SELECTOR', { selector: 'xpath=//[' }],
      [
        'wait_for_selector',
        { selector: '#nothing', timeout },
        'TIMEOUT',
        { selector: '#nothing', timeout }
      ],
      [
        'find_element',
        { selector: '#nothing', timeout },
        'ELEMENT_NOT_FOUND',
        { selector: '#nothing', timeout }
      ],
      ['wait_for', { text: 'nothing like it', timeout }, 'TIMEOUT', { timeout }],
      ['wait_for', { url: '**/elsewhere', timeout }, 'TIMEOUT', { timeout }],
      [
        'navigate',
        { url: site.url('/silent'), timeout: 200 },
        'NAVIGATION_FAILED',
        { reason: 'timeout', timeout: 200 }
      ]
    ]
    for (const [tool, args, code, details] of cases) {
      const json = await refused(tool, args)
      const found = Object.fromEntries(
        Object.keys(details).map((key) => [key, json.details?.[key]])
      )
      assert.deepEqual(
        [json.errorCode, found],
        [code, details],
        `${tool} ${JSON.stringify(args)}: ${JSON.stringify(json)}`
      )
    }
  })

  test('has a suggestion where nothing better is known than its code', async () => {
    const native = createRequire(import.meta.url)('../../lib/addon.js')
    const { codes } = JSON.parse(native.errorSchemas())
    for (const { code, suggestion } of codes) assert.ok(suggestion?.length > 0, code)
    await server.ok('navigate', { url: site.url('/errors') })
    await refused('navigate', { url: 'http://[' })
    await refused('navigate', { url: 'file:///etc/passwd' })
    await refused('evaluate', { script: 'null.x' })
    await refused('evaluate', { script: '(' })
    await refused('go_back', { sessionId: await server.createSession() })
    await refused('click', { selector: '#field', tiemout: 5 })
    await refused('get_cookies', { sessionId: 'none' })
    await refused('snapshot', { pageId: 'page-99' })
    await refused('get_content', { refId: '00000000-0000-4000-8000-000000000000' })
    await refused('restore_state', { state: {} })
    await refused('extract_table', { selector: '#words' })
  })
})
