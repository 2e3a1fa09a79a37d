// Three servers with one database behind a load balancer, while clients call continuously: outages
// of the database lose no session and no recorded response.
import { describe, test } from 'node:test'
import { Load, startServers } from '../support/balanced.mjs'
import { missing } from '../support/load-balancers.mjs'
import { NO_NETWORK, startLink } from '../support/network-link.mjs'
import { NO_DISK, NO_POSTGRES, startPostgres } from '../support/postgres.mjs'
import { pause, until } from '../support/wait.mjs'

/** How long a server stays cut off, and the disk full (ms). */
const CUT_OFF = 30_000
const FULL = 15_000
/** The size of the disk (MiB). An empty database takes 40. */
const DISK = 160

describe(
  'three servers behind a load balancer',
  { timeout: 240_000, skip: NO_POSTGRES || missing('haproxy') },
  () => {
    test(
      'lose no session and no response while one is cut off from the database',
      { skip: NO_NETWORK },
      async (t) => {
        const database = await startPostgres(t)
        const link = await startLink(t, database.socket)
        const distant = `postgres://postgres@${link.host}:${link.port}/postgres?sslmode=disable`
        const stores = [distant, database.url, database.url]
        const { ports, servers } = await startServers(t, { database, stores })
        const load = await Load.start(t, ports)
        const cutOff = pause(CUT_OFF, 'a server stays cut off for this time')
        await load.causeFaultAndAwaitRecovery('a server that is cut off', link.cut)
        await cutOff
        await load.causeFaultAndAwaitRecovery('its return', link.restore)
        await until(
          async () => (await fetch(servers[0].at('/health'))).ok,
          'the connection of the server'
        )
        await load.stop(database, servers)
      }
    )

    test(
      'lose no session and no response while the disk of the database is full',
      { skip: NO_DISK },
      async (t) => {
        const database = await startPostgres(t, { disk: DISK })
        const { ports, servers } = await startServers(t, { database })
        const load = await Load.start(t, ports)
        database.fillDisk()
        const full = pause(FULL, 'the disk stays full for this time')
        for (const server of servers)
          await until(
            async () => !(await fetch(server.at('/health'))).ok,
            'the failure of a server'
          )
        await full
        await load.causeFaultAndAwaitRecovery('a full disk', async () => {
          database.freeDisk()
          // PostgreSQL ends when it cannot write its log.
          if (!database.isRunning) await database.start()
        })
        await load.stop(database, servers)
      }
    )
  }
)
