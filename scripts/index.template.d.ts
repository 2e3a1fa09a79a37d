/// <reference lib="esnext.disposable" />
// Generated from the schemas of the tools and of the configuration, and
// scripts/index.template.d.ts. Do not edit it: `npm run generate` writes it.

/*config*/

/*errorCodes*/

/** An error as tools and `validateSession` return it. */
export interface ErrorResponse {
  errorCode: ErrorCode
  message: string
  sessionId?: string
  details?: ErrorDetails
  retryable: boolean
  suggestion?: string
}

/** An image, as `screenshot` returns it. */
export interface Picture {
  mimeType: string
  /** Base64. */
  data: string
  /** Path of the file that the image was written to. */
  path?: string
}

/** The content of an earlier call that returned images. */
export interface Content {
  text: string
  images: Picture[]
}

/** The error that every method throws, also for invalid arguments. */
export class TroupeError extends Error {
  constructor(response: ErrorResponse)
  readonly code: ErrorCode
  readonly sessionId?: string
  readonly details?: ErrorDetails
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** What to do next. */
  readonly suggestion?: string
}

/** One shared browser and the isolated sessions in it. */
export class SessionManager {
  /** @throws TroupeError `INVALID_PARAMETERS` if an option is unknown or wrong. */
  constructor(config?: Config)
  /** Starts the browser. */
  initialize(): Promise<void>
  createSession(options?: CreateSessionArguments): Promise<Session>
  /**
   * Resumes a session that has expired, or one of an earlier process with the same `store`
   * (`docs/sessions.md`).
   */
  resumeSession(sessionId: string): Promise<Session>
  closeSession(sessionId: string): Promise<void>
  /** Returns the session if it is open, otherwise null. */
  getSession(sessionId: string): Session | null
  validateSession(
    sessionId: string
  ): { valid: true; error?: undefined } | { valid: false; error: ErrorResponse }
  listSessions(): SessionInfo[]
  /** Closes every session and the browser. */
  shutdown(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A server that runs in this process. */
export interface Server {
  /** The URL for clients; null if the transport is stdio. */
  readonly url: string | null
  /** Resolves when the server has ended, for any reason. */
  readonly closed: Promise<void>
  /** Stops the server: cancels calls, closes the sessions and the browser. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts the same MCP server as the command `troupe`, with the `transport` of the configuration.
 * Over HTTP, clients send `authToken`, or the token in the file that the server creates. With
 * `auth: false`, they send no token.
 */
export function serve(config?: Config): Promise<Server>

/** One isolated browser context with its pages. The methods are the tools of the MCP server. */
export class Session {
  private constructor()
  readonly sessionId: string
  /** Unix time in milliseconds. */
  readonly createdAt: number
  /** Unix time in milliseconds. */
  readonly expiresAt: number
  close(): Promise<void>
  /** Closes the session, if it is still open. */
  [Symbol.asyncDispose](): Promise<void>

  /** Calls `listener` with each event of the session, from the first listener on. */
  on<Name extends keyof SessionEvents>(
    name: Name,
    listener: (event: SessionEvents[Name]) => void
  ): this
  once<Name extends keyof SessionEvents>(
    name: Name,
    listener: (event: SessionEvents[Name]) => void
  ): this
  off<Name extends keyof SessionEvents>(
    name: Name,
    listener: (event: SessionEvents[Name]) => void
  ): this

  /*methods*/
}

/*interfaces*/
