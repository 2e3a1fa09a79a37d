// An S3 server (moto) with an empty bucket in memory.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer, request as sendRequest } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { listen } from './sockets.mjs'
import { IDENTITY, TRUST } from './tls.mjs'
import { within } from './wait.mjs'

const PYTHON = fileURLToPath(new URL('../../.cache/venv-s3/bin/python', import.meta.url))
const MOTO = fileURLToPath(new URL('../../.cache/venv-s3/bin/moto_server', import.meta.url))

/** The reason why tests cannot use an S3 server; false if they can. */
export const NO_S3 = existsSync(MOTO) ? false : 'moto is not installed: npm run setup'

/** The credentials of the tests. */
export const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'KEY-OF-THE-TESTS',
  AWS_SECRET_ACCESS_KEY: 'a-secret/of+the-tests'
}

/** moto reads the service from the credential, and does not check the signature. */
const AUTHORIZATION =
  'AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0'

/**
 * Starts a server, and ends it with the test.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {{ checksCredentials?: boolean }} [options] `checksCredentials`: it rejects every key
 */
export async function startS3(t, { checksCredentials = false } = {}) {
  // The creation of the bucket is not checked.
  const env = checksCredentials ? { INITIAL_NO_AUTH_ACTION_COUNT: '1' } : {}
  const child = spawn(PYTHON, ['-u', MOTO, '-H', '127.0.0.1', '-p', '0'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  // A test that fails in another way must not leave it running.
  process.once('exit', () => child.kill('SIGKILL'))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  t.after(async () => {
    child.kill('SIGKILL')
    await within(ended, 'the end of the S3 server')
  })
  /** @type {Promise<string>} */
  const address = new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? []
      if (url) resolve(url)
    })
    child.once('exit', (code) => reject(new Error(`moto ended with ${code}`)))
  })
  const s3 = new S3(await within(address, 'the start of the S3 server'))
  await s3.createBucket('files')
  return s3
}

class S3 {
  /** @param {string} url */
  constructor(url) {
    this.url = url
  }

  /** The environment of a Troupe server that uses it. */
  get env() {
    return { AWS_ENDPOINT_URL: this.url, AWS_REGION: 'us-east-1', ...CREDENTIALS }
  }

  /** @param {string} name */
  async createBucket(name) {
    const { ok, status } = await fetch(`${this.url}/${name}`, { method: 'PUT' })
    if (!ok) throw new Error(`the bucket was not created: ${status}`)
  }

  /** Reads the object of a URL `s3://BUCKET/KEY`. @param {string} object */
  async get(object) {
    const response = await fetch(object.replace('s3:/', this.url), {
      headers: { authorization: AUTHORIZATION }
    })
    const body = Buffer.from(await response.arrayBuffer())
    return { status: response.status, type: response.headers.get('content-type'), body }
  }

  /** Returns the keys of all objects of the bucket. */
  async keys() {
    const { body } = await this.get('s3://files?list-type=2')
    return [...String(body).matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key)
  }
}

/**
 * What happens to a request instead of its delivery: a response, no response, or the end of the
 * connection.
 * @typedef {{ status: number, body: string } | 'hang' | 'reset'} Fault
 */

/**
 * Starts a proxy before an S3 server. It closes with the test.
 * @param {import('node:test').TestContext} t
 * @param {string} url of the S3 server
 * @param {{ tls?: boolean, fault?: (method: string, path: string) => Fault | undefined }} options
 * @returns {Promise<Record<string, string>>} the environment of a Troupe server that uses the proxy
 */
export async function startS3Proxy(t, url, { tls = false, fault }) {
  /** @type {import('node:http').RequestListener} */
  const respond = (request, response) => {
    const { method = '', url: path = '', headers } = request
    const found = fault?.(method, path)
    if (found) {
      if (found === 'reset') request.socket.destroy()
      else request.resume()
      if (typeof found === 'object') response.writeHead(found.status).end(found.body)
      return
    }
    const forwarded = sendRequest(new URL(path, url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  }
  const server = tls ? createTlsServer(IDENTITY, respond) : createServer(respond)
  const { port } = await listen(t, server)
  return {
    AWS_ENDPOINT_URL: `http${tls ? 's' : ''}://127.0.0.1:${port}`,
    ...(tls ? TRUST : {}),
    ...CREDENTIALS
  }
}
