'use strict'

// The install script. Replaces `bin/troupe` by the native client in the package for this platform.
// The client runs commands in the daemon without starting Node. If this script does not run
// (`--ignore-scripts`) or fails, `bin/troupe` stays JavaScript and does the same.

const { spawnSync } = require('node:child_process')
const { chmodSync, copyFileSync, linkSync, renameSync, rmSync } = require('node:fs')
const { join } = require('node:path')

/** @typedef {{ name: string, os: string, cpu: string }} Platform */

const COMMAND = join(__dirname, '../bin/troupe')
/** Timeout in ms for the start of the client. A slower one is not used. */
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
      // Fails if the client was built for another libc.
      if (spawnSync(path, ['--client-version'], options).stdout === `${version}\n`) return path
    } catch {
      // This package is not installed.
    }
  }
  return undefined
}

/** @param {string} path */
function link(path) {
  const newFile = `${COMMAND}.new`
  try {
    rmSync(newFile, { force: true })
    try {
      linkSync(path, newFile)
    } catch {
      // The packages are on different file systems.
      copyFileSync(path, newFile)
    }
    renameSync(newFile, COMMAND)
  } catch (/** @type {any} */ error) {
    rmSync(newFile, { force: true })
    console.warn(`troupe: commands start with Node: ${error.message}`)
  }
}

// Windows recognizes programs by their extension, so `bin/troupe` stays a script. Yarn starts every
// command with Node, and can use one installation on several platforms.
const isYarn = process.env.npm_config_user_agent?.startsWith('yarn/')
const path = process.platform === 'win32' || isYarn ? undefined : client()
if (path) link(path)
