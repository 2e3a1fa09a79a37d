/// <reference lib="esnext.disposable" />
// Generated from the schemas of the tools and of the configuration, and scripts/index.template.d.ts. Not to be edited here:
// `npm run generate` writes it anew.

/*config*/

export type ErrorCode =
  | 'INVALID_PARAMETERS'
  | 'INVALID_URL'
  | 'INVALID_SELECTOR'
  | 'SESSION_NOT_FOUND'
  | 'SESSION_EXPIRED'
  | 'PAGE_NOT_FOUND'
  | 'RECORD_NOT_FOUND'
  | 'MAX_SESSIONS_REACHED'
  | 'NAVIGATION_FAILED'
  | 'ELEMENT_NOT_FOUND'
  | 'ELEMENT_AMBIGUOUS'
  | 'ELEMENT_NOT_CLICKABLE'
  | 'ELEMENT_NOT_EDITABLE'
  | 'DIALOG_OPEN'
  | 'TIMEOUT'
  | 'NETWORK_ERROR'
  | 'SCRIPT_ERROR'
  | 'BLOCKED_BY_POLICY'
  | 'BROWSER_CRASHED'
  | 'BROWSER_ERROR'
  | 'RESOURCE_EXHAUSTED'
  | 'UPSTREAM_UNAVAILABLE'
  | 'INTERNAL_ERROR'

/** An error as the tools answer it, and as `validateSession` tells it. */
export interface ErrorResponse {
  errorCode: ErrorCode
  message: string
  sessionId?: string
  details?: unknown
  retryable: boolean
  suggestion?: string
}

/** A picture, as `screenshot` answers it. */
export interface Picture {
  mimeType: string
  /** Base64. */
  data: string
}

/** What every method throws. */
export class TroupeError extends Error {
  constructor(response: ErrorResponse)
  readonly code: ErrorCode
  readonly sessionId?: string
  readonly details?: any
  /** Whether the same call may succeed when it is made again. */
  readonly retryable: boolean
  /** What to do about it. */
  readonly suggestion?: string
}

/** One shared browser and the isolated sessions in it. */
export class SessionManager {
  /** @throws TroupeError `INVALID_PARAMETERS` if an option is unknown or wrong. */
  constructor(config?: Config)
  /** Starts the browser. */
  initialize(): Promise<void>
  createSession(options?: CreateSessionArguments): Promise<Session>
  /** Brings back a session that has expired, or that a former process has left (`docs/resume.md`). */
  resumeSession(sessionId: string): Promise<Session>
  closeSession(sessionId: string): Promise<void>
  /** The session while it lives, else null. */
  getSession(sessionId: string): Session | null
  validateSession(sessionId: string): { valid: true; error?: undefined } | { valid: false; error: ErrorResponse }
  listSessions(): SessionInfo[]
  /** Closes every session and the browser. */
  shutdown(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A server that runs in this process. */
export interface Server {
  /** Where clients find it; null for stdin and stdout. */
  readonly url: string | null
  /** Resolves when it has ended, however that came. */
  readonly closed: Promise<void>
  /** Ends it: calls are cancelled, sessions and browser closed. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts the MCP server that `troupe` is on the command line, by the configuration's `transport`. */
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

  /*methods*/
}

/*interfaces*/
