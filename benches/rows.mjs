/**
 * One row of the table. `bounds` are the greatest ratios to each peer that the project accepts, `byteBounds` the same of
 * the text, `limit` the most that Troupe itself may take. A row with `page` is measured on a running server that shows
 * that page: by `action`, whose answers' text is counted too where `bytes` says so, or by `read`, as steps of an agent
 * whose reading is counted (reading.mjs). `pause`: before each call so many milliseconds at least and at most, at random: what waits for
 * the browser's next frame would else always begin at the same point between two, or where the last one is still on its way;
 * `times`: so many calls in a round, where chance has much to say.
 * @typedef {{ id: string, title: string, unit: string, bounds: Bounds, byteBounds?: Bounds, limit?: number, page?: string,
 *   action?: import('./servers.mjs').Action, argument?: string, bytes?: boolean, pause?: readonly [number, number], times?: number, read?: import('./reading.mjs').Step[] }} Row
 * @typedef {{ peer?: number, peerFast?: number, floor?: number }} Bounds
 */

const TEXT = 'eighteen character'

/** What is told of an action is read where the server tells it: in the action's own answer, or by another look. */
const AGENT = /** @type {const} */ ([
  'navigate',
  'look',
  'click',
  'look at changes',
  'type',
  'look at changes'
])
/** The same calls on both sides, whatever the answers have told already. */
const SAME = /** @type {const} */ (['navigate', 'look', 'click', 'look', 'type', 'look'])

/** @type {Row[]} */
export const ROWS = [
  { id: 'start', title: 'spawn → initialize answered', unit: 'ms', bounds: { floor: 1.25 } },
  { id: 'list', title: 'spawn → tools/list answered', unit: 'ms', bounds: { peer: 0.3 } },
  {
    id: 'first',
    title: 'spawn → first page loaded',
    unit: 'ms',
    bounds: { peer: 0.5, floor: 1.2 }
  },
  { id: 'session', title: 'new session with a page', unit: 'ms', bounds: {} },
  { id: 'sessionWarm', title: '… from one made ahead', unit: 'ms', bounds: { floor: 0.3 } },
  {
    id: 'click',
    title: 'click',
    unit: 'ms',
    bounds: { peer: 0.02, peerFast: 0.1, floor: 2.5 },
    page: '/',
    action: 'click'
  },
  {
    id: 'clickRows',
    title: 'click beside 400 rows',
    unit: 'ms',
    bounds: { peerFast: 0.3 },
    page: '/rows',
    action: 'click'
  },
  { id: 'changes', title: '… times as long as without changes', unit: '', bounds: {}, limit: 2 },
  {
    id: 'structureFrames',
    title: 'click beside 15 iframes, by a click without',
    unit: '',
    bounds: {},
    limit: 2
  },
  {
    id: 'structureBlankClick',
    title: 'first click beside 1,500 blank spans',
    unit: 'ms',
    bounds: {},
    limit: 60
  },
  {
    id: 'structureHosts',
    title: 'navigate: 20 custom elements, by without',
    unit: '',
    bounds: {},
    limit: 1.25
  },
  {
    id: 'structureHostsClosed',
    title: '… 10 of them with closed shadow roots',
    unit: '',
    bounds: {}
  },
  {
    id: 'evaluate',
    title: 'evaluate',
    unit: 'ms',
    bounds: { peer: 0.02, peerFast: 0.15, floor: 2 },
    page: '/',
    action: 'evaluate'
  },
  {
    id: 'fill',
    title: 'fill in 18 characters',
    unit: 'ms',
    bounds: { peer: 1 },
    page: '/',
    action: 'fill',
    argument: TEXT
  },
  // The peer's tool fills, unless it is told to press each key.
  {
    id: 'keys',
    title: 'type 18 characters, key by key',
    unit: 'ms',
    bounds: { peerFast: 0.5, floor: 2 },
    page: '/',
    action: 'typeByKeys',
    argument: TEXT
  },
  {
    id: 'snapshot',
    title: 'snapshot, small page',
    unit: 'ms',
    bounds: {},
    page: '/',
    action: 'snapshot',
    bytes: true
  },
  {
    id: 'rows',
    title: 'snapshot, 400 rows',
    unit: 'ms',
    bounds: { peerFast: 0.35, floor: 1.5 },
    byteBounds: { peer: 0.35 },
    page: '/rows',
    action: 'snapshot',
    bytes: true
  },
  {
    id: 'uncut',
    title: '… every row of them',
    unit: 'ms',
    bounds: {},
    page: '/rows',
    action: 'snapshotUncut',
    bytes: true
  },
  { id: 'links', title: 'walk of 3,000 links, in the page', unit: 'ms', bounds: {}, limit: 60 },
  {
    id: 'readRows',
    title: 'an agent reads: 400 rows',
    unit: 'B',
    bounds: { peer: 0.2 },
    page: '/rows',
    read: [...AGENT],
    argument: TEXT
  },
  {
    id: 'readForm',
    title: 'an agent reads: small form',
    unit: 'B',
    bounds: { peer: 0.5 },
    page: '/form',
    read: [...AGENT],
    argument: TEXT
  },
  {
    id: 'readSame',
    title: '… snapshots after all',
    unit: 'B',
    bounds: {},
    page: '/form',
    read: [...SAME],
    argument: TEXT
  },
  {
    id: 'screenshot',
    title: 'screenshot',
    unit: 'ms',
    bounds: { peer: 1.05, floor: 1.15 },
    page: '/',
    action: 'screenshot',
    pause: [50, 67],
    times: 15
  },
  {
    id: 'screenshot-again',
    title: '… right after another',
    unit: 'ms',
    bounds: { floor: 1.15 },
    page: '/',
    action: 'screenshot',
    pause: [0, 17],
    times: 15
  },
  {
    id: 'navigate',
    title: 'navigate',
    unit: 'ms',
    bounds: { peer: 0.5, peerFast: 0.9, floor: 1.25 },
    page: '/',
    action: 'navigate'
  },
  { id: 'gate', title: '… the gate for pages adds', unit: 'ms', bounds: {} },
  { id: 'memory', title: 'memory of the server', unit: 'MiB', bounds: { peer: 0.6 } },
  { id: 'memoryOwn', title: '… above what Node takes alone', unit: 'MiB', bounds: { peer: 0.3 } },
  { id: 'recordMedian', title: 'recording a call adds', unit: 'ms', bounds: {}, limit: 1 },
  { id: 'recordLate', title: '… to the slowest in a hundred', unit: 'ms', bounds: {}, limit: 3 },
  { id: 'recordSaving', title: 'saving a session adds', unit: 'ms', bounds: {}, limit: 0.1 },
  { id: 'recordStream', title: '2,000 calls into one record', unit: 's', bounds: {}, limit: 1 },
  { id: 'upstreamMedian', title: 'passing a call through adds', unit: 'ms', bounds: {}, limit: 1 },
  { id: 'upstreamLate', title: '… to the slowest in a hundred', unit: 'ms', bounds: {} },
  // On Firefox, which no peer here is compared with.
  { id: 'firefoxClick', title: 'Firefox: click', unit: 'ms', bounds: {}, limit: 6 },
  { id: 'firefoxEvaluate', title: '… evaluate', unit: 'ms', bounds: {}, limit: 1.5 },
  { id: 'firefoxNavigate', title: '… navigate', unit: 'ms', bounds: {}, limit: 80 },
  { id: 'firefoxSession', title: '… new session', unit: 'ms', bounds: {}, limit: 150 },
  // On full Chrome with --headless, both sides.
  { id: 'chromeFirst', title: 'Chrome: spawn → first page', unit: 'ms', bounds: { peer: 0.5 } },
  { id: 'chromeNavigate', title: '… navigate', unit: 'ms', bounds: { peer: 0.5 } },
  { id: 'chromeClick', title: '… click', unit: 'ms', bounds: { peer: 0.02 } },
  { id: 'chromeTen', title: '… ten clients at once', unit: 'ms', bounds: { peer: 0.5 } },
  { id: 'http', title: 'HTTP call that does nothing', unit: 'ms', bounds: {}, limit: 0.2 },
  {
    id: 'hundred',
    title: '100 clients: load, click, read (of those that can)',
    unit: 's',
    bounds: { peer: 0.35 }
  },
  { id: 'hundredMemory', title: '… memory of the server', unit: 'MiB', bounds: { peer: 0.15 } },
  { id: 'hundredWrong', title: '… clients that failed', unit: '', bounds: {}, limit: 0 }
]
