// Helpers for tests of resumed sessions: a site with a log-in, and every kind of storage.
import { renderPage } from './html.mjs'
import { startServer } from './server.mjs'
import { startSite } from './site.mjs'
import { pause } from './wait.mjs'

const MEMBERS = renderPage(
  'Members',
  `<h1>Members</h1><iframe id="inner" src="/inner" title="Inner"></iframe>
  <form action="/echo"><label>Name <input id="name" name="name"></label> <label>Note <textarea id="note"></textarea></label>
    <label><input id="agree" type="checkbox"> Agree</label> <label>Size <select id="size"><option>small<option>large</select></label>
    <label>Password <input id="password" type="password"></label> <button type="button" id="save">Save</button></form>
  <div id="box" style="height:60px;overflow:auto"><div style="height:900px">tall</div></div>
  <div style="height:3000px"></div><p id="end">End</p>
  <script>save.onclick = () => { document.title = 'Saved ' + document.querySelector('#name').value }</script>`
)

/**
 * Starts a site whose page `/members` requires the HttpOnly cookie that `/log-in` sets.
 * @param {{ after: (end: () => unknown) => void }} t @param {Record<string, any>} [routes]
 */
export const memberSite = (t, routes = {}) =>
  startSite(t, {
    '/log-in': (_request, response) =>
      response
        .writeHead(302, { location: '/members', 'set-cookie': 'sid=42; HttpOnly; Path=/' })
        .end(),
    '/members': (request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(
        /sid=42/.test(request.headers.cookie ?? '')
          ? MEMBERS
          : renderPage('Log in', '<h1>Who are you?</h1>')
      )
    },
    '/inner': renderPage(
      'Inner',
      '<button id="press">Press</button> <input id="field" aria-label="Field">'
    ),
    '/plain': renderPage('Plain', '<h1>Plain</h1>'),
    ...routes
  })

/**
 * Logs in and fills half of the form.
 * @param {import('./rpc.mjs').RpcClient} server
 * @param {any} site
 * @param {string} [sessionId]
 */
export async function logInAsMember(server, site, sessionId) {
  await server.ok('navigate', { sessionId, url: site.url('/log-in') })
  await server.ok('fill', { sessionId, selector: '#name', value: 'Ann' })
  await server.ok('type', { sessionId, selector: '#note', text: 'half a no' })
  await server.ok('check', { sessionId, selector: '#agree' })
  await server.ok('select', { sessionId, selector: '#size', value: 'large' })
}

/**
 * Returns the values of the half-filled form.
 * @param {import('./server.mjs').Server} server
 * @param {string} [sessionId]
 */
export const formOf = async (server, sessionId) =>
  (
    await server.ok('evaluate', {
      sessionId,
      script:
        '[document.title, ...["name", "note", "size", "password"].map((id) => document.getElementById(id)?.value), document.getElementById("agree")?.checked]'
    })
  ).value

export const HALF_FILLED = ['Members', 'Ann', 'half a no', 'large', '', true]

/**
 * Waits until the current state must be saved by the documentation. Tests then kill a process
 * without checking that it has been saved.
 */
export const awaitDurableState = () =>
  pause(1000, 'state that is older than a second survives a crash')

/**
 * Starts a server on a record.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {string} record
 * @param {string[]} [args]
 */
export const startOn = (t, record, args = []) => startServer(t, ['--store', record, ...args])

/** Runs in a page: stores every type of value. */
export const FILL_STORAGE = `async () => {
  localStorage.setItem('plain', 'one'); localStorage.setItem('__proto__', '"{}\\u2028'); sessionStorage.setItem('tab', 'two')
  const cycle = { at: new Date(1) }
  cycle.self = cycle
  const shared = { deep: [1, 'a', null, true, { b: 1.1 }] }
  const values = {
    text: 'text', zero: 0, minusZero: -0, nan: NaN, infinity: Infinity, nothing: null, missing: undefined, yes: true, large: 12345678901234567890n,
    fraction: 0.1 + 0.2, exact: 1e21, date: new Date(1e12), expression: /a"b/gi, map: new Map([[1, { a: 2 }], ['x', new Date(3)]]), set: new Set([1, 'b']),
    bytes: new Uint8Array([1, 2, 255]), floats: new Float64Array([1.5, NaN]), longs: new BigInt64Array([5n]), buffer: new Uint8Array([9, 8]).buffer,
    cycle, shared: [shared, shared], sparse: [1, undefined, 3], empty: {}, list: [], plain: { x: { y: [1, 2] } }, unset: { a: undefined }, error: new TypeError('boo')
  }
  const database = await new Promise((resolve, reject) => {
    const request = indexedDB.open('everything', 3)
    request.onupgradeneeded = () => {
      const store = request.result.createObjectStore('values')
      store.createIndex('byX', 'x.y', { multiEntry: true })
      store.createIndex('both', ['a', 'b'], { unique: false })
      request.result.createObjectStore('inline', { keyPath: 'id', autoIncrement: true })
      request.result.createObjectStore('two', { keyPath: ['a', 'b'] })
      request.result.createObjectStore('keys')
    }
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  const change = database.transaction(['values', 'inline', 'two', 'keys'], 'readwrite')
  for (const [key, value] of Object.entries(values)) change.objectStore('values').put(value, key)
  change.objectStore('inline').put({ name: 'first' })
  change.objectStore('two').put({ a: 1, b: new Date(7) })
  for (const key of ['k', 2, new Date(0), [1, 'b'], new Uint8Array([1, 2]).buffer]) change.objectStore('keys').put(1, key)
  await new Promise((resolve, reject) => { change.oncomplete = resolve; change.onabort = () => reject(change.error) })
  database.close()
}`

/**
 * Runs in a page: returns its whole storage as a text in which every type of value is distinct.
 */
export const DESCRIBE_STORAGE = `async () => {
  const describe = (value, above = []) => {
    if (above.includes(value)) return 'up ' + (above.length - above.indexOf(value))
    if (Object.is(value, -0)) return '-0'
    if (typeof value !== 'object' || value === null) return typeof value + ' ' + String(value)
    const inside = (part) => describe(part, [...above, value])
    const kind = Object.prototype.toString.call(value).slice(8, -1)
    if (value instanceof Date) return kind + value.toISOString()
    if (value instanceof RegExp) return String(value)
    if (value instanceof Error) return value.name + value.message
    if (value instanceof ArrayBuffer) return kind + new Uint8Array(value)
    if (ArrayBuffer.isView(value)) return kind + Array.from(value)
    if (value instanceof Map) return kind + JSON.stringify(Array.from(value, ([k, v]) => [inside(k), inside(v)]))
    if (value instanceof Set) return kind + JSON.stringify(Array.from(value, inside))
    return kind + JSON.stringify(Object.entries(value).map(([k, v]) => [k, inside(v)]))
  }
  const done = (request) => new Promise((resolve, reject) => { request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error) })
  const storage = (area) => Object.entries(area).sort().map(([name, value]) => name + '=' + value)
  const databases = []
  for (const { name, version } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name))
    const stores = []
    for (const each of Array.from(database.objectStoreNames)) {
      const store = database.transaction(each).objectStore(each)
      const [keys, values] = await Promise.all([done(store.getAllKeys()), done(store.getAll())])
      const indexes = Array.from(store.indexNames, (index) => [index, store.index(index).keyPath, store.index(index).multiEntry, store.index(index).unique])
      stores.push({ each, keyPath: store.keyPath, auto: store.autoIncrement, indexes, records: keys.map((key, at) => describe(key) + ': ' + describe(values[at])) })
    }
    database.close()
    databases.push({ name, version, stores })
  }
  return { local: storage(localStorage), session: storage(sessionStorage), databases }
}`
