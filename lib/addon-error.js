'use strict'

/**
 * Returns one line with the reason why the native addon could not be loaded, and what to do. Loaded
 * only in this case.
 * @param {any} error what `require('./native.js')` threw
 * @returns {string}
 */
module.exports = function addonError(error) {
  const { version } = require('../package.json')
  if (
    error?.code === 'MODULE_NOT_FOUND' &&
    /^Cannot find module '[^']*native\.js'/.test(error.message)
  ) {
    return `the addon is not built yet: run \`npm run setup\` in \`${require('node:path').dirname(__dirname)}\``
  }
  // The loader chains its attempts. An error other than a missing file is the real reason, such as
  // a glibc that is too old.
  for (let cause = error?.cause; cause; cause = cause.cause) {
    const reason = String(cause.message).replace(/\n[^]*/, '')
    if (!reason.startsWith('Cannot find module'))
      return `the native addon cannot be loaded: ${reason}`
    if (reason.includes('-musl'))
      return 'there is no build for musl (Alpine): use an image with glibc, such as node:slim'
  }
  const published = require('./platforms.json').filter((/** @type {any} */ { runner }) => runner)
  const row = published.find(
    (/** @type {any} */ { os, cpu }) => os === process.platform && cpu === process.arch
  )
  if (!row) {
    const names = published.map((/** @type {any} */ { os, cpu }) => `${os}-${cpu}`)
    return `there is no build for ${process.platform}-${process.arch}, only for ${names.join(', ')}`
  }
  const missing = `troupe-${row.name}@${version}`
  return `the native addon is missing: npm left out \`${missing}\` (--omit=optional, or a lockfile made on another platform); install it next to troupe: npm install ${missing}`
}
