import { after, before } from 'node:test'
import { Server } from './server.mjs'
import { Site } from './site.mjs'

/**
 * Replaces a test's `t` for resources that the tests of a `describe` share. Call it in the body of
 * the `describe`: resources that a `before` starts are then released after the last test, also if a
 * test fails.
 * @returns {{ after: (end: () => unknown) => void }}
 */
export function shared() {
  /** @type {(() => unknown)[]} */
  const ends = []
  after(async () => {
    const failed = []
    for (const end of ends.reverse()) {
      await Promise.resolve()
        .then(end)
        .catch((error) => failed.push(error))
    }
    if (failed.length > 0) throw failed[0]
  })
  return { after: (end) => void ends.push(end) }
}

/**
 * Creates a server and a site that the tests of a `describe` share. Call it in the body of the
 * `describe`. They start in a `before` and end after the last test.
 * @param {{ args?: string[], routes?: Record<string, string | import('./site.mjs').Route>, scope?:
 *   ReturnType<typeof shared> } & import('./server.mjs').ServerOptions} [options]
 */
export function startShared({ args, routes, scope = shared(), ...options } = {}) {
  const server = new Server(args, options)
  const site = new Site(routes)
  before(async () => {
    await site.start(scope)
    await server.start(scope)
  })
  return { server, site, scope }
}
