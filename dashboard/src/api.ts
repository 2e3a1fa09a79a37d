import type { Call, CallDetails, Failure, Me, Metrics, Session, Tab } from './contract'

/** A request that the server rejected, or that did not reach it (`status` 0). */
export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly failure: Failure
  ) {
    super(failure.message)
  }
}

/** The clock of the server minus the clock of this computer, in ms. */
let clockOffset = 0

/** The time of the server, in ms since 1970. */
export const serverNow = () => Date.now() + clockOffset

/** Returns the address of a path of the API. */
export function apiUrl(path: string): string {
  return new URL(`api/${path}`, document.baseURI).href
}

async function request(path: string, init?: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(new URL(path, document.baseURI), init)
  } catch {
    throw unreachable()
  }
  if (response.ok) return response
  const body = await readJson(response)
  throw new RequestError(response.status, failureIn(body) ?? unexplained(response))
}

/** Reads a JSON body. Fails if it is something else, such as the error page of a proxy. */
async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw unreachable()
    // Not the status of the response: a rejection by a proxy is not a rejection by Troupe.
    throw new RequestError(0, {
      code: 'NOT_JSON',
      message: `The response with the status ${response.status} is not JSON, so it is not from Troupe.`,
      suggestion: 'Check the proxy between this browser and Troupe, and that Troupe is running.'
    })
  }
}

function unreachable(): RequestError {
  return new RequestError(0, {
    code: 'UNREACHABLE',
    message: 'The server did not respond.',
    suggestion: 'Check that Troupe is running and that this computer can reach it.'
  })
}

function failureIn(body: unknown): Failure | undefined {
  const error = (body as { error?: Partial<Failure> } | null)?.error
  if (typeof error?.message !== 'string') return undefined
  const { code = 'UNKNOWN', message, suggestion } = error
  return { code, message, suggestion: suggestion ?? null }
}

function unexplained(response: Response): Failure {
  return {
    code: `HTTP_${response.status}`,
    message: `The server responded with the status ${response.status}.`,
    suggestion: 'Look at the log of the server.'
  }
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(`api/${path}`, signal ? { signal } : {})
  const date = Date.parse(response.headers.get('date') ?? '')
  // The header has no milliseconds, so only a clear difference is corrected.
  const difference = date - Date.now()
  if (!Number.isNaN(difference)) clockOffset = Math.abs(difference) > 2000 ? difference : 0
  return (await readJson(response)) as T
}

/** Builds a path from a template literal. Encodes the inserted values. */
function path(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return String.raw({ raw: parts }, ...values.map((value) => encodeURIComponent(value)))
}

/**
 * Exchanges the token of a one-time link for a cookie. Returns false if the server rejects the
 * token.
 */
export async function logIn(token: string): Promise<boolean> {
  const headers = { 'content-type': 'application/json' }
  try {
    await request('login', { method: 'POST', headers, body: JSON.stringify({ token }) })
    return true
  } catch (error) {
    if (isRejection(error)) return false
    throw error
  }
}

/** Whether the server denies access. */
export function isRejection(error: unknown): boolean {
  return error instanceof RequestError && [401, 403].includes(error.status)
}

/** Returns the address of the report or the script of a session. */
export const exportUrl = (id: string, kind: 'report' | 'script') =>
  apiUrl(path`sessions/${id}/` + kind)

/** An opaque value of the server: where the next page of a list begins. */
export type Cursor = string | number

export const api = {
  me: () => get<Me>('me'),
  sessions: () => get<{ sessions: Session[] }>('sessions'),
  session: (id: string) => get<Session & { pages: Tab[] }>(path`sessions/${id}`),
  calls: (id: string, search: string, before: Cursor | null) => {
    const rest = before === null ? '' : path`&before=${before}`
    const first = path`sessions/${id}/calls?limit=50&search=${search}`
    return get<{ calls: Call[]; next: Cursor | null }>(first + rest)
  },
  call: (id: string) => get<CallDetails>(path`calls/${id}`),
  search: (text: string, signal: AbortSignal) =>
    get<{ calls: Call[] }>(path`search?text=${text}`, signal),
  /** Gives files to the page that has opened a file chooser, or dismisses it without files. */
  answerFileChooser: (id: string, files: File[]) => {
    const list = { files: files.map(({ name, size }) => ({ name, size })) }
    const body = new Blob([`${JSON.stringify(list)}\n`, ...files])
    return request(`api/${path`sessions/${id}/files`}`, { method: 'POST', body })
  },
  metrics: () => get<Metrics>('metrics'),
  deleteSession: (id: string) => request(`api/${path`sessions/${id}`}`, { method: 'DELETE' })
}
