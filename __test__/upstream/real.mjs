// Real servers behind Troupe, on a Chromium of this machine: how each is started, without a window and isolated.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { startServer } from '../support/server.mjs'
import { outputFolder, quoted } from './upstream.mjs'

const BROWSER = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync) ?? ''
const program = (path) => fileURLToPath(new URL(`../../node_modules/${path}`, import.meta.url))
const isRoot = process.getuid?.() === 0

/** The words of a command of @playwright/mcp. @param {string[]} [more] */
export const playwright = (more = []) =>
  [process.execPath, program('@playwright/mcp/cli.js'), '--headless', '--isolated', '--executable-path', BROWSER, ...(isRoot ? ['--no-sandbox'] : []), ...more]

/** The words of a command of chrome-devtools-mcp. */
export const devtools = () => [
  ...[process.execPath, program('chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js'), '--headless', '--isolated', '--no-usage-statistics'],
  ...['--executablePath', BROWSER, ...(isRoot ? ['--chromeArg=--no-sandbox'] : [])]
]

/**
 * The options of a Troupe server that has such servers behind it.
 * @param {string[]} words
 */
export function behind(words) {
  const folder = outputFolder()
  return ['--upstream', words.map(quoted).join(' '), '--output-dir', folder]
}

/** @param {{ after: (end: () => unknown) => void }} t @param {string[]} words @param {string[]} [args] @param {object} [options] */
export const startBehind = (t, words, args = [], options = {}) => startServer(t, [...behind(words), ...args], { browser: false, ...options })
