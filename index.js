'use strict'

// The JavaScript interface of the addon: SessionManager, Session with methods generated from the
// schemas of the tools, and errors as exceptions. The addon returns an outcome for every call,
// `{"ok": value}` or `{"error": {…}}`. The types in index.d.ts are generated from the same schemas
// (`npm run generate`).

const { EventEmitter } = require('node:events')
const { argumentsOf, parametersOf, sessionMethods } = require('./lib/session-methods.js')
const native = require('./lib/addon.js')

/**
 * @typedef {{ errorCode: string, message: string, sessionId?: string, details?: any, retryable:
 *   boolean, suggestion?: string }} ErrorResponse
 */

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
 * Returns the value of an outcome, or throws its error. If the arguments of a call are wrong, the
 * message shows `signature`.
 * @param {string} outcome
 * @param {string} [signature]
 */
function unwrap(outcome, signature) {
  const { ok, error } = JSON.parse(outcome)
  if (error && signature && error.details?.violations)
    throw new TroupeError({ ...error, message: withSignature(error.message, signature) })
  if (error) throw new TroupeError(error)
  return ok
}

/** @param {string} message @param {string} signature */
const withSignature = (message, signature) => `${message}\nSignature: ${signature}`

/** @param {string} message @param {string} signature */
function wrongArguments(message, signature) {
  return new TroupeError({
    errorCode: 'INVALID_PARAMETERS',
    message: withSignature(message, signature),
    retryable: false
  })
}

/**
 * Returns the arguments of a call as JSON. Arguments that fit no signature, or that JSON cannot
 * represent, are an error.
 * @param {string} signature
 * @param {() => unknown} read
 */
function toJson(signature, read) {
  try {
    return JSON.stringify(read())
  } catch (error) {
    throw wrongArguments(/** @type {Error} */ (error).message, signature)
  }
}

const TOOLS = JSON.parse(native.toolSchemas())
const CREATE = TOOLS.find((/** @type {any} */ tool) => tool.lifecycle === 'create')

/** Signatures of the functions that are not generated from the tools. */
const SIGNATURES = {
  constructor: 'new SessionManager(config?)',
  serve: 'serve(config?)',
  createSession: `manager.createSession(${parametersOf({ parameters: Object.keys(CREATE.inputSchema.properties), positional: [], required: 0 })})`,
  resumeSession: 'manager.resumeSession(sessionId)',
  closeSession: 'manager.closeSession(sessionId)',
  getSession: 'manager.getSession(sessionId)',
  validateSession: 'manager.validateSession(sessionId)'
}

/** @param {unknown} sessionId @param {'getSession' | 'validateSession'} method */
function checkId(sessionId, method) {
  if (typeof sessionId !== 'string')
    throw wrongArguments(
      `\`sessionId\` must be a string, not ${typeof sessionId}`,
      SIGNATURES[method]
    )
}

class SessionManager {
  #native
  /**
   * One Session object for each id, so that `getSession` returns the one that `createSession`
   * created.
   * @type {Map<string, Session>}
   */
  #sessions = new Map()

  /**
   * @param {object} [config]
   * @param {import('./native.d.ts').NativeManager} [manager] replaces the native manager in tests,
   *   with a browser in memory
   */
  constructor(config = {}, manager) {
    const json = toJson(SIGNATURES.constructor, () => config)
    unwrap(native.NativeManager.check(json))
    this.#native = manager ?? new native.NativeManager(json)
  }

  /** @param {string} tool @param {string} signature @param {object} given */
  async #call(tool, signature, given) {
    return unwrap(
      await this.#native.call(
        tool,
        toJson(signature, () => given)
      ),
      signature
    )
  }

  async initialize() {
    unwrap(await this.#native.initialize())
  }

  /** @param {object} [options] */
  async createSession(options = {}) {
    const { sessionId } = await this.#call('create_session', SIGNATURES.createSession, options)
    const session = this.getSession(sessionId)
    // The session may be closed already, by a shutdown or a timeout of a few milliseconds.
    if (!session) throw new TroupeError(this.validateSession(sessionId).error)
    return session
  }

  /** @param {string} sessionId */
  async resumeSession(sessionId) {
    await this.#call('session_resume', SIGNATURES.resumeSession, { sessionId })
    // The cached object has the data of the session before it ended.
    this.#sessions.delete(sessionId)
    const session = this.getSession(sessionId)
    if (!session) throw new TroupeError(this.validateSession(sessionId).error)
    return session
  }

  /** @param {string} sessionId */
  async closeSession(sessionId) {
    await this.#call('close_session', SIGNATURES.closeSession, { sessionId })
    this.#sessions.delete(sessionId)
  }

  /** @param {string} sessionId */
  getSession(sessionId) {
    checkId(sessionId, 'getSession')
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
    checkId(sessionId, 'validateSession')
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

class Session extends EventEmitter {
  #manager
  #native
  #info

  /**
   * @param {SessionManager} manager
   * @param {import('./native.d.ts').NativeManager} nativeManager
   * @param {{ sessionId: string, createdAt: number, expiresAt: number }} info
   */
  constructor(manager, nativeManager, info) {
    super()
    this.#manager = manager
    this.#native = nativeManager
    this.#info = info
    this.once('newListener', () => this.#listen())
  }

  /**
   * Events are emitted once there is a listener. A listener that throws ends the process, as in
   * every EventEmitter.
   */
  #listen() {
    const listener = (/** @type {string} */ json) => {
      const { type, ...event } = JSON.parse(json)
      this.emit(type, event)
    }
    unwrap(this.#native.listen(this.sessionId, listener))
  }

  get sessionId() {
    return this.#info.sessionId
  }

  get createdAt() {
    return this.#info.createdAt
  }

  /** Read from the session while it is open: with `sessionExpiry: 'idle'`, each call changes it. */
  get expiresAt() {
    this.#info = unwrap(this.#native.getSession(this.sessionId)) ?? this.#info
    return this.#info.expiresAt
  }

  async close() {
    await this.#manager.closeSession(this.sessionId)
  }

  /**
   * Closes the session at the end of an `await using` block. A session that has already ended is
   * not an error.
   */
  async [Symbol.asyncDispose]() {
    try {
      await this.close()
    } catch (error) {
      if (
        !['SESSION_NOT_FOUND', 'SESSION_EXPIRED'].includes(/** @type {TroupeError} */ (error).code)
      )
        throw error
    }
  }

  static {
    for (const method of sessionMethods(TOOLS)) {
      const { name, tool, signature } = method
      /** @this {Session} @param {any[]} values */
      const value = async function (...values) {
        const { sessionId } = this
        const json = toJson(signature, () => ({ ...argumentsOf(method, values), sessionId }))
        return unwrap(await this.#native.call(tool, json), signature)
      }
      Object.defineProperty(this.prototype, name, { value, writable: true, configurable: true })
    }
  }
}

/** A server that runs in this process. */
class Server {
  #native

  /** @param {import('./native.d.ts').NativeServer} nativeServer @param {string | null} url */
  constructor(nativeServer, url) {
    this.#native = nativeServer
    this.url = url
    this.closed = nativeServer.ended().then(unwrap)
    // Prevents an unhandled rejection if the caller does not await it.
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
  const nativeServer = new native.NativeServer(toJson(SIGNATURES.serve, () => config))
  const { url } = unwrap(await nativeServer.start())
  return new Server(nativeServer, url)
}

module.exports = { SessionManager, Session, TroupeError, serve }
