// Screenshots of a page, and the page as a PDF.
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pictureOf, sizeOf } from '../support/pictures.mjs'
import { READING_PAGES } from '../support/reading-pages.mjs'
import { startShared } from '../support/scope.mjs'
import { startServer } from '../support/server.mjs'

describe('pictures', { timeout: 300_000 }, () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-pictures-')))
  const args = ['--viewport-size', '800x600', '--output-dir', join(folder, 'output')]
  const { server, site, scope } = startShared({ args, cwd: folder, routes: READING_PAGES })
  scope.after(() => rmSync(folder, { recursive: true }))

  const at = (path) => server.ok('navigate', { url: site.url(path) })
  const picture = async (tool, args) => pictureOf(await server.call(tool, args))
  const blackBox = (script) => server.ok('evaluate', { script: `box.style.cssText += '${script}'` })

  test('screenshot takes the viewport, or the full page, as PNG or JPEG', async () => {
    await at('/shapes')
    assert.deepEqual(sizeOf(await picture('screenshot')), { type: 'png', width: 800, height: 600 })
    const jpeg = await picture('screenshot', { type: 'jpeg', quality: 20 })
    assert.deepEqual(sizeOf(jpeg), { type: 'jpeg', width: 800, height: 600 })
    assert.ok((await picture('screenshot', { type: 'jpeg', quality: 95 })).length > jpeg.length)
    const { value } = await server.ok('evaluate', {
      script: 'document.documentElement.scrollHeight'
    })
    assert.equal(sizeOf(await picture('screenshot', { fullPage: true })).height, value)
    assert.equal((await server.fail('screenshot', { quality: 50 })).errorCode, 'INVALID_PARAMETERS')
  })

  test('annotate draws the refs of interactive elements at their positions, in frames too', async () => {
    await at('/shapes')
    // The scrollbar fades in some browsers, which would be a difference.
    await server.ok('evaluate', { script: "document.documentElement.style.overflow = 'hidden'" })
    const plain = await picture('screenshot')
    const drawn = await picture('screenshot', { annotate: true })
    assert.deepEqual(sizeOf(drawn), sizeOf(plain))
    // The differences from the page without annotations are at the two buttons.
    const { regions } = (await server.call('compare_screenshots', { baseline: drawn })).result
      .structuredContent
    assert.equal(regions.length, 2, JSON.stringify(regions))
    const isAt = (x, y) =>
      regions.some(
        (region) =>
          x >= region.x &&
          x <= region.x + region.width &&
          y >= region.y &&
          y <= region.y + region.height
      )
    assert.ok(isAt(210, 45) && isAt(310, 125), JSON.stringify(regions))
    assert.equal(
      sizeOf(await picture('screenshot', { annotate: true, type: 'jpeg', quality: 30 })).type,
      'jpeg'
    )
  })

  test('annotate of a full page includes elements below the viewport', async () => {
    await at('/shapes')
    const drawn = await picture('screenshot', { annotate: true, fullPage: true })
    const { regions } = (await server.call('compare_screenshots', { baseline: drawn })).result
      .structuredContent
    assert.equal(regions.length, 3, JSON.stringify(regions))
    assert.ok(regions.some(({ y }) => y > 2000))
  })

  test('screenshot_element shows only the element, at any position', async () => {
    await at('/shapes')
    const size = async (selector, type) =>
      sizeOf(await picture('screenshot_element', { selector, type }))
    assert.deepEqual(await size('#box', 'png'), { type: 'png', width: 120, height: 80 })
    assert.deepEqual(await size('#below', 'jpeg'), { type: 'jpeg', width: 60, height: 40 })
    assert.deepEqual(await size('iframe >>> #shape'), { type: 'png', width: 50, height: 30 })
    assert.ok((await size('body')).height > 2000)
    // The image equals one in which everything has the color of the element.
    const shape = await picture('screenshot_element', { selector: 'iframe >>> #shape' })
    await server.ok('evaluate', {
      script:
        'document.body.innerHTML = \'<div id=same style="width:50px;height:30px;background:#f0f"></div>\''
    })
    const { percentage } = (
      await server.call('compare_screenshots', { baseline: shape, selector: '#same' })
    ).result.structuredContent
    assert.equal(percentage, 0)
  })

  test('screenshot_element rejects missing and invisible elements', async () => {
    const impatient = await startServer(scope, ['--timeout-action', '300'])
    await impatient.ok('navigate', { url: site.url('/outer') })
    assert.equal(
      (await impatient.call('screenshot_element', { selector: '#nothing' })).json.errorCode,
      'ELEMENT_NOT_FOUND'
    )
    const hidden = (await impatient.call('screenshot_element', { selector: '#gone' })).json
    assert.equal(hidden.details.reason, 'hidden')
  })

  test('all tools reject a screenshot that is too large', async () => {
    const small = await startServer(scope, ['--max-screenshot-size', '500'])
    await small.ok('navigate', { url: site.url('/shapes') })
    const whole = (await picture('screenshot', { type: 'png' })).toString('base64')
    for (const [tool, args] of /** @type {const} */ ([
      ['screenshot', {}],
      ['screenshot', { annotate: true }],
      ['screenshot_element', { selector: 'body' }],
      ['compare_screenshots', { baseline: whole }]
    ])) {
      const { json } = await small.call(tool, args)
      assert.deepEqual([json.errorCode, json.retryable], ['RESOURCE_EXHAUSTED', false], tool)
    }
  })

  test('refs are drawn at their elements at any device scale', async () => {
    const sharp = await startServer(scope, ['--device', 'iPhone 15'])
    await sharp.ok('navigate', { url: site.url('/shapes') })
    const drawn = pictureOf(await sharp.call('screenshot', { annotate: true }))
    const { regions } = (await sharp.call('compare_screenshots', { baseline: drawn })).result
      .structuredContent
    const { value: ratio } = await sharp.ok('evaluate', {
      script: '({ ratio: devicePixelRatio, width: innerWidth })'
    })
    assert.ok(ratio.ratio > 1)
    assert.equal(sizeOf(drawn).width % 1, 0)
    assert.ok(regions.length >= 1, JSON.stringify(regions))
  })

  test('compare_screenshots reports and shows how much has changed, and where', async () => {
    await at('/still')
    const baseline = await picture('screenshot')
    const same = await server.call('compare_screenshots', { baseline })
    assert.deepEqual(same.result.structuredContent, {
      percentage: 0,
      changedPixels: 0,
      totalPixels: 480_000,
      regions: [],
      baseline: { width: 800, height: 600 },
      current: { width: 800, height: 600 }
    })
    assert.deepEqual(same.json, same.result.structuredContent)
    assert.equal(sizeOf(pictureOf(same)).width, 800)
    await blackBox('margin-left:200px')
    const moved = (
      await server.call('compare_screenshots', { baseline: `data:image/png;base64,${baseline}` })
    ).result.structuredContent
    assert.equal(moved.changedPixels, 20_000)
    assert.equal(moved.percentage, 4.167)
    assert.deepEqual(moved.regions, [
      { x: 0, y: 0, width: 100, height: 100 },
      { x: 200, y: 0, width: 100, height: 100 }
    ])
  })

  test('compare_screenshots compares an element, a full page, a JPEG and another size', async () => {
    await at('/still')
    const box = await picture('screenshot_element', { selector: '#box' })
    const { percentage } = (
      await server.call('compare_screenshots', { baseline: box, selector: '#box' })
    ).result.structuredContent
    assert.equal(percentage, 0)
    const jpeg = await picture('screenshot', { type: 'jpeg', quality: 90 })
    assert.equal(
      (await server.call('compare_screenshots', { baseline: jpeg })).result.structuredContent
        .percentage,
      0
    )
    await blackBox('height:120px')
    const grown = (await server.call('compare_screenshots', { baseline: box, selector: '#box' }))
      .result.structuredContent
    assert.deepEqual(
      [grown.baseline.height, grown.current.height, grown.changedPixels],
      [100, 120, 2000]
    )
    await at('/shapes')
    const whole = await picture('screenshot', { fullPage: true })
    assert.equal(
      (await server.call('compare_screenshots', { baseline: whole })).result.structuredContent
        .percentage,
      0
    )
  })

  test('a baseline must be a file in the working folder or the output folder', async () => {
    await at('/still')
    writeFileSync(join(folder, 'before.png'), Buffer.from(await picture('screenshot'), 'base64'))
    for (const baseline of ['before.png', './x/../before.png', join(folder, 'before.png')]) {
      assert.equal(
        (await server.call('compare_screenshots', { baseline })).result.structuredContent
          .percentage,
        0,
        baseline
      )
    }
    symlinkSync('/etc', join(folder, 'etc'))
    for (const baseline of [
      '/etc/passwd',
      '../../../../../../etc/passwd',
      'etc/passwd',
      '/no/such/file'
    ]) {
      const { errorCode, details } = await server.fail('compare_screenshots', { baseline })
      assert.deepEqual([errorCode, details.rule], ['BLOCKED_BY_POLICY', 'files'], baseline)
    }
    writeFileSync(join(folder, 'text.png'), 'no picture at all')
    for (const baseline of [
      'missing.png',
      'text.png',
      'data:image/png;base64,AAAA',
      'data:image/png;base64,%%'
    ]) {
      assert.equal(
        (await server.fail('compare_screenshots', { baseline })).errorCode,
        'INVALID_PARAMETERS',
        baseline
      )
    }
  })

  test('a screenshot is written to the given file without overwriting, and can be a baseline later', async () => {
    await at('/still')
    const saved = await server.call('screenshot', { path: 'visual/before' })
    assert.deepEqual(sizeOf(pictureOf(saved)), { type: 'png', width: 800, height: 600 })
    const path = join(folder, 'output', 'visual', 'before.png')
    assert.deepEqual(saved.json, { path })
    assert.equal(readFileSync(path).toString('base64'), pictureOf(saved))
    assert.equal(
      (await server.call('screenshot', { path: 'whole.jpg', fullPage: true })).json.path,
      join(folder, 'output', 'whole.jpg')
    )
    assert.equal(
      sizeOf(readFileSync(join(folder, 'output', 'whole.jpg')).toString('base64')).type,
      'jpeg'
    )
    assert.equal(
      (await server.call('screenshot', { path: 'other.jpeg', quality: 10 })).json.path,
      join(folder, 'output', 'other.jpeg')
    )

    assert.deepEqual(
      [(await server.fail('screenshot', { path: 'visual/before.png' })).details.path],
      [path]
    )
    for (const path of ['a.webp', 'a.tar.gz'])
      assert.match((await server.fail('screenshot', { path })).message, /must end in \.png/)
    assert.match(
      (await server.fail('screenshot', { path: 'a.png', type: 'jpeg' })).message,
      /`type` is another format/
    )
    for (const path of ['../../out.png', '/out.png'])
      assert.equal((await server.fail('screenshot', { path })).errorCode, 'BLOCKED_BY_POLICY', path)
    const inBatch = await server.ok('batch', {
      steps: [{ tool: 'screenshot', arguments: { path: 'step.png' } }]
    })
    assert.deepEqual(inBatch.results, [
      { tool: 'screenshot', result: { path: join(folder, 'output', 'step.png') }, picture: 1 }
    ])

    // The steps of the prompt for visual regression tests.
    const { result } = await server.request('prompts/get', {
      name: 'visual_regression',
      arguments: { url: site.url('/still'), baseline_screenshot: 'visual/before.png' }
    })
    assert.match(result.messages[0].content.text, /Compare with baseline: visual\/before\.png/)
    await blackBox('margin-left:200px')
    const changed = await server.call('compare_screenshots', { baseline: 'visual/before.png' })
    assert.equal(changed.result.structuredContent.percentage, 4.167)
    assert.equal(sizeOf(pictureOf(changed)).width, 800)
  })

  test('an earlier screenshot can be a baseline by its refId or URI, from another session too', async () => {
    const sessionId = await server.createSession()
    await server.ok('navigate', { sessionId, url: site.url('/still') })
    const { refId } = (await server.call('screenshot', { sessionId })).meta
    const listed = await server.request('resources/list')
    const uris = listed.result.resources
      .map(({ uri }) => uri)
      .filter((uri) => uri.startsWith('playwright:///screenshot/'))
    await server.ok('evaluate', { sessionId, script: "box.style.marginLeft = '200px'" })
    const percentage = async (baseline, more) =>
      (await server.ok('compare_screenshots', { sessionId, baseline, ...more })).percentage
    assert.equal(await percentage(refId), 4.167)
    assert.equal(await percentage(uris.at(-1)), 4.167)
    const other = await server.createSession()
    await server.ok('navigate', { sessionId: other, url: site.url('/still') })
    assert.equal(await percentage(refId, { sessionId: other }), 0)
    assert.equal(await percentage(uris.at(-1), { sessionId: other }), 0)
    // The session keeps the last screenshots, the recording all of them.
    for (let times = 0; times < 10; times++)
      await server.ok('screenshot', { sessionId, type: 'jpeg' })
    assert.equal(await percentage(refId), 4.167)
    assert.equal(
      (await server.fail('compare_screenshots', { sessionId, baseline: uris.at(-1) })).errorCode,
      'RECORD_NOT_FOUND'
    )

    const compared = await server.call('compare_screenshots', { sessionId, baseline: refId })
    const { errorCode, message } = await server.fail('compare_screenshots', {
      sessionId,
      baseline: compared.meta.refId
    })
    assert.equal(errorCode, 'RECORD_NOT_FOUND')
    assert.match(message, /compare_screenshots.* took no screenshot/)
    assert.equal(
      (
        await server.fail('compare_screenshots', {
          sessionId,
          baseline: '0f0e0d0c-0000-4000-8000-000000000000'
        })
      ).errorCode,
      'RECORD_NOT_FOUND'
    )
    assert.match(
      (
        await server.fail('compare_screenshots', {
          sessionId,
          baseline: `playwright:///page/${other}/page-1`
        })
      ).message,
      /not the URI of a screenshot/
    )
    assert.equal(
      (
        await server.fail('compare_screenshots', {
          sessionId,
          baseline: 'playwright:///screenshot/none/page-1/2025-11-27T10:30:00Z'
        })
      ).errorCode,
      'SESSION_NOT_FOUND'
    )
    for (const id of [sessionId, other]) await server.ok('close_session', { sessionId: id })
  })

  test('save_pdf writes a PDF of the page without overwriting a file', async () => {
    await at('/article')
    const saved = await server.ok('save_pdf')
    assert.equal(saved.path, join(folder, 'output', 'An-article.pdf'))
    const bytes = readFileSync(saved.path)
    assert.deepEqual(
      [saved.success, saved.bytes, bytes.subarray(0, 5).toString()],
      [true, bytes.length, '%PDF-']
    )
    assert.equal((await server.ok('save_pdf')).path, join(folder, 'output', 'An-article-2.pdf'))
    assert.equal(
      (await server.ok('save_pdf', { path: 'sub/report' })).path,
      join(folder, 'output', 'sub', 'report.pdf')
    )
    assert.equal(
      (await server.ok('save_pdf', { path: join(folder, 'here.pdf') })).path,
      join(folder, 'here.pdf')
    )
    // A client that names a file expects to find the PDF there.
    const { errorCode, details } = await server.fail('save_pdf', { path: 'sub/report' })
    assert.deepEqual(
      [errorCode, details.path],
      ['INVALID_PARAMETERS', join(folder, 'output', 'sub', 'report.pdf')]
    )
    assert.equal(existsSync(join(folder, 'output', 'sub', 'report-2.pdf')), false)
  })

  test('save_pdf writes only to its folders', async () => {
    await at('/still')
    for (const path of ['../../out.pdf', '/out.pdf', 'etc/out.pdf']) {
      if (!existsSync(join(folder, 'output', 'etc')))
        symlinkSync('/etc', join(folder, 'output', 'etc'))
      assert.equal((await server.fail('save_pdf', { path })).errorCode, 'BLOCKED_BY_POLICY', path)
    }
  })
})
