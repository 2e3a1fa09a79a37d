// run_script: many steps in one call, in a sandbox.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { until } from '../support/wait.mjs'

const shop = `<title>Shop</title><h1>Shop</h1>
  <label>Name <input></label> <label>Password <input type="password"></label>
  <ul>${Array.from(
    { length: 12 },
    (_, at) => `<li data-stock="${at % 3}">Item ${at} <button onclick="
    this.parentNode.dataset.bought = true; this.remove()">Buy ${at}</button></li>`
  ).join('')}</ul>`

describe('run_script', { timeout: 120_000 }, () => {
  const { server, site } = startShared({
    args: ['--enable-scripts', '--timeout-action', '200'],
    routes: { '/shop': shop, '/more': '<title>More</title><h1>More</h1>' }
  })
  let sessionId = ''
  before(async () => {
    sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/shop') })
  })

  /** @param {string} script @param {object} [more] */
  const run = (script, more = {}) => server.ok('run_script', { script, sessionId, ...more })
  /** The number of threads of the server that run a script. */
  const scriptThreads = () => {
    const folder = `/proc/${server.child.pid}/task`
    const names = readdirSync(folder).map((id) => readFileSync(join(folder, id, 'comm'), 'utf8'))
    return names.filter((name) => name.startsWith('troupe-script')).length
  }
  /** The error of a script. @param {string} script @param {object} [more] */
  const failure = (script, more = {}) => server.fail('run_script', { script, sessionId, ...more })

  test('makes twenty steps with conditions in one call', async () => {
    const script = `
      const { elements } = await session.findElements('li')
      const bought = []
      for (const [at, { ref }] of elements.entries()) {
        const { value } = await session.getAttribute(ref, 'data-stock')
        if (Number(value) !== args.stock) continue
        await session.click({ selector: 'role=button[name="Buy ' + at + '"]' })
        const item = 'li[data-bought]:nth-of-type(' + (at + 1) + ')'
        if (!(await session.elementExists(item)).exists) throw at
        bought.push(at)
      }
      await session.fill('label=Name', 'Ada')
      console.log('bought', bought.length, { bought })
      await session.navigate(args.next)
      return { bought, title: (await session.getText('h1')).text }`
    const result = await run(script, {
      args: { stock: 2, next: site.url('/more') },
      timeout: 30_000
    })
    assert.deepEqual(result.value, { bought: [2, 5, 8, 11], title: 'More' })
    assert.deepEqual(result.console, ['bought 4 {"bought":[2,5,8,11]}'])
    assert.ok(result.steps >= 20, `${result.steps}`)
    await server.ok('navigate', { sessionId, url: site.url('/shop') })
  })

  test('names the line and the call of a failure, which the script can catch', async () => {
    const missing = await failure("\nconst a = 1\nawait session.click('#missing')")
    assert.equal(missing.errorCode, 'ELEMENT_NOT_FOUND')
    assert.match(missing.message, /^line 3, `session\.click`: /)
    assert.deepEqual([missing.details.line, missing.details.call], [3, 'click'])
    const caught = await run(`
      try { await session.click({ selector: '#missing' }) } catch (error) {
        return [error instanceof Error, error.name, error.code, error.suggestion.length > 0]
      }`)
    assert.deepEqual(caught.value, [true, 'TroupeError', 'ELEMENT_NOT_FOUND', true])
    const thrown = await failure('console.log("before")\nnull.x')
    assert.equal(thrown.errorCode, 'SCRIPT_ERROR')
    assert.match(thrown.message, /^line 2: TypeError: /)
    assert.deepEqual([thrown.details.line, thrown.details.console], [2, ['before']])
    assert.match((await failure('let x = 1\nlet let')).message, /^line 2: SyntaxError: /)
    assert.match((await failure('throw "text"')).message, /text/)
    assert.match((await failure('session.click(1, 2, 3)')).message, /Signature: session\.click\(/)
    assert.match((await failure('await new Promise(() => {})')).message, /nothing resolves/)
  })

  test('runs calls that are not awaited too, and reports their failures', async () => {
    const { value, steps } = await run("session.getText('h1'); return 1")
    assert.deepEqual([value, steps], [1, 1])
    const lost = await failure("session.click('#missing'); return 1")
    assert.equal(lost.errorCode, 'ELEMENT_NOT_FOUND')
    const late = await run(`
      const click = session.click('#missing')
      await session.getText('h1')
      const done = await Promise.allSettled([click, session.getText('h1')])
      return done.map(({ status }) => status)`)
    assert.deepEqual(late.value, ['rejected', 'fulfilled'])
  })

  test('records each step, but not the text of the script', async () => {
    const own = await server.createSession()
    await server.ok('navigate', { sessionId: own, url: site.url('/shop') })
    const script = "await session.fill('label=Password', 'hunter-22')\nreturn 'hunter-22'"
    const { text, meta } = await server.call('run_script', { script, sessionId: own })
    assert.ok(!text.includes('hunter-22'), text)
    const { text: requests } = await server.call('list_requests', { sessionId: own })
    assert.match(requests, /"fill"/)
    assert.match(requests, /"run_script"/)
    const { text: recorded } = await server.call('get_content', { refId: meta.refId })
    assert.ok(!(requests + recorded).includes('hunter-22'), requests + recorded)
    await server.ok('close_session', { sessionId: own })
  })

  test('stays in its session, and makes only calls that the server offers', async () => {
    const other = await server.createSession()
    const own = await run(
      `return [(await session.getPageMetadata({ sessionId: ${JSON.stringify(other)} })).title, session.id !== ${JSON.stringify(other)}]`
    )
    assert.deepEqual(own.value, ['Shop', true])
    const names = (await run('return Object.keys(session)')).value
    for (const name of ['runScript', 'batch', 'createSession', 'closeSession', 'askUser'])
      assert.ok(!names.includes(name), name)
    await server.ok('close_session', { sessionId: other })
  })

  test('ends with the session and with the call', async () => {
    const own = await server.createSession()
    const id = server.nextId()
    const endless = server.request(
      'tools/call',
      { name: 'run_script', arguments: { script: 'for (;;);', sessionId: own } },
      { id }
    )
    server.notify('notifications/cancelled', { requestId: id })
    endless.catch(() => {})
    // Without a free place in the session, this would wait for the end of the script.
    const { value } = await run('return 3', { sessionId: own })
    assert.equal(value, 3)
    await server.ok('close_session', { sessionId: own })
  })

  test('blocks every attempt to escape', async () => {
    const attempts = {
      TIMEOUT: {
        'an infinite loop': 'for (;;);',
        'an infinite loop in a getter': 'return { get x() { for (;;); } }',
        'an infinite loop in toJSON': 'return { toJSON() { for (;;); } }',
        'an infinite loop in a thrown value': 'throw { get message() { for (;;); } }',
        'an infinite loop in toString': 'throw { toString() { for (;;); } }',
        'an infinite loop in an argument': 'await session.click({ get selector() { for (;;); } })',
        'an infinite loop in a thenable': 'await { then() { for (;;); } }',
        'an endless chain of promises':
          'const next = () => Promise.resolve().then(next); await next()',
        'an endless generator': 'for (const x of (function* () { for (;;) yield 1 })());',
        'an endless iterator': 'new Set({ [Symbol.iterator]: () => ({ next: () => ({}) }) })',
        'an endless iterator of native functions':
          'new Set({ [Symbol.iterator]: () => ({ next: Object }) })',
        'a loop that catches everything':
          'for (;;) { try { for (;;); } catch {} finally { continue } }',
        'an endless chain of failed calls':
          "for (;;) { try { await session.getText('#missing', { timeout: 1 }) } catch {} }",
        'a slow regular expression': "/^(a+)+$/.test('a'.repeat(60) + 'b')",
        'a slow replacement': "'a'.repeat(1e5).replace(/(a*)*b/g, '')",
        'a loop in eval': "eval('for (;;);')",
        'a loop in a function constructor': "new Function('for (;;);')()",
        'a loop in an async function constructor':
          "await (async () => {}).constructor('for (;;);')()",
        'an iterator of an array that grows':
          'const a = [], i = a.values(); a.length = 4e9; new Set({ [Symbol.iterator]: () => i })',
        'a length that changes during a concatenation':
          'const a = [0], b = []; Object.defineProperty(a, 0, { get: () => { b.length = 4e9 } }); [].concat(a, b)',
        'nested arrays without elements': 'const a = []; a.length = 4e9; [[a]].flat(Infinity)',
        'an array without elements as a result':
          'const a = []; a.length = 4e9; [1].flatMap(() => a)',
        'a flood of promises': 'for (;;) Promise.reject(1)'
      },
      RESOURCE_EXHAUSTED: {
        'a flood of memory': 'const a = []; for (;;) a.push(new Array(1e5).fill(1))',
        'a huge repetition': "'x'.repeat(2 ** 30 - 1)",
        'many buffers': 'const a = []; for (;;) a.push(new ArrayBuffer(1e6))',
        'a huge result': "return 'x'.repeat(5e7)"
      },
      SCRIPT_ERROR: {
        'an array without elements': 'const a = []; a.length = 4e9; a.reverse()',
        'an array-like object': 'Array.prototype.reverse.call({ length: 2 ** 53 - 1 })',
        'a length that changes':
          'let n = 0; Array.prototype.fill.call({ get length() { return n++ ? 2 ** 53 - 1 : 1 } }, 1)',
        'a concatenation':
          'const a = [].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true }); throw a.length',
        'a replacer without elements':
          'const a = []; a.length = 4e9; JSON.stringify({ a: { b: {} } }, a)',
        'a search with many comparisons': "'a'.repeat(2e7).indexOf('a'.repeat(1e7) + 'b')",
        'a replacement with many comparisons':
          "'a'.repeat(2e7).replace({ toString: () => 'a'.repeat(1e7) + 'b' }, '')",
        'a text with many marks': "'\\u0301\\u0316'.repeat(2e6).normalize()",
        'a comparison of texts with many marks': "''.localeCompare('\\u0301\\u0316'.repeat(2e6))",
        'a huge string': "let s = 'x'; for (;;) s += s",
        'a huge buffer': 'new Uint8Array(2 ** 31)',
        'a huge number': 'let n = 2n; for (;;) n *= n',
        'deep recursion': '(function f() { f() })()',
        'deep recursion in a sort': 'const f = () => [2, 1].sort(f); f()',
        'deep recursion in JSON': "JSON.parse('['.repeat(1e6))",
        'deep recursion in a regular expression': "new RegExp('('.repeat(1e6))",
        'deep recursion in a program': "eval('('.repeat(1e6))",
        'a flood of calls': "for (;;) session.getText('h1')",
        'a circular result': 'const a = {}; a.a = a; return a',
        'a number that JSON does not have': 'return 1n',
        'an import': "await import('fs')",
        'an import of data': "await import('data:text/javascript,export default 1')",
        'a static import': "import fs from 'fs'",
        require: "require('fs')",
        process: 'process.exit(1)',
        'a global of Node by constructor':
          "session.click.constructor.constructor('return process')().exit(1)",
        'a global of Node by a call': "session.click.call.constructor('return require')()('fs')",
        fetch: "await fetch('http://127.0.0.1')",
        'a socket': "new WebSocket('ws://127.0.0.1')",
        'a request': 'new XMLHttpRequest()',
        'a worker': "new Worker('x')",
        'the standard library of the engine': "std.loadFile('/etc/passwd')",
        'the system of the engine': "os.exec(['id'])",
        'a timer': 'setTimeout(() => {}, 1)',
        'a blocked thread': 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
        'a proxy as a parameter': "await session.click(new Proxy({}, { get: () => 'x' }))",
        'a method of the session': "'use strict'; session.click = () => 1",
        'a new method of the session': "'use strict'; session.other = () => 1",
        'a nested batch': 'await session.batch({ steps: [] })',
        'a nested script': "await session.runScript({ script: 'return 1' })"
      },
      INVALID_PARAMETERS: {
        'another tool': "await session.click.call({ tool: 'create_session' }, {})",
        'a wrong parameter': "await session.click({ selector: 'h1', tool: 'create_session' })",
        'a call in the form of a serialized object':
          "Object.prototype.toJSON = Array.prototype.toJSON = () => ['create_session', 'x', '{}', '']; await session.click('#missing')",
        'a polluted serializer':
          'JSON.stringify = () => \'{"selector":"h1"}\'; Object.prototype.toJSON = () => ({ evil: 1 }); await session.click(\'h1\')'
      },
      BLOCKED_BY_POLICY: {
        'a URL of a file': "await session.navigate('file:///etc/passwd')"
      }
    }
    for (const [code, scripts] of Object.entries(attempts)) {
      // Only endless scripts use up their time.
      const timeout = code === 'TIMEOUT' ? 300 : 30_000
      for (const [name, script] of Object.entries(scripts)) {
        const { errorCode, message } = await failure(script, { timeout })
        assert.equal(errorCode, code, `${name}: ${message}`)
      }
    }
    if (process.platform === 'linux')
      await until(
        () => scriptThreads() === 0,
        () => `${scriptThreads()} scripts still run`
      )
    // The server and the page are as before.
    assert.equal((await run("return (await session.getText('h1')).text")).value, 'Shop')
  })

  test('limits what the script prints, and gives polluted objects no more rights', async () => {
    const { console: lines } = await run("for (let i = 0; i < 1e4; i++) console.log('line', i)")
    assert.ok(lines.join('').length < 40_000)
    assert.match(lines.at(-1), /left out/)
    const polluted = await run(`
      for (const key of ['push', 'shift', 'map', 'filter', 'slice', 'entries', Symbol.iterator])
        Array.prototype[key] = () => { throw 1 }
      Object.defineProperty(Object.prototype, 'selector', { set() { throw 2 }, configurable: true })
      Promise.prototype.then = () => { throw 3 }
      globalThis.Promise = globalThis.Error = globalThis.JSON = undefined
      Object.defineProperty(Object.prototype, 'tool', { value: 'create_session' })
      return 7`)
    assert.equal(polluted.value, 7)
    assert.equal((await run('return typeof Promise')).value, 'function')
  })

  test('is not offered without --enable-scripts', async (t) => {
    const usual = await startServer(t, [])
    const { tools } = (await usual.request('tools/list')).result
    assert.ok(!tools.some(({ name }) => name === 'run_script'))
    const { json } = await usual.call('run_script', { script: 'return 1' })
    assert.deepEqual([json.errorCode, json.details.rule], ['BLOCKED_BY_POLICY', 'enableScripts'])
  })
})
