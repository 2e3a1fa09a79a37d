// A server behind a reverse proxy: paths, host names, and the addresses of clients.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { HttpClient, ask, startHttpServer } from '../support/http.mjs'
import { REVERSE_PROXIES, programPath, startReverseProxy } from '../support/reverse-proxies.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { within } from '../support/wait.mjs'
import { openWebSocket } from '../support/websocket.mjs'

/**
 * The statuses of `count` sequential requests.
 * @param {number} count
 * @param {string} url
 * @param {Record<string, string>} [headers]
 */
async function askOften(count, url, headers) {
  const statuses = new Set()
  for (let round = 0; round < count; round++) statuses.add((await ask(url, { headers })).status)
  return [...statuses].sort()
}

/** The first event of a stream with this text. @param {Response} response @param {string} text */
async function event(response, text) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader()
  const decoder = new TextDecoder()
  let read = ''
  const reading = async () => {
    while (!read.includes(text)) {
      const { done, value } = await reader.read()
      if (done) throw new Error(`the stream ended: ${read}`)
      read += decoder.decode(value, { stream: true })
    }
  }
  await within(reading(), `${text} in the stream`, 10_000)
  await reader.cancel()
}

describe('/health', { timeout: 60_000 }, () => {
  test('accepts any Host, and returns only the status to a foreign one', async (t) => {
    const server = await startHttpServer(t)
    const foreign = await ask(server.at('/health'), { headers: { host: '10.1.2.3:8080' } })
    assert.equal(foreign.status, 200, foreign.text)
    assert.deepEqual(JSON.parse(foreign.text), { status: 'ok' })
    const own = JSON.parse((await ask(server.at('/health'))).text)
    assert.deepEqual([own.status, own.sessions, typeof own.version], ['ok', 0, 'string'])
    assert.equal((await ask(server.at('/mcp'), { headers: { host: '10.1.2.3:8080' } })).status, 403)
    assert.equal(
      (await ask(server.at('/health'), { headers: { origin: 'https://evil.example' } })).status,
      403
    )
  })

  test('and /metrics have no rate limit', async (t) => {
    const server = await startHttpServer(t, ['--rate-limit', '2'])
    assert.deepEqual(await askOften(10, server.at('/health')), [200])
    assert.deepEqual(await askOften(10, server.at('/metrics'), server.authorization), [200])
    assert.deepEqual(await askOften(10, server.at('/nowhere')), [404, 429])
  })

  test('a request to /metrics without the right token counts for the rate limit', async (t) => {
    const server = await startHttpServer(t, ['--rate-limit', '2'])
    assert.deepEqual(
      await askOften(10, server.at('/metrics'), { authorization: 'Bearer guess' }),
      [401, 429]
    )
    assert.deepEqual(await askOften(10, server.at('/metrics'), server.authorization), [200])
  })
})

test('with --base-path every path begins with it', { timeout: 60_000 }, async (t) => {
  const server = await startHttpServer(t, ['--base-path', '/tools/troupe/'])
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/tools\/troupe\/mcp$/)
  const client = await server.connect()
  assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
  await client.delete()
  assert.equal((await ask(server.at('/tools/troupe/health'))).status, 200)
  for (const path of [
    '/tools/troupe/api/sessions',
    '/tools/troupe/api/openapi.json',
    '/tools/troupe/metrics'
  ]) {
    assert.equal((await ask(server.at(path), { headers: server.authorization })).status, 200, path)
    assert.equal((await ask(server.at(path))).status, 401, path)
  }
  const document = JSON.parse(
    (await ask(server.at('/tools/troupe/api/openapi.json'), { headers: server.authorization })).text
  )
  const [{ url }] = document.servers
  assert.equal(url, '/tools/troupe')
  assert.ok(document.paths['/api/sessions'], 'the paths are relative to the URL of the server')
  assert.equal(
    (await ask(server.at(`${url}/api/sessions`), { headers: server.authorization })).status,
    200
  )
  for (const path of ['/health', '/mcp', '/metrics', '/tools', '/tools/troupe/nowhere']) {
    assert.equal((await ask(server.at(path), { headers: server.authorization })).status, 404, path)
  }
  const stdioProxy = await startServer(t, ['--connect', server.url], { browser: false })
  assert.equal((await stdioProxy.ok('evaluate', { script: '6 * 7' })).value, 42)
})

describe('the address of a client', { timeout: 60_000 }, () => {
  test('is that of X-Forwarded-For, as far as trusted proxies have appended it', async (t) => {
    const server = await startHttpServer(t, [
      '--rate-limit',
      '2',
      '--trusted-proxies',
      '127.0.0.1,10.0.0.0/8'
    ])
    const by = (chain) => askOften(8, server.at('/nowhere'), { 'x-forwarded-for': chain })
    assert.deepEqual(await by('203.0.113.7'), [404, 429])
    // The client forges the addresses before its own.
    const invented = new Set()
    for (let last = 1; last <= 8; last++) {
      invented.add(
        (
          await ask(server.at('/nowhere'), {
            headers: {
              'x-forwarded-for': `198.51.100.${last}, 203.0.113.8, 10.1.1.1`
            }
          })
        ).status
      )
    }
    assert.deepEqual([...invented].sort(), [404, 429])
    for (let last = 1; last <= 8; last++) {
      assert.equal(
        (await ask(server.at('/nowhere'), { headers: { 'x-forwarded-for': `192.0.2.${last}` } }))
          .status,
        404
      )
    }
  })

  test('is that of the connection if the peer is not trusted', async (t) => {
    const server = await startHttpServer(t, [
      '--rate-limit',
      '2',
      '--trusted-proxies',
      '10.0.0.0/8'
    ])
    const statuses = new Set()
    for (let last = 1; last <= 8; last++) {
      statuses.add(
        (await ask(server.at('/nowhere'), { headers: { 'x-forwarded-for': `203.0.113.${last}` } }))
          .status
      )
    }
    assert.deepEqual([...statuses].sort(), [404, 429])
  })

  test('is in the log of a rejected request, with the path and without the query', async (t) => {
    const server = await startHttpServer(t, [
      '--rate-limit',
      '2',
      '--trusted-proxies',
      '127.0.0.1',
      '--log-format',
      'json',
      '--log-destination',
      'stderr'
    ])
    const at = (path) => server.at(path)
    const named = (last) => ({ 'x-forwarded-for': `203.0.113.${last}` })
    await ask(at('/api/sessions?token=hush'), { headers: named(1) })
    await ask(at('/mcp'), { headers: { host: 'evil.example', ...named(2) } })
    await ask(at('/ws'), { headers: { origin: 'https://evil.example', ...named(3) } })
    await askOften(6, at('/nowhere'), named(4))
    const refused = server
      .stderr()
      .split('\n')
      .filter((line) => line.includes('rejected a request'))
      .map((line) => JSON.parse(line))
    const warnings = refused.map(({ level, address, method, path }) =>
      [level, address, method, path].join(' ')
    )
    for (const line of ['1 GET /api/sessions', '2 GET /mcp', '3 GET /ws', '4 GET /nowhere'])
      assert.ok(warnings.includes(`WARN 203.0.113.${line}`), warnings.join('\n'))
    assert.match(
      refused.find(({ path }) => path === '/mcp').reason,
      /evil\.example.*--allowed-hosts/
    )
    assert.ok(!server.stderr().includes('hush'))
  })

  test('is logged at most once per second for rejected requests, with a shortened path', async (t) => {
    const server = await startHttpServer(t, ['--log-format', 'json', '--log-destination', 'stderr'])
    const started = performance.now()
    for (let round = 0; round < 20; round++)
      await ask(server.at(`/${'long'.repeat(1000)}`), { headers: { host: 'evil.example' } })
    for (let round = 0; round < 20; round++) await ask(server.at('/mcp'))
    const seconds = (performance.now() - started) / 1000
    const refused = server
      .stderr()
      .split('\n')
      .filter((line) => line.includes('rejected a request'))
      .map((line) => JSON.parse(line))
    assert.ok(
      refused.length >= 1 && refused.length <= 1 + seconds,
      `${refused.length} lines in ${seconds} s`
    )
    assert.equal(refused[0].path.length, 121, refused[0].path)
  })
})

for (const [name, { debianPackage }] of Object.entries(REVERSE_PROXIES)) {
  describe(
    `behind ${name} as documented`,
    {
      timeout: 60_000,
      skip: programPath(name) === '' && `${name} is not installed (${debianPackage})`
    },
    () => {
      const scope = shared()
      /** @type {Awaited<ReturnType<typeof startHttpServer>>} */
      let server
      /** @type {string} */
      let origin
      before(async () => {
        const args = [
          '--base-path',
          '/troupe',
          '--allowed-hosts',
          'tools.example.com',
          '--trusted-proxies',
          '127.0.0.1'
        ]
        server = await startHttpServer(scope, args)
        origin = `http://127.0.0.1:${await startReverseProxy(scope, name, server.port)}`
      })
      const connect = async () => {
        const client = new HttpClient(`${origin}/troupe/mcp`, server.authorization)
        await client.initialize()
        return client
      }

      test('clients call tools', async () => {
        const client = await connect()
        assert.equal((await client.ok('evaluate', { script: '6 * 7' })).value, 42)
        assert.equal(await client.delete(), 204)
        assert.equal(
          (
            await ask(`${origin}/troupe/api/sessions`, {
              headers: {
                host: 'tools.example.com',
                ...server.authorization
              }
            })
          ).status,
          200
        )
        assert.equal(
          (await ask(`${origin}/troupe/api/sessions`, { headers: { host: 'tools.example.com' } }))
            .status,
          401
        )
      })

      test('each event of a stream arrives at once', async () => {
        const client = await connect()
        const stream = await client.fetch('GET', { headers: { accept: 'text/event-stream' } })
        const arrives = event(stream, 'notifications/resources/list_changed')
        await client.createSession()
        await arrives
        await client.delete()
      })

      test('responses that are streams ask not to be buffered', async () => {
        const client = await server.connect()
        const stream = await client.fetch('GET', { headers: { accept: 'text/event-stream' } })
        assert.equal(stream.headers.get('x-accel-buffering'), 'no')
        await stream.body?.cancel()
        await client.delete()
      })

      test('a WebSocket is upgraded', async () => {
        const socket = await openWebSocket(`${origin}/troupe/ws`, server.authorization)
        await socket.initialize()
        assert.equal((await socket.ok('evaluate', { script: '6 * 7' })).value, 42)
        await socket.close()
      })

      test('a body of 4 MiB passes', async () => {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
        const client = await connect()
        const { status } = await client.fetch('POST', {
          body: ' '.repeat((4 << 20) - body.length) + body
        })
        assert.equal(status, 200)
        await client.delete()
      })

      test('the log has the address of the client of the proxy', async () => {
        // An address has one line per second, and earlier tests were rejected at 127.0.0.1.
        await ask(`${origin}/troupe/metrics`, {
          headers: { 'x-forwarded-for': '203.0.113.9' },
          localAddress: '127.0.0.8'
        })
        await server.awaitLog(/rejected a request.*127\.0\.0\.8.*\/troupe\/metrics/)
      })
    }
  )
}
