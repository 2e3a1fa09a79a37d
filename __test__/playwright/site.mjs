// The site of the differential test: the page of each scenario, and resources that they share.
import { Buffer } from 'node:buffer'
import { PAGES } from './scenarios.mjs'
import { startSite } from '../support/site.mjs'

/** @typedef {import('../support/site.mjs').Route} Route */

/** A PNG image of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64'
)

/** @type {Record<string, Route>} */
const RESOURCES = {
  '/api/users': (_request, response) =>
    send(response, 200, 'application/json', '{"users":["Ada","Grace"]}'),
  '/api/text': (_request, response) => send(response, 200, 'text/plain', 'plain text'),
  '/api/empty': (_request, response) => void response.writeHead(204).end(),
  '/api/missing': (_request, response) =>
    send(response, 404, 'application/json', '{"error":"no such user"}'),
  '/api/broken': (_request, response) => send(response, 500, 'text/plain', 'broken'),
  '/api/binary': (_request, response) =>
    send(response, 200, 'application/octet-stream', Buffer.from([0, 1, 2, 253, 254, 255])),
  // The headers that a route can add or remove.
  '/api/headers': (request, response) => {
    const { 'x-added': added, 'x-removed': removed } = request.headers
    send(response, 200, 'application/json', JSON.stringify({ added, removed }))
  },
  '/api/accept': (_request, response) => send(response, 201, 'text/plain', 'created'),
  '/api/reset': (request) => void request.socket.destroy(),
  '/pixel.png': (_request, response) => send(response, 200, 'image/png', PIXEL),
  '/style.css': (_request, response) => send(response, 200, 'text/css', 'h1 { color: green }'),
  '/script.js': (_request, response) =>
    send(response, 200, 'text/javascript', 'window.scriptLoaded = true'),
  '/download/report.txt': (_request, response) => {
    response.setHeader('content-disposition', 'attachment; filename="report.txt"')
    send(response, 200, 'text/plain', 'the report\n')
  },
  '/download/notes.txt': (_request, response) => {
    response.setHeader('content-disposition', 'attachment; filename="notes.txt"')
    send(response, 200, 'text/plain', 'the report\n')
  },
  '/download/odd': (_request, response) => {
    response.setHeader('content-disposition', 'attachment; filename="my report (1).csv"')
    send(response, 200, 'text/csv', 'a,b\n1,2\n')
  },
  '/set-cookies': (_request, response) => {
    response.setHeader('set-cookie', [
      'plain=1; Path=/',
      'hidden=2; Path=/; HttpOnly; SameSite=Lax'
    ])
    send(response, 200, 'text/html', '<title>Cookies</title><p>Cookies are set</p>')
  },
  '/not-found': (_request, response) =>
    send(response, 404, 'text/html', '<title>Not found</title><h1>No such page</h1>'),
  '/server-error': (_request, response) =>
    send(response, 500, 'text/html', '<title>Error</title><h1>The server failed</h1>')
}

/**
 * Starts the site on a free port of 127.0.0.1.
 * @param {{ after: (end: () => unknown) => void }} t
 */
export function startDifferentialSite(t) {
  return startSite(t, { ...PAGES, ...RESOURCES })
}

/**
 * @param {import('node:http').ServerResponse} response
 * @param {number} status @param {string} type @param {string | Buffer} body
 */
function send(response, status, type, body) {
  response
    .writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
    .end(body)
}
