/**
 * The interface between Rust and the page. The bundle sets `globalThis.__troupe` to a {@link
 * Troupe}. Each function takes one JSON argument and returns a JSON string: its result, or
 * `{"error": …, "next": …}` ({@link ErrorAnswer}). No function throws for invalid input. Rust calls
 * each frame in its own isolated world, and joins the results.
 */

/** Error codes that the page can return. */
export type ErrorCode =
  | 'INVALID_PARAMETERS'
  | 'INVALID_SELECTOR'
  | 'ELEMENT_NOT_FOUND'
  | 'ELEMENT_AMBIGUOUS'
  | 'ELEMENT_NOT_CLICKABLE'
  | 'ELEMENT_NOT_EDITABLE'
  | 'TIMEOUT'
  | 'INTERNAL_ERROR'

export interface ErrorAnswer {
  error: {
    code: ErrorCode
    /** What failed, on which target, and why. */
    message: string
    /**
     * `reason`, `matches` ({@link Match}[]), `suggestions` ({@link Match}[]), `selector`,
     * `covering`…
     */
    details: Record<string, unknown>
    suggestion?: string
  }
  /** The ref counter after the call: `matches` and `suggestions` have refs. */
  next: number
}

/** The ref counter, which Rust stores. `next` in an answer is the counter for the next call. */
export interface RefCounter {
  /** `"e"` in the main frame, `"f2e"` in a child frame. */
  prefix: string
  next: number
}

export interface RefContext {
  refs: RefCounter
  /**
   * Whether the caller can pass in closed shadow roots. If so, and there are unchecked possible
   * hosts, the answer is {@link UncheckedHosts}.
   */
  hosts?: boolean
}

/**
 * The answer if the caller has to check `takeUncheckedHosts` for closed shadow roots first, and
 * then repeat the call.
 */
export interface UncheckedHosts {
  hosts: true
}

/**
 * An element in a list. `description` is its line as in a snapshot, `button "Send" [ref=e5]`. If
 * several elements match, it also contains how this one differs from the others.
 */
export interface Match {
  ref: string
  description: string
}

// ---- snapshot

export interface SnapshotArgument extends RefContext {
  /** Root of the snapshot. Default: the whole document. */
  selector?: string
  ref?: string
  /** Only interactive elements, headings and landmarks. */
  interactive?: boolean
  /**
   * The whole document if it fits into `budget`, else its controls, headings and messages, partly
   * collapsed.
   */
  overview?: boolean
  /** Maximum depth. Deeper lines are replaced by `…`. */
  depth?: number
  /** Maximum number of characters. The text is truncated at a line boundary. */
  budget?: number
  /**
   * Longer runs of siblings with the same role are folded. 0: never. Default: 20 for a document,
   * never for a given root.
   */
  fold?: number
  /** Writes `[cursor=pointer]` for links and buttons too, for the Playwright tools. */
  cursors?: boolean
}

export interface SnapshotResult {
  /** YAML lines, without a newline at the end. */
  text: string
  next: number
  /** The `iframe` lines. Rust appends `:` and the lines of the frame, indented by `indent + 2`. */
  frames: { ref: string; line: number; indent: number }[]
  /** Whether anything was folded. */
  folded: boolean
  /**
   * Whether the budget or the limit of a walk has truncated the text. The last line then says so.
   */
  cut: boolean
  lines: number
  /** The change count when the snapshot was taken. */
  mutations: number
  /** The name of the document, as in {@link DocumentCounts}. */
  document: string
}

// ---- targets

export interface TargetArgument extends RefContext {
  /** A target in this frame. `>>` chains its parts. */
  target: string
  /** Whether several visible matches are an error. Default false: the first match is used. */
  strict?: boolean
}

export interface ResolveResult extends Match {
  /** The number of matches. */
  count: number
  next: number
}

// ---- actionability

export type Action =
  | 'click'
  | 'hover'
  | 'type'
  | 'fill'
  | 'check'
  | 'select'
  | 'drag'
  | 'drop'
  | 'scroll'
  | 'upload'
  | 'focus'
  | 'screenshot'

/** CSS px */
export interface Point {
  x: number
  y: number
}

export interface Box {
  x: number
  y: number
  width: number
  height: number
}

export interface ActionableArgument extends TargetArgument {
  action: Action
  /** Skips all checks except that the element has a box. */
  force?: boolean
  /** The position to act on, relative to the top left corner of the element's box. */
  position?: Point
  /** For frame elements: the point in the frame's document to act on, in CSS px of its viewport. */
  inside?: Point
}

export interface WaitActionableArgument extends ActionableArgument {
  /** ms */
  timeout: number
  /** ms that earlier calls of the same wait have taken. */
  waited?: number
  /**
   * Focuses the element when all checks succeed. `replace` selects its contents, so that typing
   * replaces them.
   */
  focus?: { replace: boolean }
  /** Guards the next click. {@link TickResult} reports whether it has hit another element. */
  guard?: boolean
  /** The change count for which the caller may click at once, at {@link ActionableResult.press}. */
  known?: number
}

/** The test id of an element. */
export interface TestId {
  attribute: string
  value: string
  /**
   * If it is not unique in the document: the ref of the outermost element in which it is unique.
   */
  within?: string
  /**
   * If it is not unique in the document, but in a list item or table row: the role of the innermost
   * one.
   */
  item?: 'listitem' | 'row'
}

/** The change counts are those before the element was focused. */
export interface ActionableResult extends Match, ChangeCounts {
  ok: true
  /** The action point, in CSS px of this frame's viewport. */
  x: number
  y: number
  box: Box
  /** Tag name in lower case, and `type` of an input. */
  tag: string
  type: string
  password: boolean
  /** For the recording. */
  testId?: TestId
  /**
   * Whether the field receives the key events of a code editor. Text is then pasted, and replaced
   * after Select All.
   */
  editor?: boolean
  /** Whether the element has accepted the requested focus. */
  focused?: boolean
  /** The point at which the caller may click at once. */
  press?: { x: number; y: number }
  /** Whether the first attempt has failed. The page may have changed meanwhile. */
  retried?: boolean
  /**
   * With `inside`: maps the viewport of the frame's document to this viewport, see {@link
   * FrameMatrixResult}.
   */
  matrix?: number[]
  next: number
}

export interface HitArgument {
  ref: string
  x: number
  y: number
}

/** `covered` describes the covering element. */
export interface HitResult {
  ok: boolean
  covered?: string
}

/**
 * Maps the viewport of a frame's document to the viewport around it: `[a, b, c, d, e, f]` as in CSS
 * `matrix()`.
 */
export interface FrameMatrixResult {
  matrix: number[]
}

// ---- entering values

export interface RefArgument {
  ref: string
}

export interface FileInputArgument extends RefArgument {
  /** Whether to remove the files. The browser protocols have no command for this. */
  empty: boolean
}

export interface FileInputResult {
  /** Whether the input accepts several files. */
  multiple: boolean
}

export interface FillArgument extends RefArgument {
  value: string
  /** Whether to dispatch the last key event of a paste too. */
  withKey: boolean
}

export interface FillResult {
  password: boolean
  value: string
}

export interface InsertIntoArgument {
  ref: string
  text: string
}

export interface InsertIntoResult {
  /** Whether the element has handled the paste event. */
  isHandled: boolean
}

export interface DifferentFieldsArgument extends RefContext {
  /**
   * `index` identifies the field to the caller. `typed`: the value need only contain the text,
   * inserted at the caret.
   */
  fields: { index: number; ref: string; text: string; typed: boolean }[]
}

export interface DifferentFieldsResult {
  /** The fields whose value differs from the text. */
  different: {
    index: number
    description: string
    /** Missing for passwords. */
    value?: string
    maxLength?: number
  }[]
  next: number
}

export interface SelectArgument extends RefArgument {
  /**
   * Each is compared with the value, label and text of the options, then with their index (`#2` or
   * `2`).
   */
  values: string[]
  /** Selects this option of a {@link ListedSelect} instead of `values`. */
  option?: { index: number; label: string }
  /** Whether the element receives the focus, as if a user selected the options. */
  focus: boolean
}

export interface SelectResult {
  /** Values and labels of the selected options. */
  selected: { value: string; label: string }[]
}

export interface CheckedStateArgument extends RefArgument {
  /** The requested state. If it differs from the current one, the next click is guarded. */
  wanted?: boolean
}

export interface CheckedStateResult {
  checked: boolean | 'mixed'
  /** A radio button cannot be unchecked. */
  radio: boolean
  native: boolean
}

// ---- reading

/** `all` reads all matches, not only the first. */
export interface TextArgument extends RefContext {
  /** Default: the body. */
  target?: string
  all?: boolean
}

export interface TextResult {
  /**
   * The visible text: `innerText` with shadow roots and the alternative texts of images. For a
   * field, its value.
   */
  text: string
  /** With `all`: the text of each match. */
  texts?: string[]
  count: number
  next: number
}

export interface AttributeArgument extends TargetArgument {
  attribute: string
}

export interface AttributeResult {
  /** Null if the attribute is missing. URLs (`href`, `src`) as in the markup. */
  value: string | null
  ref: string
  next: number
}

export interface ValueResult {
  /**
   * Masked for passwords. For a `select`, the value of its option, or with `values` of all selected
   * options.
   */
  value: string | null
  values?: string[]
  checked?: boolean | 'mixed'
  password: boolean
  ref: string
  next: number
}

/** The states of an element. For a missing element, `exists` is false. */
export interface StateResult {
  exists: boolean
  visible: boolean
  enabled: boolean
  editable: boolean
  count: number
  /** Why the element is not visible. */
  hiddenBecause?: string
  ref?: string
  description?: string
  next: number
}

export interface FindArgument extends RefContext {
  /** Part of a line, case-insensitive. */
  text?: string
  /** A pattern, with the flag `i`, or `/pattern/flags`. */
  regex?: string
  /** Maximum number of lines. Default 50. */
  limit?: number
}

export interface FindResult {
  /** The matching lines and their ancestors, as in a snapshot. */
  text: string
  /** The number of matching lines, including those over the limit. */
  count: number
  next: number
}

export interface ListArgument extends RefContext {
  target: string
  /** Default 100. */
  limit?: number
}

export interface ListEntry extends Match {
  tag: string
  text: string
  visible: boolean
  attributes: Record<string, string>
}

export interface ListResult {
  elements: ListEntry[]
  count: number
  next: number
}

export interface LinksArgument extends RefContext {
  /** Only the links in this element. */
  target?: string
}

export interface LinksResult {
  links: { text: string; url: string; ref: string }[]
  next: number
}

export interface TableResult {
  caption?: string
  headers: string[]
  /**
   * Each row has a text for each column, with the values of fields. Cells are repeated over their
   * spans.
   */
  rows: string[][]
  next: number
}

export interface MetadataResult {
  title: string
  url: string
  description: string | null
  canonical: string | null
  language: string | null
  charset: string
  /** `og:…`, `twitter:…` and all other named meta tags. */
  meta: Record<string, string>
  jsonLd: unknown[]
  headings: { level: number; text: string }[]
  icons: string[]
}

export interface ScrollArgument extends RefContext {
  /**
   * Without `x` and `y`, scrolled into view. Otherwise, the element itself or its nearest scroll
   * container scrolls.
   */
  target?: string
  x?: number
  y?: number
  /** Position of wheel events, in the target or else in the viewport. Default: the center. */
  position?: Point
}

export interface ScrollResult {
  /**
   * Whether anything has scrolled by script. Otherwise, {@link Troupe.wheelEffect} reports the
   * effect of wheel events.
   */
  moved: boolean
  /** The scrolled element, or the one that did not scroll. */
  description: string
  x: number
  y: number
  /** The maximum scroll offsets. */
  maxX: number
  maxY: number
  /**
   * If nothing has scrolled: where to dispatch wheel events, in CSS px of this frame's viewport.
   */
  point?: Point
  /** The ref of the frame element at this point, whose document should scroll instead. */
  frame?: string
  /** The ref of the target, if it has one, and its test id for the recording. */
  ref?: string
  testId?: TestId
  next: number
}

export interface WheelEffectResult {
  /** Whether the page has handled the wheel event, or anything has scrolled. */
  moved: boolean
}

/** A point in this viewport. */
export interface ElementAtArgument extends RefContext, Point {}

export interface ElementAtResult {
  /** The innermost element at the point. Missing if there is none. */
  description?: string
  /** Size of the viewport in CSS px. */
  width: number
  height: number
  next: number
}

export interface SelectAtArgument extends RefContext, Point {}

export interface ListedOption {
  /** Its index in `options` of the list. */
  index: number
  label: string
  /** The label of its group. */
  group: string | null
  disabled: boolean
  selected: boolean
}

export interface ListedSelect {
  ref: string
  /** The accessible name. */
  name: string
  box: Box
  /** Without hidden options. */
  options: ListedOption[]
  /** The number of options over the limit. */
  omitted: number
}

/**
 * The dropdown list at a point or with the focus, or the frame element whose document may have it.
 */
export interface SelectAtResult {
  select?: ListedSelect
  /** `matrix` as in {@link FrameMatrixResult}. */
  frame?: { ref: string; matrix: number[] }
  next: number
}

export interface HtmlArgument extends RefContext {
  target?: string
}

export interface HtmlResult {
  /** With shadow roots and absolute URLs, without hidden elements, scripts and styles. */
  html: string
  title: string
  url: string
  next: number
}

export interface WaitForArgument extends RefContext {
  target?: string
  /** Default visible. */
  state?: 'attached' | 'detached' | 'visible' | 'hidden'
  text?: string
  textGone?: string
  /** ms */
  timeout: number
  /** ms that earlier calls of the same wait have taken. */
  waited?: number
}

export interface WaitForResult {
  /** The awaited element, if it is in the document. */
  ref?: string
  description?: string
  /**
   * If the awaited text is not a visible text of the element: `name`, `placeholder`, `value` or
   * `title`.
   */
  as?: string
  waited: number
  next: number
}

export interface DescribeResult extends Match {
  role: string
  name: string
  tag: string
  text: string
  attributes: Record<string, string>
  box: Box
  visible: boolean
  enabled: boolean
  value?: string | null
  checked?: boolean | 'mixed'
  /** A CSS path to the element. */
  path: string
}

export interface AnnotationsArgument extends RefContext {
  /** Includes elements outside of the viewport. */
  whole?: boolean
}

export interface AnnotationsResult {
  /** Boxes of interactive elements, in CSS px of this frame's viewport. */
  boxes: { ref: string; role: string; box: Box }[]
  /** The child frames: the sizes of their viewports, and their positions in this viewport. */
  frames: ({ ref: string; width: number; height: number } & FrameMatrixResult)[]
  width: number
  height: number
  scroll: { x: number; y: number }
  pixelRatio: number
  next: number
}

// ---- state across a restart

export interface FieldState {
  path: string
  value?: string
  checked?: boolean
  /** Indexes of the selected options. */
  selected?: number[]
}

export interface ScrollState {
  path: string
  x: number
  y: number
}

/** The element of a ref, to find it again after a restart. */
export interface RefState {
  ref: string
  role: string
  name: string
  path: string
}

export interface Item {
  name: string
  value: string
}

/** A store or index has either `keyPath` or `keyPathArray`, or neither. */
export interface StoreState {
  name: string
  autoIncrement: boolean
  keyPath?: string
  keyPathArray?: string[]
  /**
   * Values that JSON cannot represent are in `keyEncoded` and `valueEncoded` (see
   * structured-clone.ts).
   */
  records: { key?: unknown; keyEncoded?: unknown; value?: unknown; valueEncoded?: unknown }[]
  indexes: {
    name: string
    keyPath?: string
    keyPathArray?: string[]
    multiEntry: boolean
    unique: boolean
  }[]
}

export interface DatabaseState {
  name: string
  version: number
  stores: StoreState[]
}

export interface SaveStateArgument {
  /** The `version` in the last answer for this document. */
  known?: string
  /** Reads the databases. `known` is `databases` in the last answer for this origin. */
  indexedDB?: { known: string | null }
}

export interface FramePositionResult {
  url: string
  /** Indexes among the child frames, from the main frame inward. Empty for the main frame. */
  place: number[]
}

export interface SaveStateResult {
  url: string
  /** The string `null` if the document has an opaque origin, which has no storage. */
  origin: string
  version: string
  /** Missing if `version` equals the known one. */
  document?: {
    place: number[]
    scroll: { x: number; y: number }
    scrolls: ScrollState[]
    fields: FieldState[]
    refs: RefState[]
  }
  localStorage?: Item[]
  sessionStorage?: Item[]
  /** An array of `DatabaseState` as JSON. Missing if `databases` equals the known version. */
  indexedDB?: string
  /** The version of the databases, if they were read. */
  databases?: string
  /** Names of databases that were too large or did not respond. */
  skipped?: string[]
  /** ms for reading the databases */
  readTime?: number
}

export interface RestoreStateArgument extends RefContext {
  scroll: { x: number; y: number }
  scrolls: ScrollState[]
  fields: FieldState[]
  /** The refs to restore. In every call, `refs` is the ref counter. */
  savedRefs: RefState[]
  /** Maximum wait for missing elements, in ms. */
  searchTimeout: number
}

export interface RestoreStateResult {
  /** The number of restored fields, and of fields that were not found. */
  fields: number
  missing: number
  /** The number of restored refs. */
  refs: number
  /** Refs for which no element, or several, have the saved role, name and path. */
  stale: string[]
}

export interface WriteStorageArgument {
  /**
   * `localStorage`, `sessionStorage` and `indexedDB` in the format of {@link SaveStateResult}, as
   * JSON.
   */
  state: string
  /** Also removes items and databases that the state does not contain. */
  replace?: boolean
}

// ---- change counts, ticks and loading

/** The change counts of the documents in same-origin frames, by the document's name. */
export type DocumentCounts = Record<string, number>

/** Change counts in answers. */
export interface ChangeCounts {
  /** The change count of this document. */
  mutations: number
  /** The name of this document. */
  document: string
  /** Missing without same-origin frames. */
  inner?: DocumentCounts
}

export interface MutationsResult {
  /** Grows with every change of the document. */
  count: number
  /** The same count, under its name in other answers. */
  mutations: number
  /** Whether the document has changed since the last snapshot. */
  changed: boolean
}

export interface SnapshotIfChangedArgument extends RefContext {
  /** `known` is the change count of the caller's snapshot, `document` the name of its document. */
  snapshot: Omit<SnapshotArgument, keyof RefContext> & { known?: number; document?: string }
}

export interface SnapshotIfChangedResult extends ChangeCounts {
  /** Missing if the change count equals `known`. */
  snapshot?: SnapshotResult
  next?: number
}

/** The result of calls without data. */
export interface Done {
  done: true
}

export interface TickArgument extends RefContext {
  /** Waits for this number of button releases of the guarded click first. */
  releases?: number
  /** The number of tasks to wait for before the last one. Default 1. */
  tasks?: number
  /** The snapshot to take if the change count or the document differs. */
  snapshot?: Omit<SnapshotArgument, keyof RefContext> & { known: number; document?: string }
}

export interface TickResult extends Done, ChangeCounts {
  /** ms since the start of the document. */
  now: number
  /** A link with `download` has been clicked since the last tick. */
  download?: boolean
  /**
   * The element that the guarded click would have hit instead of its target. The page has not
   * received the click.
   */
  covered?: string
  /** The target of the guarded click got no click, because it moved away from the pointer. */
  escaped?: boolean
  /** The value of the focused password field. True if a cross-origin frame has the focus. */
  password?: string | true
  /** The requested snapshot. Missing if the caller has to check possible shadow hosts first. */
  snapshot?: SnapshotResult
  /** Present with `snapshot`. */
  next?: number
}

export interface ContentArgument extends RefContext {
  /** Maximum ms to wait. */
  timeout: number
  /** The action whose content is awaited, if it is not that of a new document. */
  action?: {
    /** The begin of the action, in ms since the start of the document. */
    begun: number
    /** Whether the page has changed visibly since the action. */
    isChanged: boolean
  }
}

export interface ContentResult {
  /** Whether the page rendered content during the call. */
  waited: boolean
}

export interface ArrivalArgument extends RefContext {
  /** The snapshot to take in the same call. */
  snapshot?: Omit<SnapshotArgument, keyof RefContext> | null
}

export interface ArrivalResult {
  title: string
  /** ms since the start of the navigation. Future events are missing. */
  timing: { responseStart?: number; domContentLoaded?: number; load?: number }
  /** Whether the scripts of the page may still render content. */
  loading?: true
  /** The requested snapshot. Missing if the caller has to check possible shadow hosts first. */
  snapshot?: SnapshotResult
  /** This and the change counts are present with `snapshot`. */
  next?: number
  mutations?: number
  document?: string
  inner?: DocumentCounts
}

// ---- playwright

export interface PlaywrightSnapshotArgument extends RefContext {
  /** The native ref of the root. Default: the document. */
  root?: string
  /**
   * Maximum depth. Deeper lines are omitted. 0 or missing: no limit. In a child frame, it is the
   * `depth` of its line, which can be negative.
   */
  depth?: number
  /** Writes `[box=x,y,width,height]` in each line, in CSS px of this frame's viewport. */
  boxes?: boolean
  /** The prefix of all refs: `""` in the main frame, `"f1"` in a child frame. */
  framePrefix: string
}

export interface PlaywrightSnapshotResult {
  /** YAML lines, without a newline at the end. */
  text: string
  next: number
  /**
   * The `iframe` lines, by the native ref of their element. If the frame's snapshot is not empty,
   * Rust appends `:` and its lines, indented by `indent + 2`. `depth` is the `depth` argument of
   * that snapshot.
   */
  frames: { ref: string; line: number; indent: number; depth?: number }[]
}

/** `ariaSnapshot` contains the arguments of the snapshot after the tick. */
export interface PlaywrightTickArgument extends TickArgument {
  ariaSnapshot: Omit<PlaywrightSnapshotArgument, keyof RefContext>
}

export interface PlaywrightTickResult extends TickResult {
  /**
   * The text of the snapshot. Missing if it needs further calls, because the page has frames or
   * possible shadow hosts that were not checked yet.
   */
  ariaSnapshot?: string
}

export interface PlaywrightTargetArgument extends RefContext {
  /**
   * A ref of the last snapshot (`e5`, `f1e5`), a Playwright selector, or a JavaScript locator
   * (`getByRole('button', { name: 'Save' }).first()`). Empty: the element `within` itself.
   */
  target: string
  /** The prefix of the refs of this frame. */
  framePrefix: string
  /** The native ref of an element in which to search. */
  within?: string
  /**
   * Whether `locator` is generated for the found element, as it always is for refs. Otherwise, it
   * is the given selector as a locator.
   */
  generate?: boolean
  /** The attribute for `getByTestId`. Several are separated by commas. Default: `data-testid`. */
  testIdAttribute?: string
}

/** One of several elements that a target matches. */
export interface PlaywrightMatch {
  /** Its tag with attributes and text. */
  tag: string
  /** The locator that Playwright generates for it. */
  locator: string
}

/**
 * `locator` is JavaScript without `page.`, as Playwright prints it. `selector` is the same as a
 * Playwright selector.
 */
export type PlaywrightTargetResult =
  | (ResolveResult & {
      locator: string
      selector: string
      /** The first elements, if a selector or locator matches several. */
      matches?: PlaywrightMatch[]
    })
  /**
   * The target is in the child frame of an element, whose native ref is `frame`. `rest` is the
   * target in that frame. `locator` ends with `.contentFrame()`.
   */
  | { frame: string; rest: string; locator: string; selector: string; next: number }

/** Arguments of `waitActionable` for the element that is found. */
export interface PlaywrightClickTargetArgument extends PlaywrightTargetArgument {
  check: Omit<WaitActionableArgument, 'target' | keyof RefContext>
}

export type PlaywrightClickTargetResult = PlaywrightTargetResult & {
  /** Missing if the element is not the only one or is not actionable. */
  actionable?: ActionableResult
}

/** A function of the interface. */
export type Call<Argument, Result> = (argument: Argument) => Result

export interface Troupe {
  version: 1
  snapshot: Call<SnapshotArgument, SnapshotResult>
  resolve: Call<TargetArgument, ResolveResult>
  /** Checks the actionability until all checks succeed or `timeout` has passed. */
  waitActionable: Call<WaitActionableArgument, Promise<ActionableResult>>
  /** Returns whether the hit target at a point of this frame is an element. */
  hit: Call<HitArgument, HitResult>
  /** Returns the position of a frame's document in this frame. */
  frameMatrix: Call<RefArgument, FrameMatrixResult>
  fill: Call<FillArgument, Promise<FillResult>>
  insertInto: Call<InsertIntoArgument, InsertIntoResult>
  fileInput: Call<FileInputArgument, FileInputResult>
  /**
   * Returns the fields that do not contain the entered text, for example because the page has
   * formatted it.
   */
  differentFields: Call<DifferentFieldsArgument, Promise<DifferentFieldsResult>>
  select: Call<SelectArgument, SelectResult>
  checkedState: Call<CheckedStateArgument, CheckedStateResult>
  text: Call<TextArgument, TextResult>
  attribute: Call<AttributeArgument, AttributeResult>
  value: Call<TargetArgument, ValueResult>
  /** For `is_visible`, `is_enabled` and `element_exists`. */
  state: Call<TargetArgument, StateResult>
  /** Searches the whole page, including folded elements. */
  find: Call<FindArgument, FindResult>
  list: Call<ListArgument, ListResult>
  links: Call<LinksArgument, LinksResult>
  table: Call<TargetArgument, TableResult>
  metadata: Call<void, MetadataResult>
  scroll: Call<ScrollArgument, ScrollResult>
  /** Returns whether the wheel events after a `scroll` without effect have had an effect. */
  wheelEffect: Call<object, Promise<WheelEffectResult>>
  /** Describes the element at a point. */
  elementAtPoint: Call<ElementAtArgument, ElementAtResult>
  /** Returns the list that would open its native popup for a press at a point. */
  selectAt: Call<SelectAtArgument, SelectAtResult>
  /** Returns the list that would open its native popup for a key. */
  focusedSelect: Call<RefContext, SelectAtResult>
  html: Call<HtmlArgument, HtmlResult>
  waitFor: Call<WaitForArgument, Promise<WaitForResult>>
  describe: Call<RefArgument, DescribeResult>
  annotations: Call<AnnotationsArgument, AnnotationsResult>
  saveState: Call<SaveStateArgument, Promise<SaveStateResult>>
  restoreState: Call<RestoreStateArgument, Promise<RestoreStateResult | UncheckedHosts>>
  writeStorage: Call<WriteStorageArgument, Promise<Done>>
  framePosition: Call<void, FramePositionResult>
  mutations: Call<void, MutationsResult>
  snapshotIfChanged: Call<SnapshotIfChangedArgument, SnapshotIfChangedResult>
  /** Describes the document after a navigation. Includes a snapshot, which saves a call. */
  readNavigation: Call<ArrivalArgument, Promise<ArrivalResult>>
  /** Waits until the page has rendered what its scripts have loaded. */
  awaitContent: Call<ContentArgument, Promise<ContentResult>>
  /**
   * Resolves after one event loop tick. Includes a snapshot of the changed page, which saves a
   * call.
   */
  awaitTick: Call<TickArgument, Promise<TickResult>>
  /**
   * Ends the wait of `awaitTick` for button releases, because this document does not receive them.
   */
  cancelReleaseWait: Call<object, Done>

  // The functions below take and return objects, not JSON, for use by object id or by the parent
  // document.

  /** Returns the change counts of this document and those in same-origin frames, by their names. */
  countsByDocument(): DocumentCounts

  /**
   * Registers the closed shadow roots that Rust has found over the protocol, as pairs of host and
   * root. Ends the search that `takeUncheckedHosts` has begun.
   */
  adoptShadowRoots(...hostsAndRoots: (Element | ShadowRoot)[]): void
  /**
   * Returns elements that may have a closed root and have not been checked in their current state.
   * If there are any, begins a search for their roots, whose end `readNavigation` awaits.
   */
  takeUncheckedHosts(): Element[]
  /**
   * Returns the window of the frame at a point, and the point in that frame's viewport. Empty if
   * there is no frame.
   */
  frameAt(x: number, y: number): [] | [Window, number, number]
  /** Returns the element of a ref, null if the ref is stale. */
  element(ref: string): Element | null
}

/** The functions that `playwright.ts` adds. */
export interface PlaywrightTroupe {
  /** Returns the snapshot that @playwright/mcp prints for the same page. */
  playwrightSnapshot: Call<PlaywrightSnapshotArgument, PlaywrightSnapshotResult>
  /** Does the same as `awaitTick`, and takes a snapshot then. */
  playwrightTick: Call<PlaywrightTickArgument, Promise<PlaywrightTickResult>>
  /** Finds the element of a target, and its locator. */
  playwrightTarget: Call<PlaywrightTargetArgument, PlaywrightTargetResult>
  /** Finds the element like `playwrightTarget`, and checks whether it is actionable. */
  playwrightClickTarget: Call<PlaywrightClickTargetArgument, Promise<PlaywrightClickTargetResult>>
}
