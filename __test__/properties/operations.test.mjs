// Properties of the answers of a page's tools, in a real browser; one session for all runs.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startManager } from '../support/managers.mjs'
import { fc } from '../support/random.mjs'
import { shared } from '../support/scope.mjs'
import { sendHtml, startSite } from '../support/site.mjs'

const RUNS = { numRuns: 100 }
const texts = fc.string({ unit: 'grapheme', maxLength: 20 })

describe('operations', { timeout: 180_000 }, () => {
  const scope = shared()
  let session
  let site

  before(async () => {
    session = await (await startManager(scope)).createSession()
    site = await startSite(scope, {
      // Its title and status are as requested.
      '/page/': (_request, response, { searchParams }) => {
        const title = JSON.stringify(searchParams.get('title')).replaceAll('<', '\\u003c')
        sendHtml(
          response,
          `<script>document.title = ${title}</script>`,
          Number(searchParams.get('status'))
        )
      }
    })
  })

  test('Property 5: Navigation Returns Complete Response', async () => {
    const pages = fc.record({
      // Browsers remove these from paths.
      name: texts.filter((name) => name !== '.' && name !== '..'),
      title: texts,
      status: fc.constantFrom(200, 201, 203, 400, 403, 404, 410, 418, 500, 503),
      redirects: fc.nat(2),
      waitUntil: fc.constantFrom('load', 'domcontentloaded', undefined)
    })
    await fc.assert(
      fc.asyncProperty(pages, async ({ name, title, status, redirects, waitUntil }) => {
        const path = `/page/${encodeURIComponent(name)}?${new URLSearchParams({ title, status: String(status) })}`
        const start = redirects
          ? `/redirect?${new URLSearchParams({ to: path, times: String(redirects) })}`
          : path
        const answer = await session.navigate(site.url(start), { waitUntil })
        assert.equal(answer.success, true)
        assert.deepEqual(
          { title: answer.title, url: answer.url, status: answer.status },
          // Like document.title: white space is collapsed and trimmed.
          {
            title: title.replace(/[\t\n\f\r ]+/g, ' ').replace(/^ | $/g, ''),
            url: new URL(site.url(path)).href,
            status
          }
        )
      }),
      RUNS
    )
  })

  /**
   * A `contenteditable` element has a no-break space in place of a trailing space.
   * @param {string} text
   */
  const spaced = (text) => text.replaceAll('\u00a0', ' ')

  test('Property 6: Successful Operations Return Success Field', async () => {
    await session.navigate(site.url('/'))
    const click = fc.record({
      tool: fc.constant('click'),
      element: fc.constantFrom(
        '<button',
        '<a href="#"',
        '<input type="checkbox"',
        '<div onclick="0"'
      ),
      options: fc.record(
        { clickCount: fc.integer({ min: 1, max: 3 }), force: fc.boolean() },
        { requiredKeys: [] }
      )
    })
    const type = fc.record({
      tool: fc.constant('type'),
      element: fc.constantFrom(
        '<input',
        '<input type="search"',
        '<textarea',
        '<div contenteditable'
      ),
      text: texts,
      options: fc.record(
        { clear: fc.boolean(), delay: fc.constantFrom(0, 1) },
        { requiredKeys: [] }
      )
    })
    const others = fc.nat(3)
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(click, type),
        others,
        async ({ tool, element, options, ...more }, siblings) => {
          const text = 'text' in more ? more.text : ''
          const tags = `${element} id="target" style="display:inline-block;min-width:20px;min-height:20px">x</${element.slice(1).split(' ')[0]}>`
          await session.evaluate(
            `(html) => { window.clicked = 0; document.body.innerHTML = html; target.onclick = () => { clicked++; return false } }`,
            { args: ['<button>Other</button>'.repeat(siblings) + tags] }
          )
          const answer =
            tool === 'click'
              ? await session.click('#target', options)
              : await session.type('#target', text, options)
          assert.equal(answer.success, true)
          assert.match(answer.message, tool === 'click' ? /^Clicked / : /^Typed /)
          const { value } = await session.evaluate(
            '({ clicked, text: target.value ?? target.textContent })'
          )
          // It is true, too.
          if (tool === 'click') assert.equal(value.clicked, options.clickCount ?? 1)
          else
            assert.ok(
              spaced(value.text).includes(spaced(text)),
              `${JSON.stringify(text)} is not in ${JSON.stringify(value.text)}`
            )
        }
      ),
      RUNS
    )
  })
})
