// Three servers with one database behind a load balancer, while clients call continuously: faults
// and restarts lose no session and no recorded response. docs/scaling.md has the configurations.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Load, clientOf, startServers } from '../support/balanced.mjs'
import { missing, startLoadBalancer } from '../support/load-balancers.mjs'
import { NO_POSTGRES } from '../support/postgres.mjs'
import { kill } from '../support/record.mjs'
import { startSite } from '../support/site.mjs'
import { awaitDurableState } from '../support/state.mjs'
import { pause, until } from '../support/wait.mjs'

/** How long a server stays frozen (ms). */
const FROZEN = 30_000

describe(
  'three servers behind a load balancer',
  { timeout: 300_000, skip: NO_POSTGRES || missing('haproxy') },
  () => {
    test('lose no session and no response while servers die, freeze and restart', async (t) => {
      const { database, ports, servers, start } = await startServers(t)
      const load = await Load.start(t, ports)
      await load.causeFaultAndAwaitRecovery('no fault')
      await load.causeFaultAndAwaitRecovery('kill -9', () => kill(servers[0]))
      servers[0] = await start(0)

      const frozen = pause(FROZEN, 'a server stays frozen for this time')
      await load.causeFaultAndAwaitRecovery('a frozen server', () =>
        servers[1].child.kill('SIGSTOP')
      )
      await frozen
      await load.causeFaultAndAwaitRecovery('its return', () => servers[1].child.kill('SIGCONT'))

      await load.causeFaultAndAwaitRecovery('a restart of the database', async () => {
        await database.stop()
        await database.start()
      })

      for (const [index, server] of servers.entries()) {
        await load.causeFaultAndAwaitRecovery(`the restart of server ${index + 1}`, async () => {
          server.child.kill('SIGTERM')
          await server.exit
        })
        servers[index] = await start(index)
      }
      await load.stop(database, servers)
    })

    for (const name of ['haproxy', 'nginx']) {
      test(`are balanced by ${name} as documented`, { skip: missing(name) }, async (t) => {
        const { ports, servers } = await startServers(t)
        const site = await startSite(t, { '/': '<title>Page</title>' })
        const port = await startLoadBalancer(t, name, ports, { sticky: true })
        const clients = []
        for (let number = 0; number < 6; number++) {
          const client = clientOf(port)
          await client.initialize()
          await client.ok('navigate', { url: site.url('/') })
          clients.push(client)
        }
        await awaitDurableState()
        await kill(servers[0])
        for (const client of clients) {
          const text = await until(async () => {
            const call = client.call('evaluate', { script: 'document.title' })
            // The connection may break.
            const { json, text } = await call.catch(() => ({ json: undefined, text: '' }))
            return !json?.errorCode && text
          }, 'a response')
          assert.match(text, /Page/)
        }
      })
    }
  }
)
