// `npm run docs:pictures` creates the pictures of the documents: an annotated screenshot of the
// demo's app, a recording of the demo in a terminal as an animated SVG, and the views of the
// dashboard. `npm run docs:pictures -- dashboard` creates only the views of the dashboard.
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'
import { drawFrames, startMockServer } from '../../__test__/dashboard/mock-server.mjs'
import { sampleSessions } from '../../__test__/dashboard/sample-sessions.mjs'
import { launchChromium } from '../../__test__/page/world.mjs'
import { serveApp } from '../demo-app.mjs'
import { ROOT } from '../run.mjs'
import { connect } from './examples.mjs'

const FOLDER = join(ROOT, 'docs/pictures')
/** The size of the recording, in characters and lines. */
const [COLUMNS, ROWS] = [100, 22]
const [CHARACTER_WIDTH, LINE_HEIGHT, MARGIN] = [7.8, 18, 14]
/** The pause after each call, in seconds, because the demo is faster than a reader. */
const PAUSE = 1.2

mkdirSync(FOLDER, { recursive: true })
if (process.argv[2] !== 'dashboard') {
  await annotatedScreenshot()
  writeFileSync(join(FOLDER, 'demo.svg'), recording(await demoLines()))
}
await dashboardScreenshots()

async function annotatedScreenshot() {
  const app = await serveApp()
  const { client, transport } = await connect(ROOT, ['--store=none', '--viewport-size=1000x640'])
  try {
    const steps = [
      { tool: 'navigate', arguments: { url: app.url } },
      { tool: 'click', arguments: { selector: '#operations-pets-getPet .opblock-summary-control' } }
    ]
    await client.callTool({ name: 'batch', arguments: { steps } })
    const { content } = await client.callTool({
      name: 'screenshot',
      arguments: { annotate: true, type: 'jpeg', quality: 70 }
    })
    const { data } = /** @type {any[]} */ (content).find(({ type }) => type === 'image')
    writeFileSync(join(FOLDER, 'annotated.jpg'), Buffer.from(data, 'base64'))
  } finally {
    await transport.close()
    app.close()
  }
}

/** Takes a screenshot of each view of the dashboard, with the sample data of its tests. */
async function dashboardScreenshots() {
  /** @type {(() => unknown)[]} */
  const ends = []
  const scope = { after: (end) => void ends.push(end) }
  try {
    const browser = await launchChromium(scope)
    const frames = await drawFrames(browser)
    const sessions = sampleSessions().filter(({ id }) => !id.endsWith('attack'))
    const server = await startMockServer(scope, { frames, sessions })
    const page = await browser.newPage({ viewport: { width: 1200, height: 720 } })
    await page.goto(server.link())
    const canvases = (count) =>
      page
        .locator('canvas[data-frame]')
        .nth(count - 1)
        .waitFor()
    const take = (name) =>
      page.screenshot({ path: join(FOLDER, `dashboard-${name}.jpg`), type: 'jpeg', quality: 80 })
    await canvases(3)
    await take('sessions')
    await page.goto(`${server.url}#/session/s-1-shop`)
    await canvases(1)
    await page.locator('.call summary').first().click()
    await page.getByText('Console (2)').waitFor()
    await take('session')
    await page.goto(`${server.url}#/session/s-6`)
    await page.locator('.call .thumbnail').last().waitFor()
    await page.waitForLoadState('networkidle')
    await take('history')
    await page.goto(`${server.url}#/metrics`)
    await page.getByText('ELEMENT_NOT_FOUND').waitFor()
    await take('metrics')
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

/**
 * Runs the demo and returns its lines. A line that begins a call starts a new step.
 * @returns {Promise<string[]>}
 */
async function demoLines() {
  const child = spawn(process.execPath, ['scripts/demo.mjs'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const ended = once(child, 'close')
  const lines = ['$ npm run demo']
  for await (const line of createInterface({ input: child.stdout })) {
    const text = stripVTControlCharacters(line).replaceAll(ROOT, '')
    lines.push(text.length > COLUMNS ? `${text.slice(0, COLUMNS - 1)}…` : text)
  }
  const [code] = await ended
  if (code !== 0) throw new Error(`the demo ended with ${code}`)
  return lines
}

/**
 * Returns an SVG in which the text scrolls by one step at a time, as in a terminal.
 * @param {string[]} lines
 */
function recording(lines) {
  const ends = lines.flatMap((line, index) => (line.startsWith('▸') && index > 1 ? [index] : []))
  const steps = [...ends, lines.length]
  const duration = steps.length * PAUSE
  const offsets = steps.map((end) => Math.max(0, end - ROWS) * LINE_HEIGHT)
  const frames = steps.map((_, index) => {
    const at = ((index * 100) / steps.length).toFixed(2)
    return `${at}% { transform: translateY(${-offsets[index]}px) }`
  })
  const appearances = steps.map((_, index) => {
    const at = (index * 100) / steps.length
    return `@keyframes step${index} { 0% { opacity: 0 } ${at.toFixed(2)}% { opacity: 1 } 100% { opacity: 1 } }`
  })
  const texts = lines.map((line, index) => {
    const step = steps.findIndex((end) => index < end)
    const y = MARGIN + (index + 1) * LINE_HEIGHT
    const color = line.startsWith('▸') || line.startsWith('$') ? '#7dcfff' : '#c0caf5'
    return `<text x="${MARGIN}" y="${y}" fill="${color}" style="animation-name: step${step}">${escaped(line)}</text>`
  })
  const width = Math.round(COLUMNS * CHARACTER_WIDTH + 2 * MARGIN)
  const height = ROWS * LINE_HEIGHT + 2 * MARGIN
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="npm run demo">
<style>
text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; animation: ${duration}s step-end infinite }
.text { animation: scroll ${duration}s step-end infinite }
@keyframes scroll { ${frames.join(' ')} }
${appearances.join('\n')}
@media (prefers-reduced-motion: reduce) { text, .text { animation: none } }
</style>
<rect width="100%" height="100%" rx="8" fill="#1a1b26"/>
<g class="text">
${texts.join('\n')}
</g>
</svg>
`
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
