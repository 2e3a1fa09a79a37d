'use strict'

// The face of the addon for Node: a SessionManager, Sessions whose methods are made from the tools' own schemas, and
// errors as exceptions. The addon answers every call with an outcome, `{"ok": value}` or `{"error": {…}}`; nothing but
// the shape changes here. The types are in index.d.ts, generated from the same schemas (`npm run generate`).

const { namedArguments, sessionMethods } = require('./lib/session-methods.js')
const native = loadAddon()

function loadAddon() {
  try {
    return require('./native.js')
  } catch (error) {
    throw new Error(`troupe: ${require('./lib/addon-error.js')(error)}`, { cause: error })
  }
}

/** @typedef {{ errorCode: string, message: string, sessionId?: string, details?: any, retryable: boolean, suggestion?: string }} ErrorResponse */

class TroupeError extends Error {
  /** @param {ErrorResponse} response */
  constructor({ errorCode, message, sessionId, details, retryable, suggestion }) {
    super(message)
    this.name = 'TroupeError'
    this.code = errorCode
    this.sessionId = sessionId
    this.details = details
    this.retryable = retryable ?? false
    this.suggestion = suggestion
  }
}

/**
 * The value of an outcome, or its error thrown.
 * @param {string} outcome
 */
function unwrap(outcome) {
  const { ok, error } = JSON.parse(outcome)
  if (error) throw new TroupeError(error)
  return ok
}

class SessionManager {
  #native
  /** One Session object for each id, so that `getSession` answers with the one that `createSession` made.
   * @type {Map<string, Session>} */
  #sessions = new Map()

  /**
   * @param {object} [config]
   * @param {import('./native.js').NativeManager} [manager] in its place, for tests: one whose browser is in memory
   */
  constructor(config = {}, manager) {
    const json = JSON.stringify(config)
    unwrap(native.NativeManager.check(json))
    this.#native = manager ?? new native.NativeManager(json)
  }

  async initialize() {
    unwrap(await this.#native.initialize())
  }

  /** @param {object} [options] */
  async createSession(options = {}) {
    const { sessionId } = unwrap(await this.#native.call('create_session', JSON.stringify(options)))
    const session = this.getSession(sessionId)
    // It may have been closed again by now: by a shutdown, or by a timeout of a few milliseconds.
    if (!session) throw new TroupeError(this.validateSession(sessionId).error)
    return session
  }

  /** @param {string} sessionId */
  async resumeSession(sessionId) {
    unwrap(await this.#native.call('session_resume', JSON.stringify({ sessionId })))
    // What is known of it may be from before it was over.
    this.#sessions.delete(sessionId)
    const session = this.getSession(sessionId)
    if (!session) throw new TroupeError(this.validateSession(sessionId).error)
    return session
  }

  /** @param {string} sessionId */
  async closeSession(sessionId) {
    unwrap(await this.#native.call('close_session', JSON.stringify({ sessionId })))
    this.#sessions.delete(sessionId)
  }

  /** @param {string} sessionId */
  getSession(sessionId) {
    const info = unwrap(this.#native.getSession(sessionId))
    if (!info) {
      this.#sessions.delete(sessionId)
      return null
    }
    let session = this.#sessions.get(sessionId)
    if (!session) {
      session = new Session(this, this.#native, info)
      this.#sessions.set(sessionId, session)
    }
    return session
  }

  /** @param {string} sessionId */
  validateSession(sessionId) {
    return unwrap(this.#native.validateSession(sessionId))
  }

  listSessions() {
    return unwrap(this.#native.listSessions())
  }

  async shutdown() {
    unwrap(await this.#native.shutdown())
    this.#sessions.clear()
  }

  async [Symbol.asyncDispose]() {
    await this.shutdown()
  }
}

class Session {
  #manager
  #native
  #info

  /**
   * @param {SessionManager} manager
   * @param {import('./native.js').NativeManager} nativeManager
   * @param {{ sessionId: string, createdAt: number, expiresAt: number }} info
   */
  constructor(manager, nativeManager, info) {
    this.#manager = manager
    this.#native = nativeManager
    this.#info = info
  }

  get sessionId() {
    return this.#info.sessionId
  }

  get createdAt() {
    return this.#info.createdAt
  }

  /** Read anew while the session lives: with `sessionExpiry: 'idle'` each call moves it. */
  get expiresAt() {
    this.#info = unwrap(this.#native.getSession(this.sessionId)) ?? this.#info
    return this.#info.expiresAt
  }

  async close() {
    await this.#manager.closeSession(this.sessionId)
  }

  /** Leaving the block that owns the session: one that is gone by itself is no error here. */
  async [Symbol.asyncDispose]() {
    try {
      await this.close()
    } catch (error) {
      if (!['SESSION_NOT_FOUND', 'SESSION_EXPIRED'].includes(/** @type {TroupeError} */ (error).code)) throw error
    }
  }

  static {
    for (const { name, tool, positional } of sessionMethods(JSON.parse(native.toolSchemas()))) {
      /** @this {Session} @param {any[]} values */
      const value = async function (...values) {
        const args = { ...namedArguments(name, positional, values), sessionId: this.sessionId }
        return unwrap(await this.#native.call(tool, JSON.stringify(args)))
      }
      Object.defineProperty(this.prototype, name, { value, writable: true, configurable: true })
    }
  }
}

/** A server that runs in this process. */
class Server {
  #native

  /** @param {import('./native.js').NativeServer} nativeServer @param {string | null} url */
  constructor(nativeServer, url) {
    this.#native = nativeServer
    this.url = url
    this.closed = nativeServer.ended().then(unwrap)
    // Whoever does not wait for it need not hear of it.
    this.closed.catch(() => {})
  }

  async close() {
    this.#native.stop()
    await this.closed
  }

  async [Symbol.asyncDispose]() {
    await this.close()
  }
}

/** @param {object} [config] */
async function serve(config = {}) {
  const nativeServer = new native.NativeServer(JSON.stringify(config))
  const { url } = unwrap(await nativeServer.start())
  return new Server(nativeServer, url)
}

module.exports = { SessionManager, Session, TroupeError, serve }
