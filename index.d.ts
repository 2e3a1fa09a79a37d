/// <reference lib="esnext.disposable" />
// Generated from the schemas of the tools and of the configuration, and
// scripts/index.template.d.ts. Do not edit it: `npm run generate` writes it.

/** The options of the command line (`troupe --help`), in camelCase. The sections of a nested configuration file are accepted, too. */
export interface Config {
  /** Browser to use. Default: chromium */
  browser?: 'chromium' | 'firefox' | 'webkit' | 'chrome' | 'msedge' | {
    /** Browser to use. Default: chromium */
    type?: 'chromium' | 'firefox' | 'webkit' | 'chrome' | 'msedge'
    /** Run without a window (default when there is no display) */
    headless?: boolean
    /** Additional argument for the browser; can be repeated */
    args?: string[]
    /** Folder for downloads */
    downloadPath?: string
  }
  /** Run without a window (default when there is no display) */
  headless?: boolean
  /** Path of the browser executable */
  executablePath?: string
  /** Mirror of Chrome for Testing from which `troupe install chromium` downloads */
  downloadHost?: string
  /** Additional argument for the browser; can be repeated */
  browserArg?: string[]
  /** Same as `browserArg` */
  browserArgs?: string[]
  /** `false`: Run Chromium without its sandbox (required as root). Default: true */
  sandbox?: boolean
  /** Run Chromium without its sandbox (required as root) */
  noSandbox?: boolean
  /** Persistent profile folder, whose cookies and storage all sessions share */
  userDataDir?: string
  /** Accepted for compatibility with @playwright/mcp; has no effect. Default: false */
  isolated?: boolean
  /** Attach to a running browser, or use a Selenium Grid */
  browserEndpoint?: string
  /** Same as `browserEndpoint` */
  cdpEndpoint?: string
  /** Header NAME=VALUE for connecting to a running browser; can be repeated */
  browserHeader?: string[]
  /** Same as `browserHeader` */
  browserHeaders?: string[]
  /** Same as `browserHeader` */
  cdpHeader?: string[]
  /** Same as `browserHeader` */
  cdpHeaders?: string[]
  /** Shell command that prints the address of a new remote browser as JSON */
  browserCommand?: string
  /** How long the browser command may run, in ms. Default: 30000 */
  browserCommandTimeout?: number
  /** Capability KEY=JSON in a Selenium Grid; can be repeated */
  gridCapability?: string[]
  /** Same as `gridCapability` */
  gridCapabilities?: string[]
  /** Whether remote sessions have new contexts, or are tabs of the default context. Default: new */
  remoteContext?: 'new' | 'default'
  /** Whether to end a remote browser that is no longer needed, or only disconnect */
  remoteClose?: 'disconnect' | 'terminate'
  /** Use your own running Chrome: a channel, a port or a profile folder */
  attach?: boolean | number | string
  /** How long a call waits for your consent in your Chrome, in ms. Default: 50000 */
  attachTimeout?: number
  /** Folder for downloads */
  downloadPath?: string
  /** Viewport size, such as 1280x720 */
  viewportSize?: string | {
    width: number
    height: number
  }
  /** Same as `viewportSize` */
  viewport?: string | {
    width: number
    height: number
  }
  /** Device to emulate, such as "iPhone 15" */
  device?: string
  /** Emulate a phone: Pixel 10, or iPhone 17 in WebKit. Default: false */
  mobile?: boolean
  /** Device pixels for each CSS pixel */
  deviceScaleFactor?: number
  /** User agent string */
  userAgent?: string
  /** Language and region, such as en-GB */
  locale?: string
  /** Time zone, such as Europe/Berlin */
  timezone?: string
  /** Proxy, such as http://host:3128 or socks5://host:1080 */
  proxyServer?: string
  /** Domains that bypass the proxy, comma-separated */
  proxyBypass?: string
  /** Accept invalid TLS certificates. Default: false */
  ignoreHttpsErrors?: boolean
  /** File with initial cookies and storage (Playwright's storage state) */
  storageState?: string
  /** Script that runs in every page before its own scripts; can be repeated */
  initScript?: string[]
  /** Permissions of pages, such as geolocation,clipboard-read */
  grantPermissions?: ('accelerometer' | 'ambient-light-sensor' | 'background-sync' | 'camera' | 'clipboard-read' | 'clipboard-write' | 'geolocation' | 'gyroscope' | 'local-fonts' | 'local-network-access' | 'magnetometer' | 'microphone' | 'midi' | 'midi-sysex' | 'notifications' | 'payment-handler' | 'screen-wake-lock' | 'storage-access')[]
  /** Prevent pages from registering service workers. Default: false */
  blockServiceWorkers?: boolean
  /** Time after which a session expires, in ms (see --session-expiry). Default: 300000 */
  sessionTimeout?: number
  /** When the timeout starts: at the creation (fixed), or at the last call (idle). Default: idle */
  sessionExpiry?: 'fixed' | 'idle'
  /** Maximum number of open sessions; over HTTP, the default depends on memory */
  maxSessions?: number
  /** Maximum number of open sessions of all servers with the same --store */
  maxSessionsTotal?: number
  /** How long a call waits for a session at the limit, in ms; 0: it fails at once. Default: 0 */
  queueTimeout?: number
  /** Memory that must be free for a new session, in bytes. Default: 134217728 */
  minFreeMemory?: number
  /** Keep sessions resumable after the server exits. Default: true */
  persistentSessions?: boolean
  /** Resume the sessions of earlier servers of this user and directory at startup. Default: false */
  autoResume?: boolean
  /** How long an action waits for its element, in ms; 0 is no limit. Default: 5000 */
  timeoutAction?: number
  /** How long a navigation may take, in ms; 0 is no limit. Default: 30000 */
  timeoutNavigation?: number
  /** How long an action waits for the requests that it started, in ms. Default: 2000 */
  timeoutSettle?: number
  /** Minimum number of running browsers. Default: 1 */
  poolMinBrowsers?: number
  /** Maximum number of browsers; new sessions use the one with the fewest sessions. Default: 1 */
  poolMaxBrowsers?: number
  /** Close a browser without sessions after this time, in ms */
  poolIdleTimeout?: number
  /** Browser contexts created in advance for new sessions (headless only). Default: 0 */
  warmContexts?: number
  /** WebKit browsers started in advance. Default: 1 */
  warmBrowsers?: number
  /** How clients reach the server. Default: stdio */
  transport?: 'stdio' | 'http' | 'websocket'
  /** Address to bind. Default: 127.0.0.1 */
  host?: string
  /** Port to bind; 0 takes a free one. Default: 4000 */
  port?: number
  /** Token that clients must send; use a file or TROUPE_AUTH_TOKEN to hide it from ps */
  authToken?: string
  /** File that contains the token */
  authTokenFile?: string
  /** `false`: Serve without a token; only on a loopback address. Default: true */
  auth?: boolean
  /** Serve without a token; only on a loopback address */
  noAuth?: boolean
  /** Additional accepted Host names; * accepts any */
  allowedHosts?: string[]
  /** Origins of web pages that may call the server, such as https://app.example.com */
  allowedOrigins?: string[]
  /** Serve every path below this one, such as /troupe, behind a reverse proxy */
  basePath?: string
  /** Where other servers with the same --store reach this one (default: its address) */
  advertiseUrl?: string
  /** Reverse proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8 */
  trustedProxies?: string[]
  /** Maximum number of connections. Default: 2000 */
  maxConnections?: number
  /** Maximum requests per second from one address; 0 is no limit. Default: 0 */
  rateLimit?: number
  /** How long a request may take to arrive, in ms. Default: 30000 */
  requestTimeout?: number
  /** Save and close the sessions of an idle HTTP client after this time, in ms. Default: 60000 */
  idleTimeout?: number
  /** How long calls wait while a person controls their session, in ms. Default: 300000 */
  takeoverTimeout?: number
  /** Ask a person in the dashboard when a page shows a CAPTCHA or a password field */
  handoffOn?: ('captcha' | 'login')[]
  /** How long running calls may take to finish after SIGTERM, in ms. Default: 2000 */
  drainTimeout?: number
  /** Stop the daemon of the command line after this time without a client, in ms. Default: 3600000 */
  daemonIdle?: number
  /** Run as a stdio proxy for a running Troupe server */
  connect?: string
  /** Start this MCP server for each session, in place of the built-in engine */
  upstream?: string
  /** Transport to the upstream server. Default: stdio */
  upstreamTransport?: 'stdio' | 'http'
  /** How long the upstream server may take to start, in ms. Default: 60000 */
  upstreamStartTimeout?: number
  /** Cancel calls after this time without progress, in ms. Default: 600000 */
  upstreamCallTimeout?: number
  /** Interval of pings, in ms. Default: 30000 */
  upstreamPingInterval?: number
  /** How long the upstream server may take to answer a ping, in ms. Default: 10000 */
  upstreamPingTimeout?: number
  /** Restart after this many consecutive missed pings. Default: 3 */
  upstreamPingMisses?: number
  /** Pause before a restart, in ms; doubled for each further restart. Default: 1000 */
  upstreamRestartPause?: number
  /** Maximum number of restarts within the window. Default: 3 */
  upstreamRestarts?: number
  /** Window for the number of restarts, in ms. Default: 300000 */
  upstreamRestartWindow?: number
  /** How long the upstream server may take to exit before SIGTERM, in ms. Default: 5000 */
  upstreamCloseTimeout?: number
  /** How long the upstream server may take after SIGTERM before SIGKILL, in ms. Default: 2000 */
  upstreamTermTimeout?: number
  /** Tools to offer: native, playwright, all, or names and groups (group:network). Default: ["native"] */
  tools?: string[]
  /** Tools and groups to disable */
  noTools?: string[]
  /** Offer only tools that do not change pages. Default: false */
  readOnly?: boolean
  /** Capabilities of the Playwright tools, such as vision,pdf */
  caps?: ('config' | 'core' | 'core-input' | 'core-install' | 'core-navigation' | 'core-tabs' | 'devtools' | 'network' | 'pdf' | 'storage' | 'testing' | 'tracing' | 'vision')[]
  /** The same as --caps vision. Default: false */
  vision?: boolean
  /** Language of the code in results of the Playwright tools. Default: typescript */
  codegen?: 'typescript' | 'python' | 'java' | 'csharp' | 'none'
  /** Minimum level of console messages in results of the Playwright tools. Default: info */
  consoleLevel?: 'error' | 'warning' | 'info' | 'debug'
  /** How results of the Playwright tools name files. Default: relative */
  filePaths?: 'relative' | 'absolute'
  /** Whether results of the Playwright tools contain images. Default: allow */
  imageResponses?: 'allow' | 'omit' | 'only'
  /** Size of the output folder, in bytes, at which old files are deleted */
  outputMaxSize?: number
  /** Whether actions of the Playwright tools write a snapshot. Default: full */
  snapshotMode?: 'full' | 'none'
  /** Include the boxes of elements in snapshots of the Playwright tools. Default: false */
  snapshotBoxes?: boolean
  /** Test id attribute of locators of the Playwright tools (default: data-testid) */
  testIdAttribute?: string
  /** Folder with additional prompts */
  prompts?: string
  /** Page content in the result of an action. Default: changes */
  afterAction?: 'none' | 'changes' | 'snapshot'
  /** Whether a navigation returns a short snapshot (default: over MCP only) */
  afterNavigation?: 'snapshot' | 'none'
  /** Maximum characters of a result. Default: 25000 */
  resultBudget?: number
  /** Whether results contain their content, or only a refId to read it. Default: full */
  responses?: 'full' | 'ref'
  /** Folder for files that tools write, or s3://BUCKET/PREFIX */
  outputDir?: string
  /** Where to record calls: none, memory, an SQLite file, or postgres://HOST/DATABASE */
  store?: string
  /** How long a call waits for its record, in ms (default: 1000; PostgreSQL: 5000) */
  storeTimeout?: number
  /** What to do if a call cannot be recorded (default: continue; PostgreSQL: refuse) */
  storeFailure?: 'refuse' | 'continue'
  /** Maximum age and size of the record. Default: 7d,1GiB */
  retention?: string
  /** Record the values of cookies, storage and Authorization headers unmasked. Default: false */
  recordHeaders?: boolean
  /** Record a small image of the page after each action. Default: false */
  recordPictures?: boolean
  /** Allow only these domains; *.example.com is example.com and its subdomains */
  allowedDomains?: string[]
  /** Block these domains; *.example.com is example.com and its subdomains */
  blockedDomains?: string[]
  /** Block requests of pages to these origins; semicolon-separated */
  blockedOrigins?: string[]
  /** Allow all pages to reach private addresses. Default: false */
  allowPrivateNetwork?: boolean
  /** Allow file: URLs, and access to files in all folders. Default: false */
  allowFileAccess?: boolean
  /** Same as `allowFileAccess` */
  allowUnrestrictedFileAccess?: boolean
  /** Offer evaluate (default: not while a page of the session holds a typed secret) */
  enableScriptEvaluation?: boolean
  /** Offer the tool run_script, which runs JavaScript with many steps in one call. Default: false */
  enableScripts?: boolean
  /** Offer the tool upload_file. Default: true */
  enableFileUpload?: boolean
  /** Maximum size of a screenshot, in bytes. Default: 10485760 */
  maxScreenshotSize?: number
  /** File of secrets that agents type by name: one NAME=value per line */
  secrets?: string
  /** `false`: Omit the marks around untrusted page content. Default: true */
  boundaries?: boolean
  /** Omit the marks around untrusted page content */
  noBoundaries?: boolean
  /** Minimum level of log entries. Default: info */
  logLevel?: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  /** Format of the log. Default: text */
  logFormat?: 'text' | 'json'
  /** Destination of the log; stdout only over HTTP and WebSocket */
  logDestination?: 'stdout' | 'stderr' | 'file'
  /** File for the log, instead of stderr */
  logFile?: string
  /** Name of the server that clients see. Default: troupe */
  name?: string
  /** Version of the server that clients see. Default: the version of Troupe */
  version?: string
  /** URL of a schema, for editors */
  $schema?: string
  session?: {
    /** Maximum number of open sessions; over HTTP, the default depends on memory */
    maxSessions?: number
    /** Keep sessions resumable after the server exits. Default: true */
    persistentSessions?: boolean
    /** How long a navigation may take, in ms; 0 is no limit. Default: 30000 */
    defaultTimeout?: number
  }
  pool?: {
    /** Minimum number of running browsers. Default: 1 */
    minBrowsers?: number
    /** Maximum number of browsers; new sessions use the one with the fewest sessions. Default: 1 */
    maxBrowsers?: number
    /** Close a browser without sessions after this time, in ms */
    idleTimeout?: number
  }
  security?: {
    /** Allow only these domains; *.example.com is example.com and its subdomains */
    allowedDomains?: string[]
    /** Block these domains; *.example.com is example.com and its subdomains */
    blockedDomains?: string[]
    /** Offer evaluate (default: not while a page of the session holds a typed secret) */
    enableScriptEvaluation?: boolean
    /** Offer the tool run_script, which runs JavaScript with many steps in one call. Default: false */
    enableScripts?: boolean
    /** Offer the tool upload_file. Default: true */
    enableFileUpload?: boolean
    /** Maximum size of a screenshot, in bytes. Default: 10485760 */
    maxScreenshotSize?: number
  }
  logging?: {
    /** Minimum level of log entries. Default: info */
    level?: 'error' | 'warn' | 'info' | 'debug' | 'trace'
    /** Format of the log. Default: text */
    format?: 'text' | 'json'
    /** Destination of the log; stdout only over HTTP and WebSocket */
    destination?: 'stdout' | 'stderr' | 'file'
    /** File for the log, instead of stderr */
    file?: string
  }
}

export type ErrorCode =
  /** A parameter is missing, unknown or has the wrong type (`details.violations`). */
  | 'INVALID_PARAMETERS'
  /** The URL cannot be parsed. */
  | 'INVALID_URL'
  /** The target cannot be parsed. */
  | 'INVALID_SELECTOR'
  /** No session has this id, or it was closed. */
  | 'SESSION_NOT_FOUND'
  /** The session has expired, before or during the call. */
  | 'SESSION_EXPIRED'
  /** No page of the session has this id, or it was closed. */
  | 'PAGE_NOT_FOUND'
  /** No recorded call has this id. */
  | 'RECORD_NOT_FOUND'
  /** The session limit is reached. */
  | 'MAX_SESSIONS_REACHED'
  /** A navigation failed or timed out (`details.reason`). Timeouts and reset connections are retryable. */
  | 'NAVIGATION_FAILED'
  /** No element matches within the timeout, or the ref is stale (`details.reason`). */
  | 'ELEMENT_NOT_FOUND'
  /** The target of an action matches several elements (`details.matches`). */
  | 'ELEMENT_AMBIGUOUS'
  /** The element cannot be clicked, focused or scrolled (`details.reason`: hidden, disabled, covered, moving, not scrollable, or `ELEMENT_NOT_INTERACTIVE` if it never can). */
  | 'ELEMENT_NOT_CLICKABLE'
  /** The element cannot be edited: hidden, disabled, read-only or not a field (`details.reason`). */
  | 'ELEMENT_NOT_EDITABLE'
  /** A dialog blocks the page. */
  | 'DIALOG_OPEN'
  /** A wait has timed out. */
  | 'TIMEOUT'
  /** A request other than a navigation failed, for example a `fetch` of `evaluate`. */
  | 'NETWORK_ERROR'
  /** A script in the page threw an exception (`details` has message and position). */
  | 'SCRIPT_ERROR'
  /** The server's configuration forbids the call (`details.rule`). */
  | 'BLOCKED_BY_POLICY'
  /** The browser or the page has crashed. Not retryable if a crashed page must be navigated first. */
  | 'BROWSER_CRASHED'
  /** The browser rejected the call, does not support it, or could not be started. */
  | 'BROWSER_ERROR'
  /** A limit of memory, size or number is reached. */
  | 'RESOURCE_EXHAUSTED'
  /** The upstream server of the session is not running. */
  | 'UPSTREAM_UNAVAILABLE'
  /** The server behind `--connect` cannot be reached, the server is stopping or ended during the call, or another server has taken over the session. */
  | 'SERVER_UNAVAILABLE'
  /** A person controls the session in the dashboard, and did not give it back within --takeover-timeout. */
  | 'SESSION_HELD'
  /** A defect of Troupe, or a failure of the machine. */
  | 'INTERNAL_ERROR'

/** Facts about an error. Which of them it has depends on its code and reason. */
export interface ErrorDetails {
  /** A short reason: `stale`, `covered`, `timeout`, `net::ERR_CONNECTION_REFUSED`… */
  reason?: string
  /** `INVALID_PARAMETERS`: all problems of the parameters. */
  violations?: {
    parameter: string
    problem: string
    reason?: string
  }[]
  selector?: string
  /** The ref of the element. */
  ref?: string
  /** The elements that match an ambiguous target. */
  matches?: {
    ref: string
    description: string
  }[]
  /** Elements that are similar to the one that was not found. */
  suggestions?: {
    ref: string
    description: string
  }[]
  /** The element that covers the target. */
  covering?: string
  /** The URL of the page. */
  page?: string
  pageId?: string
  url?: string
  path?: string
  key?: string
  /** Milliseconds. */
  timeout?: number
  /** The open dialog: `type`, `message`, `defaultValue`. */
  dialog?: unknown
  /** The option of the server's configuration that forbids the call. */
  rule?: string
  /** `fill_form`: the field that failed, and how many were filled before it. */
  field?: string
  filled?: number
  /** `SCRIPT_ERROR`: the exception's message, class and position. */
  message?: string
  class?: string
  line?: number
  column?: number
  /** `run_script`: the session method that failed, the number of calls that the script made, and what it printed. */
  call?: string
  steps?: number
  console?: string[]
  /** The operation that the browser does not support. */
  unsupported?: string
  /** Length of the result in characters, if `offset` is past its end. */
  total?: number
  maxSessions?: number
  /** The limit of all servers that share the record. */
  maxSessionsTotal?: number
  /** The open sessions of the connection. */
  sessions?: string[]
  /** Working directory of the server that uses the session. */
  workingDirectory?: string
  /** Bytes. */
  availableMemory?: number
  /** Bytes. */
  minFreeMemory?: number
  /** Milliseconds since 1970. */
  retryAt?: number
  /** The error of the upstream server. */
  upstream?: unknown
  /** Stack trace of Troupe's script in the page: a defect of Troupe. */
  stack?: string
}

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

  /** Get cookies and storage as Playwright's storageState, or write them to a new file. */
  saveState(path?: SaveStateArguments['path'], options?: Omit<SaveStateArguments, 'path'>): Promise<SaveStateResult>
  saveState(args?: SaveStateArguments): Promise<SaveStateResult>

  /** Replace cookies and storage with a saved state, or that of a file. */
  restoreState(args: RestoreStateArguments): Promise<RestoreStateResult>

  /** Read cookies, including HttpOnly: all, or those sent to given URLs. */
  getCookies(urls?: GetCookiesArguments['urls'], options?: Omit<GetCookiesArguments, 'urls'>): Promise<GetCookiesResult>
  getCookies(args?: GetCookiesArguments): Promise<GetCookiesResult>

  /** Set cookies, each with a url or a domain; an expiry in the past deletes. */
  setCookies(cookies: SetCookiesArguments['cookies'], options?: Omit<SetCookiesArguments, 'cookies'>): Promise<ChangedResult>
  setCookies(args: SetCookiesArguments): Promise<ChangedResult>

  /** Resize the session's pages, for example to see the layout on a phone. */
  setViewport(width: SetViewportArguments['width'], height: SetViewportArguments['height'], options?: Omit<SetViewportArguments, 'width' | 'height'>): Promise<ChangedResult>
  setViewport(args: SetViewportArguments): Promise<ChangedResult>

  /** Go to a URL and wait until it has loaded. */
  navigate(url: NavigateArguments['url'], options?: Omit<NavigateArguments, 'url'>): Promise<NavigateResult>
  navigate(args: NavigateArguments): Promise<NavigateResult>

  /** Go back in the history. */
  goBack(args?: GoBackArguments): Promise<NavigateResult>

  /** Go forward in the history. */
  goForward(args?: GoForwardArguments): Promise<NavigateResult>

  /** Reload the page from its server. */
  reload(args?: ReloadArguments): Promise<NavigateResult>

  /** Wait until the page has loaded, or its network is idle. */
  waitForLoad(state?: WaitForLoadArguments['state'], options?: Omit<WaitForLoadArguments, 'state'>): Promise<NavigateResult>
  waitForLoad(args?: WaitForLoadArguments): Promise<NavigateResult>

  /** List, open (at a url), select or close tabs, or adopt a tab of the user (--attach). A popup is not selected automatically. */
  pages(action: PagesArguments['action'], options?: Omit<PagesArguments, 'action'>): Promise<PagesResult>
  pages(args: PagesArguments): Promise<PagesResult>

  /** Click an element by its ref (e12) or a selector: CSS, XPath, text=, role=, label=, testid=; >>> enters frames. */
  click(selector?: ClickArguments['selector'], options?: Omit<ClickArguments, 'selector'>): Promise<ActionResult>
  click(args?: ClickArguments): Promise<ActionResult>

  /** Type text key by key; clear replaces the field's text, submit presses Enter. */
  type(selector: TypeArguments['selector'], text: TypeArguments['text'], options?: Omit<TypeArguments, 'selector' | 'text'>): Promise<ActionResult>
  type(args: TypeArguments): Promise<ActionResult>

  /** Set a field's value at once. For most forms; use type if a field reacts to keys. */
  fill(selector: FillArguments['selector'], value: FillArguments['value'], options?: Omit<FillArguments, 'selector' | 'value'>): Promise<ActionResult>
  fill(args: FillArguments): Promise<ActionResult>

  /** Set several fields: text, options, true or false for checkboxes. */
  fillForm(fields: FillFormArguments['fields'], options?: Omit<FillFormArguments, 'fields'>): Promise<ActionResult>
  fillForm(args: FillFormArguments): Promise<ActionResult>

  /** Choose an option of a <select> by value or label. */
  select(selector: SelectArguments['selector'], value: SelectArguments['value'], options?: Omit<SelectArguments, 'selector' | 'value'>): Promise<ActionResult>
  select(args: SelectArguments): Promise<ActionResult>

  /** Check a checkbox, switch or radio button. */
  check(selector: CheckArguments['selector'], options?: Omit<CheckArguments, 'selector'>): Promise<ActionResult>
  check(args: CheckArguments): Promise<ActionResult>

  /** Uncheck a checkbox or switch. */
  uncheck(selector: UncheckArguments['selector'], options?: Omit<UncheckArguments, 'selector'>): Promise<ActionResult>
  uncheck(args: UncheckArguments): Promise<ActionResult>

  /** Move the pointer over an element, for menus and tooltips. */
  hover(selector?: HoverArguments['selector'], options?: Omit<HoverArguments, 'selector'>): Promise<ActionResult>
  hover(args?: HoverArguments): Promise<ActionResult>

  /** Scroll by x and y pixels (wheel on maps), or an element into view. Actions scroll automatically. */
  scroll(args?: ScrollArguments): Promise<ActionResult>

  /** Drag one element onto another, or along a path to draw. */
  dragAndDrop(source?: DragAndDropArguments['source'], target?: DragAndDropArguments['target'], options?: Omit<DragAndDropArguments, 'source' | 'target'>): Promise<ActionResult>
  dragAndDrop(args?: DragAndDropArguments): Promise<ActionResult>

  /** Set the files of a file input, or of the chooser that a button opens. */
  uploadFile(selector: UploadFileArguments['selector'], files: UploadFileArguments['files'], options?: Omit<UploadFileArguments, 'selector' | 'files'>): Promise<ActionResult>
  uploadFile(args: UploadFileArguments): Promise<ActionResult>

  /** Press a key or chord in the focused element: Enter, ArrowDown, Control+A. */
  press(key: PressArguments['key'], options?: Omit<PressArguments, 'key'>): Promise<ActionResult>
  press(args: PressArguments): Promise<ActionResult>

  /** Accept or dismiss the open JavaScript dialog. */
  handleDialog(accept: HandleDialogArguments['accept'], options?: Omit<HandleDialogArguments, 'accept'>): Promise<ActionResult>
  handleDialog(args: HandleDialogArguments): Promise<ActionResult>

  /** Get the page as text: roles, names, states, and a ref (e12) for each element to act on. */
  snapshot(selector?: SnapshotArguments['selector'], options?: Omit<SnapshotArguments, 'selector'>): Promise<string>
  snapshot(args?: SnapshotArguments): Promise<string>

  /** Find lines of the whole page, with refs, if a snapshot is long or shortened. */
  find(text?: FindArguments['text'], options?: Omit<FindArguments, 'text'>): Promise<string>
  find(args?: FindArguments): Promise<string>

  /** Read the main content as Markdown: articles, documentation. */
  readPage(args?: ReadPageArguments): Promise<string>

  /** Read the visible text of the page or an element. */
  getText(selector?: GetTextArguments['selector'], options?: Omit<GetTextArguments, 'selector'>): Promise<GetTextResult>
  getText(args?: GetTextArguments): Promise<GetTextResult>

  /** Read the text of all matches. */
  getAllText(selector: GetAllTextArguments['selector'], options?: Omit<GetAllTextArguments, 'selector'>): Promise<GetAllTextResult>
  getAllText(args: GetAllTextArguments): Promise<GetAllTextResult>

  /** Read an attribute, such as href. */
  getAttribute(selector: GetAttributeArguments['selector'], attribute: GetAttributeArguments['attribute'], options?: Omit<GetAttributeArguments, 'selector' | 'attribute'>): Promise<GetAttributeResult>
  getAttribute(args: GetAttributeArguments): Promise<GetAttributeResult>

  /** Read a field's value and checked state. */
  getValue(selector: GetValueArguments['selector'], options?: Omit<GetValueArguments, 'selector'>): Promise<GetValueResult>
  getValue(args: GetValueArguments): Promise<GetValueResult>

  /** Take a screenshot of the page. To act on a page, use snapshot. */
  screenshot(args?: ScreenshotArguments): Promise<Picture>

  /** Take a screenshot of an element. */
  screenshotElement(selector: ScreenshotElementArguments['selector'], options?: Omit<ScreenshotElementArguments, 'selector'>): Promise<Picture>
  screenshotElement(args: ScreenshotElementArguments): Promise<Picture>

  /** Compare with an earlier screenshot: percentage, and an image with the changes boxed. */
  compareScreenshots(baseline: CompareScreenshotsArguments['baseline'], options?: Omit<CompareScreenshotsArguments, 'baseline'>): Promise<CompareScreenshotsResult>
  compareScreenshots(args: CompareScreenshotsArguments): Promise<CompareScreenshotsResult>
  /** Compares with the result of `screenshot`, or with the bytes of a PNG or JPEG file. */
  compareScreenshots(baseline: Picture | Uint8Array, options?: Omit<CompareScreenshotsArguments, 'baseline'>): Promise<CompareScreenshotsResult>

  /** Read a table as headers and rows. */
  extractTable(selector: ExtractTableArguments['selector'], options?: Omit<ExtractTableArguments, 'selector'>): Promise<ExtractTableResult>
  extractTable(args: ExtractTableArguments): Promise<ExtractTableResult>

  /** List links with text, URL and ref. */
  extractLinks(selector?: ExtractLinksArguments['selector'], options?: Omit<ExtractLinksArguments, 'selector'>): Promise<ExtractLinksResult>
  extractLinks(args?: ExtractLinksArguments): Promise<ExtractLinksResult>

  /** Read title, description, meta tags, JSON-LD and headings. */
  getPageMetadata(args?: GetPageMetadataArguments): Promise<GetPageMetadataResult>

  /** Run JavaScript: an expression that can use args, or a function called with them. Promises are awaited. */
  evaluate(script: EvaluateArguments['script'], options?: Omit<EvaluateArguments, 'script'>): Promise<EvaluateResult>
  evaluate(args: EvaluateArguments): Promise<EvaluateResult>
  /** As in Playwright: a function is called with `arg`. */
  evaluate(script: string | ((arg: any) => unknown), arg?: unknown): Promise<EvaluateResult>

  /** Save the page as a PDF file. */
  savePdf(path?: SavePdfArguments['path'], options?: Omit<SavePdfArguments, 'path'>): Promise<SavePdfResult>
  savePdf(args?: SavePdfArguments): Promise<SavePdfResult>

  /** Wait for an element and get its role, text, attributes, box and state. */
  findElement(selector: FindElementArguments['selector'], options?: Omit<FindElementArguments, 'selector'>): Promise<FindElementResult>
  findElement(args: FindElementArguments): Promise<FindElementResult>

  /** List all matches with refs. */
  findElements(selector: FindElementsArguments['selector'], options?: Omit<FindElementsArguments, 'selector'>): Promise<FindElementsResult>
  findElements(args: FindElementsArguments): Promise<FindElementsResult>

  /** Check whether anything matches, without waiting. */
  elementExists(selector: ElementExistsArguments['selector'], options?: Omit<ElementExistsArguments, 'selector'>): Promise<ElementExistsResult>
  elementExists(args: ElementExistsArguments): Promise<ElementExistsResult>

  /** Check whether an element is visible, and if not, why. */
  isVisible(selector: IsVisibleArguments['selector'], options?: Omit<IsVisibleArguments, 'selector'>): Promise<IsVisibleResult>
  isVisible(args: IsVisibleArguments): Promise<IsVisibleResult>

  /** Check whether an element is enabled. */
  isEnabled(selector: IsEnabledArguments['selector'], options?: Omit<IsEnabledArguments, 'selector'>): Promise<IsEnabledResult>
  isEnabled(args: IsEnabledArguments): Promise<IsEnabledResult>

  /** Wait until an element appears or disappears. */
  waitForSelector(selector: WaitForSelectorArguments['selector'], options?: Omit<WaitForSelectorArguments, 'selector'>): Promise<WaitedResult>
  waitForSelector(args: WaitForSelectorArguments): Promise<WaitedResult>

  /** Wait until every given condition holds. */
  waitFor(text?: WaitForArguments['text'], options?: Omit<WaitForArguments, 'text'>): Promise<WaitedResult>
  waitFor(args?: WaitForArguments): Promise<WaitedResult>

  /** Block requests of a type in the whole session; block false unblocks. */
  blockResource(resourceType: BlockResourceArguments['resourceType'], options?: Omit<BlockResourceArguments, 'resourceType'>): Promise<ChangedResult>
  blockResource(args: BlockResourceArguments): Promise<ChangedResult>

  /** Mock the response to requests; omit response to remove the mock. */
  mockResponse(url: MockResponseArguments['url'], options?: Omit<MockResponseArguments, 'url'>): Promise<ChangedResult>
  mockResponse(args: MockResponseArguments): Promise<ChangedResult>
  /** As in Playwright's `route.fulfill`. */
  mockResponse(url: string, response: NonNullable<MockResponseArguments['response']>): Promise<ChangedResult>

  /** Take the session offline, or online again. */
  setOffline(offline: SetOfflineArguments['offline'], options?: Omit<SetOfflineArguments, 'offline'>): Promise<ChangedResult>
  setOffline(args: SetOfflineArguments): Promise<ChangedResult>

  /** Throttle the session's network (bytes/s, ms); 0 or none removes a limit. */
  setThrottling(args?: SetThrottlingArguments): Promise<ChangedResult>

  /** List the page's latest requests with status, type, time and failure. */
  getRequestLog(filter?: GetRequestLogArguments['filter'], options?: Omit<GetRequestLogArguments, 'filter'>): Promise<GetRequestLogResult>
  getRequestLog(args?: GetRequestLogArguments): Promise<GetRequestLogResult>

  /** Read a call's content and images (default: newest page); repeated reads return changes; searchFor filters lines. */
  getContent(refId?: GetContentArguments['refId'], options?: Omit<GetContentArguments, 'refId'>): Promise<string | Content>
  getContent(args?: GetContentArguments): Promise<string | Content>

  /** Read the console messages of a call, or of the session. */
  getConsoleContent(refId?: GetConsoleContentArguments['refId'], options?: Omit<GetConsoleContentArguments, 'refId'>): Promise<string>
  getConsoleContent(args?: GetConsoleContentArguments): Promise<string>

  /** List the recorded calls, newest first. */
  listRequests(args?: ListRequestsArguments): Promise<ListRequestsResult>

  /** Run several calls in order in one turn: a form, a login, several pages. Selectors such as label= and role= work on pages that a step opens. One line per step, and the last result in full. */
  batch(steps: BatchArguments['steps'], options?: Omit<BatchArguments, 'steps'>): Promise<BatchResult>
  batch(args: BatchArguments): Promise<BatchResult>

  /** Run JavaScript with many steps in one call: `await session.click('e12')`, conditions, loops, `return`. session has the methods of the Node library; console.log is part of the result. */
  runScript(script: RunScriptArguments['script'], options?: Omit<RunScriptArguments, 'script'>): Promise<RunScriptResult>
  runScript(args: RunScriptArguments): Promise<RunScriptResult>
}

export interface SessionInfo {
  sessionId: string
  state: string
  /** Milliseconds since 1970. */
  createdAt: number
  /** Milliseconds since 1970. Absent if the session lives as long as its connection. */
  expiresAt?: number
  /** Milliseconds since 1970 when it was last saved. Only for sessions that are not active. */
  savedAt?: number
  pages: {
    pageId: string
    url: string
    /** True until the page navigates. */
    crashed?: boolean
  }[]
}

/** Cookies and origins, in the form of Playwright's storageState. */
export interface StorageState {
  cookies: {
    name: string
    value: string
    /** With a leading dot, the cookie is also sent to subdomains. */
    domain: string
    path: string
    /** Seconds since 1970. -1 for a session cookie. */
    expires: number
    httpOnly: boolean
    secure: boolean
    sameSite?: 'Strict' | 'Lax' | 'None'
    /** The top-level site of a partitioned cookie (CHIPS). */
    partitionKey?: string
    /** Whether a partitioned cookie was set in a frame with a cross-site ancestor. Only in Chromium. */
    _crHasCrossSiteAncestor?: boolean
  }[]
  origins: {
    origin: string
    localStorage: {
      name: string
      value: string
    }[]
    sessionStorage?: {
      name: string
      value: string
    }[]
    /** The databases; absent if they were not read. */
    indexedDB?: unknown[]
  }[]
}

export interface CreateSessionArguments {
  userAgent?: string
  viewport?: {
    width: number
    height: number
  }
  /** BCP 47, such as de-DE */
  locale?: string
  /** IANA, such as Europe/Berlin */
  timezone?: string
  /** From save_state or Playwright, or its file */
  storageState?: Partial<StorageState> | SaveStateResult | string
}

export interface SaveStateArguments {
  path?: string
}

export interface SaveStateResult {
  success: boolean
  message: string
  /** Cookies and origins, in the form of Playwright's storageState. */
  state?: StorageState
  path?: string
}

export interface RestoreStateArguments {
  /** From save_state or Playwright, or its file */
  state: Partial<StorageState> | SaveStateResult | string
}

export interface RestoreStateResult {
  success: boolean
  message: string
  /** A page in a list. */
  page: {
    pageId: string
    url: string
    /** True until the page navigates. */
    crashed?: boolean
  }
}

export interface GetCookiesArguments {
  urls?: string[]
}

export interface GetCookiesResult {
  cookies: {
    name: string
    value: string
    /** With a leading dot, the cookie is also sent to subdomains. */
    domain: string
    path: string
    /** Seconds since 1970. -1 for a session cookie. */
    expires: number
    httpOnly: boolean
    secure: boolean
    sameSite?: 'Strict' | 'Lax' | 'None'
    /** The top-level site of a partitioned cookie (CHIPS). */
    partitionKey?: string
    /** Whether a partitioned cookie was set in a frame with a cross-site ancestor. Only in Chromium. */
    _crHasCrossSiteAncestor?: boolean
  }[]
}

export interface SetCookiesArguments {
  cookies: {
    name: string
    value: string
    url?: string
    domain?: string
    path?: string
    /** s since 1970 */
    expires?: number
    httpOnly?: boolean
    secure?: boolean
    sameSite?: 'Strict' | 'Lax' | 'None'
    /** The top-level site of a partitioned cookie */
    partitionKey?: string
    _crHasCrossSiteAncestor?: boolean
  }[]
}

export interface ChangedResult {
  success: boolean
  message: string
}

export interface SetViewportArguments {
  width: number
  height: number
}

export interface NavigateArguments {
  url: string
  /** When a navigation counts as done. */
  waitUntil?: 'load' | 'domcontentloaded' | 'networkidle'
  /** ms */
  timeout?: number
  pageId?: string
}

export interface NavigateResult {
  success: boolean
  title: string
  /** The URL of the page, after redirects. */
  url: string
  /** HTTP status of the document's last response; 0 if there was none. */
  status: number
  /** Milliseconds since the navigation began: responseStart, domContentLoaded, load. */
  timing: Record<string, unknown>
  /** A short snapshot of the page (controls, headings and messages), if the configuration returns one. */
  snapshot?: string
  /** A dialog that the page opened; it waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, if that is another page. */
    pageId?: string
  }
  /** Set if the page has not been left yet, because it asks whether to leave it. */
  message?: string
  /** Set if the URL was a download; the page does not navigate. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: a later action's result then reports the end. */
    state: string
    /** Path of the file, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further downloads, also of other pages or not reported before. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: a later action's result then reports the end. */
    state: string
    /** Path of the file, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
}

export interface GoBackArguments {
  pageId?: string
}

export interface GoForwardArguments {
  pageId?: string
}

export interface ReloadArguments {
  ignoreCache?: boolean
  pageId?: string
}

export interface WaitForLoadArguments {
  /** When a navigation counts as done. */
  state?: 'load' | 'domcontentloaded' | 'networkidle'
  /** ms */
  timeout?: number
  pageId?: string
}

export interface PagesArguments {
  action: 'list' | 'new' | 'select' | 'close' | 'adopt'
  pageId?: string
  url?: string
  /** adopt: its title or URL, or a part */
  tab?: string
}

export interface PagesResult {
  success: boolean
  pages: {
    pageId: string
    url: string
    /** True until the page navigates. */
    crashed?: boolean
    title?: string
  }[]
  /** The page that calls without a `pageId` use. */
  current?: string
  /** The navigation of the new page. */
  navigation?: {
    success: boolean
    title: string
    /** The URL of the page, after redirects. */
    url: string
    /** HTTP status of the document's last response; 0 if there was none. */
    status: number
    /** Milliseconds since the navigation began: responseStart, domContentLoaded, load. */
    timing: Record<string, unknown>
    /** A short snapshot of the page (controls, headings and messages), if the configuration returns one. */
    snapshot?: string
    /** A dialog that the page opened; it waits until `handle_dialog`. */
    dialog?: {
      /** `alert`, `confirm`, `prompt` or `beforeunload`. */
      type: string
      message: string
      defaultValue?: string
      /** The page to answer it in, if that is another page. */
      pageId?: string
    }
    /** Set if the page has not been left yet, because it asks whether to leave it. */
    message?: string
    /** Set if the URL was a download; the page does not navigate. */
    download?: {
      url: string
      suggestedFilename: string
      /** `completed`, `failed`, or `inProgress`: a later action's result then reports the end. */
      state: string
      /** Path of the file, once it is complete. */
      path?: string
      /** Why it failed. */
      failure?: string
    }
    /** Further downloads, also of other pages or not reported before. */
    downloads?: {
      url: string
      suggestedFilename: string
      /** `completed`, `failed`, or `inProgress`: a later action's result then reports the end. */
      state: string
      /** Path of the file, once it is complete. */
      path?: string
      /** Why it failed. */
      failure?: string
    }[]
  }
}

export interface ClickArguments {
  selector?: string
  /** px in the element, else in the viewport */
  position?: {
    x: number
    y: number
  }
  button?: 'left' | 'right' | 'middle'
  clickCount?: number
  /** Even if hidden or covered */
  force?: boolean
  /** ms */
  timeout?: number
  modifiers?: ('Alt' | 'Control' | 'ControlOrMeta' | 'Meta' | 'Shift')[]
  pageId?: string
}

export interface ActionResult {
  success: boolean
  message: string
  /** Lines of the snapshot that were added (+), removed (-) or changed (~). */
  changes?: string
  /** The changes between the last result and this action. */
  earlierChanges?: string
  /** The page after the action, if the configuration returns it: after each action, or a short snapshot after a navigation. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
    /** Why it cannot receive files. */
    unsupported?: string
  }
  /** Set if the action has loaded another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be loaded: `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** The new URL, if the action has changed it without loading another document. */
  url?: string
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, if that is another page. */
    pageId?: string
  }
  /** A page that the action opened in addition to the current one. */
  newPage?: {
    pageId: string
    url: string
    /** True until the page navigates. */
    crashed?: boolean
  }
  /** Further pages. */
  newPages?: {
    pageId: string
    url: string
    /** True until the page navigates. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: a later action's result then reports the end. */
    state: string
    /** Path of the file, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further downloads, also of other pages or not reported before. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: a later action's result then reports the end. */
    state: string
    /** Path of the file, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False if requests were still in flight when the wait ended. */
  settled?: boolean
}

export interface TypeArguments {
  selector: string
  text: string
  /** ms between two characters */
  delay?: number
  /** ms */
  timeout?: number
  clear?: boolean
  submit?: boolean
  pageId?: string
}

export interface FillArguments {
  selector: string
  value: string
  pageId?: string
}

export interface FillFormArguments {
  fields: {
    selector: string
    value: string | boolean | number
  }[]
  pageId?: string
}

export interface SelectArguments {
  selector: string
  value: string | string[]
  pageId?: string
}

export interface CheckArguments {
  selector: string
  /** ms */
  timeout?: number
  pageId?: string
}

export interface UncheckArguments {
  selector: string
  /** ms */
  timeout?: number
  pageId?: string
}

export interface HoverArguments {
  selector?: string
  /** px in the element, else in the viewport */
  position?: {
    x: number
    y: number
  }
  /** ms */
  timeout?: number
  pageId?: string
}

export interface ScrollArguments {
  x?: number
  y?: number
  selector?: string
  /** px in the element, else in the viewport */
  position?: {
    x: number
    y: number
  }
  pageId?: string
}

export interface DragAndDropArguments {
  source?: string
  target?: string
  /** px in the element, else in the viewport */
  sourcePosition?: {
    x: number
    y: number
  }
  /** px in the element, else in the viewport */
  targetPosition?: {
    x: number
    y: number
  }
  /** Draw along these points of the source, else of the viewport */
  path?: {
    x: number
    y: number
  }[]
  /** ms */
  timeout?: number
  pageId?: string
}

export interface UploadFileArguments {
  selector: string
  /** Paths */
  files: string[]
  pageId?: string
}

export interface PressArguments {
  key: string
  /** Element to focus first */
  selector?: string
  modifiers?: ('Alt' | 'Control' | 'ControlOrMeta' | 'Meta' | 'Shift')[]
  pageId?: string
}

export interface HandleDialogArguments {
  accept: boolean
  promptText?: string
  pageId?: string
}

export interface SnapshotArguments {
  /** Only this element */
  selector?: string
  /** Interactive elements only */
  interactive?: boolean
  depth?: number
  /** Characters */
  budget?: number
  pageId?: string
}

export interface FindArguments {
  /** Case-insensitive */
  text?: string
  /** JavaScript, case-insensitive */
  regex?: string
  pageId?: string
}

export interface ReadPageArguments {
  pageId?: string
}

export interface GetTextArguments {
  selector?: string
  pageId?: string
}

export interface GetTextResult {
  text: string
}

export interface GetAllTextArguments {
  selector: string
  pageId?: string
}

export interface GetAllTextResult {
  texts: string[]
  count: number
}

export interface GetAttributeArguments {
  selector: string
  attribute: string
  pageId?: string
}

export interface GetAttributeResult {
  /** Null if the element has no such attribute. */
  value: string | null
}

export interface GetValueArguments {
  selector: string
  pageId?: string
}

export interface GetValueResult {
  /** Null if the element has none. */
  value: string | null
  /** The values of a `<select multiple>`. */
  values?: string[]
  /** true, false or "mixed". */
  checked?: unknown
}

export interface ScreenshotArguments {
  fullPage?: boolean
  type?: 'png' | 'jpeg'
  /** jpeg only */
  quality?: number
  /** Draw refs */
  annotate?: boolean
  /** New PNG or JPEG file */
  path?: string
  pageId?: string
}

export interface ScreenshotElementArguments {
  selector: string
  type?: 'png' | 'jpeg'
  pageId?: string
}

export interface CompareScreenshotsArguments {
  /** Path, base64, or refId or URI of a screenshot */
  baseline: string
  selector?: string
  pageId?: string
}

export interface CompareScreenshotsResult {
  /** Percentage of changed pixels. */
  percentage: number
  changedPixels: number
  totalPixels: number
  /** Changed regions in pixels of the image, the largest first. */
  regions: {
    x: number
    y: number
    width: number
    height: number
  }[]
  baseline: {
    width: number
    height: number
  }
  current: {
    width: number
    height: number
  }
  image: {
    data: string
    mimeType: string
  }
}

export interface ExtractTableArguments {
  selector: string
  pageId?: string
}

export interface ExtractTableResult {
  caption?: string
  headers: string[]
  rows: string[][]
}

export interface ExtractLinksArguments {
  /** Only links inside */
  selector?: string
  pageId?: string
}

export interface ExtractLinksResult {
  links: {
    text: string
    url: string
    ref: string
  }[]
}

export interface GetPageMetadataArguments {
  pageId?: string
}

export interface GetPageMetadataResult {
  title: string
  url: string
  description?: string
  canonical?: string
  language?: string
  charset: string
  meta: Record<string, unknown>
  jsonLd: unknown[]
  headings: {
    level: number
    text: string
  }[]
  icons: string[]
}

export interface EvaluateArguments {
  script: string
  args?: unknown[]
  pageId?: string
}

export interface EvaluateResult {
  success: boolean
  value: unknown
}

export interface SavePdfArguments {
  path?: string
  pageId?: string
}

export interface SavePdfResult {
  success: boolean
  path: string
  bytes: number
}

export interface FindElementArguments {
  selector: string
  /** ms */
  timeout?: number
  pageId?: string
}

export interface FindElementResult {
  ref: string
  description: string
  role: string
  name: string
  tag: string
  text: string
  attributes: Record<string, unknown>
  /** CSS pixels of the viewport: x, y, width, height. */
  box: Record<string, unknown>
  visible: boolean
  enabled: boolean
  value?: string
  /** true, false or "mixed". */
  checked?: unknown
  /** CSS */
  path: string
}

export interface FindElementsArguments {
  selector: string
  pageId?: string
}

export interface FindElementsResult {
  elements: {
    ref: string
    description: string
    tag: string
    text: string
    visible: boolean
    attributes: Record<string, unknown>
  }[]
  /** The number of matches, including those that are not listed. */
  count: number
}

export interface ElementExistsArguments {
  selector: string
  pageId?: string
}

export interface ElementExistsResult {
  exists: boolean
  /** Number of matches. */
  count: number
  ref?: string
  description?: string
}

export interface IsVisibleArguments {
  selector: string
  pageId?: string
}

export interface IsVisibleResult {
  visible: boolean
  exists: boolean
  /** Why it is not visible. */
  reason?: string
}

export interface IsEnabledArguments {
  selector: string
  pageId?: string
}

export interface IsEnabledResult {
  enabled: boolean
}

export interface WaitForSelectorArguments {
  selector: string
  /** The state of an element to wait for. */
  state?: 'attached' | 'detached' | 'visible' | 'hidden'
  /** ms */
  timeout?: number
  pageId?: string
}

export interface WaitedResult {
  success: boolean
  message: string
  ref?: string
  description?: string
  /** Lines of the snapshot that were added (+), removed (-) or changed (~) since the last result. */
  changes?: string
  /** A short snapshot, if the client was not shown this document. */
  snapshot?: string
}

export interface WaitForArguments {
  text?: string
  textGone?: string
  /** URL, part of it, or a glob */
  url?: string
  /** ms */
  time?: number
  /** ms */
  timeout?: number
  pageId?: string
}

export interface BlockResourceArguments {
  /** The type of a requested resource, as in CDP, in lower case. */
  resourceType: 'document' | 'stylesheet' | 'image' | 'media' | 'font' | 'script' | 'texttrack' | 'xhr' | 'fetch' | 'eventsource' | 'websocket' | 'manifest' | 'ping' | 'prefetch' | 'preflight' | 'other'
  block?: boolean
  pageId?: string
}

export interface MockResponseArguments {
  /** URL, part of it, or a glob */
  url: string
  response?: {
    status?: number
    headers?: Record<string, unknown>
    body?: string
    /** Instead of body */
    json?: unknown
    contentType?: string
  }
  pageId?: string
}

export interface SetOfflineArguments {
  offline: boolean
  pageId?: string
}

export interface SetThrottlingArguments {
  /** bytes/s */
  downloadSpeed?: number
  /** bytes/s */
  uploadSpeed?: number
  /** ms */
  latency?: number
  pageId?: string
}

export interface GetRequestLogArguments {
  /** Part of the URL, a type (fetch), a status (404, 4xx) or failed */
  filter?: string
  pageId?: string
}

export interface GetRequestLogResult {
  /** The newest last. */
  requests: {
    url: string
    method: string
    /** Absent until there is a response. */
    status?: number
    resourceType: string
    /** Milliseconds since 1970. */
    startTime: number
    /** Milliseconds; absent while the request is in flight. */
    duration?: number
    /** Bytes over the network. */
    size?: number
    failure?: string
    fromMock?: boolean
    /** URL of the frame that made the request, if it is not the main frame. */
    frame?: string
    /** Shared and service workers belong to the session: the log of every page has their requests. */
    worker?: 'dedicated' | 'shared' | 'service'
  }[]
  /** Total number; if `requests` has fewer, the oldest are left out. */
  count: number
}

export interface GetContentArguments {
  refId?: string
  /** Characters */
  offset?: number
  searchFor?: string
  resetCursor?: boolean
}

export interface GetConsoleContentArguments {
  refId?: string
  level?: 'debug' | 'info' | 'warn' | 'error' | ''
}

export interface ListRequestsArguments {
  limit?: number
}

export interface ListRequestsResult {
  requests: {
    refId: string
    sessionId?: string
    tool: string
    /** `success`, `error`, or `running`. */
    status: string
    /** Milliseconds since 1970. */
    timestamp: number
    /** Milliseconds. */
    duration?: number
    hasSnapshot: boolean
    hasConsoleLogs: boolean
    consoleErrorCount: number
  }[]
}

export interface BatchArguments {
  steps: {
    tool: string
    arguments?: Record<string, unknown>
  }[]
  /** Default true */
  stopOnError?: boolean
  pageId?: string
}

export interface BatchResult {
  /** Whether every step succeeded. */
  success: boolean
  results: {
    tool: string
    /** The result of the tool. */
    result?: unknown
    /** The number of the step's image among those that follow, from 1. */
    picture?: number
    error?: unknown
  }[]
  /** Steps that were not run. */
  skipped?: number
}

export interface RunScriptArguments {
  /** The body of an async function with session, args and console */
  script: string
  /** The value of args */
  args?: unknown
  /** Default 60000, at most 600000 */
  timeout?: number
}

export interface RunScriptResult {
  success: boolean
  /** What the script returned. */
  value: unknown
  /** The lines that it printed. */
  console?: string[]
  /** Number of calls that it made. */
  steps: number
}

/** A page logged a message. */
export interface ConsoleEvent {
  pageId: string
  /** `debug`, `info`, `warn` or `error`. */
  level: string
  text: string
  /** Milliseconds since 1970. */
  at: number
  url?: string
  /** From 1. */
  line?: number
  /** From 1. */
  column?: number
}

/** A page sent a request. */
export interface RequestEvent {
  pageId: string
  url: string
  method: string
  resourceType: string
}

/** The headers of a response arrived. */
export interface ResponseEvent {
  pageId: string
  url: string
  status: number
}

/** A page opened a dialog and waits until `handleDialog` is called. */
export interface DialogEvent {
  pageId: string
  /** `alert`, `confirm`, `prompt` or `beforeunload`. */
  kind: string
  message: string
  defaultValue?: string
}

/** A download began (`inProgress`) or ended. */
export interface DownloadEvent {
  url: string
  suggestedFilename: string
  /** `inProgress`, `completed` or `failed`. */
  state: string
  /** The file of a completed download. */
  path?: string
  /** Why the download failed. */
  failure?: string
}

/** A page opened. */
export interface PageEvent {
  pageId: string
  url: string
}

/** The session ended. */
export interface CloseEvent {
  /** `closed`, `expired`, or `released` when the server stops. */
  reason: string
}

/** The events of a session and what its listeners are called with. */
export interface SessionEvents {
  console: ConsoleEvent
  request: RequestEvent
  response: ResponseEvent
  dialog: DialogEvent
  download: DownloadEvent
  page: PageEvent
  close: CloseEvent
}
