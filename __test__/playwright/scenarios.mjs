// All scenarios of the differential test.
import { CONTENT } from './scenarios/content.mjs'
import { DIALOGS } from './scenarios/dialogs.mjs'
import { FORMS } from './scenarios/forms.mjs'
import { FRAMES } from './scenarios/frames.mjs'
import { INTERACTION } from './scenarios/interaction.mjs'
import { NETWORK } from './scenarios/network.mjs'
import { OPTIONS } from './scenarios/options.mjs'
import { STATE } from './scenarios/state.mjs'

/**
 * @typedef {import('./scenario.mjs').Scenario} Scenario
 * @typedef {import('./scenario.mjs').Call} Call
 */

/** @type {Scenario[]} */
export const SCENARIOS = [
  ...FORMS,
  ...INTERACTION,
  ...DIALOGS,
  ...FRAMES,
  ...NETWORK,
  ...STATE,
  ...CONTENT,
  ...OPTIONS
]

/** All documents, by path. @type {Record<string, string>} */
export const PAGES = Object.assign({}, ...SCENARIOS.map(({ pages }) => pages))
