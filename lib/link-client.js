'use strict'

// The install script. Replaces `bin/troupe` by the native client in the package for this platform,
// which runs commands in the daemon without starting Node. Without it (`--ignore-scripts`), or if
// anything fails, `bin/troupe` stays JavaScript and does the same.

const { spawnSync } = require('node:child_process')
const { chmodSync, copyFileSync, linkSync, renameSync, rmSync } = require('node:fs')
const { join } = require('node:path')

/** @typedef {{ name: string, os: string, cpu: string }} Platform */

const COMMAND = join(__dirname, '../bin/troupe')
/** An executable that cannot be started in this time is not used. */
const TIMEOUT = 10_000

/** Returns the path of a client that runs on this machine. @returns {string | undefined} */
function client() {
  const { version } = require('../package.json')
  /** @type {Platform[]} */
  const platforms = require('./platforms.json')
  for (const { name, os, cpu } of platforms) {
    if (os !== process.platform || cpu !== process.arch) continue
    try {
      const path = require.resolve(`@troupe-mcp/${name}/troupe-client`)
      chmodSync(path, 0o755)
      const options = /** @type {const} */ ({ encoding: 'utf8', timeout: TIMEOUT })
      // Fails for another libc.
      if (spawnSync(path, ['--client-version'], options).stdout === `${version}\n`) return path
    } catch {
      // This package is not installed.
    }
  }
  return undefined
}

/** @param {string} path */
function link(path) {
  const made = `${COMMAND}.new`
  try {
    rmSync(made, { force: true })
    try {
      linkSync(path, made)
    } catch {
      // The packages are on different file systems.
      copyFileSync(path, made)
    }
    renameSync(made, COMMAND)
  } catch (/** @type {any} */ error) {
    rmSync(made, { force: true })
    console.warn(`troupe: commands start with Node: ${error.message}`)
  }
}

// Windows starts programs by their extension. Yarn starts every command with Node, and can run the
// script of one installation on several platforms.
const isYarn = process.env.npm_config_user_agent?.startsWith('yarn/')
const path = process.platform === 'win32' || isYarn ? undefined : client()
if (path) link(path)
