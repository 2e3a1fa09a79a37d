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

  /** Go to a URL and wait until it has loaded. Look at the page with snapshot. */
  navigate(url: NavigateArguments['url'], options?: Omit<NavigateArguments, 'url'>): Promise<NavigateResult>
  navigate(args: NavigateArguments): Promise<NavigateResult>

  /** Go back in the page's history. */
  goBack(args?: GoBackArguments): Promise<GoBackResult>

  /** Go forward in the page's history. */
  goForward(args?: GoForwardArguments): Promise<GoForwardResult>

  /** Load the page again, past the cache where wanted. */
  reload(args?: ReloadArguments): Promise<ReloadResult>

  /** Wait until the page has loaded, or its network is idle. */
  waitForLoad(args?: WaitForLoadArguments): Promise<WaitForLoadResult>

  /** List, open, select or close the session's tabs. A popup is not selected by itself. */
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

  /** Take a picture of the page. To act on it, use snapshot. */
  screenshot(args?: ScreenshotArguments): Promise<Picture>

  /** Run JavaScript in the page: an expression, or a function that is called with args. Promises are awaited. */
  evaluate(script: EvaluateArguments['script'], options?: Omit<EvaluateArguments, 'script'>): Promise<EvaluateResult>
  evaluate(args: EvaluateArguments): Promise<EvaluateResult>

  /** Run several calls in order in one round trip, when no step depends on reading the last. */
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
  pages: {
    pageId: string
    url: string
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
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** Set where the URL was a download; the page stays where it was. */
  download?: {
    url: string
    suggestedFilename: string
  }
}

export interface PagesArguments {
  action: 'list' | 'new' | 'select' | 'close'
  pageId?: string
  /** For new */
  url?: string
}

export interface PagesResult {
  success: boolean
  pages: {
    pageId: string
    url: string
  }[]
  /** The page that calls without a `pageId` mean. */
  current?: string
  /** Where the new page has led. */
  navigation?: {
    success: boolean
    /** Set where the URL was a download; the page stays where it was. */
    download?: {
      url: string
      suggestedFilename: string
    }
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
    }
  }
}

export interface ClickArguments {
  selector: string
  button?: 'left' | 'right' | 'middle'
  clickCount?: number
  /** Do not wait until it is visible, enabled and uncovered */
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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
  }
  /** A dialog that the action opened; the page waits until `handle_dialog`. */
  dialog?: {
    /** `alert`, `confirm`, `prompt` or `beforeunload`. */
    type: string
    message: string
    defaultValue?: string
  }
  /** A page that the action opened beside the present one. */
  newPage?: {
    pageId: string
    url: string
  }
  /** A download that was begun. */
  download?: {
    url: string
    suggestedFilename: string
  }
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

export interface ScreenshotArguments {
  fullPage?: boolean
  type?: 'png' | 'jpeg'
  /** jpeg only */
  quality?: number
  pageId?: string
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
    error?: unknown
  }[]
  /** Steps that were not run. */
  skipped: number
}
