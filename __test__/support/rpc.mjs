// The base class of the clients of all transports: requests, responses and calls of tools.
import { note } from './notes.mjs'
import { within } from './wait.mjs'

/**
 * Longer than the server's own timeouts, because its errors contain more than a timeout here.
 */
const REQUEST_TIMEOUT = 35_000

/** A client that sends JSON-RPC with `send`, and passes received texts to `receive`. */
export class RpcClient {
  #nextId = 1
  /** Timeout of a request (ms). */
  requestTimeout = REQUEST_TIMEOUT
  /** @type {Map<number | string, (message: any) => void>} */
  #pending = new Map()
  /** All received messages. `unparsable` has the texts that are not messages. @type {any[]} */
  received = []
  /** @type {string[]} */
  unparsable = []
  /**
   * Responds to requests of the server, such as a ping or a question.
   * @type {(request: any) => object | Promise<object>}
   */
  answer = () => ({})

  /** @param {object} _message without its `jsonrpc` */
  send(_message) {
    throw new Error('each transport overrides this method')
  }

  /** @param {string} method @param {object} [params] @returns {unknown} */
  notify(method, params) {
    return this.send({ method, params })
  }

  nextId() {
    return this.#nextId++
  }

  /**
   * Returns the whole response, `{ id, result }` or `{ id, error }`; `error.code` is `GONE` if the
   * server ended first.
   * @param {string} method @param {object} [params]
   * @param {{ timeout?: number, id?: number | string, signal?: AbortSignal }} [options]
   * @returns {Promise<any>}
   */
  async request(method, params, { timeout = this.requestTimeout, id = this.nextId() } = {}) {
    const answer = new Promise((resolve) => this.#pending.set(id, resolve))
    this.send({ id, method, params })
    return within(answer, `the answer to ${method}`, timeout)
  }

  /** Fails all pending requests, because the server has ended. @param {string} why */
  disconnected(why) {
    for (const answer of this.#pending.values()) answer({ error: { code: 'GONE', message: why } })
    this.#pending.clear()
  }

  /** @param {string} text */
  receive(text) {
    const message = readJson(text)
    if (!message) return void this.unparsable.push(text)
    this.received.push(message)
    if (message.method && message.id !== undefined) return void this.#respond(message)
    this.#pending.get(message.id)?.(message)
    this.#pending.delete(message.id)
  }

  /** @param {any} request */
  async #respond(request) {
    this.send({ id: request.id, result: await this.answer(request) })
  }

  /** @param {string} [protocolVersion] @param {object} [capabilities] of this client */
  async initialize(protocolVersion = '2025-06-18', capabilities = {}) {
    const params = {
      protocolVersion,
      capabilities,
      clientInfo: { name: 'troupe-test', version: '0' }
    }
    const { result, error } = await this.request('initialize', params)
    if (error) throw new Error(`initialize: ${JSON.stringify(error)}`)
    await this.notify('notifications/initialized')
    return result
  }

  /**
   * Returns the result of a tool. `json` is its text as JSON (of a success or an error), `text` has
   * all its text parts, `meta` is its `_meta`, and `ms` the duration of the call.
   * @param {string} tool
   * @param {object} [args]
   * @param {Parameters<RpcClient['request']>[2]} [options]
   */
  async call(tool, args = {}, options) {
    const started = performance.now()
    const { result, error } = await this.request(
      'tools/call',
      { name: tool, arguments: args },
      options
    )
    const ms = performance.now() - started
    const text = unmarked(
      (result?.content ?? []).map((part) => part.text ?? '').join('\n'),
      result?._meta?.refId
    )
    const answer = {
      result,
      error,
      isError: result?.isError === true,
      json: readJson(text),
      text,
      meta: result?._meta,
      ms
    }
    if (result) note(tool, args, answer)
    return answer
  }

  /**
   * Makes a call that must succeed. Returns its JSON, or its text.
   * @param {string} tool
   * @param {object} [args]
   * @returns {Promise<any>}
   */
  async ok(tool, args) {
    const { json, text, isError, error } = await this.call(tool, args)
    if (error || isError) throw new Error(`${tool}: ${error ? JSON.stringify(error) : text}`)
    return json ?? text
  }

  /**
   * Makes a call that must fail. Returns its error.
   * @param {string} tool
   * @param {object} [args]
   * @returns {Promise<any>}
   */
  async fail(tool, args) {
    const { json, text, isError, error } = await this.call(tool, args)
    if (!isError)
      throw new Error(`${tool} ${JSON.stringify(args)}: ${error ? JSON.stringify(error) : text}`)
    return json
  }

  /**
   * Evaluates a script and returns its value.
   * @param {string} script
   * @param {object} [args] other arguments of the call
   */
  async evaluate(script, args) {
    return (await this.ok('evaluate', { ...args, script })).value
  }

  /** Creates a session and returns its id. @param {object} [args] @returns {Promise<string>} */
  async createSession(args) {
    return (await this.ok('create_session', args)).sessionId
  }
}

/**
 * Returns the text between the boundary marks of page text, which must be those of this call. A
 * text without marks is unchanged.
 * @param {string} text @param {string} [refId]
 */
function unmarked(text, refId) {
  const nonce = refId?.slice(0, 8)
  const begin = `<page ${nonce}>\n`
  const end = `\n</page ${nonce}>`
  if (!nonce || !text.startsWith(begin)) return text
  const at = text.lastIndexOf(end)
  if (at < 0) throw new Error(`the end mark of the page text is missing: ${text}`)
  return text.slice(begin.length, at) + text.slice(at + end.length)
}

/** @param {string} text */
export function readJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
