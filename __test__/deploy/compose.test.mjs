// deploy/compose.yaml: it is valid, its parts belong together, and a server starts with its
// options. Docker is not needed.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { ROOT } from '../../scripts/run.mjs'
import { startHttpServer } from '../support/http.mjs'
import { startGrid } from '../support/mock-grid.mjs'
import { NO_POSTGRES, startPostgres } from '../support/postgres.mjs'
import { MISSING, VARIABLES, problems } from './manifests.mjs'

const FOLDER = join(ROOT, 'deploy')
const compose = parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true })
const servers = Object.entries(compose.services).filter(([, { image }]) => image === 'troupe')
const SCHEMA = ['--builtin-schema', 'vendor.compose-spec']

/** Replaces the variables of the caller. @param {string} text */
const substituted = (text) => text.replace(/\$\{(\w+)(?::?[-?]([^}]*))?\}/g, 'value-of-$1')

describe('deploy/compose.yaml', { skip: MISSING, timeout: 60_000 }, () => {
  test('fits the schema of Compose', (t) => {
    assert.equal(problems(t, 'check-jsonschema', SCHEMA, [compose]), '')
    const wrong = { ...compose, services: { haproxy: { ...compose.services.haproxy, port: [] } } }
    assert.match(problems(t, 'check-jsonschema', SCHEMA, [wrong]), /'port' was unexpected/)
  })

  test('runs three servers with options that exist', () => {
    assert.equal(servers.length, 3)
    for (const [name, { environment }] of servers) {
      assert.equal(environment.TROUPE_ADVERTISE_URL, `http://${name}:4000`)
      for (const variable of Object.keys(environment)) assert.ok(VARIABLES.includes(variable))
    }
  })

  test('balances the servers that it runs, at the port of the image', () => {
    const configuration = readFileSync(join(FOLDER, 'haproxy.cfg'), 'utf8')
    const balanced = [...configuration.matchAll(/^ +server \w+ (\S+)$/gm)].map(([, to]) => to)
    assert.deepEqual(
      balanced,
      servers.map(([name]) => `${name}:4000`)
    )
    assert.match(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'), /^EXPOSE 4000$/m)
  })

  test('mounts files that exist', () => {
    for (const { build, volumes = [] } of Object.values(compose.services)) {
      const sources = volumes.map((/** @type {string} */ volume) => volume.split(':')[0])
      const [files, named] = [/^\./, /^\w/].map((kind) => sources.filter((path) => kind.test(path)))
      for (const file of files) assert.ok(existsSync(join(FOLDER, file)), file)
      for (const name of named) assert.ok(name in compose.volumes, name)
      if (build) assert.ok(existsSync(join(FOLDER, build, 'Dockerfile')), build)
    }
  })

  test('connects only the services that need each other', () => {
    const networks = (/** @type {string} */ name) => compose.services[name].networks
    const reaches = (/** @type {string} */ from, /** @type {string} */ to) =>
      networks(from).some((/** @type {string} */ network) => networks(to).includes(network))
    for (const [name] of servers) {
      for (const other of ['haproxy', 'postgres', 'grid', ...servers.map(([name]) => name)])
        assert.ok(reaches(name, other), `${name} reaches ${other}`)
      assert.ok(!reaches('node', name), `pages do not reach ${name}`)
    }
    assert.ok(reaches('node', 'grid'))
    assert.ok(!reaches('node', 'postgres') && !reaches('haproxy', 'postgres'))
  })

  test('stops a server only after its drain timeout', () => {
    for (const [, { environment, stop_grace_period: grace }] of servers) {
      const [, seconds] = /^(\d+)s$/.exec(grace) ?? []
      assert.ok(Number(seconds) * 1000 > Number(environment.TROUPE_DRAIN_TIMEOUT) + 5000)
    }
  })

  test('has options with which a server serves a session', { skip: NO_POSTGRES }, async (t) => {
    const [database, grid] = [await startPostgres(t), await startGrid(t)]
    const [[, { environment }]] = servers
    const { hostname } = new URL(environment.TROUPE_BROWSER_ENDPOINT.replace(/^\w+\+/, ''))
    assert.ok(hostname in compose.services)
    const env = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [name, substituted(value)])
    )
    delete env.TROUPE_ADVERTISE_URL
    assert.equal(new URL(env.TROUPE_STORE).hostname, 'postgres')
    const local = { TROUPE_STORE: database.url, TROUPE_BROWSER_ENDPOINT: grid.url }
    const server = await startHttpServer(t, [], { env: { ...env, ...local }, browser: false })
    const client = await server.connect()
    const page = await client.ok('navigate', { url: 'data:text/html,<title>Works</title>' })
    assert.equal(page.title, 'Works')
    assert.equal(grid.sessions.size, 1)
  })
})
