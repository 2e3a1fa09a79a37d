// upload_file, and the file choosers that clicks open.
import assert from 'node:assert/strict'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, test } from 'node:test'
import { BROWSER } from '../support/browser.mjs'
import { renderPage } from '../support/html.mjs'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { sendHtml } from '../support/site.mjs'
import { eventRecorderScript } from './page.mjs'

const UPLOADS = `<input id="one" type="file" aria-label="One"><input id="several" type="file" multiple aria-label="Several">
  <button id="choose" onclick="one.click()">Choose</button><button id="many" onclick="several.click()">Choose many</button><button id="other">Other</button>
`

describe('files', { timeout: 60_000 }, () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-upload-')))
  const { server, site, scope } = startShared({
    args: ['--timeout-action', '300'],
    cwd: folder,
    routes: {
      '/uploads': renderPage('Uploads', UPLOADS + eventRecorderScript('input change')),
      '/framed': renderPage('Framed', '<iframe id="frame" src="/uploads"></iframe>'),
      '/around': (_request, response) =>
        sendHtml(
          response,
          renderPage(
            'Around',
            `<iframe id="frame" src="http://localhost:${site.port}/uploads"></iframe>`
          )
        ),
      '/pickers': renderPage(
        'Pickers',
        ['showOpenFilePicker', 'showSaveFilePicker', 'showDirectoryPicker']
          .map(
            (name) => `<button id="${name}" onclick="${name}().catch(() => {})">${name}</button>`
          )
          .join('')
      )
    }
  })
  scope.after(() => rmSync(folder, { recursive: true }))
  for (const name of ['a.txt', 'b.txt']) writeFileSync(join(folder, name), `of ${name}`)
  const [a, b] = ['a.txt', 'b.txt'].map((name) => join(folder, name))
  beforeEach(() => server.ok('navigate', { url: site.url('/uploads') }))

  /** Returns the files of an input as the page sees them. @param {string} id */
  const held = (id) =>
    server.evaluate(
      `Promise.all([...${id}.files].map(async (file) => file.name + ' ' + await file.text()))`
    )
  const put = (selector, ...files) => server.ok('upload_file', { selector, files })
  const refused = async (args, errorCode, message) => {
    const error = await server.fail('upload_file', args)
    assert.equal(error.errorCode, errorCode, error.message)
    assert.match(error.message, message)
  }

  test('upload_file sets one or several files of an input, by path or name, and removes them', async () => {
    assert.match((await put('#one', a)).message, /^Put files into button "One"/)
    assert.deepEqual(await held('one'), ['a.txt of a.txt'])
    assert.deepEqual(await server.evaluate('recorded.splice(0)'), ['input one', 'change one'])
    await put('#several', 'a.txt', b)
    assert.deepEqual(await held('several'), ['a.txt of a.txt', 'b.txt of b.txt'])
    await server.evaluate('recorded.splice(0)')
    await put('#one')
    assert.deepEqual(await held('one'), [])
    assert.deepEqual(await server.evaluate('recorded'), ['input one', 'change one'])
    await server.ok('navigate', { url: site.url('/framed') })
    await put('#frame >>> #one', a)
    assert.equal(
      await server.evaluate('frame.contentDocument.getElementById("one").files[0].name'),
      'a.txt'
    )
  })

  test('upload_file answers a file chooser, and the click reports the chooser', async () => {
    await put('#choose', b)
    assert.deepEqual(await held('one'), ['b.txt of b.txt'])
    await put('#many', a, b)
    assert.equal(await server.evaluate('several.files.length'), 2)
    await put('#choose')
    assert.equal(await server.evaluate('one.files.length'), 1)
    assert.deepEqual((await server.ok('click', { selector: '#choose' })).fileChooser, {
      multiple: false
    })
    assert.deepEqual((await server.ok('click', { selector: '#many' })).fileChooser, {
      multiple: true
    })
  })

  test('upload_file answers the file chooser of a cross-site frame, out-of-process too', async (t) => {
    const isolating = BROWSER === 'chromium' ? [['--browser-arg=--site-per-process']] : []
    for (const args of [[], ...isolating]) {
      const own = await startServer(t, args, { cwd: folder })
      await own.ok('navigate', { url: site.url('/around') })
      assert.deepEqual(
        (await own.ok('click', { selector: '#frame >>> #choose' })).fileChooser,
        { multiple: false },
        `${args}`
      )
      await own.ok('upload_file', { selector: '#frame >>> #choose', files: ['a.txt'] })
      const { value: file } = await own.ok('get_value', { selector: '#frame >>> #one' })
      assert.match(file, /a\.txt$/, `${args}`)
    }
  })

  test('a chooser of the File System Access API is reported as unsupported', async () => {
    for (const picker of ['showOpenFilePicker', 'showSaveFilePicker', 'showDirectoryPicker']) {
      await server.ok('navigate', { url: site.url('/pickers') })
      const { fileChooser } = await server.ok('click', { selector: `#${picker}` })
      assert.equal(fileChooser.multiple, false, picker)
      assert.match(fileChooser.unsupported, /File System Access API .* its chooser was canceled/)
      const { isError, json } = await server.call('upload_file', {
        selector: `#${picker}`,
        files: [a]
      })
      assert.ok(isError, picker)
      assert.equal(json.errorCode, 'BROWSER_ERROR')
      assert.match(json.details.unsupported, /File System Access API/)
    }
  })

  test('upload_file reports invalid input', async () => {
    await refused(
      { selector: '#one', files: ['no-such-file'] },
      'INVALID_PARAMETERS',
      /there is no file `no-such-file`: looked for/
    )
    await refused(
      { selector: '#one', files: ['/etc/hostname'] },
      'BLOCKED_BY_POLICY',
      /is outside of the output directory and the working directory/
    )
    await refused({ selector: '#choose', files: [a, b] }, 'INVALID_PARAMETERS', /only one file/)
    await refused({ selector: '#one', files: [a, b] }, 'INVALID_PARAMETERS', /only one file/)
    await refused(
      { selector: '#other', files: [a] },
      'ELEMENT_NOT_EDITABLE',
      /opened no file chooser/
    )
  })

  test('upload_file can be disabled', async (t) => {
    const strict = await startServer(t, [
      '--enable-file-upload',
      'false',
      '--enable-script-evaluation',
      'false'
    ])
    const { result } = await strict.request('tools/list')
    const names = result.tools.map(({ name }) => name)
    assert.ok(
      names.includes('click') && !names.includes('upload_file') && !names.includes('evaluate'),
      names.join()
    )
    await strict.ok('navigate', { url: site.url('/uploads') })
    const { json } = await strict.call('upload_file', { selector: '#one', files: [a] })
    assert.deepEqual([json.errorCode, json.details.rule], ['BLOCKED_BY_POLICY', 'enableFileUpload'])
    const script = await strict.call('evaluate', { script: '1' })
    assert.deepEqual(
      [script.json.errorCode, script.json.details.rule],
      ['BLOCKED_BY_POLICY', 'enableScriptEvaluation']
    )
  })
})
