// A scripted agent that does a job with the tools of one server: it finds refs in the results that
// it has read, and counts its turns and the bytes of the results.
import { until } from '../../support/wait.mjs'

/** Maximum time for an app to render content that a result does not contain yet. */
const RENDERED = 90_000
/** Pause between two reads of a page that renders (ms). */
const INTERVAL = 50

/**
 * @typedef {{ content: { text?: string }[], isError?: boolean }} Result
 * @typedef {(tool: string, args: object) => Promise<Result>} Call
 * @typedef {{ name: string, title: string, task: string, missing: () => string | false, start: (t:
 *   import('../programs.mjs').Test) => Promise<string>,
 * troupe: (agent: JobAgent, url: string) => Promise<void>, peer: (agent: JobAgent, url: string) =>
 * Promise<void> }} Job
 */

/** Returns a snapshot without the mark around it, which differs in each. @param {string} text */
const lines = (text) => text.replace(/<\/?page \w+>/g, '')

export class JobAgent {
  turns = 0
  /** Calls of tools; a batch counts each of its steps. */
  calls = 0
  bytes = 0
  /** What the agent has read, the latest last. @type {string[]} */
  results = []
  #call
  #snapshotTool

  /** @param {Call} call @param {string} snapshotTool the tool that returns the page */
  constructor(call, snapshotTool) {
    this.#call = call
    this.#snapshotTool = snapshotTool
  }

  /**
   * Calls a tool, which must not fail; resolves to the text of its result.
   * @param {string} tool
   * @param {object} [args]
   */
  async act(tool, args = {}) {
    const text = await this.#request(tool, args)
    this.#count(text, args)
    return text
  }

  /** Several calls in one turn. @param {...[string, object]} steps */
  batch(...steps) {
    return this.act('batch', { steps: steps.map(([tool, args]) => ({ tool, arguments: args })) })
  }

  /**
   * Takes a snapshot, unless the latest result contains `pattern`. A page can render while a model
   * thinks. Here the snapshot is repeated instead, and counts once.
   * @param {RegExp} pattern @param {object} [args]
   */
  async see(pattern, args = {}) {
    if (pattern.test(this.results.at(-1) ?? '')) return
    await this.snapshot(pattern, args)
  }

  /** Asserts that the latest result shows `pattern`. @param {RegExp} pattern */
  assertLatestShows(pattern) {
    const text = this.results.at(-1) ?? ''
    if (!pattern.test(text)) throw new Error(`no ${pattern} in\n${text}`)
  }

  /**
   * Searches the page with `browser_find`, and asserts that the result shows `pattern`. The search
   * is repeated as a snapshot is, and counts once.
   * @param {string} text @param {RegExp} pattern
   */
  async search(text, pattern) {
    await this.#repeat(pattern, 'browser_find', { text }, (found) => pattern.test(found))
  }

  /**
   * Takes a snapshot in any case, when the page has stopped changing.
   * @param {RegExp} pattern
   * @param {object} [args]
   */
  async snapshot(pattern, args = {}) {
    let before = ''
    await this.#repeat(pattern, this.#snapshotTool, args, (text) => {
      const isDone = pattern.test(text) && lines(text) === before
      before = lines(text)
      return isDone
    })
  }

  /**
   * Repeats a call until `isDone`, and counts the last one.
   * @param {RegExp} pattern what an error names
   * @param {string} tool @param {object} args
   * @param {(text: string) => boolean} isDone
   */
  async #repeat(pattern, tool, args, isDone) {
    let text = ''
    await until(
      async () => isDone((text = await this.#request(tool, args))),
      () => `no ${pattern} in\n${text}`,
      RENDERED,
      INTERVAL
    )
    this.#count(text, args)
  }

  /**
   * The ref on the latest line that matches, or on the first line after it that matches `next`.
   * @param {RegExp} pattern @param {RegExp} [next]
   */
  ref(pattern, next) {
    for (const text of this.results.toReversed()) {
      const lines = text.split('\n')
      const first = lines.findIndex((line) => pattern.test(line))
      const line = next
        ? lines.slice(first + 1).find((line) => first >= 0 && next.test(line))
        : lines[first]
      const ref = /\[ref=(\w+)\]/.exec(line ?? '')?.[1]
      if (ref) return ref
    }
    throw new Error(
      `no line with a ref for ${pattern} ${next ?? ''} in\n${this.results.join('\n\n')}`
    )
  }

  /**
   * The ref on the last line with one before the latest line that matches.
   * @param {RegExp} pattern
   */
  refBefore(pattern) {
    for (const text of this.results.toReversed()) {
      const lines = text.split('\n')
      const at = lines.findIndex((line) => pattern.test(line))
      const before = lines.slice(0, Math.max(at, 0)).toReversed()
      const ref = before.map((line) => /\[ref=(\w+)\]/.exec(line)?.[1]).find(Boolean)
      if (ref) return ref
    }
    throw new Error(`no ref before ${pattern} in\n${this.results.join('\n\n')}`)
  }

  /** @param {string} tool @param {object} args */
  async #request(tool, args) {
    const result = await this.#call(tool, args)
    const text = result.content.map((part) => part.text ?? '').join('\n')
    if (result.isError || text.startsWith('{"success":false'))
      throw new Error(`${tool} ${JSON.stringify(args)}: ${text}`)
    return text
  }

  /** @param {string} text @param {any} args */
  #count(text, args) {
    this.turns++
    this.calls += args.steps?.length ?? 1
    this.bytes += Buffer.byteLength(text)
    // In JSON, the lines of a snapshot are escaped.
    if (text.startsWith('{')) this.results.push(text.replaceAll('\\n', '\n').replaceAll('\\"', '"'))
    // In the output of chained commands, refs before a navigation are those of the page before.
    else this.results.push(...text.split(/\n(?=title: )/))
  }
}
