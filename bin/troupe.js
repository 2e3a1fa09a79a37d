#!/usr/bin/env node
'use strict'

// The launcher. It loads only the addon, because clients wait for its start. It must not use
// process.stdin or process.stdout: Node would make these pipes non-blocking, but the addon serves
// them.

/**
 * Exit codes for a second signal. JavaScript handles signals, because tokio's handlers livelock
 * inside Node.
 */
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }

async function main() {
  let native
  try {
    native = require('../lib/addon.js')
  } catch (/** @type {any} */ error) {
    console.error(error.message)
    return 1
  }
  let stopping = false
  for (const [signal, code] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      if (stopping) process.exit(code)
      stopping = true
      native.stopCli()
    })
  }
  return native.runCli(process.argv.slice(2), [process.execPath, __filename])
}

main().then(
  (code) => process.exit(code),
  (error) => {
    console.error(`troupe: ${error?.message ?? error}`)
    process.exit(70)
  }
)
