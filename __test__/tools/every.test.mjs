// Tests of all tools: each works in its session and page, and has the same errors for the same
// mistakes.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { assertRefusal } from '../bad-input/refusal.mjs'
import { BROWSER } from '../support/browser.mjs'
import { BROWSERS } from '../support/browsers.mjs'
import {
  ANSWER_WITH_NONE,
  UNTESTABLE_PARTS,
  TOOLS_DURING_DIALOG,
  TOOLS
} from '../support/coverage.mjs'
import { startShared } from '../support/scope.mjs'
import { UNKNOWN_SESSION } from '../support/sessions.mjs'
import {
  TOOLS_WITH_TARGET,
  READING_ON,
  VALID_ARGUMENTS,
  PAGE,
  argumentsForTarget,
  toolsWithParameter
} from './calls.mjs'

/** The error of a valid call that has nothing to do. */
const NOTHING_TO_DO = {
  go_forward: 'NAVIGATION_FAILED',
  handle_dialog: 'INVALID_PARAMETERS',
  close_session: 'SESSION_NOT_FOUND',
  session_resume: 'SESSION_NOT_FOUND'
}

const { withoutTools = [] } = BROWSERS[BROWSER] ?? {}

/** The expected result of a valid call of `name` in this browser. @param {string} name */
const expectedCode = (name) => (withoutTools.includes(name) ? 'BROWSER_ERROR' : NOTHING_TO_DO[name])

/** A value of another type than that of `schema`, if it has one. @param {any} schema */
const misfit = ({ type, enum: words }) =>
  words
    ? 'none of them'
    : type === undefined
      ? undefined
      : type === 'string'
        ? { no: 'string' }
        : 'another type'

/**
 * The required fields of a schema that are missing.
 * @param {any} schema
 * @param {any} value
 * @returns {string[]}
 */
function absent(schema, value) {
  if (schema.items) return (value ?? []).flatMap((item) => absent(schema.items, item))
  const missing = (schema.required ?? []).filter((name) => !(name in value))
  const inner = Object.entries(schema.properties ?? {}).filter(
    ([name]) => value[name] !== undefined && value[name] !== null
  )
  return [...missing, ...inner.flatMap(([name, part]) => absent(part, value[name]))]
}

describe('every tool', { timeout: 180_000 }, () => {
  // The folder for saved files.
  const folder = mkdtempSync(join(tmpdir(), 'troupe-tools-'))
  const { server, site, scope } = startShared({
    args: [
      ...['--timeout-action', '100', '--max-sessions', '3', '--output-dir', folder],
      '--enable-scripts'
    ],
    routes: { '/every': PAGE }
  })
  scope.after(() => rmSync(folder, { recursive: true }))
  before(async () => {
    await server.ok('navigate', { url: site.url('/') })
    await server.ok('navigate', { url: site.url('/every') })
  })

  const names = (tools) => tools.map(({ name }) => name)
  /** Calls `name` with valid arguments, and with `more`. */
  const refused = (name, more, errorCode, expected = {}) =>
    assertRefusal(server, name, { ...VALID_ARGUMENTS[name], ...more }, { errorCode, ...expected })

  test('succeeds with valid arguments', async () => {
    assert.deepEqual(Object.keys(VALID_ARGUMENTS).sort(), names(TOOLS).sort())
    for (const [name, args] of Object.entries(VALID_ARGUMENTS)) {
      await server.ok('navigate', { url: site.url('/every') })
      const { text, json } = await server.call(name, args)
      assert.equal(json?.errorCode, expectedCode(name), `${name}: ${text}`)
      if (withoutTools.includes(name))
        assert.ok(json.details.unsupported && json.suggestion, `${name}: ${text}`)
      // The other tools need the network.
      if (name === 'set_offline') await server.ok(name, { offline: false })
      const { outputSchema } = TOOLS.find((tool) => tool.name === name) ?? {}
      if (!outputSchema || json?.errorCode) continue
      const missing = absent(outputSchema, json).filter(
        (field) => !UNTESTABLE_PARTS[name]?.includes(`-> ${field}`)
      )
      assert.deepEqual(missing, [], `${name}: its schema promises what ${text} has not`)
    }
  })

  test('that works on a page works on the page of pageId', async () => {
    const sessionId = await server.createSession()
    await server.ok('pages', { sessionId, action: 'new' })
    for (const { name } of toolsWithParameter('pageId')) {
      await server.ok('navigate', { sessionId, pageId: 'page-2', url: site.url('/') })
      await server.ok('navigate', { sessionId, pageId: 'page-2', url: site.url('/every') })
      const args =
        name === 'batch'
          ? { steps: [{ tool: 'get_text', arguments: { selector: '#go' } }] }
          : VALID_ARGUMENTS[name]
      const { json, text, meta } = await server.call(name, { ...args, sessionId, pageId: 'page-2' })
      assert.equal(json?.errorCode, expectedCode(name), `${name}: ${text}`)
      if (name === 'set_offline') await server.ok(name, { sessionId, offline: false })
      assert.equal(meta.sessionId, sessionId, name)
      if (!['pages', 'batch'].includes(name)) assert.equal(meta.pageId, 'page-2', name)
      if (name === 'batch') assert.equal(json.success, true, text)
    }
    await server.ok('close_session', { sessionId })
  })

  test('rejects unknown parameters and wrong types, and names missing parameters', async () => {
    for (const {
      name,
      inputSchema: { properties = {}, required = [] }
    } of TOOLS) {
      const unknown = await refused(name, { nonsense: 1 }, 'INVALID_PARAMETERS', {
        message: /`nonsense` is unknown/
      })
      for (const parameter of Object.keys(properties))
        assert.ok(unknown.suggestion.includes(parameter), `${name}: ${unknown.suggestion}`)
      for (const [parameter, schema] of Object.entries(properties)) {
        const value = misfit(schema)
        if (value === undefined) continue
        const { details } = await refused(name, { [parameter]: value }, 'INVALID_PARAMETERS')
        assert.ok(
          details.violations.some((violation) => violation.parameter === parameter),
          `${name}.${parameter}`
        )
      }
      for (const parameter of required) {
        const { details } = await refused(name, { [parameter]: undefined }, 'INVALID_PARAMETERS')
        const { reason } = details.violations.find((violation) => violation.parameter === parameter)
        assert.equal(reason, 'MISSING_PARAMETER', `${name}.${parameter}`)
      }
    }
  })

  test('that works in a session reports an unknown session', async () => {
    for (const { name } of toolsWithParameter('sessionId')) {
      const { sessionId } = await refused(
        name,
        { sessionId: UNKNOWN_SESSION },
        'SESSION_NOT_FOUND',
        { suggestion: /create_session/ }
      )
      assert.equal(sessionId, UNKNOWN_SESSION)
    }
  })

  test('that works on a page names the open pages if the page is unknown', async () => {
    for (const { name } of toolsWithParameter('pageId')) {
      const step = { tool: 'get_text', arguments: { pageId: 'page-99' } }
      if (name === 'batch')
        assert.equal(
          (await server.ok(name, { steps: [step] })).results[0].error.errorCode,
          'PAGE_NOT_FOUND'
        )
      else
        await refused(
          name,
          { pageId: 'page-99', ...(name === 'pages' ? { action: 'select' } : {}) },
          'PAGE_NOT_FOUND',
          { message: /page-1/ }
        )
    }
  })

  test('that has a target rejects an invalid selector, and one for a missing frame', async () => {
    for (const { name } of TOOLS_WITH_TARGET) {
      await refused(name, argumentsForTarget(name, 'p['), 'INVALID_SELECTOR', { message: /p\[/ })
      await refused(name, argumentsForTarget(name, ''), 'INVALID_SELECTOR')
    }
  })

  test('that needs an element reports that none matches, and suggests similar ones', async () => {
    for (const { name } of TOOLS_WITH_TARGET) {
      if (ANSWER_WITH_NONE.includes(name)) continue
      const { suggestion, details } = await refused(
        name,
        argumentsForTarget(name, '#fild'),
        'ELEMENT_NOT_FOUND',
        { message: /`#fild`/ }
      )
      const [similar] = details.suggestions
      assert.match(similar.description, /Field/, name)
      assert.match(suggestion ?? '', new RegExp(`\\b${similar.ref}\\b`), name)
      await refused(name, argumentsForTarget(name, 'e98765'), 'ELEMENT_NOT_FOUND', {
        reason: 'unknown'
      })
      await refused(name, argumentsForTarget(name, '#nowhere >>> #field'), 'ELEMENT_NOT_FOUND')
    }
  })

  test('that acts on an element rejects an ambiguous target; one that reads uses the first match', async () => {
    for (const { name, group } of TOOLS_WITH_TARGET) {
      if (ANSWER_WITH_NONE.includes(name)) continue
      if (group === 'interaction') {
        const { details } = await refused(
          name,
          argumentsForTarget(name, '.twins'),
          'ELEMENT_AMBIGUOUS'
        )
        assert.equal(details.matches.length, 2, name)
        assert.match(details.matches[0].ref, /^e\d+$/)
      } else if (name !== 'extract_table') {
        await server.ok(name, argumentsForTarget(name, '.twins'))
      }
    }
  })

  test('that needs the page reports at once that a dialog blocks it', async () => {
    await server.call('evaluate', { script: 'void setTimeout(() => alert("Wait"), 0)' })
    await server.call('wait_for', { time: 5000 })
    for (const { name } of toolsWithParameter('pageId')) {
      if (TOOLS_DURING_DIALOG.includes(name)) continue
      await refused(name, {}, 'DIALOG_OPEN', {
        message: /Wait/,
        suggestion: /handle_dialog/,
        within: 500
      })
    }
    if (!withoutTools.includes('get_request_log'))
      assert.ok((await server.ok('get_request_log')).count > 0)
    assert.equal((await server.ok('pages', { action: 'list' })).current, 'page-1')
    await server.ok('handle_dialog', { accept: true })
  })

  test('that works in a session reports that it was closed or has expired', async () => {
    const sessionId = await server.createSession()
    await server.ok('close_session', { sessionId })
    for (const { name } of toolsWithParameter('sessionId')) {
      if (READING_ON.includes(name)) {
        // The recorded result may itself be an error.
        const { isError, json } = await server.call(name, { sessionId })
        assert.equal(isError ? json.errorCode : undefined, expectedCode(name), name)
      } else await refused(name, { sessionId }, 'SESSION_NOT_FOUND', { message: /was closed/ })
    }
  })
})
