/**
 * The interface between Rust and the page. The bundle sets `globalThis.__troupe` to a {@link Troupe}; each function
 * takes one JSON argument and returns a JSON string: its result, or `{"error": …, "next": …}` ({@link ErrorAnswer}).
 * No function throws for invalid input. Each frame is called in its own world, and Rust joins the results.
 */

/** Codes of spec.md section 6 that the page can give. */
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
    /** Plain text: the target and what was found instead. */
    message: string
    /** `reason`, `matches` ({@link Match}[]), `suggestions` ({@link Match}[]), `selector`, `covering`… */
    details: Record<string, unknown>
    suggestion?: string
  }
  /** The ref counter after the call: `matches` and `suggestions` have refs. */
  next: number
}

/** Rust owns the counter: the answer's `next` is where the next call starts. */
export interface RefCounter {
  /** `"e"` in the main frame, `"f2e"` in a child frame. */
  prefix: string
  next: number
}

export interface WithRefs {
  refs: RefCounter
  /** The caller can hand in closed shadow roots: it wants {@link Hosts} where there may be some that are not known. */
  hosts?: boolean
}

/** In place of an answer: `closedCandidates` are to be looked into first, then the call is to be repeated. */
export interface Hosts {
  hosts: true
}

/** One element in a list: `description` is its line as in the snapshot, `button "Send" [ref=e5]`; of several that match, with what distinguishes it. */
export interface Match {
  ref: string
  description: string
}

// ---- snapshot

export interface SnapshotArgument extends WithRefs {
  /** Root of the snapshot; the whole document without it. */
  selector?: string
  ref?: string
  /** Only what can be acted on, with headings and landmarks. */
  interactive?: boolean
  /** The whole document if it fits into `budget`, else its controls, headings and messages, with parts collapsed. */
  overview?: boolean
  /** Levels of lines; deeper ones are replaced by `…`. */
  depth?: number
  /** Characters; cut at a line boundary. */
  budget?: number
  /** Runs of more siblings of one role are folded. 20 for a document, none for a given root; 0 is none. */
  fold?: number
  /** Tells `[cursor=pointer]` of links and buttons too, as Playwright does (for the Playwright set). */
  cursors?: boolean
}

export interface SnapshotResult {
  /** YAML lines joined by `\n`, no newline at the end. */
  text: string
  next: number
  /** The `iframe` lines: Rust appends `:` and the frame's own lines, indented by `indent + 2`. */
  frames: { ref: string; line: number; indent: number }[]
  /** Something was folded. */
  folded: boolean
  /** The budget, or the limit of a walk, cut it; the last line says so. */
  cut: boolean
  lines: number
  /** `count` of `mutations` when it was taken. */
  mutations: number
  /** The document, as {@link InnerCounts} names it. */
  document: string
}

// ---- targets

export interface TargetArgument extends WithRefs {
  /** A target of spec.md section 1 within this frame; `>>` chains. */
  target: string
  /** Several matches are an error (of several, the one that is visible is meant). Default false: the first is meant. */
  strict?: boolean
}

export interface ResolveResult extends Match {
  /** How many elements matched. */
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
  /** Skips every check but that there is a box. */
  force?: boolean
  /** Relative to the top left corner of the element's box. */
  position?: Point
  /** The target is a frame element: act on this point of its document, in CSS px of its viewport. */
  inside?: Point
}

export interface WaitActionableArgument extends ActionableArgument {
  /** ms */
  timeout: number
  /** How many of them are over: the call is repeated. */
  waited?: number
  /** Gives the element the focus once it can be acted on; with `replace` all of it is selected, so that typing replaces it. */
  focus?: { replace: boolean }
  /** Guards the press that comes next: {@link Turned} tells whether it was on the element. */
  guard?: boolean
  /** `count` of `mutations` with which the element is to be pressed at once: {@link ActionableResult.press} tells where. */
  known?: number
}

/** The test id of an element. */
export interface TestId {
  attribute: string
  value: string
  /** If it is not unique in the document: the ref of the outermost element with a ref in which it is. */
  within?: string
}

/** Its counts are those before the focus was given. */
export interface ActionableResult extends Match, ChangeCounts {
  ok: true
  /** Where to point, in CSS px of this frame's viewport. */
  x: number
  y: number
  box: Box
  /** Tag name in lower case, and `type` of an input. */
  tag: string
  type: string
  password: boolean
  /** For the record only. */
  testId?: TestId
  /** The field receives the key events of a code editor: text is pasted, and replaced by selecting everything with keys. */
  editor?: boolean
  /** Whether the element took the focus that was to be given. */
  focused?: boolean
  /** Whoever has asked is to press here now. */
  press?: { x: number; y: number }
  /** The first attempt failed: the page may have changed meanwhile. */
  retried?: boolean
  /** With `inside`: maps the viewport of the frame's document to this viewport, see {@link FrameMatrixResult}. */
  matrix?: number[]
  next: number
}

export interface HitArgument {
  ref: string
  x: number
  y: number
}

/** `covered` says by what. */
export interface HitResult {
  ok: boolean
  covered?: string
}

/** Maps the viewport of a frame's document to the viewport around it: `[a, b, c, d, e, f]` as in CSS `matrix()`. */
export interface FrameMatrixResult {
  matrix: number[]
}

// ---- entering

export interface RefArgument {
  ref: string
}

export interface FileInputArgument extends RefArgument {
  /** Takes its files out, which protocols that put files in don't. */
  empty: boolean
}

export interface FileInputResult {
  /** Whether it takes several files. */
  multiple: boolean
}

export interface FillArgument extends RefArgument {
  value: string
}

export interface FillResult {
  password: boolean
  value: string
}

export interface InsertArgument {
  ref: string
  text: string
}

export interface InsertResult {
  taken: boolean
}

export interface EnteredArgument extends WithRefs {
  /** `index` is the caller's own. `typed`: the text was inserted at the caret, so that the value only contains it. */
  fields: { index: number; ref: string; text: string; typed: boolean }[]
}

export interface EnteredResult {
  /** The fields whose value is another than the text. */
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
  /** Each is compared with value, label and text of the options, then as an index (`#2`, or a number). */
  values: string[]
}

export interface SelectResult {
  /** Values and labels of the selected options. */
  selected: { value: string; label: string }[]
}

export interface CheckedArgument extends RefArgument {
  /** Guards the press that comes next where the element is not so. */
  wanted?: boolean
}

export interface CheckedResult {
  checked: boolean | 'mixed'
  /** A radio button cannot be unchecked. */
  radio: boolean
  native: boolean
}

// ---- reading

/** `all` reads every match, not the first alone. */
export interface TextArgument extends WithRefs {
  /** The body without it. */
  target?: string
  all?: boolean
}

export interface TextResult {
  /** As a user sees it (`innerText`, with what shadow roots and fields show). */
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
  /** Null where it is missing. URLs (`href`, `src`) as they are written. */
  value: string | null
  ref: string
  next: number
}

export interface ValueResult {
  /** Masked for passwords. A `select` has its option's value; several with `values`. */
  value: string | null
  values?: string[]
  checked?: boolean | 'mixed'
  password: boolean
  ref: string
  next: number
}

/** `state` never fails for a missing element. */
export interface StateResult {
  exists: boolean
  visible: boolean
  enabled: boolean
  editable: boolean
  count: number
  /** Why it is not visible. */
  hiddenBecause?: string
  ref?: string
  description?: string
  next: number
}

export interface FindArgument extends WithRefs {
  /** Part of a line, in any case. */
  text?: string
  /** A pattern, `i` is added. */
  regex?: string
  /** Lines told at most; default 50. */
  limit?: number
}

export interface FindResult {
  /** The matching lines under the lines that hold them, as in a snapshot. */
  text: string
  /** Lines that match, also those over the limit. */
  count: number
  next: number
}

export interface ListArgument extends WithRefs {
  target: string
  /** Default 100. */
  limit?: number
}

export interface Listed extends Match {
  tag: string
  text: string
  visible: boolean
  attributes: Record<string, string>
}

export interface ListResult {
  elements: Listed[]
  count: number
  next: number
}

export interface LinksArgument extends WithRefs {
  /** Only the links in it. */
  target?: string
}

export interface LinksResult {
  links: { text: string; url: string; ref: string }[]
  next: number
}

export interface TableResult {
  caption?: string
  headers: string[]
  /** Spans are filled in: each row has a text for each column. */
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
  /** `og:…`, `twitter:…` and every other named meta tag. */
  meta: Record<string, string>
  jsonLd: unknown[]
  headings: { level: number; text: string }[]
  icons: string[]
}

export interface ScrollArgument extends WithRefs {
  /** Scrolled into view without `x`, `y`, else scrolled itself, or the nearest element around it that can be. */
  target?: string
  x?: number
  y?: number
  /** Where the wheel would be turned: within the target, else in the viewport. Default: the center. */
  position?: Point
}

export interface ScrollResult {
  /** Whether anything moved by script. Otherwise {@link Troupe.wheeled} tells whether the wheel has moved anything. */
  moved: boolean
  /** The scrolled element, or the one that did not scroll. */
  description: string
  x: number
  y: number
  /** How far it can be scrolled. */
  maxX: number
  maxY: number
  /** Where nothing moved: where to turn the wheel, in CSS px of this frame's viewport. */
  point?: Point
  /** The ref of the frame element at this point, which is to be scrolled instead. */
  frame?: string
  /** Of a target that has one, with its test id for the record. */
  ref?: string
  testId?: TestId
  next: number
}

export interface WheeledResult {
  /** The page has handled the wheel, or something has scrolled. */
  moved: boolean
}

/** A point of this viewport. */
export interface PointedArgument extends WithRefs, Point {}

export interface PointedResult {
  /** The innermost element there. Missing where there is none. */
  description?: string
  /** Size of the viewport, CSS px. */
  width: number
  height: number
  next: number
}

export interface HtmlArgument extends WithRefs {
  target?: string
}

export interface HtmlResult {
  /** Shadow roots written in place, URLs absolute, hidden parts, scripts and styles left out. */
  html: string
  title: string
  url: string
  next: number
}

export interface WaitForArgument extends WithRefs {
  target?: string
  /** Default visible. */
  state?: 'attached' | 'detached' | 'visible' | 'hidden'
  text?: string
  textGone?: string
  timeout: number
  /** How many of them are over: the call is repeated. */
  waited?: number
}

export interface WaitForResult {
  /** The element that is awaited, where it is there. */
  ref?: string
  description?: string
  /** Where the awaited text is not a visible text of the element: `name`, `placeholder`, `value` or `title`. */
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
  /** A CSS path to it. */
  path: string
}

export interface AnnotationsArgument extends WithRefs {
  /** Includes the area outside of the viewport. */
  whole?: boolean
}

export interface AnnotationsResult {
  /** Boxes of what can be acted on, in CSS px of this frame's viewport. */
  boxes: { ref: string; role: string; box: Box }[]
  /** Each child frame: the size of its document's viewport, and where that is. */
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
  /** Indexes of the options that are selected. */
  selected?: number[]
}

export interface ScrollState {
  path: string
  x: number
  y: number
}

/** Where a ref stood, to find its element again. */
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
  /** What JSON cannot say stands under `keyEncoded` and `valueEncoded` (see structured-clone.ts). */
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

export interface KeepArgument {
  /** `version` of the last answer for this document. */
  known?: string
  /** Reads the databases. `known`: their `databases` of the last answer for this origin. */
  indexedDB?: { known: string | null }
}

export interface Whereabouts {
  url: string
  /** Indexes among the child frames, from the main frame inwards; empty for the main frame. */
  place: number[]
}

export interface Kept {
  url: string
  /** `null` where it can have no storage. */
  origin: string
  version: string
  /** Left out where `version` is the one that is known. */
  document?: {
    place: number[]
    scroll: { x: number; y: number }
    scrolls: ScrollState[]
    fields: FieldState[]
    refs: RefState[]
  }
  localStorage?: Item[]
  sessionStorage?: Item[]
  /** An array of `DatabaseState` as JSON; left out where `databases` is the version that is known. */
  indexedDB?: string
  /** The version of the databases, if they were read. */
  databases?: string
  /** Databases that are too large to be kept, or did not answer. */
  left?: string[]
  /** How long the databases took, in ms. */
  reading?: number
}

export interface BringBackArgument extends WithRefs {
  scroll: { x: number; y: number }
  scrolls: ScrollState[]
  fields: FieldState[]
  /** Not `refs`: under that name every call is handed the counter. */
  named: RefState[]
  /** How long to wait for missing elements, in ms. */
  patience: number
}

export interface BringBackResult {
  /** How many are filled again, and how many are not there. */
  fields: number
  missing: number
  /** How many name their elements again. */
  refs: number
  /** No element, or several, of this role, name and path. */
  stale: string[]
}

export interface WriteStorageArgument {
  /** `localStorage`, `sessionStorage`, `indexedDB` as {@link Kept} has them, as JSON. */
  state: string
  /** Also removes what the state does not contain. */
  replace?: boolean
}

// ---- bookkeeping

/** The mutation count of each document that this one can reach in its frames, by the document's name: those of its origin. */
export type InnerCounts = Record<string, number>

/** What answers report about changes of the page. */
export interface ChangeCounts {
  /** `count` of `mutations`. */
  mutations: number
  /** The name of this document. */
  document: string
  /** Missing where there are none. */
  inner?: InnerCounts
}

export interface MutationsResult {
  /** Grows with every change of the document. */
  count: number
  /** The same, under the name that other answers have it. */
  mutations: number
  /** Anything changed since the last snapshot of this frame. */
  changed: boolean
}

export interface SnapshotIfChangedArgument extends WithRefs {
  /** `known` is the mutation count of the snapshot that the caller has, and `document` the name of its document. */
  look: Omit<SnapshotArgument, keyof WithRefs> & { known?: number; document?: string }
}

export interface SnapshotIfChangedResult extends ChangeCounts {
  /** Missing if the mutation count is still `known`. */
  snapshot?: SnapshotResult
  next?: number
}

/** Any object that has nothing but success to tell. */
export interface Done {
  done: true
}

export interface TurnArgument extends WithRefs {
  /** It begins when the press that is guarded has been let go so many times: it may be asked for before. */
  releases?: number
  /** Tasks that it lets pass before the last; one by default. */
  tasks?: number
  /** The snapshot that is wanted if `count` of `mutations` is no more this, or the document is another. */
  look?: Omit<SnapshotArgument, keyof WithRefs> & { known: number; document?: string }
}

export interface Turned extends Done, ChangeCounts {
  /** A link with `download` has been clicked since the last turn. */
  download?: boolean
  /** What the press that was guarded would have hit in place of its element: nothing in the page has heard of it. */
  covered?: string
  /** What stands in the field for a password that has the focus; true where a frame has it that cannot be looked into. */
  password?: string | true
  /** What was wanted by `look`; missing where closed shadow roots have to be handed in first. */
  snapshot?: SnapshotResult
  /** Told with `snapshot`. */
  next?: number
}

export interface ArrivalArgument extends WithRefs {
  /** What to show of the page in the same answer. */
  look?: Omit<SnapshotArgument, keyof WithRefs> | null
}

export interface Arrival {
  title: string
  /** Milliseconds since the navigation began; missing what has not come yet. */
  timing: { responseStart?: number; domContentLoaded?: number; load?: number }
  /** What was wanted by `look`; missing where closed shadow roots have to be handed in first. */
  snapshot?: SnapshotResult
  /** Told with `snapshot`, as are the counts. */
  next?: number
  mutations?: number
  document?: string
  inner?: InnerCounts
}

/** A function of the contract. */
export type Call<Argument, Result> = (argument: Argument) => Result

export interface Troupe {
  version: 1
  snapshot: Call<SnapshotArgument, SnapshotResult>
  resolve: Call<TargetArgument, ResolveResult>
  /** Retries in the page until `timeout`; returns at once if all checks succeed. */
  waitActionable: Call<WaitActionableArgument, Promise<ActionableResult>>
  /** Whether a point of this frame hits an element. */
  hit: Call<HitArgument, HitResult>
  /** Where the document of a frame element is in this frame. */
  frameMatrix: Call<RefArgument, FrameMatrixResult>
  fill: Call<FillArgument, Promise<FillResult>>
  insertInto: Call<InsertArgument, InsertResult>
  fileInput: Call<FileInputArgument, FileInputResult>
  /** Which fields do not have the text that was entered: cut off, or formatted by the page. */
  entered: Call<EnteredArgument, Promise<EnteredResult>>
  select: Call<SelectArgument, SelectResult>
  checkedState: Call<CheckedArgument, CheckedResult>
  text: Call<TextArgument, TextResult>
  attribute: Call<AttributeArgument, AttributeResult>
  value: Call<TargetArgument, ValueResult>
  /** `is_visible`, `is_enabled`, `element_exists`. */
  state: Call<TargetArgument, StateResult>
  /** Looks through the whole page, whatever was folded. */
  find: Call<FindArgument, FindResult>
  list: Call<ListArgument, ListResult>
  links: Call<LinksArgument, LinksResult>
  table: Call<TargetArgument, TableResult>
  metadata: Call<void, MetadataResult>
  scroll: Call<ScrollArgument, ScrollResult>
  /** Whether the wheel events after a `scroll` that moved nothing had an effect. */
  wheeled: Call<object, Promise<WheeledResult>>
  /** Describes the element at a point. */
  pointed: Call<PointedArgument, PointedResult>
  html: Call<HtmlArgument, HtmlResult>
  waitFor: Call<WaitForArgument, Promise<WaitForResult>>
  describe: Call<RefArgument, DescribeResult>
  annotations: Call<AnnotationsArgument, AnnotationsResult>
  keep: Call<KeepArgument, Promise<Kept>>
  bringBack: Call<BringBackArgument, Promise<BringBackResult | Hosts>>
  writeStorage: Call<WriteStorageArgument, Promise<Done>>
  whereabouts: Call<void, Whereabouts>
  mutations: Call<void, MutationsResult>
  snapshotIfChanged: Call<SnapshotIfChangedArgument, SnapshotIfChangedResult>
  /** Where a navigation has led, with the page as it is then, which saves a call. */
  arrival: Call<ArrivalArgument, Promise<Arrival>>
  /** Resolves after one turn of the event loop; with the page as it is then, which saves a call. */
  turn: Call<TurnArgument, Promise<Turned>>
  /** Begins a turn that waits for releases: this document does not hear of them. */
  giveUpRelease: Call<object, Done>

  // Those below take and return real objects, not JSON; for use by object id, or by the document around this one.

  /** The counts of this document and of those in it, by their names. */
  countsByDocument(): InnerCounts

  /** Makes a closed shadow root known, as the protocol hands it in. */
  adoptShadowRoot(host: Element, root: ShadowRoot): void
  /** Elements that may have a closed root, as far as the protocol has not looked at them as they are now. */
  closedCandidates(): Element[]
  /** The window of the frame at a point of this viewport, and the point in that frame's viewport; empty where there is no frame. */
  frameAt(x: number, y: number): [] | [Window, number, number]
  /** Null where the ref is stale. */
  element(ref: string): Element | null
}
