/// <reference lib="esnext.disposable" />
// Generated from the tools' own schemas and scripts/index.template.d.ts. Not to be edited here: `npm run generate` writes
// it anew.

/** The options of the command line (`troupe --help`), in camelCase. The sections of a nested config file are taken too. */
export interface Config {
  /** Default `chromium`. */
  browser?: 'chromium' | 'firefox' | 'webkit' | 'chrome' | 'msedge' | NestedConfig['browser']
  /** Default `false`; without a display on Linux headless all the same. */
  headless?: boolean
  executablePath?: string
  /** Further arguments of the browser. */
  browserArg?: string[]
  /** `false` switches the browser's sandbox off. */
  sandbox?: boolean
  userDataDir?: string
  /** Attach to a running browser (`ws://…`, `http://host:9222`) instead of launching one. */
  browserEndpoint?: string
  /** `1280x720` */
  viewportSize?: string
  /** `iPhone 15` */
  device?: string
  userAgent?: string
  /** `en-GB` */
  locale?: string
  /** `Europe/Berlin` */
  timezone?: string
  /** `http://host:3128`, `socks5://host:1080` */
  proxyServer?: string
  proxyBypass?: string
  ignoreHttpsErrors?: boolean
  /** A file with cookies and storage to begin with, as Playwright writes it. */
  storageState?: string
  /** Files with scripts that run in every page first. */
  initScript?: string[]
  grantPermissions?: string[]
  /** Life of a session in milliseconds. Default 300000. */
  sessionTimeout?: number
  /** `fixed` (the default): counted from its creation. `idle`: from its last call. */
  sessionExpiry?: 'fixed' | 'idle'
  /** Default 10. */
  maxSessions?: number
  /** How long `createSession` waits for a place where there is none, in milliseconds. Default 0. */
  queueTimeout?: number
  /** How long an action waits for its element, in milliseconds. Default 5000. */
  timeoutAction?: number
  /** In milliseconds. Default 30000. */
  timeoutNavigation?: number
  /** How long at most an action waits for the requests that it started, in milliseconds. Default 2000. */
  timeoutSettle?: number
  /** Characters of one result at most. Default 25000. */
  resultBudget?: number
  logLevel?: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  logFormat?: 'text' | 'json'
  logFile?: string
  session?: NestedConfig['session']
  pool?: NestedConfig['pool']
  security?: NestedConfig['security']
  logging?: NestedConfig['logging']
}

/** The shape of a config file in sections; each key means the same as the flat one. */
export interface NestedConfig {
  browser?: {
    type?: 'chromium' | 'firefox' | 'webkit' | 'chrome' | 'msedge'
    headless?: boolean
    args?: string[]
    downloadPath?: string
  }
  session?: { defaultTimeout?: number; maxSessions?: number; persistentSessions?: boolean }
  pool?: { minBrowsers?: number; maxBrowsers?: number; idleTimeout?: number }
  security?: {
    allowedDomains?: string[]
    blockedDomains?: string[]
    maxScreenshotSize?: number
    enableFileUpload?: boolean
    enableScriptEvaluation?: boolean
  }
  logging?: {
    level?: 'error' | 'warn' | 'info' | 'debug' | 'trace'
    format?: 'text' | 'json'
    destination?: 'stdout' | 'stderr' | 'file'
    file?: string
  }
}

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
