// Which policy is for which kind of task, and which kinds have none.
import { CLICKING } from './policies/clicking.mjs'
import { DRAGGING } from './policies/dragging.mjs'
import { EMAIL } from './policies/email.mjs'
import { FORMS } from './policies/forms.mjs'
import { APPS } from './policies/pages.mjs'
import { DRAWINGS } from './policies/shapes.mjs'

/** @typedef {import('./policies/clicking.mjs').Policy} Policy */

/** @type {Record<string, Record<string, Policy>>} */
export const GROUPS = {
  'buttons, links, boxes and menus': CLICKING,
  'text fields, dates, lists and sliders': FORMS,
  'a mailbox': EMAIL,
  'shapes, colors and drawings': DRAWINGS,
  'drags, selections and scrolling': DRAGGING,
  'small apps and games': APPS
}

export const SEEDS = ['1', '2', '3']

/**
 * Seeds of kinds with an episode that cannot be solved, or not on a slow machine.
 * @type {Record<string, string[]>}
 */
export const OTHER_SEEDS = {
  // With seed 2, two messages have the sender that the task names, and the page accepts one of
  // them.
  'email-inbox-forward': ['1', '3', '4'],
  'email-inbox-noscroll': ['1', '3', '4'],
  // With seed 1, the wanted item is selected from the start, and the menu ignores a click on it.
  'click-pie-nodelay': ['2', '3', '4'],
  // With seed 2, the opponent blocks every line.
  'tic-tac-toe': ['1', '3', '4'],
  // With these, the time between two clicks may be wrong by 450 ms, not by 150 ms.
  'button-delay': ['2', '3', '6'],
  // With these, the price stays below the limit for seconds.
  'stock-market': ['1', '7', '18'],
  // With these, the sequence is the shortest one.
  'simon-says': ['1', '5', '7']
}

/** @param {string} kind */
export const seedsOf = (kind) => OTHER_SEEDS[kind] ?? SEEDS

/** Kinds without a policy, each with its reason. @type {Record<string, string>} */
export const UNSOLVED = {
  'chase-circle': 'the pointer must follow a circle for 10 s',
  'count-sides': 'the shape is drawn on a canvas, which only a picture shows',
  'hover-shape': 'the page gives no reward: its code for that is commented out',
  'moving-items': 'circles must be clicked while they move, for 10 s',
  'number-checkboxes': 'the example is a picture'
}
