/// <reference lib="esnext.disposable" />
// Generated from the schemas of the tools and of the configuration, and scripts/index.template.d.ts. Not to be edited here:
// `npm run generate` writes it anew.

/** The options of the command line (`troupe --help`), in camelCase. The sections of a nested config file are taken too. */
export interface Config {
  /** Which browser. Default: chromium */
  browser?: 'chromium' | 'firefox' | 'webkit' | 'chrome' | 'msedge' | {
    /** Which browser. Default: chromium */
    type?: 'chromium' | 'firefox' | 'webkit' | 'chrome' | 'msedge'
    /** Without a window; also where no display is there and nothing is said */
    headless?: boolean
    /** A further argument of the browser; may be repeated */
    args?: string[]
    /** Folder of the downloads */
    downloadPath?: string
  }
  /** Without a window; also where no display is there and nothing is said */
  headless?: boolean
  /** The browser's executable */
  executablePath?: string
  /** A further argument of the browser; may be repeated */
  browserArg?: string[]
  /** `false`: Without the browser's sandbox, as root needs it. Default: true */
  sandbox?: boolean
  /** A profile folder that stays; allows one session */
  userDataDir?: string
  /** Sessions are kept in memory, as they are anyway. Default: false */
  isolated?: boolean
  /** Attach to a running browser instead of launching one */
  browserEndpoint?: string
  /** Folder of the downloads */
  downloadPath?: string
  /** Size of the pages, as 1280x720 */
  viewportSize?: string | {
    width: number
    height: number
  }
  /** A device to look like, as "iPhone 15" */
  device?: string
  /** The user agent */
  userAgent?: string
  /** Language and region, as en-GB */
  locale?: string
  /** Time zone, as Europe/Berlin */
  timezone?: string
  /** The proxy, as http://host:3128 or socks5://host:1080 */
  proxyServer?: string
  /** Domains that go past the proxy, comma-separated */
  proxyBypass?: string
  /** Take any certificate. Default: false */
  ignoreHttpsErrors?: boolean
  /** Cookies and storage to begin with (Playwright's file) */
  storageState?: string
  /** A script that runs in every page first; may be repeated */
  initScript?: string[]
  /** Permissions of the pages, as geolocation,clipboard-read */
  grantPermissions?: ('accelerometer' | 'ambient-light-sensor' | 'background-sync' | 'camera' | 'clipboard-read' | 'clipboard-write' | 'geolocation' | 'gyroscope' | 'local-fonts' | 'local-network-access' | 'magnetometer' | 'microphone' | 'midi' | 'midi-sysex' | 'notifications' | 'payment-handler' | 'screen-wake-lock' | 'storage-access')[]
  /** Life of a session in ms. Default: 300000 */
  sessionTimeout?: number
  /** Counted from creation, or from the last call. Default: fixed */
  sessionExpiry?: 'fixed' | 'idle'
  /** How many sessions at once. Default: 10 */
  maxSessions?: number
  /** How long one more waits for a place, in ms. Default: 0 */
  queueTimeout?: number
  /** Memory that must be free for a new session. Default: 134217728 */
  minFreeMemory?: number
  /** Keep sessions resumable at exit. Default: true */
  persistentSessions?: boolean
  /** Bring back at start what a former server here left. Default: false */
  autoResume?: boolean
  /** How long an action waits for its element, in ms. Default: 5000 */
  timeoutAction?: number
  /** How long a navigation may take, in ms. Default: 30000 */
  timeoutNavigation?: number
  /** How long an action waits for the requests it started, in ms. Default: 2000 */
  timeoutSettle?: number
  /** Browsers that are always there. Default: 1 */
  poolMinBrowsers?: number
  /** Browsers at most; sessions go to the one with the fewest. Default: 1 */
  poolMaxBrowsers?: number
  /** When a browser without sessions is closed, in ms */
  poolIdleTimeout?: number
  /** Browser contexts made ahead for new sessions (headless only). Default: 0 */
  warmContexts?: number
  /** WebKit browsers started ahead. Default: 1 */
  warmBrowsers?: number
  /** How clients reach the server. Default: stdio */
  transport?: 'stdio' | 'http' | 'websocket'
  /** Address to bind. Default: 127.0.0.1 */
  host?: string
  /** Port to bind; 0 takes a free one. Default: 4000 */
  port?: number
  /** Token that clients must send; a file or TROUPE_AUTH_TOKEN hides it from ps */
  authToken?: string
  /** File with that token */
  authTokenFile?: string
  /** Further names that the server is called by; * takes any */
  allowedHosts?: string[]
  /** Web pages that may call it, as https://app.example.com */
  allowedOrigins?: string[]
  /** How many connections at once. Default: 2000 */
  maxConnections?: number
  /** Requests a second of one address; 0 is any number. Default: 0 */
  rateLimit?: number
  /** How long a request may take to arrive, in ms. Default: 30000 */
  requestTimeout?: number
  /** When an HTTP session without connections is put to rest, in ms. Default: 60000 */
  idleTimeout?: number
  /** Be the stdio face of a running Troupe server */
  connect?: string
  /** Supervise this MCP server, one for each session, instead of the built-in engine */
  upstream?: string
  /** How it is spoken to. Default: stdio */
  upstreamTransport?: 'stdio' | 'http'
  /** How long its start may take, in ms. Default: 60000 */
  upstreamStartTimeout?: number
  /** How often it is asked whether it is there, in ms. Default: 30000 */
  upstreamPingInterval?: number
  /** How long its answer to that may take, in ms. Default: 10000 */
  upstreamPingTimeout?: number
  /** So many answers missed in a row, and it is started again. Default: 3 */
  upstreamPingMisses?: number
  /** Before it is started again, in ms; doubled each time. Default: 1000 */
  upstreamRestartPause?: number
  /** How often it is started again within the window below. Default: 3 */
  upstreamRestarts?: number
  /** That window, in ms. Default: 300000 */
  upstreamRestartWindow?: number
  /** How long it may take to end by itself, in ms; then SIGTERM. Default: 5000 */
  upstreamCloseTimeout?: number
  /** How long it may take after SIGTERM, in ms; then SIGKILL. Default: 2000 */
  upstreamTermTimeout?: number
  /** native, playwright, all, or names and groups, as navigate,group:network. Default: ["native"] */
  tools?: string[]
  /** Tools and groups to take away */
  noTools?: string[]
  /** Only tools that change nothing in a page. Default: false */
  readOnly?: boolean
  /** Folder with further prompts */
  prompts?: string
  /** What an action tells of the page afterwards. Default: changes */
  afterAction?: 'none' | 'changes' | 'snapshot'
  /** Characters of one result at most. Default: 25000 */
  resultBudget?: number
  /** Content in the answer, or only its refId. Default: full */
  responses?: 'full' | 'ref'
  /** Folder of files that tools write */
  outputDir?: string
  /** none, memory, or the path of an SQLite file */
  store?: string
  /** How long and how much is kept. Default: 7d,1GiB */
  retention?: string
  /** Keep Authorization and cookies in clear in the record. Default: false */
  recordHeaders?: boolean
  /** Only these domains, as *.example.com */
  allowedDomains?: string[]
  /** Not these domains */
  blockedDomains?: string[]
  /** Let public pages reach private addresses. Default: false */
  allowPrivateNetwork?: boolean
  /** Allow file: URLs and files everywhere. Default: false */
  allowFileAccess?: boolean
  /** The tool evaluate. Default: true */
  enableScriptEvaluation?: boolean
  /** The tool upload_file. Default: true */
  enableFileUpload?: boolean
  /** Bytes of a screenshot at most. Default: 10485760 */
  maxScreenshotSize?: number
  /** Secrets to type by name (dotenv file) */
  secrets?: string
  /** `false`: Without the marks around page content that it is not to be trusted. Default: true */
  boundaries?: boolean
  /** What is logged. Default: info */
  logLevel?: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  /** How it is written. Default: text */
  logFormat?: 'text' | 'json'
  /** Where to, instead of stderr */
  logFile?: string
  session?: {
    /** How many sessions at once. Default: 10 */
    maxSessions?: number
    /** Keep sessions resumable at exit. Default: true */
    persistentSessions?: boolean
    /** How long a navigation may take, in ms. Default: 30000 */
    defaultTimeout?: number
  }
  pool?: {
    /** Browsers that are always there. Default: 1 */
    minBrowsers?: number
    /** Browsers at most; sessions go to the one with the fewest. Default: 1 */
    maxBrowsers?: number
    /** When a browser without sessions is closed, in ms */
    idleTimeout?: number
  }
  security?: {
    /** Only these domains, as *.example.com */
    allowedDomains?: string[]
    /** Not these domains */
    blockedDomains?: string[]
    /** The tool evaluate. Default: true */
    enableScriptEvaluation?: boolean
    /** The tool upload_file. Default: true */
    enableFileUpload?: boolean
    /** Bytes of a screenshot at most. Default: 10485760 */
    maxScreenshotSize?: number
  }
  logging?: {
    /** What is logged. Default: info */
    level?: 'error' | 'warn' | 'info' | 'debug' | 'trace'
    /** How it is written. Default: text */
    format?: 'text' | 'json'
    /** Where to, instead of stderr */
    file?: string
    destination?: 'stdout' | 'stderr' | 'file'
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

  /** Get cookies and storage as Playwright's storageState, or write them to a new file. */
  saveState(args?: SaveStateArguments): Promise<SaveStateResult>

  /** Replace cookies and storage by a saved state, or by that of a file. */
  restoreState(args: RestoreStateArguments): Promise<RestoreStateResult>

  /** Read cookies, also HttpOnly ones: all, or those sent to certain URLs. */
  getCookies(args?: GetCookiesArguments): Promise<GetCookiesResult>

  /** Set cookies, each with a url or a domain; one that expires in the past deletes. */
  setCookies(cookies: SetCookiesArguments['cookies'], options?: Omit<SetCookiesArguments, 'cookies'>): Promise<SetCookiesResult>
  setCookies(args: SetCookiesArguments): Promise<SetCookiesResult>

  /** Go to a URL and wait until it has loaded. */
  navigate(url: NavigateArguments['url'], options?: Omit<NavigateArguments, 'url'>): Promise<NavigateResult>
  navigate(args: NavigateArguments): Promise<NavigateResult>

  /** Go back in the history. */
  goBack(args?: GoBackArguments): Promise<GoBackResult>

  /** Go forward in the history. */
  goForward(args?: GoForwardArguments): Promise<GoForwardResult>

  /** Load the page again from its server. */
  reload(args?: ReloadArguments): Promise<ReloadResult>

  /** Wait until the page has loaded, or its network is idle. */
  waitForLoad(args?: WaitForLoadArguments): Promise<WaitForLoadResult>

  /** List, open (at a url), select or close tabs. A popup is not selected by itself. */
  pages(action: PagesArguments['action'], options?: Omit<PagesArguments, 'action'>): Promise<PagesResult>
  pages(args: PagesArguments): Promise<PagesResult>

  /** Click an element by its ref (e12) or a selector: CSS, XPath, text=, role=, label=, testid=; >>> enters frames. */
  click(selector: ClickArguments['selector'], options?: Omit<ClickArguments, 'selector'>): Promise<ClickResult>
  click(args: ClickArguments): Promise<ClickResult>

  /** Type text key by key into a field; clear replaces what is in it, submit presses Enter. */
  type(selector: TypeArguments['selector'], text: TypeArguments['text'], options?: Omit<TypeArguments, 'selector' | 'text'>): Promise<TypeResult>
  type(args: TypeArguments): Promise<TypeResult>

  /** Set a field's value at once. For most forms; type is for fields that watch the keys. */
  fill(selector: FillArguments['selector'], value: FillArguments['value'], options?: Omit<FillArguments, 'selector' | 'value'>): Promise<FillResult>
  fill(args: FillArguments): Promise<FillResult>

  /** Set several fields in one call: text, choices, and true or false for boxes. */
  fillForm(fields: FillFormArguments['fields'], options?: Omit<FillFormArguments, 'fields'>): Promise<FillFormResult>
  fillForm(args: FillFormArguments): Promise<FillFormResult>

  /** Choose an option of a <select> by value or label. */
  select(selector: SelectArguments['selector'], value: SelectArguments['value'], options?: Omit<SelectArguments, 'selector' | 'value'>): Promise<SelectResult>
  select(args: SelectArguments): Promise<SelectResult>

  /** Check a box, switch or radio button. */
  check(selector: CheckArguments['selector'], options?: Omit<CheckArguments, 'selector'>): Promise<CheckResult>
  check(args: CheckArguments): Promise<CheckResult>

  /** Uncheck a box or switch. */
  uncheck(selector: UncheckArguments['selector'], options?: Omit<UncheckArguments, 'selector'>): Promise<UncheckResult>
  uncheck(args: UncheckArguments): Promise<UncheckResult>

  /** Move the pointer over an element, for menus and tooltips. */
  hover(selector: HoverArguments['selector'], options?: Omit<HoverArguments, 'selector'>): Promise<HoverResult>
  hover(args: HoverArguments): Promise<HoverResult>

  /** Scroll by x and y pixels, or an element into view. Actions scroll by themselves. */
  scroll(args?: ScrollArguments): Promise<ScrollResult>

  /** Drag one element onto another. */
  dragAndDrop(source: DragAndDropArguments['source'], target: DragAndDropArguments['target'], options?: Omit<DragAndDropArguments, 'source' | 'target'>): Promise<DragAndDropResult>
  dragAndDrop(args: DragAndDropArguments): Promise<DragAndDropResult>

  /** Put files into a file input, or the chooser that a button opens. */
  uploadFile(selector: UploadFileArguments['selector'], files: UploadFileArguments['files'], options?: Omit<UploadFileArguments, 'selector' | 'files'>): Promise<UploadFileResult>
  uploadFile(args: UploadFileArguments): Promise<UploadFileResult>

  /** Press a key or chord where the focus is: Enter, ArrowDown, Control+A. */
  press(key: PressArguments['key'], options?: Omit<PressArguments, 'key'>): Promise<PressResult>
  press(args: PressArguments): Promise<PressResult>

  /** Accept or dismiss the JavaScript dialog that holds the page up. */
  handleDialog(accept: HandleDialogArguments['accept'], options?: Omit<HandleDialogArguments, 'accept'>): Promise<HandleDialogResult>
  handleDialog(args: HandleDialogArguments): Promise<HandleDialogResult>

  /** See the page as text: roles, names, states, and a ref (e12) for each element to act on. */
  snapshot(args?: SnapshotArguments): Promise<string>

  /** Find lines of the whole page, with refs, where a snapshot is long or folded. */
  find(args?: FindArguments): Promise<string>

  /** Read the main content as Markdown: articles, documentation. */
  readPage(args?: ReadPageArguments): Promise<string>

  /** Read what the page or one element shows. */
  getText(args?: GetTextArguments): Promise<GetTextResult>

  /** Read the text of every match. */
  getAllText(selector: GetAllTextArguments['selector'], options?: Omit<GetAllTextArguments, 'selector'>): Promise<GetAllTextResult>
  getAllText(args: GetAllTextArguments): Promise<GetAllTextResult>

  /** Read an attribute, such as href. */
  getAttribute(selector: GetAttributeArguments['selector'], attribute: GetAttributeArguments['attribute'], options?: Omit<GetAttributeArguments, 'selector' | 'attribute'>): Promise<GetAttributeResult>
  getAttribute(args: GetAttributeArguments): Promise<GetAttributeResult>

  /** Read a field's value and checked state. */
  getValue(selector: GetValueArguments['selector'], options?: Omit<GetValueArguments, 'selector'>): Promise<GetValueResult>
  getValue(args: GetValueArguments): Promise<GetValueResult>

  /** Take a picture of the page. To act on it, use snapshot. */
  screenshot(args?: ScreenshotArguments): Promise<Picture>

  /** Take a picture of one element. */
  screenshotElement(selector: ScreenshotElementArguments['selector'], options?: Omit<ScreenshotElementArguments, 'selector'>): Promise<Picture>
  screenshotElement(args: ScreenshotElementArguments): Promise<Picture>

  /** Compare with an earlier picture: percentage, and a picture with the changes boxed. */
  compareScreenshots(baseline: CompareScreenshotsArguments['baseline'], options?: Omit<CompareScreenshotsArguments, 'baseline'>): Promise<CompareScreenshotsResult>
  compareScreenshots(args: CompareScreenshotsArguments): Promise<CompareScreenshotsResult>

  /** Read a table as headers and rows. */
  extractTable(selector: ExtractTableArguments['selector'], options?: Omit<ExtractTableArguments, 'selector'>): Promise<ExtractTableResult>
  extractTable(args: ExtractTableArguments): Promise<ExtractTableResult>

  /** List links with text, URL and ref. */
  extractLinks(args?: ExtractLinksArguments): Promise<ExtractLinksResult>

  /** Read title, description, meta tags, JSON-LD and headings. */
  getPageMetadata(args?: GetPageMetadataArguments): Promise<GetPageMetadataResult>

  /** Run JavaScript in the page: an expression, or a function called with args. Promises are awaited. */
  evaluate(script: EvaluateArguments['script'], options?: Omit<EvaluateArguments, 'script'>): Promise<EvaluateResult>
  evaluate(args: EvaluateArguments): Promise<EvaluateResult>

  /** Save the page as a PDF file. */
  savePdf(args?: SavePdfArguments): Promise<SavePdfResult>

  /** Wait for an element and get its role, text, attributes, box and state. */
  findElement(selector: FindElementArguments['selector'], options?: Omit<FindElementArguments, 'selector'>): Promise<FindElementResult>
  findElement(args: FindElementArguments): Promise<FindElementResult>

  /** List every match with its ref. */
  findElements(selector: FindElementsArguments['selector'], options?: Omit<FindElementsArguments, 'selector'>): Promise<FindElementsResult>
  findElements(args: FindElementsArguments): Promise<FindElementsResult>

  /** Ask whether anything matches, without waiting. */
  elementExists(selector: ElementExistsArguments['selector'], options?: Omit<ElementExistsArguments, 'selector'>): Promise<ElementExistsResult>
  elementExists(args: ElementExistsArguments): Promise<ElementExistsResult>

  /** Ask whether an element can be seen, and if not, why. */
  isVisible(selector: IsVisibleArguments['selector'], options?: Omit<IsVisibleArguments, 'selector'>): Promise<IsVisibleResult>
  isVisible(args: IsVisibleArguments): Promise<IsVisibleResult>

  /** Ask whether an element is enabled. */
  isEnabled(selector: IsEnabledArguments['selector'], options?: Omit<IsEnabledArguments, 'selector'>): Promise<IsEnabledResult>
  isEnabled(args: IsEnabledArguments): Promise<IsEnabledResult>

  /** Wait until an element comes or goes. */
  waitForSelector(selector: WaitForSelectorArguments['selector'], options?: Omit<WaitForSelectorArguments, 'selector'>): Promise<WaitForSelectorResult>
  waitForSelector(args: WaitForSelectorArguments): Promise<WaitForSelectorResult>

  /** Wait for a text, for a text to go, for a URL, or some time; all that is given. */
  waitFor(args?: WaitForArguments): Promise<WaitForResult>

  /** Refuse requests of a type in the whole session; block false lifts it. */
  blockResource(resourceType: BlockResourceArguments['resourceType'], options?: Omit<BlockResourceArguments, 'resourceType'>): Promise<BlockResourceResult>
  blockResource(args: BlockResourceArguments): Promise<BlockResourceResult>

  /** Answer requests to a URL in the server's place; without response no more. */
  mockResponse(url: MockResponseArguments['url'], options?: Omit<MockResponseArguments, 'url'>): Promise<MockResponseResult>
  mockResponse(args: MockResponseArguments): Promise<MockResponseResult>

  /** Cut the session off the network, or connect it again. */
  setOffline(offline: SetOfflineArguments['offline'], options?: Omit<SetOfflineArguments, 'offline'>): Promise<SetOfflineResult>
  setOffline(args: SetOfflineArguments): Promise<SetOfflineResult>

  /** Slow the session's network down (bytes/s, ms); 0 or none lifts a limit. */
  setThrottling(args?: SetThrottlingArguments): Promise<SetThrottlingResult>

  /** List the page's latest requests with status, type, time and failure. */
  getRequestLog(args?: GetRequestLogArguments): Promise<GetRequestLogResult>

  /** Read a call's content (without refId the newest), then only what changed; searchFor filters lines. */
  getContent(args?: GetContentArguments): Promise<string>

  /** Read what pages logged during a call, or in the session. */
  getConsoleContent(args?: GetConsoleContentArguments): Promise<string>

  /** List the recorded calls, the newest first. */
  listRequests(args?: ListRequestsArguments): Promise<ListRequestsResult>

  /** Run several calls in order, when no step depends on reading the last. */
  batch(steps: BatchArguments['steps'], options?: Omit<BatchArguments, 'steps'>): Promise<BatchResult>
  batch(args: BatchArguments): Promise<BatchResult>
}

export interface SessionInfo {
  sessionId: string
  state: string
  /** Milliseconds since 1970. */
  createdAt: number
  /** Milliseconds since 1970; absent where the session lives as long as its connection. */
  expiresAt?: number
  /** When it was saved last, of one that is not active. */
  savedAt?: number
  pages: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
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
  /** Of save_state or Playwright */
  storageState?: unknown
}

export interface SaveStateArguments {
  path?: string
}

export interface SaveStateResult {
  success: boolean
  message: string
  /** Cookies and origins, in the form of Playwright's storageState. */
  state?: unknown
  path?: string
}

export interface RestoreStateArguments {
  state: unknown
}

export interface RestoreStateResult {
  success: boolean
  message: string
  /** What is told of a page in a list. */
  page: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
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
    /** With a leading dot also for the hosts below it. */
    domain: string
    path: string
    /** Seconds since 1970; -1 where it ends with the session. */
    expires: number
    httpOnly: boolean
    secure: boolean
    sameSite?: 'Strict' | 'Lax' | 'None'
    /** Of a partitioned one (CHIPS): the site of the top-level page. */
    partitionKey?: string
    /** Of a partitioned one: whether it was set in a frame below another site's. Chromium's own. */
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
    /** The top-level site of a partitioned one */
    partitionKey?: string
    _crHasCrossSiteAncestor?: boolean
  }[]
}

export interface SetCookiesResult {
  success: boolean
  message: string
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
  /** Where the page is now, after redirects. */
  url: string
  /** HTTP status of the document's last response; 0 where there was none. */
  status: number
  /** Milliseconds since the navigation began: responseStart, domContentLoaded, load. */
  timing: Record<string, unknown>
  /** A dialog that the page opened; it waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
}

export interface GoBackArguments {
  pageId?: string
}

export interface GoBackResult {
  success: boolean
  title: string
  /** Where the page is now, after redirects. */
  url: string
  /** HTTP status of the document's last response; 0 where there was none. */
  status: number
  /** Milliseconds since the navigation began: responseStart, domContentLoaded, load. */
  timing: Record<string, unknown>
  /** A dialog that the page opened; it waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
}

export interface GoForwardArguments {
  pageId?: string
}

export interface GoForwardResult {
  success: boolean
  title: string
  /** Where the page is now, after redirects. */
  url: string
  /** HTTP status of the document's last response; 0 where there was none. */
  status: number
  /** Milliseconds since the navigation began: responseStart, domContentLoaded, load. */
  timing: Record<string, unknown>
  /** A dialog that the page opened; it waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
}

export interface ReloadArguments {
  ignoreCache?: boolean
  pageId?: string
}

export interface ReloadResult {
  success: boolean
  title: string
  /** Where the page is now, after redirects. */
  url: string
  /** HTTP status of the document's last response; 0 where there was none. */
  status: number
  /** Milliseconds since the navigation began: responseStart, domContentLoaded, load. */
  timing: Record<string, unknown>
  /** A dialog that the page opened; it waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
}

export interface WaitForLoadArguments {
  /** When a navigation counts as done. */
  state?: 'load' | 'domcontentloaded' | 'networkidle'
  /** ms */
  timeout?: number
  pageId?: string
}

export interface WaitForLoadResult {
  success: boolean
  title: string
  /** Where the page is now, after redirects. */
  url: string
  /** HTTP status of the document's last response; 0 where there was none. */
  status: number
  /** Milliseconds since the navigation began: responseStart, domContentLoaded, load. */
  timing: Record<string, unknown>
  /** A dialog that the page opened; it waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
}

export interface PagesArguments {
  action: 'list' | 'new' | 'select' | 'close'
  pageId?: string
  url?: string
}

export interface PagesResult {
  success: boolean
  pages: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** The page that calls without a `pageId` mean. */
  current?: string
  /** Where the new page has led. */
  navigation?: {
    success: boolean
    title: string
    /** Where the page is now, after redirects. */
    url: string
    /** HTTP status of the document's last response; 0 where there was none. */
    status: number
    /** Milliseconds since the navigation began: responseStart, domContentLoaded, load. */
    timing: Record<string, unknown>
    /** A dialog that the page opened; it waits until `handle_dialog`. */
    dialog?: {
      /** `alert`, `confirm`, `prompt` or `beforeunload`. */
      type: string
      message: string
      defaultValue?: string
      /** The page to answer it in, where that is another one. */
      pageId?: string
    }
    /** Set where the URL was a download; the page stays where it was. */
    download?: {
      url: string
      suggestedFilename: string
      /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
      state: string
      /** Where the file is, once it is complete. */
      path?: string
      /** Why it failed. */
      failure?: string
    }
    /** Further ones, of other pages or still told of. */
    downloads?: {
      url: string
      suggestedFilename: string
      /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
      state: string
      /** Where the file is, once it is complete. */
      path?: string
      /** Why it failed. */
      failure?: string
    }[]
  }
}

export interface ClickArguments {
  selector: string
  button?: 'left' | 'right' | 'middle'
  clickCount?: number
  /** Even if hidden or covered */
  force?: boolean
  /** ms */
  timeout?: number
  modifiers?: ('Alt' | 'Control' | 'ControlOrMeta' | 'Meta' | 'Shift')[]
  pageId?: string
}

export interface ClickResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
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

export interface TypeResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface FillArguments {
  selector: string
  value: string
  pageId?: string
}

export interface FillResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface FillFormArguments {
  fields: {
    selector: string
    value: string | boolean | number
  }[]
  pageId?: string
}

export interface FillFormResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface SelectArguments {
  selector: string
  value: string | string[]
  pageId?: string
}

export interface SelectResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface CheckArguments {
  selector: string
  /** ms */
  timeout?: number
  pageId?: string
}

export interface CheckResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface UncheckArguments {
  selector: string
  /** ms */
  timeout?: number
  pageId?: string
}

export interface UncheckResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface HoverArguments {
  selector: string
  /** ms */
  timeout?: number
  pageId?: string
}

export interface HoverResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface ScrollArguments {
  x?: number
  y?: number
  selector?: string
  pageId?: string
}

export interface ScrollResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface DragAndDropArguments {
  source: string
  target: string
  /** ms */
  timeout?: number
  pageId?: string
}

export interface DragAndDropResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface UploadFileArguments {
  selector: string
  /** Paths */
  files: string[]
  pageId?: string
}

export interface UploadFileResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface PressArguments {
  key: string
  modifiers?: ('Alt' | 'Control' | 'ControlOrMeta' | 'Meta' | 'Shift')[]
  pageId?: string
}

export interface PressResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface HandleDialogArguments {
  accept: boolean
  promptText?: string
  pageId?: string
}

export interface HandleDialogResult {
  success: boolean
  message: string
  /** Lines of the snapshot that came (+), went (-) or are other now (~). */
  changes?: string
  /** The page afterwards, where the server is set to give it after each action. */
  snapshot?: string
  /** A file chooser that the action opened; `upload_file` on the same element answers it. */
  fileChooser?: {
    multiple: boolean
  }
  /** Set where the action has led to another document. */
  page?: {
    url: string
    title: string
    /** Why the document could not be had, as `net::ERR_CONNECTION_REFUSED`. */
    failure?: string
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
    /** The page to answer it in, where that is another one. */
    pageId?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }
  /** Further ones. */
  newPages?: {
    pageId: string
    url: string
    /** Until it is led elsewhere. */
    crashed?: boolean
  }[]
  /** A download that has begun or ended. */
  download?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }
  /** Further ones, of other pages or still told of. */
  downloads?: {
    url: string
    suggestedFilename: string
    /** `completed`, `failed`, or `inProgress`: the end is then told by a later action's answer. */
    state: string
    /** Where the file is, once it is complete. */
    path?: string
    /** Why it failed. */
    failure?: string
  }[]
  /** False where requests were still under way when the time to wait was over. */
  settled?: boolean
}

export interface SnapshotArguments {
  /** Only this element */
  selector?: string
  /** Only what can be acted on */
  interactive?: boolean
  depth?: number
  /** Characters */
  budget?: number
  pageId?: string
}

export interface FindArguments {
  /** In any case */
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
  /** Null where the element has no such attribute. */
  value: string | null
}

export interface GetValueArguments {
  selector: string
  pageId?: string
}

export interface GetValueResult {
  /** Null where the element has none. */
  value: string | null
  /** Of a select that takes several. */
  values?: string[]
  /** true, false or "mixed". */
  checked?: unknown
}

export interface ScreenshotArguments {
  fullPage?: boolean
  type?: 'png' | 'jpeg'
  /** jpeg only */
  quality?: number
  /** Draw the refs of what can be acted on */
  annotate?: boolean
  pageId?: string
}

export interface ScreenshotElementArguments {
  selector: string
  type?: 'png' | 'jpeg'
  pageId?: string
}

export interface CompareScreenshotsArguments {
  /** Path or base64 of a PNG or JPEG */
  baseline: string
  selector?: string
  pageId?: string
}

export interface CompareScreenshotsResult {
  /** Of all pixels, how many have changed. */
  percentage: number
  changedPixels: number
  totalPixels: number
  /** Changed parts in pixels of the picture, the largest first. */
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
  /** Only links in it */
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
  /** How many match, also those that are not listed. */
  count: number
}

export interface ElementExistsArguments {
  selector: string
  pageId?: string
}

export interface ElementExistsResult {
  exists: boolean
  /** How many match. */
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
  /** Why it cannot be seen. */
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
  /** What is waited for. */
  state?: 'attached' | 'detached' | 'visible' | 'hidden'
  /** ms */
  timeout?: number
  pageId?: string
}

export interface WaitForSelectorResult {
  success: boolean
  message: string
  ref?: string
  description?: string
}

export interface WaitForArguments {
  text?: string
  textGone?: string
  /** Whole, a part, or a glob */
  url?: string
  /** ms */
  time?: number
  /** ms */
  timeout?: number
  pageId?: string
}

export interface WaitForResult {
  success: boolean
  message: string
  ref?: string
  description?: string
}

export interface BlockResourceArguments {
  /** What a request is for, in CDP's words, lower case. */
  resourceType: 'document' | 'stylesheet' | 'image' | 'media' | 'font' | 'script' | 'texttrack' | 'xhr' | 'fetch' | 'eventsource' | 'websocket' | 'manifest' | 'ping' | 'prefetch' | 'preflight' | 'other'
  block?: boolean
  pageId?: string
}

export interface BlockResourceResult {
  success: boolean
  message: string
}

export interface MockResponseArguments {
  /** Whole, a part, or a glob */
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

export interface MockResponseResult {
  success: boolean
  message: string
}

export interface SetOfflineArguments {
  offline: boolean
  pageId?: string
}

export interface SetOfflineResult {
  success: boolean
  message: string
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

export interface SetThrottlingResult {
  success: boolean
  message: string
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
    /** Absent while there is no answer. */
    status?: number
    resourceType: string
    /** Milliseconds since 1970. */
    startTime: number
    /** Milliseconds; absent while it is under way. */
    duration?: number
    /** Bytes over the network. */
    size?: number
    failure?: string
    fromMock?: boolean
    /** URL of the frame that made it, where it is not the page itself. */
    frame?: string
    /** `shared` and `service` workers are the session's: every page tells of their requests. */
    worker?: 'dedicated' | 'shared' | 'service'
  }[]
  /** How many there are; where `requests` are fewer, the oldest are left out. */
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
    /** What the tool answered. */
    result?: unknown
    /** Which of the pictures that follow is the step's, from 1. */
    picture?: number
    error?: unknown
  }[]
  /** Steps that were not run. */
  skipped?: number
}
