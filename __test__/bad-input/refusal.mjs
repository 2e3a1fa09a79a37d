import assert from 'node:assert/strict'

/**
 * Makes a call that must fail with a specific error, and checks that the next call works.
 * @param {import('../support/server.mjs').Server} server
 * @param {string} tool @param {object} args
 * @param {{ errorCode: string, message?: RegExp, suggestion?: RegExp, retryable?: boolean, reason?:
 *   string | RegExp, within?: number }} expected
 *   `within`: milliseconds
 * @returns {Promise<any>} the error
 */
export async function assertRefusal(
  server,
  tool,
  args,
  { errorCode, message, suggestion, retryable, reason, within = 5000 }
) {
  const { error, result, json, text, ms } = await server.call(tool, args)
  assert.equal(error, undefined, `${tool} broke the protocol: ${JSON.stringify(error)}`)
  assert.equal(result.isError, true, `${tool} should have failed, and gave ${text}`)
  assert.equal(json?.errorCode, errorCode, text)
  assert.equal(
    result.structuredContent,
    undefined,
    'an error has no structured content: strict clients throw on it'
  )
  assert.equal(typeof result._meta?.refId, 'string')
  assert.equal(typeof json.retryable, 'boolean')
  if (message) assert.match(json.message, message)
  if (suggestion) assert.match(json.suggestion ?? '', suggestion)
  if (retryable !== undefined) assert.equal(json.retryable, retryable, text)
  if (reason)
    assert.match(
      String(json.details?.reason),
      typeof reason === 'string' ? new RegExp(`^${reason}$`) : reason
    )
  assert.doesNotMatch(
    text,
    /\\u001b|\n\s+at |\.rs:\d|panicked/,
    'plain words, without colors or stack traces'
  )
  assert.ok(ms < within, `it took ${ms} ms`)
  const { tools } = (await server.request('tools/list')).result
  assert.ok(tools.length > 0)
  return json
}
