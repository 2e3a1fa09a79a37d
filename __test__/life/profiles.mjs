// The folder that each browser is given, for its profile and its temporary files.
import { dirname } from 'node:path'
import { profileOf } from '../support/processes.mjs'

/**
 * Returns the profile folders of these browsers from their arguments.
 * @param {import('../support/processes.mjs').Process[]} browsers
 */
export function profileFolders(browsers) {
  return browsers.map((browser) => dirname(profileOf(browser) ?? ''))
}
