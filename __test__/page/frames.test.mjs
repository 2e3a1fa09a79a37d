// Frames are added and removed together with their documents.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { sendHtml, startSite } from '../support/site.mjs'
import { refIn } from '../support/snapshots.mjs'

describe('frames', { timeout: 60_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof startServer>>} */
  let server
  /** @type {Awaited<ReturnType<typeof startSite>>} */
  let site

  before(async () => {
    site = await startSite(scope, {
      '/outer': '<title>Outer</title><iframe src="/inner" title="in"></iframe>',
      '/inner': '<button onclick="this.textContent = \'Pressed\'">Press</button>',
      '/around': (_request, response) =>
        sendHtml(
          response,
          `<iframe src="http://localhost:${site.port}/telling" title="in"></iframe>`
        ),
      '/telling': '<button onclick="this.textContent = window.began">Tell</button>',
      // A cross-site frame whose script never ends after the load, and one that responds.
      '/frozen-around': (_request, response) =>
        sendHtml(
          response,
          `<title>Around</title><button onclick="this.textContent += '!'">Go</button> <output id="out"></output><script>onmessage = ({ data, source }) => {
            source.postMessage('freeze', '*')
            out.textContent = data
          }</script>
          <iframe src="http://localhost:${site.port}/freezing" title="frozen"></iframe><iframe src="/inner" title="alive"></iframe>`
        ),
      '/freezing': `<p>Freezes</p><script>onload = () => top.postMessage('Frozen now', '*')
        onmessage = () => { for (const end = Date.now() + 20000; Date.now() < end; ) ; }</script>`,
      '/leading':
        '<title>Leading</title><a target="f" href="/second">Second</a><button>Stay</button><iframe name="f" src="/first" title="in"></iframe>',
      '/first': '<p>The first document</p>',
      '/second': '<p>The second document</p>',
      '/elsewhere': '<title>Elsewhere</title><p>Nothing in frames</p>'
    })
    server = await startServer(scope)
  })

  test('of a document restored by go_back can be read and clicked', async () => {
    await server.ok('navigate', { url: site.url('/outer') })
    await server.ok('navigate', { url: site.url('/elsewhere') })
    assert.doesNotMatch(await server.ok('snapshot'), /Press/)
    await server.ok('go_back')
    const ref = refIn(await server.ok('snapshot'), /button "Press"/)
    await server.ok('click', { selector: ref })
    assert.match(await server.ok('snapshot'), /button "Pressed"/)
  })

  test('that navigate are reported with their new document', async () => {
    await server.ok('navigate', { url: site.url('/leading') })
    // Both documents have their first change count.
    const { changes } = await server.ok('click', { selector: 'text=Second' })
    assert.match(changes, /\+ .*The second document/)
    assert.match(changes, /- .*The first document/)
    assert.match(await server.ok('snapshot'), /The second document/)
    assert.equal(
      (await server.ok('click', { selector: 'text=Stay' })).changes?.includes('document') ?? false,
      false
    )
  })

  test('that change between two calls are not in the changes of a key press', async () => {
    await server.ok('navigate', { url: site.url('/outer') })
    await server.ok('snapshot')
    await server.ok('evaluate', { script: 'void frames[0].document.body.append("Came between")' })
    const { changes } = await server.ok('press', { key: 'Shift' })
    assert.doesNotMatch(changes ?? '', /Came between/)
  })

  test('of another site run init scripts too', async (t) => {
    const folder = temporaryFolder(t)
    const script = join(folder, 'init.js')
    writeFileSync(script, 'window.began = document.readyState')
    const server = await startServer(t, ['--init-script', script])
    await server.ok('navigate', { url: site.url('/around') })
    const ref = refIn(await server.ok('snapshot'), /button "Tell"/)
    await server.ok('click', { selector: ref })
    assert.match(await server.ok('snapshot'), /button "loading"/)
  })

  test(
    'of another site that are blocked by a script delay the first call by half a second, and later ones not at all',
    { skip: BROWSER !== 'chromium' },
    async (t) => {
      const server = await startServer(t, ['--browser-arg=--site-per-process'])
      await server.ok('navigate', { url: site.url('/frozen-around') })
      await server.ok('wait_for', { text: 'Frozen now' })
      // The frame may begin to block during the first call.
      for (const [selector, limit] of /** @type {const} */ ([
        ['Go', 1500],
        ['Go!', 1500],
        ['Go!!', 400]
      ])) {
        const { json, ms } = await server.call('click', { selector: `text=${selector}` })
        assert.match(json.changes, new RegExp(`button "${selector}!"`))
        assert.ok(ms < limit, `the click on ${selector} took ${ms} ms`)
      }
      const { text, ms } = await server.call('snapshot')
      assert.match(text, /button "Press"/)
      assert.match(
        text,
        /iframe "frozen".*:\n +- text: \(unresponsive: a script is blocking this frame\)/
      )
      assert.ok(ms < 400, `the snapshot took ${ms} ms`)
    }
  )

  test(
    'of another site that are blocked by a script do not delay the end of a wait for a text to go',
    { skip: BROWSER !== 'chromium' },
    async (t) => {
      const server = await startServer(t, ['--browser-arg=--site-per-process'])
      await server.ok('navigate', { url: site.url('/frozen-around') })
      await server.ok('wait_for', { text: 'Frozen now' })
      await server.ok('evaluate', {
        script:
          "out.textContent = 'Loading'; setTimeout(() => { out.textContent = 'Loaded' }, 1000)"
      })
      const { text, isError, ms } = await server.call('wait_for', { textGone: 'Loading' })
      assert.ok(!isError, text)
      assert.ok(ms > 500 && ms < 3000, `the wait took ${ms} ms`)
      const present = await server.call('wait_for', { textGone: 'Press', timeout: 700 })
      assert.equal(present.json.errorCode, 'TIMEOUT')
      assert.match(present.json.message, /the text `Press` is still visible/)
    }
  )
})
