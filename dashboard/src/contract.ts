// The messages between this page and the server.

/** An error of the server: what failed, and what to do next. */
export interface Failure {
  /** Null for an error of another program, which has no code. */
  code: string | null
  message: string
  suggestion?: string | null
}

export interface Me {
  readOnly: boolean
  /** The id of the only session that this link shows, or null for all sessions. */
  session: string | null
  version: string
}

export interface RunningCall {
  call: number | string
  tool: string
  startedAt: string
}

/** A property of an answer. */
export interface PropertySchema {
  type?: string
  title?: string
  description?: string
  default?: unknown
  format?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  enum?: string[]
  enumNames?: string[]
  oneOf?: { const: string; title?: string }[]
  anyOf?: { const: string; title?: string }[]
  items?: PropertySchema
}

/** JSON Schema of an answer: a flat object. */
export interface AnswerSchema {
  properties?: Record<string, PropertySchema>
  required?: string[]
}

/** A question of the agent to a person. */
export interface Question {
  id: string
  message: string
  /** Null for an optional text. */
  schema: AnswerSchema | null
}

export interface Session {
  server: string
  id: string
  name: string | null
  state: 'active' | 'recoverable' | 'ended'
  browser: string
  /** Null if the session does not run. */
  url: string | null
  title: string | null
  createdAt: string
  lastUsedAt: string
  calls: number
  running: RunningCall | null
  heldBy: 'viewer' | null
  question?: Question | null
}

export interface Tab {
  id: string
  url: string
  title: string
  active: boolean
}

export interface Call {
  id: string
  /** Null for a call without a session. */
  session: string | null
  tool: string
  startedAt: string
  durationMs: number | null
  status: 'ok' | 'error' | 'running' | 'unknown'
  /** An object, or null if the record has no valid one. */
  arguments: Record<string, unknown> | null
  summary: string
  error: Failure | null
  /** Relative to the address of this page. */
  pictureUrl: string | null
}

export interface CallDetails extends Call {
  result: string
  changes: string | null
  console?: string[]
}

/** The number of calls that took at most `upperMs`. The last bucket has no upper limit. */
export type Bucket = [upperMs: number | null, cumulativeCount: number]

export interface Latency {
  count: number
  buckets: Bucket[]
  sumMs: number
}

/** Figures of the server at one time. */
export interface Sample {
  calls: number
  errors: number
  memoryBytes: number
  browsers: number
  sessions: number
  queued: number
}

export interface Metrics extends Omit<Sample, 'errors'> {
  errorsByCode: Record<string, number>
  latencyByTool: Record<string, Latency>
}

/** A dialog of the page: `alert`, `confirm`, `prompt` or `beforeunload`. */
export interface PageDialog {
  kind: string
  message: string
  defaultText: string | null
}

export interface SelectOption {
  /** Its index in the list of the page. */
  index: number
  label: string
  /** The label of its group. */
  group: string | null
  disabled: boolean
  selected: boolean
}

/** A dropdown list of the page that the viewer has opened. Positions as those of the input. */
export interface PageSelect {
  name: string
  x: number
  y: number
  width: number
  height: number
  options: SelectOption[]
  /** The number of options that are left out. */
  omitted: number
}

/** A file chooser that the page has opened. */
export interface PageFileChooser {
  multiple: boolean
}

export type Holder = 'you' | 'other' | null

/** Modifier keys as bits: Alt 1, Control 2, Meta 4, Shift 8. */
export type Modifiers = number

/** Input of the viewer. `x` and `y` are in CSS pixels of the page's viewport. */
export type PageInput =
  | {
      kind: 'mouse'
      action: 'move' | 'down' | 'up'
      x: number
      y: number
      /** Of a move, only the position counts. */
      button: 'left' | 'middle' | 'right'
      clicks: number
      modifiers: Modifiers
    }
  | { kind: 'wheel'; x: number; y: number; dx: number; dy: number; modifiers: Modifiers }
  | {
      kind: 'key'
      action: 'down' | 'up'
      key: string
      code: string
      text: string | null
      modifiers: Modifiers
    }
  | { kind: 'text'; text: string }

/** A session to show, with the size of its image in device pixels. */
export interface WatchTarget {
  id: string
  width: number
  height: number
  calls?: boolean
}

export type ToServer =
  | { type: 'watch'; sessions: WatchTarget[] }
  | { type: 'ack'; id: string; frame: number }
  | { type: 'hold'; id: string }
  | { type: 'release'; id: string }
  | { type: 'input'; id: string; events: PageInput[] }
  | { type: 'dialog'; id: string; accept: boolean; text: string | null }
  /** Selects the option with this index of the list, or closes the list. */
  | { type: 'choose'; id: string; index: number | null }
  | { type: 'done'; id: string; question: string; answer: Record<string, unknown> }

export type FromServer =
  | { type: 'sessions'; sessions: Session[] }
  | { type: 'call'; call: Call }
  | { type: 'held'; id: string; by: Holder }
  | { type: 'dialog'; id: string; dialog: PageDialog | null }
  | { type: 'select'; id: string; select: PageSelect | null }
  | { type: 'chooser'; id: string; chooser: PageFileChooser | null }
  | { type: 'gone'; id: string }
  | { type: 'error'; id?: string | null; error: Failure }

/** The header of a frame. `width` and `height` are the page's viewport in CSS pixels. */
export interface FrameHeader {
  id: string
  frame: number
  page: string
  width: number
  height: number
  takenAt: string
}
