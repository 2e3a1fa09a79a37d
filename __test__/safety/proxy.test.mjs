// A proxy with credentials: pages reach the network through it, and nothing that Troupe writes
// contains the password.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { recordFile, temporaryFolder } from '../support/record.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { startSocksProxy } from '../support/socks.mjs'

const CREDENTIALS = { user: 'me@example', password: 'hush hush/1' }
const login = ({ user, password } = CREDENTIALS) =>
  `${encodeURIComponent(user)}:${encodeURIComponent(password)}`
const SPELLINGS = [CREDENTIALS.password, encodeURIComponent(CREDENTIALS.password)]

describe('a SOCKS 5 proxy with credentials', { timeout: 60_000 }, () => {
  // Without network rules, the browser would connect to the proxy itself, and cannot authenticate.
  for (const rules of [[], ['--allow-private-network']]) {
    test(`is logged in to${rules.map((rule) => `, with ${rule}`).join('')}`, async (t) => {
      const site = await startSite(t)
      const proxy = await startSocksProxy(t, site.port, CREDENTIALS)
      const server = await startServer(t, [
        '--proxy-server',
        `socks5://${login()}@127.0.0.1:${proxy.port}`,
        ...rules
      ])
      assert.equal((await server.ok('navigate', { url: 'http://far.example/form' })).title, 'Form')
      assert.ok(
        proxy.granted.length > 0 && proxy.granted.every((host) => host === 'far.example'),
        proxy.granted.join()
      )
      assert.equal(proxy.rejected(), 0)
    })
  }

  test('that rejects them is the reason of a failed navigation, which names the proxy without credentials', async (t) => {
    const site = await startSite(t)
    const proxy = await startSocksProxy(t, site.port, CREDENTIALS)
    const wrong = login({ user: 'me', password: 'wrong-password' })
    const server = await startServer(t, [
      '--proxy-server',
      `socks5://${wrong}@127.0.0.1:${proxy.port}`
    ])
    const { json } = await server.call('navigate', { url: 'http://far.example/form' })
    assert.equal(json.errorCode, 'NAVIGATION_FAILED', JSON.stringify(json))
    await server.awaitLog(/the proxy rejects the credentials of --proxy-server/)
    assert.ok(proxy.rejected() > 0)
    assert.ok(!`${JSON.stringify(json)}${server.stderr()}`.includes('wrong-password'))
  })

  test('is used by a resumed session, and its password is in no file', async (t) => {
    const site = await startSite(t)
    const proxy = await startSocksProxy(t, site.port, CREDENTIALS)
    const record = recordFile(t)
    const log = join(temporaryFolder(t), 'log')
    const args = [
      '--proxy-server',
      `socks5://${login()}@127.0.0.1:${proxy.port}`,
      '--store',
      record,
      '--log-file',
      log,
      '--log-level',
      'debug'
    ]
    const first = await startServer(t, args)
    const sessionId = await first.createSession()
    await first.ok('navigate', { sessionId, url: 'http://far.example/set-cookie?whose=mine' })
    await first.end()
    const second = await startServer(t, args)
    await second.ok('session_resume', { sessionId })
    await second.ok('navigate', { sessionId, url: 'http://further.example/form' })
    assert.ok(proxy.granted.includes('further.example'))
    await second.end()
    const files = [...readdirSync(dirname(record)).map((name) => join(dirname(record), name)), log]
    assert.ok(files.includes(record))
    for (const file of files) {
      const bytes = readFileSync(file)
      for (const spelling of SPELLINGS)
        assert.ok(!bytes.includes(spelling), `${spelling} in ${file}`)
    }
  })
})
