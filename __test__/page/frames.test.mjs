// Frames come and go with the documents that they stand in.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { html, startSite } from '../support/site.mjs'

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
      '/around': (_request, response) => html(response, `<iframe src="http://localhost:${site.port}/telling" title="in"></iframe>`),
      '/telling': '<button onclick="this.textContent = window.began">Tell</button>',
      '/elsewhere': '<title>Elsewhere</title><p>Nothing in frames</p>'
    })
    server = await startServer(scope)
  })

  test('of a document that is gone back to are read and clicked as before', async () => {
    await server.ok('navigate', { url: site.url('/outer') })
    await server.ok('navigate', { url: site.url('/elsewhere') })
    assert.doesNotMatch(await server.ok('snapshot'), /Press/)
    await server.ok('go_back')
    const ref = /button "Press" \[ref=(f\d+e\d+)\]/.exec(await server.ok('snapshot'))?.[1]
    assert.ok(ref, 'the frame is in the snapshot')
    await server.ok('click', { selector: ref })
    assert.match(await server.ok('snapshot'), /button "Pressed"/)
  })

  test('of another site run the init scripts too', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-test-frames-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const script = join(folder, 'init.js')
    writeFileSync(script, 'window.began = document.readyState')
    const server = await startServer(t, ['--init-script', script])
    await server.ok('navigate', { url: site.url('/around') })
    const [, ref] = /button "Tell" \[ref=(f\d+e\d+)\]/.exec(await server.ok('snapshot')) ?? []
    await server.ok('click', { selector: ref })
    assert.match(await server.ok('snapshot'), /button "loading"/)
  })
})
