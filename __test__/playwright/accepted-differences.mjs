// Every accepted difference between Troupe's Playwright set and @playwright/mcp.

/**
 * @typedef {{ reason: string, calls?: string[], pattern?: RegExp, replacement?: string }}
 *   AcceptedDifference
 *   `calls` are `scenario[index]`, or `scenario` for all of its calls: their answers are not
 *   compared. Matches of `pattern` are replaced in all answers of both servers before they are
 *   compared.
 */

/** At most this many are accepted. */
export const MAX_ACCEPTED = 25

/** @type {AcceptedDifference[]} */
export const ACCEPTED = [
  {
    reason: 'the call log of an error names what was waited for and the reason, not each step',
    pattern: /\n\u001b\[2m.*?\u001b\[22m/g
  },
  {
    reason: 'the stack of an exception has no frames of Playwright’s own script',
    pattern: /\n {4}at (?:eval|UtilityScript).*/g
  },
  {
    reason: 'the value of a password field is masked',
    calls: ['text-fields[3]', 'text-fields[5]']
  },
  {
    reason: 'errors about values and elements say what the element is and what it accepts',
    calls: [
      'special-inputs[6]',
      'special-inputs[7]',
      'not-editable[5]',
      'not-editable[6]',
      'not-editable[7]'
    ]
  },
  {
    reason: 'an invalid selector is an error that names the selector',
    calls: ['selectors[22]']
  },
  {
    reason: 'the result of browser_close has no page, because the session is closed already',
    calls: ['special-inputs[8]', 'navigation-history[11]', 'blocked-origins[4]']
  },
  {
    reason: 'the former name `ref` of the parameter `target` is accepted',
    calls: ['argument-errors[3]']
  },
  {
    reason: 'a downloaded file keeps the name that the site suggests',
    calls: ['downloads[3]']
  },
  {
    reason: 'closed shadow roots are shown; Chromium uses one to show JSON',
    calls: ['closed-shadow', 'http-errors[11]', 'http-errors[12]']
  },
  {
    reason: 'the details of a request do not have the headers that Chromium adds later',
    calls: ['routes[5]']
  },
  {
    reason: 'objects in console messages are shown with their properties',
    calls: ['page-errors[4]', 'page-errors[5]']
  },
  {
    reason: 'scripts run in the page without Playwright’s serializer, which changes some errors',
    calls: ['evaluate[14]', 'evaluate[19]', 'evaluate[24]']
  },
  {
    reason: 'a cookie that browsers reject is an error',
    calls: ['cookies[9]']
  },
  {
    reason: 'the page is loaded again after its storage was restored, so its scripts run again',
    calls: ['storage-state[4]', 'storage-state[5]']
  },
  {
    reason: 'browser_get_config does not show the keys that Troupe does not have',
    calls: ['get-config[1]']
  },
  {
    reason: 'scripts cannot read a page that holds a secret that was typed by name',
    calls: ['secrets[5]', 'secrets[6]', 'secrets[7]']
  },
  {
    reason: 'the error of a blocked request does not name the inspector',
    pattern: /(?<=net::ERR_BLOCKED_BY_CLIENT)\.Inspector$/gm
  }
]
