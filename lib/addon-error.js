'use strict'

/**
 * Says in one line why the native addon could not be loaded and what to do about it. Loaded only when that happened.
 * @param {any} error what `require('./native.js')` threw
 * @returns {string}
 */
module.exports = function addonError(error) {
  const { version } = require('../package.json')
  if (error?.code === 'MODULE_NOT_FOUND' && /^Cannot find module '[^']*native\.js'/.test(error.message)) {
    return `the addon is not built yet: run \`npm run setup\` in \`${require('node:path').dirname(__dirname)}\``
  }
  // The loader chains what it tried: anything but an absent file (a glibc that is too old, say) is the real reason.
  for (let cause = error?.cause; cause; cause = cause.cause) {
    const reason = String(cause.message).replace(/\n[^]*/, '')
    if (!reason.startsWith('Cannot find module')) return `the native addon cannot be loaded: ${reason}`
    if (reason.includes('-musl')) return 'there is no build for musl (Alpine): use an image with glibc, such as node:slim'
  }
  const platforms = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64']
  const platform = `${process.platform}-${process.arch}`
  if (!platforms.includes(platform)) {
    return `there is no build for ${platform}, only for ${platforms.join(', ')}`
  }
  const suffix = { linux: '-gnu', win32: '-msvc' }[/** @type {string} */ (process.platform)] ?? ''
  const missing = `troupe-${platform}${suffix}@${version}`
  return `the native addon is missing: npm left out \`${missing}\` (--omit=optional, or a lockfile made on another platform); install it beside troupe: npm install ${missing}`
}
