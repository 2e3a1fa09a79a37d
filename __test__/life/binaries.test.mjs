// Full Chrome with `--headless` and the headless shell: a page sees the same browser in both.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathOf } from '../support/browser.mjs'
import { pictureOf, sizeOf } from '../support/pictures.mjs'
import { browsers } from '../support/processes.mjs'
import { startServer } from '../support/server.mjs'
import { startSite } from '../support/site.mjs'

const AS_ROOT = process.getuid?.() === 0 ? ['--no-sandbox'] : []

const SIZES = `({
  inner: [innerWidth, innerHeight], outer: [outerWidth, outerHeight], screen: [screen.width, screen.height],
  available: [screen.availWidth, screen.availHeight], scale: devicePixelRatio,
  media: [matchMedia('(width: ' + innerWidth + 'px)').matches, matchMedia('(display-mode: browser)').matches, matchMedia('(hover: hover)').matches]
})`
const STATE = `new Promise((resolve) => requestAnimationFrame(() => resolve([document.visibilityState, document.hasFocus()])))`

/**
 * Asserts a viewport inside a window inside a screen.
 * @param {any} sizes
 * @param {[number, number]} viewport
 */
function assertNested({ inner, outer, screen, available }, viewport) {
  assert.deepEqual(inner, viewport)
  for (const axis of [0, 1]) {
    assert.ok(outer[axis] >= inner[axis], `a window of ${outer} around a viewport of ${inner}`)
    assert.ok(screen[axis] >= inner[axis], `a screen of ${screen} around a viewport of ${inner}`)
    assert.equal(available[axis], screen[axis])
  }
}

for (const program of ['chromium', 'chromium-headless-shell']) {
  const path = pathOf(program)
  describe(
    `${program} --headless`,
    { skip: path ? false : `needs ${program}`, timeout: 90_000 },
    () => {
      /** @param {import('node:test').TestContext} t @param {string[]} args */
      const start = (t, ...args) =>
        startServer(
          t,
          [
            '--headless',
            '--executable-path',
            path ?? '',
            '--warm-browsers',
            '0',
            ...AS_ROOT,
            ...args
          ],
          { browser: false }
        )

      test('has a viewport of 1280×720 in a window on a screen of 1920×1080', async (t) => {
        const server = await start(t)
        const { value } = await server.ok('evaluate', { script: SIZES })
        assertNested(value, [1280, 720])
        assert.deepEqual(
          [value.screen, value.scale, value.media],
          [[1920, 1080], 1, [true, true, true]]
        )
        assert.match(
          (await server.ok('evaluate', { script: 'navigator.userAgent' })).value,
          /HeadlessChrome\//
        )
        assert.deepEqual(sizeOf(pictureOf(await server.call('screenshot'))), {
          type: 'png',
          width: 1280,
          height: 720
        })
      })

      test('gives each session the viewport that it asks for', async (t) => {
        const server = await start(t, '--viewport-size', '640x400')
        assertNested((await server.ok('evaluate', { script: SIZES })).value, [640, 400])
        const sessionId = await server.createSession({ viewport: { width: 2500, height: 1300 } })
        assertNested(
          (await server.ok('evaluate', { sessionId, script: SIZES })).value,
          [2500, 1300]
        )
      })

      test('opens popups in the size that window.open asks for, and keeps their openers painted', async (t) => {
        const open = (features) =>
          `<button id="${features || 'none'}" onclick="open('/form', '', '${features}')">Open</button>`
        const site = await startSite(t, {
          '/openers': `${open('')}${open('width=320,height=240')}${open('noopener')}`
        })
        const server = await start(t)
        await server.ok('navigate', { url: site.url('/openers') })
        for (const [features, viewport] of /** @type {const} */ ([
          ['none', [1280, 720]],
          ['width=320,height=240', [320, 240]],
          ['noopener', [1280, 720]],
          ['none', [1280, 720]]
        ])) {
          const { newPage } = await server.ok('click', { selector: `[id="${features}"]` })
          const { value } = await server.ok('evaluate', { pageId: newPage.pageId, script: SIZES })
          assert.deepEqual(value.inner, viewport, features)
          for (const pageId of ['page-1', newPage.pageId]) {
            assert.deepEqual(
              (await server.ok('evaluate', { pageId, script: STATE })).value,
              ['visible', true],
              `${pageId} beside ${features}`
            )
          }
        }
      })

      test('keeps its own disabled features beside those of --browser-arg', async (t) => {
        const server = await start(
          t,
          '--browser-arg=--disable-features=BlockInsecureDownloads',
          '--browser-arg=--enable-features=Translate'
        )
        await server.ok('evaluate', { script: '1' })
        const [{ command }] = browsers(/** @type {number} */ (server.child.pid))
        const lists = command.filter((argument) => argument.startsWith('--disable-features='))
        assert.equal(lists.length, 1, lists.join(' '))
        const features = lists[0].split('=')[1].split(',')
        assert.ok(
          features.includes('RenderDocument') && features.includes('BlockInsecureDownloads'),
          lists[0]
        )
        assert.ok(
          !features.includes('Translate'),
          'a feature that the user enables is not disabled'
        )
      })

      test('grants permissions and saves PDFs', async (t) => {
        const site = await startSite(t)
        const server = await start(t, '--grant-permissions', 'geolocation')
        await server.ok('navigate', { url: site.url('/form') })
        const permission = `navigator.permissions.query({ name: 'geolocation' }).then(({ state }) => state)`
        assert.equal((await server.ok('evaluate', { script: permission })).value, 'granted')
        assert.ok((await server.ok('save_pdf')).path)
      })
    }
  )
}
