// The client's scripts in a page: their results, and that each runs once.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { freePort } from '../support/ports.mjs'
import { startShared } from '../support/scope.mjs'

describe('evaluate', { timeout: 120_000 }, () => {
  const { server, site } = startShared({
    routes: {
      '/start': '<title>Start</title>',
      '/posted': (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end('<p>no JSON'),
      '/strict': (_request, response) =>
        response
          .writeHead(200, {
            'content-type': 'text/html',
            'content-security-policy': "script-src 'none'"
          })
          .end('<title>Strict</title>')
    }
  })
  const evaluate = (/** @type {string} */ script, more = {}) =>
    server.call('evaluate', { script, ...more })

  test('runs an expression, a function with its arguments, and statements', async () => {
    await server.ok('navigate', { url: site.url('/start') })
    /** @type {[string, any, object?][]} */
    const scripts = [
      ['1 + 1', 2],
      ['({ a: [1] })', { a: [1] }],
      ['Promise.resolve(3)', 3],
      ['(a, b) => a + b', 5, { args: [2, 3] }],
      ['async () => 6', 6],
      ['function named() { return 7 }', 7],
      ['document.title // the title', 'Start'],
      ['const two = 2; two * 4', 8],
      ['if (true) { 9 } else { 10 }', 9]
    ]
    for (const [script, value, more] of scripts)
      assert.deepEqual((await evaluate(script, more)).json.value, value, script)
  })

  test('binds args in an expression, and explains how statements receive arguments', async () => {
    await server.ok('navigate', { url: site.url('/start') })
    const args = [2, { a: 'b' }]
    assert.equal((await evaluate('args[0] + args.length', { args })).json.value, 4)
    assert.deepEqual((await evaluate('args', { args })).json.value, args)
    assert.equal(
      (await evaluate('args.map((each) => typeof each).join()', { args })).json.value,
      'number,object'
    )
    const { isError, json } = await evaluate('const first = args[0]; first * 2', { args })
    assert.equal(isError, true)
    assert.equal(json.errorCode, 'SCRIPT_ERROR')
    assert.match(json.suggestion, /function.*statements cannot use `args`/)
    // Without arguments, the name is the page's own.
    await server.ok('evaluate', { script: "globalThis.args = 'of the page'" })
    assert.equal((await evaluate('args')).json.value, 'of the page')
  })

  test('runs a script once that throws a SyntaxError while it runs, and reports the error', async () => {
    for (const path of ['/start', '/strict']) {
      await server.ok('navigate', { url: site.url(path) })
      for (const script of [
        "() => { globalThis.runs = (globalThis.runs ?? 0) + 1; return JSON.parse('{bad') }",
        "(globalThis.runs = (globalThis.runs ?? 0) + 1, JSON.parse('{bad'))",
        "(globalThis.runs = (globalThis.runs ?? 0) + 1, document.querySelector('!'))",
        'async () => { globalThis.runs = (globalThis.runs ?? 0) + 1; throw new SyntaxError("mine") }'
      ]) {
        await server.ok('evaluate', { script: 'globalThis.runs = 0' })
        const { isError, json, text } = await evaluate(script)
        assert.equal(isError, true, `${script}: ${text}`)
        assert.equal(json.errorCode, 'SCRIPT_ERROR', text)
        assert.match(json.message, /SyntaxError|not a valid selector/, script)
        assert.equal(
          (await server.ok('evaluate', { script: 'runs' })).value,
          1,
          `${path} ${script}`
        )
      }
    }
  })

  test('sends one request if its answer is not the JSON that the script expects', async () => {
    await server.ok('navigate', { url: site.url('/start') })
    const { json } = await evaluate(
      "fetch('/posted', { method: 'POST' }).then((response) => response.json())"
    )
    assert.equal(json.errorCode, 'SCRIPT_ERROR')
    assert.match(json.message, /SyntaxError|JSON/)
    assert.equal(site.requests.filter(({ path }) => path === '/posted').length, 1)
  })

  test('reports a request that failed as NETWORK_ERROR', async () => {
    await server.ok('navigate', { url: site.url('/start') })
    const refused = `http://127.0.0.1:${await freePort()}/`
    for (const script of [
      `fetch('${refused}')`,
      `async () => (await fetch('${refused}')).json()`,
      `import('${refused}module.js')`
    ]) {
      const { json, text } = await evaluate(script)
      assert.deepEqual(
        [json.errorCode, json.retryable],
        ['NETWORK_ERROR', true],
        `${script}: ${text}`
      )
      assert.match(json.suggestion, /the request's server runs/)
    }
    // An error that the script throws stays a script error.
    assert.equal((await evaluate("throw new TypeError('no list')")).json.errorCode, 'SCRIPT_ERROR')
  })

  test('reports a script that does not compile', async () => {
    await server.ok('navigate', { url: site.url('/start') })
    const { json } = await evaluate('const a = 1\nconst b = = 2')
    assert.equal(json.errorCode, 'SCRIPT_ERROR')
    assert.match(json.message, /SyntaxError/)
    const { json: returned } = await evaluate('return 5')
    assert.match(returned.suggestion, /pass an expression, or a function/)
  })
})
