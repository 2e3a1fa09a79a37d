// The messages of the rules for pages, and which settings are rejected.
import assert from 'node:assert/strict'
import { BlockList, isIP } from 'node:net'
import { describe, test } from 'node:test'
import { startAttackSite, startInternet } from '../support/attacks.mjs'
import { startHttpServer } from '../support/http.mjs'
import { fc } from '../support/random.mjs'
import { NO_SQLITE, recordFile } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

describe('a blocked navigation', { timeout: 90_000 }, () => {
  test('reports the rule, the URL and a suggestion, however it was triggered', async (t) => {
    const site = await startSite(t, {
      '/links': '<a id="a" href="http://x.blocked.localhost:81/y">away</a>'
    })
    const server = await startServer(t, ['--blocked-domains', '*.blocked.localhost'])
    const target = 'http://x.blocked.localhost:81/y'
    for (const url of [target, site.url(`/redirect?to=${encodeURIComponent(target)}`)]) {
      const { json } = await server.call('navigate', { url })
      assert.equal(json.errorCode, 'BLOCKED_BY_POLICY', JSON.stringify(json))
      assert.deepEqual(json.details, { rule: 'blockedDomains', url: target })
      assert.match(json.suggestion, /--blocked-domains/)
      assert.equal(json.retryable, false)
    }
    await server.ok('navigate', { url: site.url('/links') })
    const { page } = await server.ok('click', { selector: '#a' })
    assert.equal(page.failure, 'net::ERR_BLOCKED_BY_CLIENT (policy: blockedDomains)')
    assert.equal(
      (await server.call('pages', { action: 'new', url: target })).json.errorCode,
      'BLOCKED_BY_POLICY'
    )
  })

  test('reports the rule if its host name resolves to a blocked address', async (t) => {
    const site = await startSite(t)
    const server = await startServer(t, ['--blocked-domains', '127.0.0.1'])
    const url = `http://localhost:${site.port}/form`
    const { json } = await server.call('navigate', { url })
    assert.deepEqual(
      [json.errorCode, json.details],
      ['BLOCKED_BY_POLICY', { rule: 'blockedDomains', url }],
      JSON.stringify(json)
    )
    assert.match(json.message, /`127\.0\.0\.1` is a blocked domain/)
    // The log reports the navigation, a frame and a request of a script alike.
    await server.ok('navigate', {
      url: `data:text/html,<p id="out"></p><iframe src="${url}"></iframe><script>fetch("${url}").catch(() => (out.textContent = "no answer"))</script>`
    })
    await server.ok('wait_for', { text: 'no answer' })
    const { requests } = await server.ok('get_request_log')
    const failures = requests.filter((request) => request.url === url).map(({ failure }) => failure)
    assert.equal(failures.length, 3, JSON.stringify(requests))
    for (const failure of failures)
      assert.equal(failure, 'net::ERR_BLOCKED_BY_CLIENT (policy: blockedDomains)')
    assert.deepEqual(site.requests, [])
    const free = await startServer(t)
    assert.equal((await free.ok('navigate', { url })).status, 200)
  })

  test('from a public page to a private one says that the client can navigate there itself', async (t) => {
    const site = await startAttackSite(t)
    const internet = await startInternet(t, site.port)
    const server = await startServer(t, ['--proxy-server', `http://127.0.0.1:${internet.port}`])
    const own = `http://127.0.0.1:${site.port}/`
    const { json } = await server.call('navigate', {
      url: `http://public.example/redirect?to=${own}`
    })
    assert.deepEqual(
      [json.errorCode, json.details.rule, json.details.url],
      ['BLOCKED_BY_POLICY', 'privateNetwork', own]
    )
    assert.match(json.suggestion, /navigate there yourself/)
    assert.deepEqual(site.reached, ['public.example/redirect'])
    assert.equal((await server.ok('navigate', { url: own })).status, 200)
    // After visits to both kinds of hosts, a redirect to the private host is still blocked.
    assert.equal(
      (await server.call('navigate', { url: `http://public.example/redirect?to=${own}` })).json
        .errorCode,
      'BLOCKED_BY_POLICY'
    )
    assert.equal((await server.ok('navigate', { url: own })).status, 200)
    assert.equal((await server.ok('reload')).status, 200)
    const free = await startServer(t, [
      '--allow-private-network',
      '--proxy-server',
      `http://127.0.0.1:${internet.port}`,
      '--blocked-domains',
      'x.test'
    ])
    assert.equal(
      (await free.ok('navigate', { url: `http://public.example/redirect?to=${own}` })).url,
      own
    )
  })

  test('from a public page to a private one stays blocked after the client went back', async (t) => {
    const site = await startAttackSite(t)
    const internet = await startInternet(t, site.port)
    const server = await startServer(t, ['--proxy-server', `http://127.0.0.1:${internet.port}`])
    const own = `http://127.0.0.1:${site.port}/`
    const leave = async () => {
      const sent = site.reached.length
      await server.call('evaluate', { script: `location.assign('${own}')` })
      await server.call('wait_for', { url: own, timeout: 500 })
      assert.deepEqual(site.reached.slice(sent), [], 'the page reached a private address')
    }
    // The client has navigated to the address, so it may navigate there again.
    await server.ok('navigate', { url: own })
    await server.ok('pages', { action: 'new', url: 'http://public.example/' })
    // In some browsers, the history has no earlier entry.
    await server.call('go_back')
    if ((await server.ok('evaluate', { script: 'location.host' })).value === 'public.example')
      await leave()
    await server.ok('navigate', { url: 'http://public.example/' })
    await server.ok('evaluate', { script: "history.pushState(null, '', '/#part')" })
    await server.ok('go_back')
    await leave()
    // The client itself may go back to a private page.
    await server.ok('navigate', { url: own })
    await server.ok('navigate', { url: 'http://public.example/' })
    assert.equal((await server.ok('go_back')).url, own)
  })

  test(
    'stays blocked in a resumed session, and hosts that the client has navigated to stay allowed',
    { skip: NO_SQLITE },
    async (t) => {
      const site = await startAttackSite(t)
      const internet = await startInternet(t, site.port)
      const args = ['--store', recordFile(t), '--proxy-server', `http://127.0.0.1:${internet.port}`]
      const own = `http://127.0.0.1:${site.port}/`
      const first = await startServer(t, args)
      const [refused, asked] = [await first.createSession(), await first.createSession()]
      await first.call('navigate', {
        sessionId: refused,
        url: `http://public.example/redirect?to=${own}`
      })
      await first.ok('navigate', { sessionId: asked, url: `${own}asked` })
      await first.end()
      assert.deepEqual(site.reached, ['public.example/redirect', `127.0.0.1:${site.port}/asked`])
      const next = await startServer(t, args)
      for (const sessionId of [refused, asked]) await next.ok('session_resume', { sessionId })
      assert.deepEqual(
        site.reached.filter((at) => at.startsWith('127.')),
        [`127.0.0.1:${site.port}/asked`, `127.0.0.1:${site.port}/asked`]
      )
      assert.equal(
        (await next.ok('evaluate', { sessionId: asked, script: 'location.pathname' })).value,
        '/asked'
      )
    }
  )

  test('is blocked in every notation of its address, compared with another URL parser', async (t) => {
    const server = await startServer(t, [
      '--blocked-domains',
      '10.1.2.3,192.168.0.1,*.bad.example,bücher.example'
    ])
    const blocked = new BlockList()
    for (const address of ['10.1.2.3', '192.168.0.1']) blocked.addAddress(address)
    const part = (/** @type {number} */ value) =>
      fc.constantFrom(
        String(value),
        `0x${value.toString(16)}`,
        `0X${value.toString(16).toUpperCase()}`,
        `0${value.toString(8)}`
      )
    const address = fc
      .constantFrom([10, 1, 2, 3], [192, 168, 0, 1])
      .chain(([a, b, c, d]) =>
        fc
          .oneof(
            fc.tuple(part(a), part(b), part(c), part(d)),
            fc.tuple(part(a), part(b), part(c * 256 + d)),
            fc.tuple(part(a), part(b * 65536 + c * 256 + d)),
            fc.tuple(part(((a * 256 + b) * 256 + c) * 256 + d)),
            fc.constant([`[::ffff:${a}.${b}.${c}.${d}]`])
          )
          .map((parts) => parts.join('.'))
      )
    const name = fc.constantFrom(
      'bad.example',
      'A.bad.example',
      'x.y.BAD.example.',
      'bücher.example',
      'xn--bcher-kva.example',
      'ＢＡＤ.example',
      'b%61d.example'
    )
    const dressed = fc.tuple(
      fc.constantFrom(
        'http://',
        'HTTPS://',
        'http:\\\\',
        'http:/',
        'http:',
        ' http://',
        'ht\ntp://'
      ),
      fc.constantFrom('', 'me@', 'good.example@', 'a:b@'),
      fc.oneof(address, name),
      fc.constantFrom('', '/', ':80/', '/?good.example', '#good.example')
    )
    /** How often each error came. @type {Record<string, number>} */
    const codes = { BLOCKED_BY_POLICY: 0, INVALID_URL: 0 }
    await fc.assert(
      fc.asyncProperty(dressed, async ([scheme, user, host, rest]) => {
        const url = `${scheme}${user}${host}${rest}`
        const { hostname } = new URL(url)
        const plain = hostname.replace(/^\[|\]$/g, '')
        const isBlocked = isIP(plain)
          ? blocked.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4')
          : /(^|\.)bad\.example\.?$|^xn--bcher-kva\.example\.?$/.test(plain)
        assert.ok(isBlocked, `the reference takes ${url} for another host: ${plain}`)
        const { json } = await server.call('navigate', { url })
        // Text that is not an absolute URL may be rejected as such; it is never opened.
        assert.ok(json.errorCode in codes, `${url}: ${JSON.stringify(json)}`)
        codes[json.errorCode]++
      }),
      { numRuns: 300 }
    )
    assert.ok(codes.BLOCKED_BY_POLICY > 150, JSON.stringify(codes))
  })
})

describe('settings', { timeout: 60_000 }, () => {
  const refused = /** @type {const} */ ([
    [
      ['--allowed-domains', 'a.example', '--blocked-domains', 'a.example'],
      /both contain the same domain/
    ],
    [
      ['--allowed-domains', 'a.example', '--browser-endpoint', 'ws://127.0.0.1:1'],
      /network rules cannot be enforced in/
    ],
    [['--blocked-domains', 'a.example', '--browser', 'webkit'], /cannot be enforced in WebKit/],
    [['--allow-private-network', 'false', '--browser', 'webkit'], /cannot be enforced in WebKit/],
    [
      ['--allow-private-network', 'false', '--browser-endpoint', 'ws://127.0.0.1:1'],
      /network rules cannot be enforced in/
    ],
    [
      ['--allow-private-network', 'false', '--upstream', 'peer'],
      /network rules cannot be enforced in/
    ],
    [['--browser-header', 'a=b'], /`--browser-header` needs `--browser-endpoint`/],
    [
      ['--browser-header', 'correct-horse', '--browser-endpoint', 'ws://127.0.0.1:1'],
      /must be a list of headers, such as `Authorization=Bearer TOKEN`, but it is `…`/
    ],
    [['--browser-endpoint', 'ftp://a.test?token=b'], /but it is `ftp:\/\/a\.test\?…`/],
    [['--allowed-domains', 'http://a.example'], /list of domains/],
    [['--browser-arg', '--proxy-server=http://127.0.0.1:1'], /--allow-private-network/],
    [['--proxy-server', 'https://127.0.0.1:1'], /--allow-private-network/],
    [['--enable-script-evaluation', 'false', '--tools', 'evaluate'], /contradict/],
    [['--enable-file-upload', 'false', '--tools', 'upload_file'], /contradict/],
    [['--read-only', '--tools', 'snapshot,click'], /contradict/],
    [['--read-only', '--upstream', 'peer'], /contradict/],
    [['--read-only', '--enable-script-evaluation', 'true'], /a script can change the page/],
    [
      ['--port', '4000'],
      /`--port` needs `--transport http`: on stdio the server listens on no port/
    ],
    [['--rate-limit', '5', '--host', '127.0.0.1'], /needs `--transport http`/],
    [['--auth-token', 'x'], /needs `--transport http`/],
    [['--upstream-restarts', '1'], /needs `--upstream`/],
    [
      ['--upstream', 'peer'],
      /`--headless` and `--upstream` contradict each other: set options of the browser in the command of the upstream server/
    ],
    [
      ['--connect', 'http://127.0.0.1:1'],
      /`--headless` and `--connect` contradict each other: pass this option to the server at the URL/
    ],
    [
      ['--allowed-domains', 'a.example', '--upstream', 'peer'],
      /network rules cannot be enforced in/
    ]
  ])
  for (const [args, why] of refused)
    test(`${args.join(' ')} stops the start`, async (t) => {
      const server = await startServer(t, ['--headless', ...args], {
        handshake: false,
        browser: false
      })
      assert.equal((await server.exit).code, 2)
      assert.match(server.stderr(), why)
      assert.equal(server.stderr().trim().split('\n').length, 1, server.stderr())
    })

  test('a tool that is not listed is not suggested', async (t) => {
    const site = await startSite(t, {
      '/alerting': "<title>Alerting</title><script>setTimeout(() => alert('Attention'))</script>"
    })
    const server = await startServer(t, ['--read-only', '--no-tools', 'find,create_session'])
    await server.ok('navigate', { url: site.url('/form') })
    const missing = (await server.call('get_text', { selector: '#nowhere' })).json
    assert.deepEqual(
      [missing.errorCode, missing.suggestion],
      ['ELEMENT_NOT_FOUND', 'get the current refs with `snapshot`']
    )
    await server.call('navigate', { url: site.url('/alerting') })
    const open = await until(async () => {
      const { isError, json } = await server.call('snapshot')
      return isError && json
    }, 'the dialog')
    assert.equal(open.errorCode, 'DIALOG_OPEN')
    assert.equal(open.suggestion, 'start the server without --read-only to change pages')
    const unknown = (await server.call('get_text', { sessionId: 'none', selector: 'body' })).json
    assert.equal(unknown.errorCode, 'SESSION_NOT_FOUND')
    assert.doesNotMatch(unknown.suggestion, /create_session/)
    const read = (await server.request('resources/read', { uri: 'playwright:///page/none/page-1' }))
      .error
    assert.equal(read.data.error.errorCode, 'SESSION_NOT_FOUND')
    assert.doesNotMatch(read.data.error.suggestion, /create_session/)
  })

  test('with --read-only, only tools that change nothing are listed and can be called', async (t) => {
    const server = await startServer(t, ['--read-only'])
    const { result } = await server.request('tools/list')
    const names = result.tools.map(({ name }) => name)
    for (const name of [
      'navigate',
      'snapshot',
      'screenshot',
      'read_page',
      'pages',
      'create_session',
      'get_request_log',
      'batch'
    ])
      assert.ok(names.includes(name), name)
    for (const name of [
      'click',
      'type',
      'fill',
      'evaluate',
      'upload_file',
      'set_cookies',
      'restore_state',
      'mock_response',
      'press',
      'handle_dialog'
    ])
      assert.ok(!names.includes(name), name)
    await server.ok('navigate', { url: 'data:text/html,<button>Go</button>' })
    const { isError, json } = await server.call('click', { selector: 'button' })
    assert.deepEqual(
      [isError, json.errorCode, json.details.rule],
      [true, 'BLOCKED_BY_POLICY', 'readOnly']
    )
    assert.match(json.message, /`click` is disabled on this server by `--read-only`/)
    const { results } = await server.ok('batch', {
      steps: [{ tool: 'click', arguments: { selector: 'button' } }]
    })
    assert.equal(results[0].error.errorCode, 'BLOCKED_BY_POLICY')
  })

  test('without effect because of others cause one warning, and the server starts', async (t) => {
    const silent = await startServer(
      t,
      [
        '--headless',
        '--allow-private-network',
        '--browser-arg=--host-resolver-rules=MAP a.test 127.0.0.1'
      ],
      { browser: false }
    )
    assert.doesNotMatch(silent.stderr(), /without effect/)
    for (const [args, what] of /** @type {const} */ ([
      [
        ['--browser-arg=--host-resolver-rules=MAP a.test 127.0.0.1'],
        /--host-resolver-rules has no effect/
      ],
      [['--browser', 'webkit'], /pages of WebKit can reach private addresses/],
      [
        ['--browser-endpoint', 'ws://127.0.0.1:1'],
        /pages of a running browser can reach private addresses/
      ]
    ])) {
      const server = await startServer(t, ['--headless', ...args], { browser: false })
      await server.awaitLog(what)
    }
  })

  test('--no-tools removes tools and groups', async (t) => {
    const server = await startServer(t, ['--no-tools', 'evaluate,group:network'])
    const { result } = await server.request('tools/list')
    const names = result.tools.map(({ name }) => name)
    assert.ok(
      names.includes('click') && !names.includes('evaluate') && !names.includes('mock_response'),
      names.join()
    )
    const { json } = await server.call('evaluate', { script: '1' })
    assert.deepEqual([json.errorCode, json.details.rule], ['BLOCKED_BY_POLICY', 'noTools'])
    const few = await startServer(t, ['--tools', 'navigate,snapshot'])
    const left = await few.call('click', { selector: 'button' })
    assert.deepEqual([left.json.errorCode, left.json.details.rule], ['BLOCKED_BY_POLICY', 'tools'])
    assert.equal((await few.call('clik')).error.code, -32602, 'no tool has this name')
  })

  test('an environment variable that has no effect is a warning', async (t) => {
    const server = await startServer(t, [], {
      env: { TROUPE_RATE_LIMIT: '5', TROUPE_AUTH_TOKEN: 'correct-horse' }
    })
    await server.awaitLog(/ignored: .*TROUPE_RATE_LIMIT.*needs `--transport http`/)
    assert.doesNotMatch(server.stderr(), /correct-horse/)
  })
})

test(
  'a page whose host name is rebound to 127.0.0.1 (DNS rebinding) gets no data from a server on a port',
  { timeout: 60_000 },
  async (t) => {
    const victim = await startHttpServer(t)
    const site = await startAttackSite(t)
    const internet = await startInternet(t, site.port)
    // A browser of the user, without network rules.
    const browser = await startServer(t, [
      '--allow-private-network',
      '--blocked-domains',
      'x.test',
      '--proxy-server',
      `http://127.0.0.1:${internet.port}`
    ])
    await browser.ok('navigate', { url: 'http://rebound.example/' })
    internet.rebind(victim.port)
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'x', version: '0' }
      }
    }
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream'
    }
    const script = `async (body, headers) => {
    const ask = async (path, options) => { const answer = await fetch(path, options); return [answer.status, await answer.text()] }
    const socket = new Promise((resolve) => { const socket = new WebSocket('ws://rebound.example/ws', 'mcp'); socket.onopen = () => resolve('open'); socket.onerror = () => resolve('refused') })
    return { post: await ask('/mcp', { method: 'POST', body, headers }), health: await ask('/health'), sessions: await ask('/api/sessions'), metrics: await ask('/metrics'), socket: await socket }
  }`
    const { value } = await browser.ok('evaluate', {
      script,
      args: [JSON.stringify(initialize), headers]
    })
    assert.ok(internet.asked.length > 1)
    assert.equal(value.socket, 'refused')
    // Load balancers use any host name. The response contains only the status.
    assert.deepEqual([value.health[0], JSON.parse(value.health[1])], [200, { status: 'ok' }])
    for (const way of ['post', 'sessions', 'metrics']) {
      assert.equal(value[way][0], 403, `${way}: ${value[way][1]}`)
      assert.doesNotMatch(value[way][1], /"result"|"status"|"sessions"|troupe_/)
    }
  }
)
