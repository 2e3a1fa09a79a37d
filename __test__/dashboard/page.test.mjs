// The dashboard's page in a real browser, with a mock server (`mock-server.mjs`).
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { launchChromium } from '../page/world.mjs'
import { shared } from '../support/scope.mjs'
import { until } from '../support/wait.mjs'
import {
  PAGE,
  VIEWPORT,
  drawFrames,
  notInstalled,
  requireOfDashboard,
  startMockServer
} from './mock-server.mjs'
import { ATTACK } from './sample-sessions.mjs'

/** The maximum size of the page with all its files, compressed, in bytes. */
const LARGEST = 250_000
const OPTIONS = { skip: notInstalled, timeout: 120_000, concurrency: 2 }
const SHOP = '/session/s-1-shop'
/** A dropdown list of the page. */
const SIZES = {
  ...{ name: 'Size', x: 100, y: 40, width: 200, height: 30, omitted: 0 },
  options: [
    ['Small', null],
    ['Medium', null],
    ['Hidden before', ATTACK],
    ['Large', ATTACK],
    ['Huge', ATTACK]
  ]
    .map(([label, group], index) => ({
      ...{ index, label, group, disabled: label === 'Huge', selected: label === 'Medium' }
    }))
    .filter(({ label }) => label !== 'Hidden before')
}
/** Each view, by a text that it shows when it is complete. */
const VIEWS = {
  '/': 'invoice download',
  '/session/s-1-shop': 'Clicked button',
  '/session/s-4-attack': 'Clicked button',
  '/session/s-6': 'Clicked button',
  '/session/s-7-attack/s-7-attack-5': 'Changes of the page',
  '/history': 'invoice download',
  '/history/order': 'calls found',
  '/metrics': 'ELEMENT_NOT_FOUND'
}

describe('the page of the dashboard', OPTIONS, () => {
  const scope = shared()
  /** @type {import('playwright-core').Browser} */
  let browser
  /** @type {Record<string, Buffer>} */
  let frames
  before(async () => {
    browser = await launchChromium(scope)
    frames = await drawFrames(browser)
  })

  /**
   * Opens a view with a new server, and fails the test if the page makes a request to another host,
   * violates its policy, or throws an error.
   * @param {import('node:test').TestContext} t
   * @param {{ view?: string, context?: import('playwright-core').BrowserContextOptions } &
   *   Partial<Parameters<typeof startMockServer>[1]>} [options]
   */
  async function open(t, { view = '/', context = {}, ...options } = {}) {
    const server = await startMockServer(t, { frames, ...options })
    const opened = await browser.newContext({ viewport: VIEWPORT, ...context })
    t.after(() => opened.close())
    const page = await opened.newPage()
    page.setDefaultTimeout(10_000)
    /** @type {string[]} */
    const faults = []
    page.on('request', (request) => {
      const isOwn = /^(blob|data):/.test(request.url()) || request.url().startsWith(server.url)
      if (!isOwn) faults.push(`request to ${request.url()}`)
    })
    page.on('pageerror', (error) => faults.push(String(error)))
    page.on('console', (message) => {
      const isExpected = /Failed to load resource|WebSocket connection/.test(message.text())
      if (message.type() === 'error' && !isExpected) faults.push(message.text())
    })
    t.after(() => assert.deepEqual(faults, []))
    await page.goto(server.link(view))
    return { server, page, context: opened }
  }

  /** Opens a session and takes control of it. */
  async function openHeld(t, options = {}) {
    const opened = await open(t, { view: SHOP, ...options })
    const { page, server } = opened
    const canvas = page.locator('canvas[data-frame]')
    await canvas.waitFor()
    await page.getByRole('button', { name: 'Take control' }).click()
    await page.getByRole('button', { name: 'Give back' }).waitFor()
    assert.equal((await server.message(({ type }) => type === 'hold')).id, 's-1-shop')
    return { ...opened, canvas }
  }

  describe('signing in', () => {
    test('a link signs in once, and its token leaves the address', async (t) => {
      const { page, server, context } = await open(t)
      await page.getByText('price watch').waitFor()
      assert.equal(page.url(), `${server.url}#/`)
      const other = await browser.newContext()
      t.after(() => other.close())
      const second = await other.newPage()
      await second.goto(`${server.url}#token=one-time`)
      await second.getByText('This link was already used').waitFor()
      assert.equal(await second.getByText('price watch').count(), 0)
      const [cookie] = await context.cookies()
      assert.equal(cookie.httpOnly, true)
      // The link that signed in this browser still opens the dashboard here.
      await page.goto(`${server.url}#token=one-time&view=/history`)
      await page.getByRole('heading', { name: 'History' }).waitFor()
      await page.getByText('invoice download').waitFor()
    })

    test('without a cookie, the page says how to get a link', async (t) => {
      const { page, context } = await open(t)
      await page.getByText('price watch').waitFor()
      await context.clearCookies()
      await page.reload()
      await page.getByText('This browser is not signed in').waitFor()
      await page.getByText('npx troupe dashboard').waitFor()
      assert.equal(await page.getByText('price watch').count(), 0)
    })

    test('says when a proxy responds in place of the server', async (t) => {
      const { page, server } = await open(t)
      await page.getByText('price watch').waitFor()
      for (const status of [200, 403, 502]) {
        server.proxyStatus = status
        await page.goto(server.link('/history'))
        await page.reload()
        await page.getByText(`status ${status} is not JSON, so it is not from Troupe`).waitFor()
        await page.getByText('Check the proxy between this browser and Troupe').waitFor()
      }
      server.proxyStatus = 0
      await page.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('invoice download').waitFor()
      // The same during use of the dashboard.
      server.proxyStatus = 200
      await page.getByRole('link', { name: 'Metrics' }).click()
      await page.getByText('status 200 is not JSON, so it is not from Troupe').waitFor()
    })

    test('a link for one session shows only this session', async (t) => {
      const { page } = await open(t, { me: { session: 's-3' } })
      await page.getByRole('heading', { name: 'Minutes of the meeting' }).waitFor()
      assert.equal(await page.getByRole('navigation').count(), 0)
    })
  })

  describe('the grid', () => {
    test('shows the running sessions with images, URLs, running calls and states', async (t) => {
      const { page, server } = await open(t)
      const card = page.getByRole('listitem').filter({ hasText: 'price watch' })
      await card.locator('canvas[data-frame]').waitFor()
      const text = await card.innerText()
      assert.match(text, /https:\/\/shop\.example\/products/)
      assert.match(text, /wait_for\s+\d+ s/)
      assert.match(text, /Running/)
      assert.match(text, /chromium · 6 calls/)
      assert.equal(await page.locator('.card').count(), 4)
      const colors = await page.evaluate(() => {
        const canvas = /** @type {any} */ (document.querySelector('canvas'))
        const { data } = canvas.getContext('2d').getImageData(40, 20, 1, 1)
        return [...data]
      })
      // The header of the drawn shop is dark blue.
      assert.ok(colors[0] < 90 && colors[2] > 40 && colors[3] === 255, String(colors))
      const { sessions } = await server.message((message) => message.sessions?.length === 4)
      assert.ok(sessions.every(({ width, height, calls }) => width > 200 && height > 120 && !calls))
    })

    test('acknowledges each image after it is drawn, and stops while it is not displayed', async (t) => {
      const { page, server } = await open(t)
      const canvas = page.locator('.card canvas').first()
      for (let count = 0; count < 3; count++) {
        const former = await canvas.getAttribute('data-frame')
        await until(async () => {
          server.repaint()
          return (await canvas.getAttribute('data-frame')) !== former
        }, 'the next image')
      }
      assert.ok(
        server.received.filter(({ type, id }) => type === 'ack' && id === 's-1-shop').length >= 3
      )
      await page.getByRole('link', { name: 'Metrics' }).click()
      await until(
        () => server.received.findLast(({ type }) => type === 'watch').sessions.length === 0,
        'the end of the images'
      )
    })

    test('filters by text and by activity', async (t) => {
      const { page } = await open(t)
      await page.getByText('price watch').waitFor()
      await page.getByLabel('Search sessions').fill('travel')
      await page.getByText('1 of 4 sessions').waitFor()
      assert.equal(await page.locator('.card').count(), 1)
      await page.getByLabel('Activity').selectOption('Running a call')
      await page.getByText('No running session matches').waitFor()
      await page.getByRole('button', { name: 'Show all sessions' }).click()
      assert.equal(await page.locator('.card').count(), 4)
      await page.getByLabel('Activity').selectOption('Needs or has a person')
      await page.getByText('2 of 4 sessions').waitFor()
    })

    test('lists past sessions, and says how to start one if there is none', async (t) => {
      const { page, server } = await open(t)
      await page.getByText('weekly report').waitFor()
      assert.equal(await page.locator('.session-row').count(), 3)
      server.sessions = server.sessions.map((session) => ({ ...session, state: 'ended' }))
      server.sendSessions()
      await page.getByText('No session is running').waitFor()
      await page.getByText('npx troupe open').waitFor()
      await page.locator('.session-row').nth(6).waitFor()
    })

    test('is usable with the keyboard', async (t) => {
      const { page } = await open(t)
      await page.locator('.session-row').first().waitFor()
      const skip = page.getByRole('link', { name: 'Skip to the content' })
      await skip.focus()
      await page.keyboard.press('Enter')
      const isFocused = (locator) =>
        locator.evaluate((element) => element === document.activeElement)
      for (const next of [
        page.getByLabel('Search sessions'),
        page.getByLabel('Activity'),
        page.getByRole('link', { name: 'price watch' })
      ]) {
        await page.keyboard.press('Tab')
        assert.ok(await isFocused(next), String(next))
      }
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Take control' }).waitFor()
      // Screen readers announce the heading of the new view.
      assert.ok(await isFocused(page.getByRole('heading', { name: 'price watch' })))
      assert.equal(await page.title(), 'price watch – Troupe')
    })

    test('connects again after the connection was lost', async (t) => {
      const { page, server } = await open(t)
      await page.getByText('Connected').waitFor()
      server.sessions[0].name = 'renamed meanwhile'
      // The page connects again after a fraction of a second.
      const lost = page.getByText('Connection lost').waitFor()
      server.cut()
      await lost
      await page.getByText('renamed meanwhile').waitFor()
      await page.getByText('Connected').waitFor()
    })
  })

  describe('a session', () => {
    test('shows calls as they happen, with their details', async (t) => {
      const { page, server } = await open(t, { view: SHOP })
      await page.locator('.call').nth(4).waitFor()
      const { sessions } = await server.message(
        ({ type, sessions }) => type === 'watch' && sessions[0]?.calls
      )
      assert.equal(sessions[0].id, 's-1-shop')
      const call = {
        ...server.calls['s-1-shop'][0],
        ...{ id: 'new', status: 'running', durationMs: null, summary: '', tool: 'press' },
        ...{ startedAt: new Date().toISOString(), arguments: { key: 'F9' } }
      }
      server.report(call)
      const row = page.locator('[data-call=new]')
      await row.getByText('key="F9"').waitFor()
      await page.getByText('Running:').waitFor()
      server.report({ ...call, status: 'ok', durationMs: 321, summary: 'Pressed F9' })
      await row.getByText('Pressed F9').waitFor()
      await row.getByText('321 ms').waitFor()
      const json = '{ "success": true, "message": "Pressed \\"F9\\" twice", "cut": "'
      server.report({
        ...call,
        id: 'newest',
        status: 'ok',
        arguments: null,
        summary: json,
        result: '{"a":[1]}'
      })
      await page.locator('.outcome').getByText('Pressed "F9" twice', { exact: true }).waitFor()
      assert.equal(await page.locator('.call').count(), 7)
      const newest = page.locator('[data-call=newest]')
      await newest.locator('summary').click()
      const formatted = '{\n  "a": [\n    1\n  ]\n}'
      await until(
        async () => (await newest.locator('pre').allInnerTexts()).includes(formatted),
        'the formatted result'
      )
      await row.locator('summary').click()
      for (const text of ['"key": "F9"', 'Ordered for Ada', '[log] order sent'])
        await row.getByText(text).waitFor()
      const picture = row.getByRole('img')
      await until(
        () => picture.evaluate((image) => /** @type {any} */ (image).naturalWidth > 0),
        'the image'
      )
    })

    test('shows errors first, or only errors, with their suggestions', async (t) => {
      const { page } = await open(t, { view: SHOP })
      const first = page.locator('.call').first()
      await first.getByText('Clicked button').waitFor()
      await page.getByLabel('Order').selectOption('Errors first')
      await first.getByText('is covered by').waitFor()
      assert.equal(await page.locator('.call').count(), 5)
      await page.getByLabel('Order').selectOption('Only errors')
      assert.equal(await page.locator('.call').count(), 1)
      await first.locator('summary').click()
      await first.getByText('Close the overlay or pass').waitFor()
      await page.getByLabel('Order').selectOption('Newest first')
      await page.getByLabel('Search calls').fill('sort=price')
      await until(async () => (await page.locator('.call').count()) === 1, 'the found call')
    })

    test('shows its tabs and follows their changes', async (t) => {
      const { page, server } = await open(t, { view: SHOP })
      await page.locator('.tabs li[aria-current]').getByText('Corner Shop').waitFor()
      assert.equal(await page.locator('.tabs li').count(), 2)
      server.sessions[0].pages[1] = { ...server.sessions[0].pages[1], title: 'Order complete' }
      server.sessions[0].title = 'changed'
      server.sendSessions()
      await page.getByText('Order complete').waitFor()
    })

    test('asks the person on behalf of the agent', async (t) => {
      const { page, server } = await open(t, { view: '/session/s-2-login' })
      await page.getByText('Please sign in to the travel site').waitFor()
      await page.getByRole('button', { name: 'Done' }).click()
      const done = await server.message(({ type }) => type === 'done')
      assert.deepEqual(done, { type: 'done', id: 's-2-login', question: 'q1', answer: {} })
      await page.getByText('Please sign in').waitFor({ state: 'detached' })
    })

    test('asks the person for an answer that fits the schema', async (t) => {
      const { page, server } = await open(t, { view: '/session/s-2-login' })
      const { question } = server.sessions[1]
      question.schema = {
        type: 'object',
        properties: {
          code: { type: 'string', title: 'Code', description: 'From your telephone' },
          days: { type: 'integer', title: 'Days', minimum: 1, default: 7 },
          trust: { type: 'boolean', title: 'Trust this device' },
          account: { title: 'Account', oneOf: [{ const: 'a', title: 'Ada' }, { const: 'b' }] },
          alerts: { type: 'array', title: 'Alerts', items: { enum: ['mail', 'text'] } },
          note: { type: 'string' }
        },
        required: ['code', 'account']
      }
      question.id = 'q3'
      server.sendSessions()
      await page.getByLabel('Code').waitFor()
      await page.getByRole('button', { name: 'Done' }).click()
      const isMissing = page.locator('input:invalid, select:invalid')
      assert.equal(await isMissing.count(), 2)
      await page.getByLabel('Code').fill('123')
      await page.getByLabel('Account').selectOption('Ada')
      await page.getByLabel('mail').check()
      await page.getByRole('button', { name: 'Done' }).click()
      const done = await server.message(({ type }) => type === 'done')
      assert.deepEqual(done.answer, {
        code: '123',
        days: 7,
        trust: false,
        account: 'a',
        alerts: ['mail']
      })
    })

    test('that ends becomes a past session', async (t) => {
      const { page, server } = await open(t, { view: SHOP })
      await page.getByRole('button', { name: 'Take control' }).waitFor()
      server.sessions[0].state = 'ended'
      server.send({ type: 'gone', id: 's-1-shop' })
      await page.getByText('Last used').waitFor()
      assert.equal(await page.locator('canvas').count(), 0)
    })
  })

  describe('control', () => {
    test('sends clicks at the coordinates of the viewport, and coalesces moves', async (t) => {
      const { page, server, canvas } = await openHeld(t)
      const box = /** @type {any} */ (await canvas.boundingBox())
      assert.ok(Math.abs(box.width / box.height - VIEWPORT.width / VIEWPORT.height) < 0.02)
      const at = (x, y) => [
        box.x + (x / VIEWPORT.width) * box.width,
        box.y + (y / VIEWPORT.height) * box.height
      ]
      await page.evaluate(
        ([left, top]) => {
          const canvas = /** @type {any} */ (document.querySelector('canvas'))
          for (let step = 0; step < 100; step++) {
            const place = { clientX: left + step, clientY: top, bubbles: true }
            canvas.dispatchEvent(new /** @type {any} */ (globalThis).MouseEvent('mousemove', place))
          }
        },
        [box.x, box.y]
      )
      await until(() => server.input.length > 0, 'a move')
      const [x, y] = at(320, 200)
      await page.mouse.click(x, y, { button: 'right' })
      await page.mouse.dblclick(x, y)
      await until(
        () => server.input.filter(({ action }) => action === 'up').length === 3,
        'the clicks'
      )
      const moves = server.input.filter(({ action }) => action === 'move')
      assert.ok(moves.length < 10, `${moves.length} moves`)
      const presses = server.input.filter(({ action }) => action === 'down')
      assert.deepEqual(
        presses.map(({ button, clicks }) => `${button} ${clicks}`),
        ['right 1', 'left 1', 'left 2']
      )
      for (const press of presses) {
        assert.ok(
          Math.abs(press.x - 320) < 1.5 && Math.abs(press.y - 200) < 1.5,
          JSON.stringify(press)
        )
      }
      await page.mouse.wheel(0, 120)
      const wheel = await until(
        () => server.input.find(({ kind }) => kind === 'wheel'),
        'the wheel'
      )
      assert.equal(wheel.dy, 120)
    })

    test('a drag continues outside of the image', async (t) => {
      const { page, server, canvas } = await openHeld(t)
      const box = /** @type {any} */ (await canvas.boundingBox())
      await page.mouse.move(box.x + 50, box.y + 50)
      await page.mouse.down()
      await page.mouse.move(5, 5)
      await page.mouse.up()
      const up = await until(
        () => server.input.find(({ action }) => action === 'up'),
        'the release'
      )
      assert.deepEqual({ x: up.x, y: up.y }, { x: 0, y: 0 })
      const dragged = server.input.filter(
        ({ action, button }) => action === 'move' && button === 'left'
      )
      assert.ok(dragged.length > 0)
    })

    test('sends keys, shortcuts, text of input methods, and pasted text', async (t) => {
      const { page, server, context } = await openHeld(t)
      await page.keyboard.press('a')
      await page.keyboard.press('Shift+B')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Control+a')
      await page.keyboard.press('Tab')
      await until(
        () => server.input.filter(({ key, action }) => key === 'Tab' && action === 'up').length,
        'Tab'
      )
      const down = server.input.filter(({ kind, action }) => kind === 'key' && action === 'down')
      assert.deepEqual(
        down.map(({ key, text, modifiers }) => [key, text, modifiers]),
        [
          ['a', 'a', 0],
          ['Shift', null, 8],
          ['B', 'B', 8],
          ['Enter', '\r', 0],
          ['Control', null, 2],
          ['a', null, 2],
          ['Tab', null, 0]
        ]
      )
      const cdp = await context.newCDPSession(page)
      const composing = { text: 'か', selectionStart: 1, selectionEnd: 1 }
      await cdp.send('Input.imeSetComposition', composing)
      await cdp.send('Input.imeSetComposition', { ...composing, text: '漢' })
      await cdp.send('Input.insertText', { text: '漢字' })
      await until(() => server.input.some(({ kind }) => kind === 'text'), 'the composed text')
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      await page.evaluate(() =>
        /** @type {any} */ (globalThis).navigator.clipboard.writeText('from the clipboard')
      )
      await page.keyboard.press('Control+v')
      await until(
        () => server.input.filter(({ kind }) => kind === 'text').length === 2,
        'the pasted text'
      )
      const texts = server.input.filter(({ kind }) => kind === 'text').map(({ text }) => text)
      assert.deepEqual(texts, ['漢字', 'from the clipboard'])
    })

    test('Ctrl+Alt+G moves the focus out of the page, and releases pressed keys', async (t) => {
      const { page, server } = await openHeld(t)
      await page.keyboard.down('Control')
      await page.keyboard.down('Alt')
      await page.keyboard.press('g')
      await until(
        () => server.input.filter(({ action }) => action === 'up').length === 2,
        'the release of Control and Alt'
      )
      assert.equal(await page.evaluate(() => document.activeElement?.localName), 'body')
      await page.keyboard.up('Alt')
      await page.keyboard.up('Control')
      assert.equal(
        server.input.some(({ key }) => key === 'g'),
        false
      )
    })

    test('sends a tap as a click, and a movement of a finger as scrolling', async (t) => {
      const context = { hasTouch: true, viewport: { width: 360, height: 740 } }
      const { page, server, canvas } = await openHeld(t, { context })
      const box = /** @type {any} */ (await canvas.boundingBox())
      await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2)
      await until(() => server.input.length === 3, 'the click')
      assert.deepEqual(
        server.input.map(({ kind, action, clicks }) => `${kind} ${action} ${clicks}`),
        ['mouse move 0', 'mouse down 1', 'mouse up 1']
      )
      const { x, y } = server.input[1]
      assert.ok(Math.abs(x - 640) < 8 && Math.abs(y - 360) < 8, `${x} ${y}`)
      const cdp = await page.context().newCDPSession(page)
      const finger = (type, dy) =>
        cdp.send('Input.dispatchTouchEvent', {
          type,
          touchPoints: type === 'touchEnd' ? [] : [{ x: box.x + 50, y: box.y + 150 + dy }]
        })
      await finger('touchStart', 0)
      for (const dy of [-20, -40, -60]) await finger('touchMove', dy)
      await finger('touchEnd', 0)
      const scrolled = () => server.input.reduce((sum, { dy = 0 }) => sum + dy, 0)
      const expected = (60 * VIEWPORT.height) / box.height
      await until(() => Math.abs(scrolled() - expected) < 2, 'the whole scroll')
      const rest = server.input.slice(3)
      assert.ok(
        rest.every(({ kind, dx }) => kind === 'wheel' && dx === 0),
        JSON.stringify(rest)
      )
      await page.getByRole('button', { name: 'Keyboard' }).tap()
      const focused = await page.evaluate(() => document.activeElement?.getAttribute('inputmode'))
      assert.equal(focused, 'text')
      // A screen keyboard sends text without key events.
      await page.keyboard.insertText('hello')
      await until(() => server.input.some(({ text }) => text === 'hello'), 'the text')
    })

    test('ends with "Give back", and when the viewer leaves the view', async (t) => {
      const { page, server } = await openHeld(t)
      await page.getByRole('button', { name: 'Give back' }).click()
      await page.getByRole('button', { name: 'Take control' }).click()
      await page.getByRole('button', { name: 'Give back' }).waitFor()
      const count = () => server.received.filter(({ type }) => type === 'release').length
      assert.equal(count(), 1)
      await page.getByRole('link', { name: 'History', exact: true }).click()
      await until(() => count() === 2, 'the second release')
    })

    test('answers dialogs of the page', async (t) => {
      const { page, server } = await openHeld(t)
      const dialog = { kind: 'prompt', message: `Your name? ${ATTACK}`, defaultText: 'Ada' }
      server.send({ type: 'dialog', id: 's-1-shop', dialog })
      const shown = page.getByRole('alertdialog')
      await shown.getByText('Your name?').waitFor()
      await shown.getByLabel('Answer').fill('Grace')
      await shown.getByRole('button', { name: 'OK' }).click()
      const answer = await server.message(({ type }) => type === 'dialog')
      assert.deepEqual(answer, { type: 'dialog', id: 's-1-shop', accept: true, text: 'Grace' })
      await shown.waitFor({ state: 'detached' })
    })

    test('uploads files for a file chooser of the page, or cancels it', async (t) => {
      const { page, server } = await openHeld(t)
      const shown = page.getByRole('dialog', { name: 'The page asks for files' })
      const show = async () => {
        server.send({ type: 'chooser', id: 's-1-shop', chooser: { multiple: true } })
        await shown.waitFor()
      }
      await show()
      assert.ok(await shown.getByRole('button', { name: 'Upload' }).isDisabled())
      const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
      const files = [file('a.txt', 'first\n'), file('ä "b".txt', 'second')]
      await shown.getByLabel('Files').setInputFiles(files)
      server.uploadError = 'The disk is full.'
      await shown.getByRole('button', { name: 'Upload' }).click()
      await shown.getByText('The disk is full.').waitFor()
      server.uploadError = ''
      server.uploads = []
      await shown.getByRole('button', { name: 'Upload' }).click()
      await shown.waitFor({ state: 'detached' })
      await show()
      await shown.getByRole('button', { name: 'Cancel' }).click()
      await shown.waitFor({ state: 'detached' })
      const list = '{"files":[{"name":"a.txt","size":6},{"name":"ä \\"b\\".txt","size":6}]}'
      assert.deepEqual(server.uploads, [`${list}\nfirst\nsecond`, '{"files":[]}\n'])
    })

    test('shows the options of a dropdown list, for the mouse and the keyboard', async (t) => {
      const { page, server, canvas } = await openHeld(t)
      const choices = () => server.received.filter(({ type }) => type === 'choose')
      const shown = page.getByRole('listbox', { name: 'Size' })
      const keyboard = page.getByLabel('Keyboard input to the page')
      const active = (label) => shown.locator('.active', { hasText: label }).waitFor()
      const show = async () => {
        server.send({ type: 'select', id: 's-1-shop', select: SIZES })
        await shown.waitFor()
        await until(() => shown.evaluate((list) => list === document.activeElement), 'the focus')
      }
      await show()
      const [box, image] = [await shown.boundingBox(), await canvas.boundingBox()]
      const scale = image.width / VIEWPORT.width
      assert.ok(Math.abs(box.x - image.x - SIZES.x * scale) < 2, 'at the left edge of the list')
      assert.ok(Math.abs(box.y - image.y - (SIZES.y + SIZES.height) * scale) < 2, 'below the list')
      assert.equal(await shown.getByRole('group', { name: ATTACK }).count(), 1)
      await active('Medium')
      for (const [key, expected] of [
        ['ArrowDown', 'Large'],
        ['ArrowDown', 'Large'],
        ['Home', 'Small'],
        ['ArrowUp', 'Small'],
        ['l', 'Large'],
        ['Home', 'Small'],
        ['m', 'Medium']
      ]) {
        await page.keyboard.press(key)
        await active(expected)
      }
      await page.keyboard.press('Enter')
      await shown.waitFor({ state: 'detached' })
      // A key that has opened the list is held down.
      await page.keyboard.down(' ')
      await show()
      await page.keyboard.down(' ')
      await page.keyboard.up(' ')
      await page.keyboard.press('Escape')
      await shown.waitFor({ state: 'detached' })
      await page.keyboard.press('a')
      await until(() => server.input.find(({ key }) => key === 'a'), 'a key for the page')
      await show()
      await shown.getByRole('option', { name: 'Huge' }).click({ force: true })
      await shown.getByRole('option', { name: 'Large' }).click()
      await shown.waitFor({ state: 'detached' })
      await show()
      await keyboard.focus()
      await shown.waitFor({ state: 'detached' })
      await until(() => choices().length === 4, 'the choices')
      const sent = { type: 'choose', id: 's-1-shop' }
      const indexes = [1, null, 3, null]
      assert.deepEqual(
        choices(),
        indexes.map((index) => ({ ...sent, index }))
      )
    })

    test('can be taken from another viewer, and its errors are shown', async (t) => {
      const { page, server } = await open(t, { view: SHOP })
      await page.getByRole('button', { name: 'Take control' }).waitFor()
      server.send({ type: 'held', id: 's-1-shop', by: 'other' })
      await page.getByText('A viewer controls it').waitFor()
      for (const id of ['s-1-shop', undefined]) {
        const error = { code: 'SESSION_HELD', message: 'Another viewer has control.' }
        server.send({ type: 'error', id, error })
        await page.getByText('Another viewer has control.').waitFor()
        await page.getByRole('button', { name: 'Dismiss' }).click()
        await page.getByText('Another viewer has control.').waitFor({ state: 'detached' })
      }
      await page.getByRole('button', { name: 'Take control' }).click()
      await page.getByRole('button', { name: 'Give back' }).waitFor()
    })

    test('is not offered by a read-only link', async (t) => {
      const { page } = await open(t, { view: SHOP, me: { readOnly: true } })
      await page.getByText('Read-only').waitFor()
      await page.locator('canvas[data-frame]').waitFor()
      assert.equal(await page.getByRole('button', { name: 'Take control' }).count(), 0)
      await page.goto(`${page.url().split('#')[0]}#/session/s-6`)
      await page.getByRole('link', { name: 'Save report' }).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Delete…' }).count(), 0)
    })
  })

  describe('the history', () => {
    test('finds calls of all sessions, and opens one in its session', async (t) => {
      const { page } = await open(t, { view: '/history' })
      await page.getByLabel('Search all calls').fill('ELEMENT_COVERED')
      await page.getByText('7 calls found').waitFor()
      await page.getByRole('link', { name: 'invoice download' }).click()
      await page.getByRole('region', { name: 'Call from the search' }).waitFor()
      await page.getByRole('heading', { name: 'invoice download' }).waitFor()
    })

    test('deletes a session after a confirmation', async (t) => {
      const { page, server } = await open(t, { view: '/session/s-6' })
      await page.getByRole('button', { name: 'Delete…' }).click()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.getByRole('button', { name: 'Delete…' }).click()
      await page.getByText('It cannot be undone').waitFor()
      await page.getByRole('button', { name: 'Delete record' }).click()
      await page.getByText('weekly report').waitFor()
      assert.equal(await page.getByText('invoice download').count(), 0)
      assert.deepEqual(
        server.requests.filter((request) => !request.includes('login')),
        ['DELETE api/sessions/s-6']
      )
    })

    test('loads older calls of a long session', async (t) => {
      const { page, server } = await open(t)
      await page.getByText('price watch').waitFor()
      const [call] = server.calls['s-6']
      server.calls['s-6'] = Array.from({ length: 70 }, (_, index) => ({
        ...call,
        id: `long-${index}`,
        startedAt: new Date(Date.now() - index * 1000).toISOString()
      }))
      await page.goto(`${server.url}#/session/s-6`)
      await page.locator('.call').nth(49).waitFor()
      await page.getByRole('button', { name: 'Load older calls' }).click()
      await page.locator('.call').nth(69).waitFor()
      assert.equal(await page.getByRole('button', { name: 'Load older calls' }).count(), 0)
    })
  })

  test('the metrics have charts, and a table of the latencies', async (t) => {
    const { page } = await open(t, { view: '/metrics' })
    await page.getByRole('row', { name: /^click 420/ }).waitFor()
    assert.equal(await page.locator('.chart canvas').count(), 4)
    await page.getByLabel('Tool', { exact: true }).selectOption('navigate')
    await page.getByRole('img', { name: /^Histogram of 181 calls/ }).waitFor()
    const isDrawn = await page.locator('.chart canvas').evaluateAll((canvases) =>
      canvases.every((/** @type {any} */ canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
        return data.some((value) => value > 0)
      })
    )
    assert.ok(isDrawn)
  })

  test('markup in names, titles, URLs, calls, questions and dialogs stays text', async (t) => {
    const { page, server } = await open(t)
    server.metrics.errorsByCode[ATTACK] = 1
    for (const [view, text] of Object.entries(VIEWS)) {
      await page.goto(`${server.url}#${view}`)
      await page.getByText(text).first().waitFor()
      for (const summary of await page.locator('.call summary').all()) await summary.click()
      if (view === '/session/s-4-attack') {
        const dialog = { kind: ATTACK, message: ATTACK, defaultText: ATTACK }
        server.send({ type: 'dialog', id: 's-4-attack', dialog })
        await page.getByRole('alertdialog').getByText(ATTACK).waitFor()
        await page.getByRole('heading', { name: `${ATTACK} name` }).waitFor()
        await page.getByText(`${ATTACK} question`).waitFor()
        await page.getByText(`[log] order sent ${ATTACK}`).waitFor()
      }
      const found = await page.evaluate(() => ({
        attacked: 'attacked' in globalThis,
        elements: document.querySelectorAll('[onerror], [src="x"], #app script, #app style').length,
        links: document.querySelectorAll('a[href^="javascript:"]').length
      }))
      assert.deepEqual(found, { attacked: false, elements: 0, links: 0 }, view)
    }
  })

  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    test(`axe finds no violations in ${colorScheme} mode`, async (t) => {
      const { page, server, context } = await open(t, { context: { colorScheme } })
      await page.getByText('price watch').waitFor()
      const axe = readFileSync(requireOfDashboard.resolve('axe-core/axe.min.js'), 'utf8')
      await page.evaluate(axe)
      // Only the contrast depends on the color scheme.
      const rules = colorScheme === 'dark' ? { runOnly: ['color-contrast'] } : {}
      const check = async (what) => {
        const violations = await page.evaluate(async (options) => {
          const found = await /** @type {any} */ (globalThis).axe.run(options)
          return found.violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])
        }, rules)
        assert.deepEqual(violations, [], what)
      }
      for (const [view, text] of Object.entries(VIEWS)) {
        await page.goto(`${server.url}#${view}`)
        await page.getByText(text).first().waitFor()
        for (const summary of (await page.locator('.call summary').all()).slice(0, 2)) {
          await summary.click()
        }
        if (view === SHOP) {
          await page.getByRole('button', { name: 'Take control' }).click()
          const dialog = { kind: 'prompt', message: 'Your name?', defaultText: '' }
          server.send({ type: 'dialog', id: 's-1-shop', dialog })
          await page.getByRole('alertdialog').waitFor()
          server.send({ type: 'select', id: 's-1-shop', select: SIZES })
          await page.getByRole('listbox').waitFor()
          await check('dialog and list')
          server.send({ type: 'dialog', id: 's-1-shop', dialog: null })
          server.send({ type: 'chooser', id: 's-1-shop', chooser: { multiple: false } })
          await page.getByRole('dialog').waitFor()
        }
        await check(view)
      }
      server.sessions = []
      server.sendSessions()
      await page.goto(`${server.url}#/`)
      await page.getByText('No session is running').waitFor()
      await check('without sessions')
      await context.clearCookies()
      await page.goto(`${server.url}#token=wrong`)
      await page.getByText('This link was already used').waitFor()
      await check('signed out')
    })
  }

  test('no view scrolls horizontally on a phone', async (t) => {
    const context = { viewport: { width: 360, height: 740 }, hasTouch: true }
    const { page, server } = await open(t, { context })
    for (const [view, text] of Object.entries(VIEWS)) {
      await page.goto(`${server.url}#${view}`)
      await page.getByText(text).first().waitFor()
      for (const summary of await page.locator('.call summary').all()) await summary.click()
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      assert.equal(width, 360, view)
    }
  })

  test('is small, and its files have fixed names', () => {
    const names = readdirSync(PAGE).sort()
    assert.deepEqual(names, ['app.css', 'app.js', 'icon.svg', 'index.html', 'licenses.md'])
    const sizes = names.map((name) => gzipSync(readFileSync(join(PAGE, name))).length)
    const total = sizes.reduce((sum, size) => sum + size)
    assert.ok(total <= LARGEST, `${total} bytes`)
  })
})
