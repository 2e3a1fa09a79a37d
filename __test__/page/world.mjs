// Runs only the page's script: src/page/injected, bundled as in build.rs, in an isolated world of a
// page that playwright-core opens. For rules that need hundreds of pages. Everything else is tested
// through the server.
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { chromium } from 'playwright-core'
import { ROOT } from '../../scripts/run.mjs'
import { HEADLESS_SHELL } from '../support/delayed-browser.mjs'

/** @param {string} [entry] relative to the root */
export function bundle(entry = 'src/page/injected/index.ts') {
  const { outputFiles } = buildSync({
    entryPoints: [join(ROOT, entry)],
    bundle: true,
    format: 'iife',
    target: 'es2020',
    minify: true,
    charset: 'utf8',
    write: false
  })
  return outputFiles[0].text
}

/**
 * Starts a browser that ends with the test and can reach only this machine.
 * @param {{ after: (end: () => unknown) => void }} t
 */
export async function launchChromium(t) {
  const args = ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1']
  const browser = await chromium.launch({ executablePath: HEADLESS_SHELL, args })
  t.after(() => browser.close())
  return browser
}

/**
 * Shares a page between the tests of a file. `open(html)` returns a new world on a page with this
 * HTML.
 * @param {{ after: (end: () => unknown) => void }} t
 */
export function sharedPage(t) {
  const source = bundle()
  /** @type {Promise<import('playwright-core').Page> | undefined} */
  let page
  const opened = () =>
    (page ??= launchChromium(t).then((browser) =>
      browser.newPage({ viewport: { width: 1280, height: 800 } })
    ))
  return {
    /** @param {string} html */
    open: async (html) => World.on(await opened(), html, source),
    /**
     * Returns the snapshot of a page with this HTML.
     * @param {string} html
     * @param {object} [argument]
     */
    snapshot: async (html, argument) =>
      (await (await World.on(await opened(), html, source)).call('snapshot', argument)).text
  }
}

export class World {
  /**
   * @param {import('playwright-core').Page} page
   * @param {import('playwright-core').CDPSession} cdp
   * @param {number} context
   */
  constructor(page, cdp, context) {
    this.page = page
    this.cdp = cdp
    this.context = context
  }

  /**
   * Creates a world in the page's main frame, and runs `source` in it.
   * @param {import('playwright-core').Page} page
   * @param {string} source
   */
  static async of(page, source) {
    const cdp = await page.context().newCDPSession(page)
    const { frameTree } = await cdp.send('Page.getFrameTree')
    const made = await cdp.send('Page.createIsolatedWorld', {
      frameId: frameTree.frame.id,
      worldName: 'troupe-test'
    })
    const world = new World(page, cdp, made.executionContextId)
    await world.evaluate(source)
    return world
  }

  /**
   * Creates a world on a page with this HTML.
   * @param {import('playwright-core').Page} page
   * @param {string} html
   * @param {string} source
   */
  static async on(page, html, source) {
    // The navigation removes the world of the previous page.
    await page.goto('about:blank')
    await page.setContent(`<!doctype html><html lang="en"><title>Test</title>${html}`)
    return World.of(page, source)
  }

  /** @param {string} expression @returns {Promise<any>} */
  async evaluate(expression) {
    const options = { contextId: this.context, returnByValue: true, awaitPromise: true }
    const { result, exceptionDetails } = await this.cdp.send('Runtime.evaluate', {
      expression,
      ...options
    })
    if (exceptionDetails)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value
  }

  /**
   * Calls a function of api.ts. Returns errors as `{ error }`.
   * @param {string} name
   * @param {object} [argument]
   * @returns {Promise<any>}
   */
  async call(name, argument = {}) {
    return JSON.parse(
      await this.evaluate(
        `__troupe.${name}(${JSON.stringify({ refs: { prefix: 'e', next: 1 }, ...argument })})`
      )
    )
  }

  close() {
    return this.cdp.detach()
  }
}
