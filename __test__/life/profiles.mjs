// The folders that browsers are given, as README and src/engine/chromium/launch.rs have them.
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Where all of them are. */
export const ROOT = join(tmpdir(), `troupe-browsers-${process.getuid?.()}`)

/** Those of these browsers, by their own arguments. @param {import('../support/processes.mjs').Process[]} browsers */
export function profileFolders(browsers) {
  return browsers.map(({ command }) => {
    const argument = command.find((argument) => argument.startsWith('--user-data-dir=')) ?? ''
    return dirname(argument.slice('--user-data-dir='.length))
  })
}

export function existingFolders() {
  try {
    return readdirSync(ROOT).map((name) => join(ROOT, name))
  } catch {
    return []
  }
}
