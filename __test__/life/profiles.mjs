// The folder that each browser is given, for its profile and its temporary files.
import { dirname } from 'node:path'
import { profileOf } from '../support/processes.mjs'

/**
 * Those of these browsers, by their own arguments.
 * @param {import('../support/processes.mjs').Process[]} browsers
 */
export function profileFolders(browsers) {
  return browsers.map((browser) => dirname(profileOf(browser) ?? ''))
}
