import { JOBS } from '../__test__/apps/jobs/index.mjs'

/**
 * One row of the table.
 * - `bounds`: the maximum ratio to each peer; `byteBounds`: the same for the bytes of the result;
 *   `limit`: Troupe's maximum
 * - `page`: the page that a running server shows, for rows with `action` (a call; `bytes` also
 *   counts its result) or `read` (steps of an agent whose reading is counted, see reading.mjs)
 * - `pause`: a random pause before each call (minimum and maximum in ms), so that calls do not
 *   always begin at the same point between two frames
 * - `times`: the number of calls in a round, for rows that vary much
 * @typedef {{ id: string, title: string, unit: string, bounds: Bounds, byteBounds?: Bounds, limit?:
 *   number, page?: string,
 * action?: import('./servers.mjs').Action, argument?: string, bytes?: boolean, pause?: readonly
 * [number, number], times?: number, read?: import('./reading.mjs').Step[] }} Row
 * @typedef {{ peer?: number, peerFast?: number, floor?: number }} Bounds
 */

const TEXT = 'eighteen character'

/**
 * The agent reads the effect of an action in its result, or in another snapshot if the result does
 * not contain it.
 */
const AGENT = /** @type {const} */ ([
  'navigate',
  'snapshot',
  'click',
  'snapshot after an action',
  'type',
  'snapshot after an action'
])
/** The same calls on both sides. */
const SAME = /** @type {const} */ ([
  'navigate',
  'snapshot',
  'click',
  'snapshot',
  'type',
  'snapshot'
])

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
  { id: 'sessionWarm', title: '… from one created in advance', unit: 'ms', bounds: { floor: 0.3 } },
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
    title: 'click on a page with 400 rows',
    unit: 'ms',
    bounds: { peerFast: 0.3 },
    page: '/rows',
    action: 'click'
  },
  { id: 'changes', title: '… ratio to a click without changes', unit: '', bounds: {}, limit: 2 },
  {
    id: 'structureFrames',
    title: 'click on a page with 15 iframes, ratio to none',
    unit: '',
    bounds: {},
    limit: 2
  },
  {
    id: 'structureBlankClick',
    title: 'first click on a page with 1,500 empty elements',
    unit: 'ms',
    bounds: {},
    limit: 60
  },
  {
    id: 'structureHosts',
    title: 'navigate: 20 custom elements, ratio to none',
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
  // The peer's tool sets the value unless `slowly` is given.
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
    title: '… with all rows in the result',
    unit: 'ms',
    bounds: {},
    page: '/rows',
    action: 'snapshotUncut',
    bytes: true
  },
  {
    id: 'links',
    title: 'snapshot of 3,000 links: time in the page',
    unit: 'ms',
    bounds: {},
    limit: 60
  },
  {
    id: 'readRows',
    title: 'an agent reads a page with 400 rows',
    unit: 'B',
    bounds: { peer: 0.2 },
    page: '/rows',
    read: [...AGENT],
    argument: TEXT
  },
  {
    id: 'readForm',
    title: 'an agent reads a small form',
    unit: 'B',
    bounds: { peer: 0.5 },
    page: '/form',
    read: [...AGENT],
    argument: TEXT
  },
  {
    id: 'readSame',
    title: '… with a snapshot after each action',
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
  { id: 'proxy', title: '… added by the egress proxy', unit: 'ms', bounds: {} },
  { id: 'memory', title: 'memory of the server', unit: 'MiB', bounds: { peer: 0.6 } },
  { id: 'memoryOwn', title: '… more than Node alone', unit: 'MiB', bounds: { peer: 0.3 } },
  { id: 'recordMedian', title: 'recording adds to a call', unit: 'ms', bounds: {}, limit: 1 },
  { id: 'recordLate', title: '… to the 99th percentile', unit: 'ms', bounds: {}, limit: 3 },
  {
    id: 'recordSaving',
    title: 'saving the session adds to a call',
    unit: 'ms',
    bounds: {},
    limit: 0.1
  },
  {
    id: 'recordStream',
    title: 'writing 2,000 calls to the record',
    unit: 's',
    bounds: {},
    limit: 1
  },
  { id: 'job', title: 'three tasks of an agent', unit: 'turns', bounds: { peer: 0.4 } },
  { id: 'job-bytes', title: '… bytes read', unit: 'B', bounds: { peer: 0.35 } },
  ...JOBS.flatMap(({ name, title }) => [
    { id: `job-${name}`, title: `… ${title}`, unit: 'turns', bounds: {} },
    { id: `job-${name}-bytes`, title: '… bytes read', unit: 'B', bounds: {} }
  ]),
  // The tools of @playwright/mcp, offered by Troupe.
  { id: 'setFirst', title: 'Playwright set: first page', unit: 'ms', bounds: { peer: 0.5 } },
  { id: 'setClick', title: '… click', unit: 'ms', bounds: { peer: 0.02 } },
  { id: 'setNavigate', title: '… navigate', unit: 'ms', bounds: { peer: 0.5 } },
  { id: 'setRows', title: '… snapshot, 400 rows', unit: 'ms', bounds: { peer: 0.3 } },
  {
    id: 'upstreamMedian',
    title: 'an upstream server adds to a call',
    unit: 'ms',
    bounds: {},
    limit: 1
  },
  { id: 'upstreamLate', title: '… to the 99th percentile', unit: 'ms', bounds: {} },
  // On Firefox, without a comparison.
  { id: 'firefoxClick', title: 'Firefox: click', unit: 'ms', bounds: {}, limit: 6 },
  { id: 'firefoxEvaluate', title: '… evaluate', unit: 'ms', bounds: {}, limit: 1.5 },
  { id: 'firefoxNavigate', title: '… navigate', unit: 'ms', bounds: {}, limit: 80 },
  { id: 'firefoxSession', title: '… new session', unit: 'ms', bounds: {}, limit: 150 },
  // On full Chrome with --headless, both sides.
  { id: 'chromeFirst', title: 'Chrome: spawn → first page', unit: 'ms', bounds: { peer: 0.5 } },
  { id: 'chromeNavigate', title: '… navigate', unit: 'ms', bounds: { peer: 0.5 } },
  { id: 'chromeClick', title: '… click', unit: 'ms', bounds: { peer: 0.02 } },
  { id: 'chromeTen', title: '… ten clients at once', unit: 'ms', bounds: { peer: 0.5 } },
  // In a Selenium Grid on this machine, and on the same browser without the Grid.
  { id: 'gridFirst', title: 'Selenium Grid: spawn → first page', unit: 'ms', bounds: {} },
  { id: 'localFirst', title: '… without the Grid', unit: 'ms', bounds: {} },
  { id: 'gridNavigate', title: 'Selenium Grid: navigate', unit: 'ms', bounds: {} },
  { id: 'localNavigate', title: '… without the Grid', unit: 'ms', bounds: {} },
  { id: 'gridClick', title: 'Selenium Grid: click', unit: 'ms', bounds: {} },
  { id: 'localClick', title: '… without the Grid', unit: 'ms', bounds: {} },
  { id: 'gridEvaluate', title: 'Selenium Grid: evaluate', unit: 'ms', bounds: {} },
  { id: 'localEvaluate', title: '… without the Grid', unit: 'ms', bounds: {} },
  { id: 'gridSnapshot', title: 'Selenium Grid: snapshot', unit: 'ms', bounds: {} },
  { id: 'localSnapshot', title: '… without the Grid', unit: 'ms', bounds: {} },
  { id: 'http', title: 'HTTP call that needs no browser', unit: 'ms', bounds: {}, limit: 0.2 },
  {
    id: 'hundred',
    title: '100 clients: load, click, read (those that succeed)',
    unit: 's',
    bounds: { peer: 0.35 }
  },
  { id: 'hundredMemory', title: '… memory of the server', unit: 'MiB', bounds: { peer: 0.15 } },
  { id: 'hundredWrong', title: '… clients that failed', unit: '', bounds: {}, limit: 0 }
]
