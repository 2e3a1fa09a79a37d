'use strict'

// Loads the native addon: the one that `npm run build` has written, or else the one in the package
// for this platform. If there is none, throws an error whose single line says what to do.

const { existsSync } = require('node:fs')
const { dirname, join } = require('node:path')

/** @typedef {{ name: string, os: string, cpu: string }} Platform */

const ROOT = dirname(__dirname)

/** @returns {any} */
function load() {
  const override = process.env.NAPI_RS_NATIVE_LIBRARY_PATH
  if (override) return require(override)
  /** @type {Platform[]} */
  const platforms = require('./platforms.json')
  const possible = platforms.filter(
    ({ os, cpu }) => os === process.platform && cpu === process.arch
  )
  if (possible.length === 0) {
    const all = [...new Set(platforms.map(({ os, cpu }) => `${os}-${cpu}`))].join(', ')
    throw new Error(
      `there is no build for ${process.platform}-${process.arch}: Troupe runs on ${all}`
    )
  }
  /** Errors of addons that cannot be loaded, such as an addon for another libc. @type {string[]} */
  const reasons = []
  for (const { name } of possible) {
    const built = join(ROOT, `troupe.${name}.node`)
    const id = existsSync(built) ? built : `@troupe-mcp/${name}`
    try {
      return require(id)
    } catch (/** @type {any} */ error) {
      if (error.code !== 'MODULE_NOT_FOUND') reasons.push(error.message.split('\n')[0])
    }
  }
  if (reasons.length > 0)
    throw new Error(`the native addon cannot be loaded: ${reasons.join('; ')}`)
  if (existsSync(join(ROOT, 'Cargo.toml')))
    throw new Error(`the addon is not built yet: run \`npm run setup\` in \`${ROOT}\``)
  const { version } = require('../package.json')
  const missing = possible.map(({ name }) => `@troupe-mcp/${name}@${version}`).join(' or ')
  throw new Error(
    `the native addon is missing: npm left out ${missing} (--omit=optional, or a lockfile made on another platform); install it next to troupe with \`npm install\``
  )
}

try {
  module.exports = load()
} catch (/** @type {any} */ error) {
  throw new Error(`troupe: ${error.message}`, { cause: error })
}
