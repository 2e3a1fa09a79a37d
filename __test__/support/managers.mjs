// Session managers in this process: one with a real browser, and one with an in-memory browser and
// a clock that the test advances. The latter needs the addon's feature `testing`, which releases do
// not have.
import { createRequire } from 'node:module'
import { BROWSER_CONFIG } from './browser.mjs'
import { noteOptions } from './notes.mjs'

const require = createRequire(import.meta.url)
export const { SessionManager, Session, TroupeError } = require('../../index.js')
/** @type {any} The addon, which exists only after the build. */
const addon = require('../../lib/addon.js')
const { NativeManager } = addon

/**
 * Creates a manager and starts its browser. Both end with the test.
 * @param {{ after: (end: () => unknown) => void }} t a test, or the result of `shared()`
 * @param {object} [config]
 */
export async function startManager(t, config = {}) {
  const manager = new SessionManager({ ...BROWSER_CONFIG, ...config })
  t.after(() => manager.shutdown())
  await manager.initialize()
  noteOptions({ config })
  return manager
}

/** @param {object} [config] */
export function inMemoryManager(config = {}) {
  if (!NativeManager.inMemory)
    throw new Error('the addon is built without `testing`: run `npm run build`')
  const native = NativeManager.inMemory(JSON.stringify(config))
  const manager = new SessionManager(config, native)
  return {
    manager,
    /** Advances the clock. Timers that are due fire shortly afterwards. @param {number} ms */
    advance: (ms) => native.advance(ms),
    /**
     * Returns the result of the addon: `{ ok }` or `{ error }`.
     * @param {string} tool
     * @param {object} args
     */
    call: async (tool, args) => JSON.parse(await native.call(tool, JSON.stringify(args)))
  }
}

/**
 * Returns the error of `promise`. Fails if it is fulfilled.
 * @param {Promise<unknown>} promise
 * @returns {Promise<any>}
 */
export async function failure(promise) {
  let value
  try {
    value = await promise
  } catch (error) {
    return error
  }
  throw new Error(`this should have failed, but returned ${JSON.stringify(value)}`)
}
