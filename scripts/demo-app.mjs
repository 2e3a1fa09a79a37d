// The app that the demo uses: Swagger UI from its npm package, with a small pet store as its
// server.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join, normalize } from 'node:path'
import { serve } from './serve.mjs'

const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))

const TYPES = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.png': 'image/png'
}

const PETS = new Map([
  [1, { id: 1, name: 'Ada', kind: 'cat', status: 'available' }],
  [7, { id: 7, name: 'Grace', kind: 'owl', status: 'sold' }]
])

const API = {
  openapi: '3.0.3',
  info: { title: 'Pet store', version: '1.0.0', description: 'A small store on this machine.' },
  paths: {
    '/api/pets': {
      get: {
        summary: 'List the pets',
        operationId: 'listPets',
        tags: ['pets'],
        responses: { 200: { description: 'All' } }
      }
    },
    '/api/pets/{petId}': {
      get: {
        summary: 'Find a pet by its number',
        operationId: 'getPet',
        tags: ['pets'],
        parameters: [{ name: 'petId', in: 'path', required: true, schema: { type: 'integer' } }],
        responses: { 200: { description: 'The pet' }, 404: { description: 'No such pet' } }
      }
    }
  }
}

const INITIALIZER = `window.ui = SwaggerUIBundle({
  url: '/openapi.json', dom_id: '#swagger-ui', validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset], layout: 'StandaloneLayout'
})`

/** Serves the app. */
export async function serveApp() {
  const { url, close } = await serve(async (request, response) => {
    const { status, type, body } = await answer(
      new URL(request.url ?? '/', 'http://localhost').pathname
    )
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  return { url: `${url}/`, close }
}

/** @param {string} path */
async function answer(path) {
  if (path === '/openapi.json') return json(200, API)
  if (path === '/api/pets') return json(200, [...PETS.values()])
  if (path.startsWith('/api/pets/')) {
    const pet = PETS.get(Number(path.slice('/api/pets/'.length)))
    return pet ? json(200, pet) : json(404, { message: 'No such pet' })
  }
  if (path === '/swagger-initializer.js')
    return { status: 200, type: TYPES['.js'], body: INITIALIZER }
  const file = normalize(path === '/' ? '/index.html' : path)
  try {
    return {
      status: 200,
      type: TYPES[extname(file)] ?? 'text/plain',
      body: await readFile(join(SWAGGER_UI, file))
    }
  } catch {
    return json(404, { message: 'Not found' })
  }
}

/** @param {number} status @param {unknown} value */
function json(status, value) {
  return { status, type: 'application/json', body: JSON.stringify(value) }
}
