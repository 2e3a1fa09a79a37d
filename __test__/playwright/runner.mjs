// Runs scenarios on a server and returns normalized answers.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { sizeOf } from '../support/pictures.mjs'
import { normalize } from './normalize.mjs'

/**
 * @typedef {import('./scenarios.mjs').Scenario} Scenario
 * @typedef {import('./scenarios.mjs').Call} Call
 * @typedef {import('../support/site.mjs').Site} Site
 * @typedef {{ tool: string, text: string, isError?: true, images?: string[], files?:
 *   Record<string, string> }} Answer
 *   the text of a result, its images as type and size, and the contents of the files that it names
 */

/** A ref in a target is found by a part of its line in the last snapshot: `ref:button "Save"`. */
const BY_LINE = /^ref:(.*)$/s

/** Links to files, in every form that results have. */
const LINKS = [
  /^- \[[^\]]+\]\(([^)]+)\)$/gm,
  /^- New console entries: (.+?)#L/gm,
  /^- Downloaded file .* to "(.+)"$/gm,
  /^((?:\.playwright-mcp\/|\.\/)\S+)$/gm
]

/**
 * Runs scenarios on several servers of the same kind in parallel. Scenarios with options of their
 * own have a server of their own.
 * @param {Scenario[]} scenarios
 * @param {typeof import('./servers.mjs').startTroupe} start
 * @param {Site} site
 * @param {number} count how many servers run at the same time
 * @returns {Promise<Record<string, Answer[]>>} by the scenario's name
 */
export async function runAll(scenarios, start, site, count) {
  const common = scenarios.filter(({ options }) => !options)
  const waiting = [...common, ...scenarios.filter(({ options }) => options)]
  /** @type {Record<string, Answer[]>} */
  const answers = {}
  const work = async () => {
    const runner = new Runner(start, site)
    for (let scenario = waiting.shift(); scenario; scenario = waiting.shift())
      answers[scenario.name] = await runner.run(scenario)
    await runner.end()
  }
  await Promise.all(Array.from({ length: count }, work))
  return Object.fromEntries(scenarios.map(({ name }) => [name, answers[name]]))
}

/** Runs one scenario after the other. Keeps the server while the options are the same. */
class Runner {
  /** @type {(() => unknown)[]} */
  #ends = []
  #options = ''
  /** @type {import('./servers.mjs').Started | undefined} */
  #started
  #start
  #site

  /** @param {typeof import('./servers.mjs').startTroupe} start @param {Site} site */
  constructor(start, site) {
    this.#start = start
    this.#site = site
  }

  /** @param {Scenario} scenario @returns {Promise<Answer[]>} */
  async run(scenario) {
    try {
      const started = await this.#serverWith(scenario.options ?? [])
      return await new ScenarioRun(started, this.#site).run(scenario)
    } catch (error) {
      await this.end().catch(() => {})
      return scenario.calls.map(([tool]) => ({ tool, text: `no answer: ${error.message}` }))
    }
  }

  /** @param {string[]} options */
  async #serverWith(options) {
    const key = options.join(' ')
    if (this.#started && this.#options !== key) await this.end()
    const scope = { after: (/** @type {() => unknown} */ end) => void this.#ends.push(end) }
    this.#options = key
    return (this.#started ??= await this.#start(scope, { options }))
  }

  async end() {
    const ends = this.#ends.splice(0).reverse()
    this.#started = undefined
    for (const end of ends) await end()
  }
}

/** Makes the calls of one scenario. */
export class ScenarioRun {
  #lastSnapshot = ''
  #server
  #directory
  #site

  /** @param {import('./servers.mjs').Started} started @param {Site} site */
  constructor({ server, directory }, site) {
    this.#server = server
    this.#directory = directory
    this.#site = site
  }

  /** @param {Scenario} scenario @returns {Promise<Answer[]>} */
  async run({ calls }) {
    const answers = []
    for (const call of calls) answers.push(await this.#call(call))
    return answers
  }

  /** @param {Call} call @returns {Promise<Answer>} */
  async #call([tool, given = {}]) {
    const { result, error } = await this.#server.call(tool, this.#filledIn(given))
    if (error?.code === 'GONE') throw new Error(error.message)
    if (error) return { tool, text: this.#normal(`${error.code}: ${error.message}`), isError: true }
    const parts = result.content ?? []
    const text = parts.map((part) => part.text ?? '').join('\n')
    const { files, snapshot } = this.#filesOf(text)
    if (snapshot !== undefined) this.#lastSnapshot = snapshot
    const images = parts.filter(({ type }) => type === 'image').map(describeImage)
    return {
      tool,
      text: this.#normal(text),
      ...(result.isError ? { isError: true } : {}),
      ...(images.length > 0 ? { images } : {}),
      ...(Object.keys(files).length > 0 ? { files } : {})
    }
  }

  /** Returns arguments with this run's origins, paths and refs. @param {any} value */
  #filledIn(value) {
    if (Array.isArray(value)) return value.map((item) => this.#filledIn(item))
    if (value && typeof value === 'object')
      return Object.fromEntries(
        Object.entries(value).map(([name, item]) => [name, this.#filledIn(item)])
      )
    if (typeof value !== 'string') return value
    const line = BY_LINE.exec(value)?.[1]
    if (line !== undefined) return this.#refOf(line)
    return value
      .replaceAll('{origin}', this.#site.origin)
      .replaceAll('{other}', `http://localhost:${this.#site.port}`)
      .replaceAll('{directory}', this.#directory)
  }

  /** Returns the ref of the first line that contains `part`. @param {string} part */
  #refOf(part) {
    const line = this.#lastSnapshot
      .split('\n')
      .find((line) => line.includes(part) && line.includes('[ref='))
    return /\[ref=(\w+)\]/.exec(line ?? '')?.[1] ?? 'e9999'
  }

  /** @param {string} text */
  #normal(text) {
    return normalize(text, { port: this.#site.port, directory: this.#directory })
  }

  /** Reads the files that a result names, and finds its snapshot. @param {string} text */
  #filesOf(text) {
    /** @type {Record<string, string>} */
    const files = {}
    let snapshot = /^### Snapshot\n```yaml\n([\s\S]*?)\n```$/m.exec(text)?.[1]
    for (const pattern of LINKS) {
      for (const [, path] of text.matchAll(pattern)) {
        const content = this.#read(path)
        if (path.endsWith('.yml')) snapshot = content
        files[this.#normal(path)] = this.#normal(content)
      }
    }
    return { files, snapshot }
  }

  /** @param {string} path */
  #read(path) {
    try {
      const bytes = readFileSync(resolve(this.#directory, path))
      if (/\.(png|jpe?g|webp)$/.test(path)) return describePixels(bytes.toString('base64'))
      if (path.endsWith('.pdf')) return bytes.subarray(0, 5).toString()
      return bytes.toString()
    } catch (error) {
      return `(${error.code})`
    }
  }
}

/** @param {{ mimeType: string, data: string }} image */
function describeImage({ mimeType, data }) {
  return `${mimeType} ${describePixels(data)}`
}

/**
 * Returns the size of an image. The size of a WebP image is not easy to read.
 * @param {string} data its bytes in base64
 */
function describePixels(data) {
  if (Buffer.from(data, 'base64').subarray(8, 12).toString() === 'WEBP') return 'WEBP'
  const { type, width, height } = sizeOf(data)
  return `${type === 'jpeg' ? 'JPEG ' : ''}${width}x${height}`
}
