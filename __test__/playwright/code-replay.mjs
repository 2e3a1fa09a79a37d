// Runs the code of results with Playwright, on its own page, and compares the states of both pages.
// cspell:ignore filechooser
import { chromium } from 'playwright'
import { expect } from 'playwright/test'
import { HEADLESS_SHELL } from '../support/delayed-browser.mjs'
import { until } from '../support/wait.mjs'

/** How long an effect that a page delays may take in either browser (ms). */
const EFFECT_TIMEOUT = 15_000

/** The code in a result. */
const CODE = /^### Ran Playwright code\n```js\n([\s\S]*?)\n```$/m

/** The constructor of asynchronous functions, which has no global name. */
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor

/** Returns what a user can see and change in a page and its frames. Runs in the page. */
function readState() {
  const describe = (/** @type {Element | null} */ element) =>
    element && `${element.localName} ${element.id || (element.getAttribute('aria-label') ?? '')}`
  const stateOf = (/** @type {Document} */ document) => ({
    text: document.body?.innerText ?? '',
    active: describe(document.activeElement),
    scroll: [document.defaultView?.scrollX, document.defaultView?.scrollY],
    fields: Array.from(
      document.querySelectorAll('input, textarea, select, [aria-checked]'),
      (/** @type {any} */ field) => [
        field.type === 'password' ? field.value?.length : field.value,
        field.checked,
        field.getAttribute('aria-checked'),
        field.selectedOptions && Array.from(field.selectedOptions, (option) => option.value),
        field.files?.length
      ]
    ),
    frames: Array.from(document.querySelectorAll('iframe'), ({ contentDocument }) =>
      contentDocument ? stateOf(contentDocument) : null
    )
  })
  const cookie = document.location.protocol.startsWith('http') ? document.cookie : ''
  return { url: document.location.href, title: document.title, cookie, ...stateOf(document) }
}

/** Starts the browser for the code. @param {{ after: (end: () => unknown) => void }} t */
export async function startReplayBrowser(t) {
  const browser = await chromium.launch({ executablePath: HEADLESS_SHELL, args: ['--no-sandbox'] })
  t.after(() => browser.close())
  return browser
}

/** Calls whose code closes the page, writes a file, or runs only in Playwright's test runner. */
const NOT_RUN = new Set([
  ...['browser_close', 'browser_take_screenshot', 'browser_pdf_save', 'browser_storage_state'],
  'browser_verify_list_visible',
  // `page.evaluate` does not call a function that is given as a string.
  'browser_evaluate'
])

/** Code that Playwright cannot run, which @playwright/mcp writes too. */
const IS_INVALID = /setFiles\(undefined\)/

/**
 * A server whose results are replayed: the code in each runs on a page of Playwright, whose state
 * is then compared with that of the server's page.
 */
export class Replay {
  /** The number of lines whose effect was the same. */
  lines = 0
  /** @type {string[]} */
  failures = []
  #page
  #server
  /** @type {import('playwright').FileChooser | undefined} */
  #fileChooser

  /**
   * @param {import('../support/server.mjs').Server} server
   * @param {import('playwright').Page} page
   */
  constructor(server, page) {
    this.#server = server
    this.#page = page
    page.setDefaultTimeout(EFFECT_TIMEOUT)
    page.on('filechooser', (chooser) => (this.#fileChooser = chooser))
  }

  /**
   * Makes a call, runs the code in its result and compares the pages.
   * @param {string} tool @param {object} [given]
   * @returns {Promise<any>} the answer of the server
   */
  async call(tool, given) {
    const answer = await this.#server.call(tool, given)
    const code = CODE.exec(answer.text ?? '')?.[1]
    if (answer.isError || code === undefined || NOT_RUN.has(tool)) return answer
    if (IS_INVALID.test(code)) return answer
    // No script can read a page with an open dialog or file chooser.
    const isBlocked = /^### Modal state$/m.test(answer.text)
    const failure = await this.#run(code).then(
      () => (isBlocked ? undefined : this.#difference()),
      (error) => error.message
    )
    if (failure === undefined)
      this.lines += code.split('\n').filter((line) => line.startsWith('await ')).length
    else this.failures.push(`${tool} ${JSON.stringify(given)}\n${code}\n${failure}`)
    return answer
  }

  /** @param {string} code */
  async #run(code) {
    const run = new AsyncFunction('page', 'expect', 'fileChooser', code)
    await run(this.#page, expect, this.#fileChooser)
  }

  /** Returns how the states differ, nothing if they become the same. */
  async #difference() {
    let [ours, theirs] = ['', '']
    const isSame = async () => {
      ours = await this.#stateOfServer()
      // Fails while the page navigates.
      theirs = await this.#page.evaluate(readState).then(JSON.stringify, String)
      return ours === theirs
    }
    return until(isSame, 'the same state', EFFECT_TIMEOUT).then(
      () => undefined,
      () => `  this server ${ours}\n  Playwright  ${theirs}`
    )
  }

  async #stateOfServer() {
    const given = { function: `() => JSON.stringify((${readState})())` }
    const { text } = await this.#server.call('browser_evaluate', given)
    const found = /^### Result\n(.*)$/m.exec(text)
    return found ? String(JSON.parse(found[1])) : text
  }
}
