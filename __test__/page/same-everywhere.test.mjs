// Snapshots have the same text and refs in every browser. Compares this browser with Chromium, on
// real pages and on a page with every state of a form.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { ROOT } from '../../scripts/run.mjs'
import { PACKAGES, serveFiles } from '../apps/app.mjs'
import { BROWSER } from '../support/browser.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'
import { PAGE } from '../tools/calls.mjs'
import { DEBIAN_PAGES, NPM_PAGES } from './oracle-pages.mjs'

/**
 * Lines that may differ: the size of a canvas depends on the width of scrollbars.
 * @type {RegExp[]}
 */
const EXPLAINED = [/- canvas \[ref=\w+\]: \d+×\d+ px/]

const STATES = `<title>States</title><main><details open><summary>More</summary>Text</details><details><summary>Less</summary>Hidden</details>
  <label>Check <input type=checkbox checked></label><label>Radio <input type=radio></label><input type=range aria-label=Range value=3 max=9>
  <input type=date aria-label=Date value=2026-01-02><input type=color aria-label=Color><input type=password aria-label=Secret value=hidden>
  <input type=file aria-label=File><select multiple aria-label=Many><option selected>a<option>b</select><progress value=.5>half</progress>
  <meter value=2 max=5>2 of 5</meter><div role=tree><div role=treeitem aria-expanded=false aria-level=1>Node</div></div>
  <div role=alert>Alert</div><p lang=de>Absatz <b>fett</b> <i>schief</i></p><ul><li>one<li>two<ol><li>three</ol></ul><img alt=Picture src=data:,>
  <style>#made::before { content: 'made ' } #list li::marker { content: '→ ' }</style><p id=made>by a rule</p><ul id=list><li>marked</ul>
  <div id=host></div><dialog open aria-label=Dialog><button disabled>Off</button></dialog><table><caption>Table</caption><tr><th>a<td>1</table>
  <iframe srcdoc="<button>Inside</button>" title=Frame></iframe></main>
  <script>document.querySelector('#host').attachShadow({ mode: 'open' }).innerHTML = '<button><slot>In the shadow</slot></button>'</script>`

/** Excluded pages: charts and editors depend on time and fonts, and very long books add nothing. */
const LEFT_OUT =
  /ckeditor4|traceViewer|charts|medium|R-int|R-lang|user-manual|html\/api|configuration/
const STILL = [...NPM_PAGES, ...DEBIAN_PAGES].filter((path) => !LEFT_OUT.test(path))

describe(
  'the snapshot',
  { timeout: 240_000, skip: BROWSER === 'chromium' && 'the others are compared with it' },
  () => {
    const scope = shared()
    /** @type {import('../support/server.mjs').Server[]} */
    let servers
    before(async () => {
      // The overview after a navigation would assign the first refs.
      const flags = [
        '--result-budget',
        '10000000',
        '--viewport-size',
        '1280x800',
        '--after-navigation',
        'none'
      ]
      servers = [
        await startServer(scope, ['--browser', 'chromium', ...flags]),
        await startServer(scope, flags)
      ]
    })

    /** @param {string} url */
    async function differing(url) {
      const texts = []
      for (const server of servers) {
        await server.ok('navigate', { url })
        texts.push((await server.ok('snapshot', { budget: 10_000_000 })).split('\n'))
      }
      const [ours, others] = texts.map((lines) => new Set(lines))
      const lines = [
        ...texts[0].filter((line) => !others.has(line)),
        ...texts[1].filter((line) => !ours.has(line))
      ]
      assert.equal(texts[0].length > 3, true, texts[0].join('\n'))
      return lines.filter((line) => !EXPLAINED.some((pattern) => pattern.test(line)))
    }

    for (const [name, page] of [
      ['form', PAGE],
      ['page with every state', STATES]
    ]) {
      test(`of a ${name} has the same lines as in Chromium`, async (t) => {
        const site = await startSite(t, { '/page': page })
        assert.deepEqual(await differing(site.url('/page')), [])
      })
    }

    test(
      'of each real page has the same lines as in Chromium',
      { skip: !existsSync(PACKAGES) && 'run `npm run setup`' },
      async (t) => {
        const origin = await serveFiles(t, { folder: ROOT })
        for (const path of STILL) assert.deepEqual(await differing(`${origin}/${path}`), [], path)
        assert.ok(STILL.length >= 15)
      }
    )
  }
)
