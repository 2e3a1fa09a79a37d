// The folder that each browser is given, for its profile and its temporary files.
import { dirname } from 'node:path'

/** Those of these browsers, by their own arguments. @param {import('../support/processes.mjs').Process[]} browsers */
export function profileFolders(browsers) {
  return browsers.map(({ command }) => {
    const argument = command.find((argument) => argument.startsWith('--user-data-dir=')) ?? ''
    return dirname(argument.slice('--user-data-dir='.length))
  })
}
