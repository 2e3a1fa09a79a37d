// Requests, routes, the console and errors.
import { awaitText, click, evaluate, scenario, snapshot, visit } from '../scenario.mjs'

/** @param {object} [more] @returns {import('../scenario.mjs').Call} */
const requests = (more = {}) => ['browser_network_requests', more]
/** @param {number} index @param {string} [part] @returns {import('../scenario.mjs').Call} */
const request = (index, part) => ['browser_network_request', { index, ...(part ? { part } : {}) }]
/** @param {string} level @param {object} [more] @returns {import('../scenario.mjs').Call} */
const messages = (level, more = {}) => ['browser_console_messages', { level, ...more }]
const FETCH = `<p id="out">Waiting</p><script>
const load = (url, init) => fetch(url, init).then(async (response) => { out.textContent = response.status + ' ' + await response.text() }, (error) => { out.textContent = String(error) })
</script>`

/** @type {import('../scenario.mjs').Scenario[]} */
export const NETWORK = [
  scenario(
    'requests',
    `<link rel="stylesheet" href="/style.css"><script src="/script.js"></script><img src="/pixel.png" alt="">${FETCH}
    <button onclick="load('/api/users')">Load</button>`,
    [
      requests(),
      click('ref:button "Load"'),
      awaitText('Ada'),
      requests(),
      requests({ static: true }),
      requests({ filter: 'users$' }),
      requests({ static: true, filter: '(css|js)' }),
      requests({ static: true, filename: 'requests.log' }),
      request(5, 'response-body'),
      request(5, 'response-headers'),
      request(5, 'request-body'),
      request(99)
    ]
  ),
  scenario(
    'request-details',
    `${FETCH}<button onclick="load('/api/accept', { method: 'POST', body: JSON.stringify({ a: 1 }), headers: { 'content-type': 'application/json', 'x-own': 'yes' } })">Post</button>
    <button onclick="load('/api/empty')">Empty</button><button onclick="load('/api/binary')">Binary</button>`,
    [
      click('ref:button "Post"'),
      click('ref:button "Empty"'),
      click('ref:button "Binary"'),
      requests(),
      request(2),
      request(2, 'request-headers'),
      request(2, 'request-body'),
      request(2, 'response-body'),
      request(3),
      request(3, 'response-body'),
      request(4, 'response-body'),
      ['browser_network_request', { index: 2, part: 'response-body', filename: 'body.txt' }],
      request(1)
    ]
  ),
  scenario(
    'failed-requests',
    `${FETCH}<button onclick="load('/api/missing')">Missing</button><button onclick="load('/api/broken')">Broken</button>
    <button onclick="load('/api/reset')">Reset</button><img src="/gone.png" alt="Gone">`,
    [
      click('ref:button "Missing"'),
      click('ref:button "Broken"'),
      click('ref:button "Reset"'),
      requests(),
      request(3),
      request(5),
      messages('error'),
      snapshot()
    ]
  ),
  scenario('redirects', '<a href="/redirect?to=/requests&times=2">Away</a>', [
    click('ref:link "Away"'),
    requests({ static: true }),
    visit('/redirect?to=/not-found'),
    requests({ static: true })
  ]),
  scenario('http-errors', '<p>Start</p>', [
    visit('/not-found'),
    snapshot(),
    visit('/server-error'),
    visit('/http-errors'),
    ['browser_navigate', { url: 'http://127.0.0.1:9/' }],
    ['browser_navigate', { url: 'http://no-such-host.invalid/' }],
    ['browser_navigate', { url: 'nonsense://x' }],
    ['browser_navigate', { url: 'http://' }],
    visit('/api/reset'),
    visit('/api/empty'),
    visit('/api/users'),
    snapshot()
  ]),
  scenario('routes', `${FETCH}<button onclick="load('/api/users')">Load</button>`, [
    ['browser_route_list'],
    [
      'browser_route',
      { pattern: '**/api/users', body: '{"mock":1}', contentType: 'application/json' }
    ],
    click('ref:button "Load"'),
    snapshot(),
    request(2),
    ['browser_route', { pattern: '**/api/users', status: 503 }],
    click('ref:button "Load"'),
    snapshot(),
    ['browser_route_list'],
    ['browser_unroute', { pattern: '**/api/users' }],
    ['browser_unroute', { pattern: '**/none' }],
    ['browser_route_list'],
    click('ref:button "Load"'),
    snapshot()
  ]),
  scenario(
    'route-headers',
    `${FETCH}<button onclick="load('/api/headers', { headers: { 'X-Removed': 'yes' } })">Load</button>`,
    [
      click('ref:button "Load"'),
      snapshot(),
      [
        'browser_route',
        { pattern: '**/api/*', headers: ['X-Added: here'], removeHeaders: 'X-Removed, other' }
      ],
      click('ref:button "Load"'),
      snapshot(),
      ['browser_route_list'],
      ['browser_route', { pattern: '**/x', headers: ['bad header'] }],
      [
        'browser_route',
        {
          pattern: '/[a-z]+/',
          status: 200,
          body: 'a body that is longer than fifty characters, so that it is cut'
        }
      ],
      ['browser_route_list'],
      ['browser_unroute'],
      ['browser_unroute']
    ]
  ),
  scenario('route-document', '<p>Original</p>', [
    [
      'browser_route',
      {
        pattern: '**/mocked',
        body: '<title>Mocked</title><p>Mocked page</p>',
        contentType: 'text/html'
      }
    ],
    visit('/mocked'),
    snapshot(),
    ['browser_route', { pattern: '**/plain', status: 404, body: 'none' }],
    visit('/plain'),
    requests({ static: true })
  ]),
  scenario('offline', `${FETCH}<button onclick="load('/api/text')">Load</button>`, [
    ['browser_network_state_set', { state: 'offline' }],
    click('ref:button "Load"'),
    evaluate('() => navigator.onLine'),
    visit('/requests'),
    ['browser_network_state_set', { state: 'online' }],
    visit('/offline'),
    click('ref:button "Load"'),
    snapshot()
  ]),
  scenario(
    'console',
    `<button onclick="console.error('again', { a: 1 })">Log</button><script>
    console.log('plain', 1, true, null, undefined); console.info('an info'); console.warn('a warning'); console.error('an error')
    console.debug('a detail'); console.log({ a: 1, b: { c: [1, 2] } }, [1, 'two']); console.log('%s is %d', 'x', 5)
    console.table([{ a: 1 }]); console.group('group'); console.log('inner'); console.groupEnd(); console.dir({ d: 1 })
    console.assert(1 === 2, 'not equal'); console.count('n'); console.trace('traced')</script>`,
    [
      snapshot(),
      messages('error'),
      messages('warning'),
      messages('info'),
      messages('debug'),
      click('ref:button "Log"'),
      snapshot(),
      messages('error', { filename: 'errors.log' }),
      ['browser_console_messages'],
      visit('/requests'),
      messages('debug'),
      messages('error', { all: true })
    ]
  ),
  scenario(
    'page-errors',
    `<button onclick="missing.call()">Throw</button><button onclick="Promise.reject(new TypeError('rejected'))">Reject</button>
    <button onclick="throw 'a string'">String</button><button onclick="console.log(document.body, () => 1, Symbol('s'), new Error('logged').message)">Values</button>`,
    [
      click('ref:button "Throw"'),
      click('ref:button "Reject"'),
      click('ref:button "String"'),
      click('ref:button "Values"'),
      messages('info')
    ]
  ),
  scenario(
    'console-on-load',
    `<script>for (let i = 0; i < 12; i++) console.log('message ' + i + (i % 5 ? '' : '\\nsecond line'))</script>`,
    [messages('info'), messages('error'), evaluate("() => console.warn('from code')"), snapshot()]
  ),
  scenario('evaluate', `<p id="p" class="c">Text</p>`, [
    ...[
      '() => document.title',
      '() => ({ a: 1, b: [true, null, "x"], c: { d: undefined } })',
      '() => undefined',
      '() => null',
      'document.title',
      '() => [1, 2, 3].map((n) => n * 2)',
      '() => { throw new Error("failed") }',
      '() => { throw "text" }',
      '() => Promise.resolve("later")',
      '() => Promise.reject(new RangeError("no"))',
      'async () => { await null; return 5 }',
      '() => document.body',
      '() => NaN',
      '() => 10n',
      '() => new Date(0)',
      '() => new Map([[1, 2]])',
      '() => "line\\nbreak"',
      'function () { return this === window }',
      '() => {',
      '() => window',
      '5'
    ].map((source) => evaluate(source)),
    evaluate('(element) => element.className', { target: '#p', element: 'paragraph' }),
    evaluate('(element) => element.textContent', { target: 'ref:paragraph' }),
    evaluate('(element) => element.none.x', { target: '#p' }),
    evaluate('() => 1', { target: '#none' }),
    evaluate('() => ({ saved: true })', { filename: 'value.json' }),
    evaluate(
      "() => { document.getElementById('p').textContent = 'Changed'; document.title = 'New title' }"
    ),
    snapshot()
  ]),
  scenario('evaluate-navigates', '<p>Before</p>', [
    evaluate("() => { location.href = '/requests' }"),
    snapshot(),
    evaluate('() => { document.body.innerHTML = "<h1>Rewritten</h1>" }'),
    snapshot()
  ])
]
