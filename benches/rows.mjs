/**
 * One row of the table. `bounds` are the greatest ratios to each peer that the project accepts, `most` is the greatest value. A row with `page` is
 * measured on a running server that shows that page; `bytes` tells to count the text of its answers too.
 * @typedef {{ id: string, title: string, unit: string, bounds: { peer?: number, peerFast?: number }, most?: number, page?: string,
 *   action?: import('./servers.mjs').Action, argument?: string, bytes?: boolean }} Row
 */

const TEXT = 'eighteen character'

/** @type {Row[]} */
export const ROWS = [
  { id: 'list', title: 'spawn → tools/list answered', unit: 'ms', bounds: { peer: 0.3 } },
  { id: 'first', title: 'spawn → first page loaded', unit: 'ms', bounds: { peer: 0.5 } },
  { id: 'click', title: 'click', unit: 'ms', bounds: { peer: 0.02, peerFast: 0.2 }, page: '/', action: 'click' },
  { id: 'evaluate', title: 'evaluate', unit: 'ms', bounds: { peerFast: 0.3 }, page: '/', action: 'evaluate' },
  { id: 'type', title: 'type 18 characters', unit: 'ms', bounds: {}, page: '/', action: 'type', argument: TEXT },
  { id: 'snapshot', title: 'snapshot, small page', unit: 'ms', bounds: {}, page: '/', action: 'snapshot', bytes: true },
  { id: 'rows', title: 'snapshot, 400 rows', unit: 'ms', bounds: {}, page: '/rows', action: 'snapshot', bytes: true },
  { id: 'uncut', title: '… every row of them', unit: 'ms', bounds: {}, page: '/rows', action: 'snapshotUncut', bytes: true },
  { id: 'screenshot', title: 'screenshot', unit: 'ms', bounds: {}, page: '/', action: 'screenshot' },
  { id: 'navigate', title: 'navigate', unit: 'ms', bounds: { peer: 0.5, peerFast: 0.9 }, page: '/', action: 'navigate' },
  { id: 'memory', title: 'memory of the server', unit: 'MiB', bounds: { peer: 0.6 } },
  { id: 'http', title: 'HTTP call that does nothing', unit: 'ms', bounds: {}, most: 0.2 },
  { id: 'hundred', title: '100 clients: load, click, read', unit: 's', bounds: { peer: 0.35 } },
  { id: 'hundredMemory', title: '… memory of the server', unit: 'MiB', bounds: { peer: 0.15 } },
  { id: 'hundredWrong', title: '… clients that failed', unit: '', bounds: {}, most: 0 }
]
