// Downloads are written to the output folder, never replace a file, and are reported to the agent.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { before, beforeEach, describe, test } from 'node:test'
import { temporaryFolder } from '../support/record.mjs'
import { shared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'
import { attachmentRoute, sendHtml, startSite } from '../support/site.mjs'
import { until } from '../support/wait.mjs'

const PAGE = `<!doctype html><title>Files</title><link rel="icon" href="data:,">
  <a id="file" href="/download">File</a> <a id="popup" href="/download" target="_blank">In a new tab</a>
  <a id="attribute" href="/plain" download="named.txt">Named</a> <a id="late" href="/late" download="late.txt">Late</a>
  <a id="blob" download="blob.txt">Blob</a> <a id="evil" href="/evil">Evil</a> <a id="slow" href="/slow-file">Slow</a>
  <a id="broken" href="/broken">Broken</a> <a id="none" href="/none">None</a> <button id="frame" onclick="document.body.append(Object.assign(document.createElement('iframe'), { src: '/download' }))">Frame</button>
  <button id="script" onclick="const link = document.createElement('a'); link.href = blob.href; link.download = 'made.txt'; link.click()">Script</button>
  <button id="laterscript" onclick="const link = document.createElement('a'); link.href = '/late'; link.download = 'late.txt'; link.click()">Later</button>
  <script>blob.href = URL.createObjectURL(new Blob(['from memory']))</script>`

/**
 * A server, a site, an empty folder.
 * @param {{ after: (end: () => unknown) => void }} t
 * @param {string[]} [args]
 */
async function start(t, args) {
  const folder = temporaryFolder(t)
  const output = join(folder, 'output')
  /** @type {() => void} */
  let release = () => {}
  const site = await startSite(t, {
    '/files': PAGE,
    '/around': (_request, response, url) =>
      sendHtml(
        response,
        `<title>Around</title><iframe src="http://localhost:${url.searchParams.get('port')}/files" width="900" height="400"></iframe>`
      ),
    '/plain': (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end('plain'),
    '/late': (_request, response) =>
      void setTimeout(
        () => response.writeHead(200, { 'content-type': 'text/plain' }).end('late'),
        300
      ),
    '/evil': attachmentRoute('../../.evil.sh', 'evil'),
    '/broken': (_request, response) => {
      response.writeHead(200, {
        'content-type': 'application/zip',
        'content-disposition': 'attachment; filename="broken.zip"',
        'content-length': 1000
      })
      response.write('first', () => setTimeout(() => response.destroy(), 100))
    },
    '/none': (_request, response) => response.writeHead(204).end(),
    '/slow-file': (_request, response) => {
      response
        .writeHead(200, {
          'content-type': 'application/zip',
          'content-disposition': 'attachment; filename="slow.zip"'
        })
        .write('first')
      release = () => response.end(', last')
    }
  })
  const server = await startServer(t, args ?? ['--output-dir', output])
  return { server, site, folder, output, release: () => release() }
}

describe('downloads', { timeout: 180_000 }, () => {
  const scope = shared()
  /** @type {Awaited<ReturnType<typeof start>>} */
  let world
  before(async () => {
    world = await start(scope)
  })
  beforeEach(() => rmSync(world.output, { recursive: true, force: true }))

  test('by click: each is reported with its path, and none overwrites another', async () => {
    const { server, site, output } = world
    await server.ok('navigate', { url: site.url('/files') })
    const files = ['report.bin', 'report (1).bin', 'report (2).bin']
    for (const name of files) {
      const { download, success } = await server.ok('click', { selector: '#file' })
      assert.equal(success, true)
      assert.deepEqual(download, {
        url: site.url('/download'),
        suggestedFilename: 'report.bin',
        state: 'completed',
        path: join(output, name)
      })
      assert.equal(readFileSync(download.path, 'utf8'), 'the report')
    }
    assert.deepEqual(readdirSync(output).sort(), files.sort())
    const { download } = await server.ok('click', { selector: '#none' })
    assert.equal(download, undefined)
  })

  test('by navigation: the result has the previous URL', async () => {
    const { server, site, output } = world
    await server.ok('navigate', { url: site.url('/files') })
    const { success, url, download } = await server.ok('navigate', { url: site.url('/download') })
    assert.deepEqual(
      { success, url, path: download.path, state: download.state },
      {
        success: true,
        url: site.url('/files'),
        path: join(output, 'report.bin'),
        state: 'completed'
      }
    )
  })

  for (const [id, name, text] of [
    ['attribute', 'named.txt', 'plain'],
    ['late', 'late.txt', 'late'],
    ['blob', 'blob.txt', 'from memory'],
    ['script', 'made.txt', 'from memory'],
    ['laterscript', 'late.txt', 'late'],
    ['popup', 'report.bin', 'the report'],
    ['frame', 'report.bin', 'the report']
  ]) {
    test(`of every kind: ${id}`, async () => {
      const { server, site, output } = world
      await server.ok('navigate', { url: site.url('/files') })
      const { download } = await server.ok('click', { selector: `#${id}` })
      assert.deepEqual([download?.state, download?.path], ['completed', join(output, name)])
      assert.equal(readFileSync(download.path, 'utf8'), text)
    })
  }

  test('in a cross-site frame with a slow response', async () => {
    const { server, site, output } = world
    await server.ok('navigate', { url: site.url(`/around?port=${site.port}`) })
    const { download } = await server.ok('click', { selector: 'iframe >>> #late' })
    assert.deepEqual([download?.state, download?.path], ['completed', join(output, 'late.txt')])
  })

  test('that fails is reported, and leaves no file', async () => {
    const { server, site, output } = world
    await server.ok('navigate', { url: site.url('/files') })
    const { download } = await server.ok('click', { selector: '#broken' })
    assert.deepEqual([download?.state, download?.path], ['failed', undefined])
    assert.match(download.failure, /interrupted|broken off/)
    assert.ok(!existsSync(output) || readdirSync(output).length === 0)
  })

  test('a file name from a server cannot leave the folder or be hidden', async () => {
    const { server, site, folder, output } = world
    await server.ok('navigate', { url: site.url('/files') })
    const { download } = await server.ok('click', { selector: '#evil' })
    assert.equal(join(download.path, '..'), output)
    assert.doesNotMatch(download.path.slice(output.length + 1), /^\.|\//)
    assert.deepEqual(readdirSync(folder), ['output'])
  })

  test('a long download is reported as in progress first, and its end once in a later result', async (t) => {
    const { server, site, output, release } = world
    const slow = await startServer(t, ['--output-dir', output, '--timeout-settle', '200'])
    await slow.ok('navigate', { url: site.url('/files') })
    const { download } = await slow.ok('click', { selector: '#slow' })
    assert.deepEqual(download, {
      url: site.url('/slow-file'),
      suggestedFilename: 'slow.zip',
      state: 'inProgress'
    })
    assert.equal((await slow.ok('navigate', { url: site.url('/') })).download, undefined)
    release()
    await until(() => existsSync(join(output, 'slow.zip')), 'the file')
    const later = await until(
      async () => (await slow.ok('navigate', { url: site.url('/') })).download,
      'the end of the download'
    )
    assert.deepEqual([later.state, later.path], ['completed', join(output, 'slow.zip')])
    assert.equal(readFileSync(later.path, 'utf8'), 'first, last')
    assert.equal((await slow.ok('navigate', { url: site.url('/') })).download, undefined)
    assert.equal((await server.ok('navigate', { url: site.url('/') })).download, undefined)
  })

  test('several downloads of an action or a navigation are reported together, with their ends', async (t) => {
    const frames = '<iframe src="/one.bin"></iframe><iframe src="/two.bin"></iframe>'
    const both = `<title>Both</title><button id="go" onclick='document.body.innerHTML += ${JSON.stringify(frames.replaceAll('"', ''))}'>Go</button>`
    const site = await startSite(t, {
      '/both': both,
      '/loads': `<title>Loads</title>${frames}`,
      '/one.bin': attachmentRoute('one.bin', 'evil'),
      '/two.bin': attachmentRoute('two.bin', 'evil')
    })
    const folder = temporaryFolder(t)
    for (const output of [folder, '/dev/null/none']) {
      const server = await startServer(t, ['--output-dir', output])
      for (const [tool, args] of /** @type {const} */ ([
        ['click', { selector: '#go' }],
        ['navigate', { url: site.url('/loads') }]
      ])) {
        await server.ok('navigate', { url: site.url('/both') })
        const { download, downloads } = await server.ok(tool, args)
        const reported = [download, ...downloads].map(({ url, state, path, failure }) => [
          new URL(url).pathname,
          state,
          path !== undefined,
          failure !== undefined
        ])
        const end = output === folder ? ['completed', true, false] : ['failed', false, true]
        assert.deepEqual(
          reported.sort(),
          [
            ['/one.bin', ...end],
            ['/two.bin', ...end]
          ],
          tool
        )
      }
    }
  })

  test('an output folder that cannot be written is an error', async (t) => {
    const { server, site } = await start(t, ['--output-dir', '/dev/null/none'])
    await server.ok('navigate', { url: site.url('/files') })
    const { download } = await server.ok('click', { selector: '#file' })
    assert.equal(download.state, 'failed')
    assert.match(download.failure, /\/dev\/null\/none/)
  })

  test('without configuration they are in the working directory, like all files', async (t) => {
    const folder = temporaryFolder(t)
    const site = await startSite(t)
    const server = await startServer(t, [], { cwd: folder })
    const { download } = await server.ok('navigate', { url: site.url('/download') })
    assert.equal(download.path, join(folder, 'troupe-output', 'report.bin'))
    const saved = await server.ok('save_pdf', { path: 'page' })
    assert.equal(saved.path, join(folder, 'troupe-output', 'page.pdf'))
  })

  test('with `/` as the working directory they are in a folder of the user in the temporary folder', async (t) => {
    const folder = temporaryFolder(t)
    const site = await startSite(t)
    const server = await startServer(t, [], { env: { TMPDIR: folder }, cwd: '/' })
    const { download } = await server.ok('navigate', { url: site.url('/download') })
    assert.equal(download.path, join(folder, `troupe-output-${process.getuid?.()}`, 'report.bin'))
  })
})
