// Environment variables that begin with TROUPE_ and that other programs have set.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runDoctor } from '../support/scripts.mjs'
import { startServer } from '../support/server.mjs'

/**
 * The variables that Kubernetes sets in each pod for a Service named `troupe` with the port 8931.
 */
const SERVICE_LINKS = {
  TROUPE_SERVICE_HOST: '10.0.171.239',
  TROUPE_SERVICE_PORT: '8931',
  TROUPE_SERVICE_PORT_HTTP: '8931',
  TROUPE_PORT: 'tcp://10.0.171.239:8931',
  TROUPE_PORT_8931_TCP: 'tcp://10.0.171.239:8931',
  TROUPE_PORT_8931_TCP_PROTO: 'tcp',
  TROUPE_PORT_8931_TCP_PORT: '8931',
  TROUPE_PORT_8931_TCP_ADDR: '10.0.171.239'
}

describe('a variable that names no option', { timeout: 60_000 }, () => {
  test('is a warning, and the server starts', async (t) => {
    const server = await startServer(t, [], {
      env: { TROUPE_MAX_SESSION: '5', TROUPE_TEAM: 'search' }
    })
    assert.equal((await server.ok('evaluate', { script: '6 * 7' })).value, 42)
    assert.match(
      server.stderr(),
      /WARN.*ignored the unknown environment variable `TROUPE_MAX_SESSION`, did you mean `TROUPE_MAX_SESSIONS`\?/
    )
    assert.match(server.stderr(), /WARN.*`TROUPE_TEAM`/)
  })

  test('is in the report of doctor, which still works', async () => {
    const { status, stdout, stderr } = await runDoctor({ TROUPE_TEAM: 'search' })
    assert.equal(status, 0, stdout + stderr)
    assert.match(
      stdout,
      /limited +configuration: ignored the unknown environment variable `TROUPE_TEAM`/
    )
  })

  test('and is a service link of Kubernetes is ignored silently', async (t) => {
    const server = await startServer(t, [], { env: SERVICE_LINKS })
    assert.equal((await server.ok('evaluate', { script: '6 * 7' })).value, 42)
    assert.doesNotMatch(server.stderr(), /TROUPE_/)
    const { status, stdout, stderr } = await runDoctor(SERVICE_LINKS)
    assert.equal(status, 0, stdout + stderr)
    assert.doesNotMatch(stdout + stderr, /TROUPE_/)
  })

  test('is not confused with a wrong value of an option', async () => {
    const { status, stderr } = await runDoctor({ TROUPE_PORT: 'http://10.0.171.239' })
    assert.equal(status, 2)
    assert.match(stderr, /`TROUPE_PORT` must be a whole number/)
  })
})
