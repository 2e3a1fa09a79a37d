// The table of browsers: which end-to-end tests run with each, and which features it lacks.
//
// The tests are written for any browser. `TEST_BROWSER` selects the one that they start
// (`browser.mjs`). `npm test` runs them with Chromium, and `npm run test:full` with every browser.
// `only-this-browser.mjs` skips the tests that are listed here, and reports the reason.

/**
 * @typedef {object} Row
 * @property {number} [timeoutFactor] factor for the time limits of tests, relative to Chromium. It
 *   includes the start of the browser
 * @property {string[]} [onlyFiles] the files that run with this browser. Others do not depend on
 *   the binary
 * @property {string[]} [restFiles] the files and folders that `npm run test:full -- --rest` runs
 *   with this browser. Without it, all run
 * @property {string[]} [withoutTools] tools that fail and suggest an alternative
 * @property {Record<string, Record<string, string>>} unsupported the reasons why tests do not run,
 *   by file or folder, and by the name of the test or `describe` (`*`: the whole file)
 */

const NO_FILE_SYSTEM_ACCESS = 'this browser does not implement the File System Access API'

const IN_MEMORY = 'the test uses no browser'
/** Reason for tests of messages, protocol versions, prompts and guards. */
const SERVER_ALONE = 'the test covers the server only'

/** Reason for tests of suggestions in errors. */
const SUGGESTIONS = 'each test would start a browser; the suggestions are those of the server'

/** Reason for tests that run the page script without the server, always in Chromium. */
const PAGE_SCRIPT = 'the page script runs in Chromium'

const IS_CHROMIUM = 'the test uses its own Chromium'

const NO_SOCKETS = 'BiDi does not report WebSocket requests as such'

/** What WebKit's driver does not support. */
const NO_CONSOLE = 'WebDriver does not report console messages'
const NO_REQUESTS = 'WebDriver does not report requests and cannot mock them'
const POLLED_REQUESTS =
  'WebDriver reports requests only when it is polled: on a busy machine, that takes longer than the 1,500 ms'
const NO_DIALOG_KIND = 'WebDriver does not report the type of a dialog'
const NO_FILE_CHOOSERS = 'WebDriver does not report file choosers that a page opens'
const POPUP_DIALOG =
  'the driver reports dialogs of its current window only, and cannot switch to a window with an open dialog'
const SCROLLBAR = 'its screenshots show the fading scrollbar'
const AFTER_PAGE_SCRIPTS =
  'WebDriver cannot run a script before those of the page, whose listeners on the window run first'
const KEYS = 'the driver presses Meta as Alt and Meta, and sends two events for a key with Control'

const SEEMS_STABLE =
  'without a display, two frames follow each other at once, so a moving element seems stable'
const BROWSER_PER_SESSION =
  'its driver needs a browser process for each session, and none runs before the first session'
const NO_BEFOREUNLOAD = 'WebDriver navigates without the `beforeunload` dialog'
const NO_PDF = 'WebKit’s driver cannot print'
const NOT_TERMINATED = 'WebDriver cannot terminate a script, nor navigate while one runs'
const OTHER_BUTTONS = 'its driver does not release mouse buttons other than the left one'
const NO_PROXY =
  'WebKit’s connections do not go through the proxy: with network rules, it does not start'
const WITHOUT_STATUS = 'WebDriver does not report the HTTP status'

/** Tests that run with Chromium only. @type {Row['unsupported']} */
const ABOUT_CHROMIUM = {
  'bad-input/details.test.mjs': { '*': SERVER_ALONE },
  'bad-input/parameters.test.mjs': { '*': SERVER_ALONE },
  'bad-input/sessions.test.mjs': { '*': SERVER_ALONE },
  'extraction/budget.test.mjs': { '*': SERVER_ALONE },
  'interaction/sockets.test.mjs': { '*': 'only Chromium reports the messages of a WebSocket' },
  'library/': { '*': SERVER_ALONE },
  'page/accname.test.mjs': { '*': PAGE_SCRIPT },
  'page/actions.test.mjs': { '*': PAGE_SCRIPT },
  'page/large.test.mjs': { '*': PAGE_SCRIPT },
  'page/line-cache.test.mjs': { '*': PAGE_SCRIPT },
  'page/rules.test.mjs': { '*': PAGE_SCRIPT },
  'page/targets.test.mjs': { '*': PAGE_SCRIPT },
  'browsers.test.mjs': { '*': IN_MEMORY },
  'cli/completions.test.mjs': { '*': SERVER_ALONE },
  'cli/daemon.test.mjs': { '*': SERVER_ALONE },
  'cli/native.test.mjs': { '*': SERVER_ALONE },
  'dashboard/live.test.mjs': { 'takes no images while nobody watches': IS_CHROMIUM },
  'dashboard/page.test.mjs': { '*': 'the page is tested once, with Chromium' },
  'playwright/': { '*': 'the pages are compared once, with Chromium' },
  'page/wpt.test.mjs': { '*': PAGE_SCRIPT },
  'protocol/calls.test.mjs': { '*': SERVER_ALONE },
  'protocol/eras.test.mjs': { '*': SERVER_ALONE },
  'protocol/large-messages.test.mjs': { '*': SERVER_ALONE },
  'protocol/order.test.mjs': { '*': SERVER_ALONE },
  'protocol/prompts.test.mjs': { '*': SERVER_ALONE },
  'protocol/refusals.test.mjs': { '*': SERVER_ALONE },
  'record/command.test.mjs': { '*': SERVER_ALONE },
  'record/deaths.test.mjs': { '*': SERVER_ALONE },
  'record/growth.test.mjs': { '*': SERVER_ALONE },
  'record/places.test.mjs': { '*': SERVER_ALONE },
  'record/replay.test.mjs': { '*': SERVER_ALONE },
  'safety/boundaries.test.mjs': { '*': SERVER_ALONE },
  'safety/files.test.mjs': { '*': SERVER_ALONE },
  'safety/sandbox.test.mjs': { '*': IS_CHROMIUM },
  'state/events.test.mjs': { '*': SERVER_ALONE },
  'tools/sessions.test.mjs': { '*': SERVER_ALONE },
  'transports/': { '*': SERVER_ALONE },
  'package.test.mjs': { '*': IN_MEMORY },
  'docs/': { '*': 'the documents are checked once, with Chromium' },
  'bad-input/lines.test.mjs': { 'a line': SERVER_ALONE },
  'life/environment.test.mjs': { '*': SERVER_ALONE },
  'life/sessions.test.mjs': { '*': IN_MEMORY },
  'life/websocket.test.mjs': { '*': 'this browser is always reached over a WebSocket' },
  'properties/lifetime.test.mjs': { '*': IN_MEMORY },
  'requirements/requirement-8.test.mjs': { '*': SERVER_ALONE },
  'requirements/requirement-9.test.mjs': { '*': SERVER_ALONE },
  'life/binaries.test.mjs': { '*': 'the test selects a browser itself' },
  'life/headed.test.mjs': { '*': 'the test selects a browser itself' },
  'life/install.test.mjs': { '*': 'the test selects a browser itself' },
  'life/attach-firefox.test.mjs': { '*': 'the test selects a browser itself' },
  'life/attach.test.mjs': { '*': 'the browser that is attached to is a Chromium' },
  'life/grid.test.mjs': { '*': 'the browsers of the Grid are Chromium' },
  'life/browser-command.test.mjs': { '*': 'the browser that is attached to is a Chromium' },
  'life/hosted.test.mjs': { '*': 'the browser that is attached to is a Chromium' },
  'life/no-browser.test.mjs': {
    'one that is installed later is found without a restart': IS_CHROMIUM
  },
  'protocol/start.test.mjs': {
    '`initialize` and `tools/list` are answered while the browser still starts': IS_CHROMIUM
  },
  'requirements/requirement-6.test.mjs': {
    '6.1 without --browser, the server starts Chromium': 'the test passes --browser'
  },
  'clients/': { '*': 'the tests are about the clients' },
  'deploy/': { '*': 'the deployments are checked once, with Chromium' },
  'upstream/': { '*': 'the tests do not start a browser' },
  'apps/': { '*': 'the apps are driven once, with Chromium' },
  'miniwob/': { '*': 'the pages are driven once, with Chromium' }
}

/**
 * Files and folders whose tests depend most on the protocol of the browser. CI runs only these with
 * Firefox and WebKit: all tests with both would need more than its time limit.
 */
const ABOUT_PROTOCOL = [
  'bad-input/dialogs.test.mjs',
  'bad-input/elements.test.mjs',
  'bad-input/navigation.test.mjs',
  'extraction/text.test.mjs',
  'interaction/',
  'life/ends.test.mjs',
  'network/',
  'page/closed-roots.test.mjs',
  'page/frames.test.mjs',
  'safety/rules.test.mjs',
  'state/storage-state.test.mjs',
  'tools/every.test.mjs',
  'waiting/leaving.test.mjs'
]

/** @type {Record<string, Row>} */
export const BROWSERS = {
  chromium: { unsupported: {} },
  // `chromium --headless` instead of the headless shell: the files whose result depends on the
  // binary.
  chrome: {
    timeoutFactor: 3,
    onlyFiles: [
      'bad-input/dialogs.test.mjs',
      'extraction/pictures.test.mjs',
      'interaction/files.test.mjs',
      'interaction/pointer.test.mjs',
      'network/downloads.test.mjs',
      'page/frames.test.mjs'
    ],
    unsupported: ABOUT_CHROMIUM
  },
  firefox: {
    timeoutFactor: 4,
    restFiles: ABOUT_PROTOCOL,
    unsupported: {
      ...ABOUT_CHROMIUM,
      'extraction/pictures.test.mjs': {
        'refs are drawn at their elements at any device scale':
          'Firefox does not emulate devices (--device)'
      },
      'life/deaths.test.mjs': {
        'that an action has opened, the action reports that, and its own page keeps working':
          'in Firefox, a same-site page that a page opens shares its process, and crashes with it'
      },
      'navigation/navigation.test.mjs': {
        'go_back does not leave the history of a page for its initial empty document':
          'in Firefox, the initial empty document is not a history entry',
        'each navigation reports the dialog of a popup that opens during the load, with its page':
          'in Firefox, a dialog blocks only its own page'
      },
      'network/': {
        'offline mode applies to navigations and new pages; mocks still respond':
          'when offline, Firefox starts no navigations, so a mock cannot respond to them',
        'mock_response applies to out-of-process iframes':
          'BiDi does not report shared and service workers',
        'set_throttling limits latency, download and upload independently, also in new pages':
          'Firefox’s throttling sends the data for a second at once',
        'includes WebSockets with their start, and no data: URLs': NO_SOCKETS,
        'websocket requests are logged with their type, and can be blocked': NO_SOCKETS,
        'block_resource websocket prevents WebSockets from opening': NO_SOCKETS,
        'blocked WebSockets stay blocked when the network is throttled': NO_SOCKETS,
        'prefetch requests are logged with their type, and can be blocked':
          'prefetching is disabled in Firefox',
        'includes frames and workers, and mocked and blocked requests':
          'BiDi does not report shared and service workers',
        'block_resource applies to pages, frames and workers, and to pages that open later':
          'BiDi does not report shared and service workers',
        'mock_response applies to pages, frames and workers until it is removed':
          'BiDi does not report shared and service workers',
        'set_offline blocks every kind of request, and unblocks it':
          'BiDi does not report shared and service workers'
      },
      'interaction/files.test.mjs': {
        'a chooser of the File System Access API is reported as unsupported': NO_FILE_SYSTEM_ACCESS
      },
      'page/oracle.test.mjs': { '*': 'Chromium’s accessibility tree is the oracle' },
      'waiting/leaving.test.mjs': {
        'reports the dialog to go_back; dismissed it stays, accepted it leaves':
          'in Firefox, the initial empty document is not a history entry',
        'blocks its opener, which reports the name of the popup':
          'in Firefox, the opener keeps running tasks, and BiDi does not report what its script waits for'
      },
      'state/storage-state.test.mjs': {
        'contains the partitioned cookies of a cross-site frame':
          'BiDi does not report the partition of such a cookie'
      },
      'waiting/afterwards.test.mjs': {
        'a response of unknown length is awaited while data arrives, and reported as open':
          'BiDi does not report received data, so Troupe waits until `--timeout-settle`'
      },
      'tools/suggestions.test.mjs': { '*': SUGGESTIONS },
      'waiting/speed.test.mjs': {
        '*': 'the limits are for Chromium; `npm run bench` has those for Firefox'
      }
    }
  },
  webkit: {
    timeoutFactor: 6,
    restFiles: ABOUT_PROTOCOL,
    withoutTools: [
      'block_resource',
      'get_console_content',
      'get_request_log',
      'mock_response',
      'save_pdf',
      'set_offline',
      'set_throttling'
    ],
    unsupported: {
      ...ABOUT_CHROMIUM,
      'cli/skill.test.mjs': { 'consists of commands that work one after the other': NO_PDF },
      'dashboard/handoff.test.mjs': {
        'recognizes the URL of the frame of a CAPTCHA': NO_REQUESTS
      },
      'dashboard/takeover.test.mjs': {
        'answers a dialog': NO_DIALOG_KIND,
        'chooses an option in a closed shadow root of a cross-site iframe':
          'WebDriver does not return closed shadow roots',
        'opens a dropdown list with the keyboard in a cross-site iframe':
          'WebDriver does not return closed shadow roots',
        'gives the page files for its file chooser': NO_FILE_CHOOSERS,
        'leaves no files after a kill of the server and the next start': NO_FILE_CHOOSERS
      },
      'life/page-options.test.mjs': { '*': 'its driver supports none of these options' },
      'bad-input/dialogs.test.mjs': {
        '*': 'WebDriver does not report the type of a dialog, nor its default value'
      },
      'bad-input/elements.test.mjs': {
        '#moving of /buttons is not clicked: moving': SEEMS_STABLE,
        'that keeps moving is never considered stable, in any number of attempts': SEEMS_STABLE
      },
      'bad-input/lines.test.mjs': {
        'a line': SERVER_ALONE,
        'with an unpaired surrogate in its texts can be read': NO_CONSOLE
      },
      'bad-input/navigation.test.mjs': {
        'to a missing page succeeds with the status 404': WITHOUT_STATUS,
        'to a page that opens a dialog returns immediately with the dialog': NO_DIALOG_KIND,
        'away from a page with a beforeunload handler reports its dialog': NO_BEFOREUNLOAD
      },
      'extraction/many.test.mjs': {
        'closed shadow roots are found beside 1,500 blank elements':
          'WebDriver does not return closed shadow roots'
      },
      'extraction/pictures.test.mjs': {
        'annotate of a full page includes elements below the viewport': SCROLLBAR,
        'compare_screenshots compares an element, a full page, a JPEG and another size': SCROLLBAR,
        'refs are drawn at their elements at any device scale':
          'WebDriver does not emulate devices (--device)',
        'save_pdf writes a PDF of the page without overwriting a file': NO_PDF,
        'save_pdf writes only to its folders': NO_PDF
      },
      'extraction/text.test.mjs': {
        'read_page reads shadow roots and very deep pages':
          'WebKit does not render elements that are nested deeper than 512 levels'
      },
      'interaction/files.test.mjs': {
        'a chooser of the File System Access API is reported as unsupported': NO_FILE_SYSTEM_ACCESS,
        'upload_file answers the file chooser of a cross-site frame, out-of-process too':
          'WebDriver does not report file choosers',
        'upload_file answers a file chooser, and the click reports the chooser':
          'WebDriver does not report file choosers',
        'upload_file reports invalid input': 'WebDriver does not report file choosers'
      },
      'interaction/frames.test.mjs': {
        'in a frame that is zoomed are clicked, hovered over, checked and filled':
          'WebKit does not zoom the documents of frames, and reports boxes without zoom: https://bugs.webkit.org/show_bug.cgi?id=255955',
        'in a frame in a shadow root are clicked, hovered over, checked and filled':
          'WebDriver does not switch to frames in shadow roots',
        'are not reported as clicked if the page covers their frame when the pointer arrives':
          AFTER_PAGE_SCRIPTS
      },
      'interaction/keys.test.mjs': {
        'press dispatches the events of each key': KEYS,
        'a single modifier is the left one': KEYS,
        'a character dispatches keydown, keypress, beforeinput, input, keyup; a command inserts no text':
          KEYS,
        'shortcuts select, copy, cut, paste and undo': KEYS,
        '`modifiers` are held around the key, alone and combined': KEYS
      },
      'life/ends.test.mjs': {
        'at the end of stdin, while the browser starts': IS_CHROMIUM,
        'at SIGTERM, while the browser starts': IS_CHROMIUM,
        'at SIGINT, while the browser starts': IS_CHROMIUM
      },
      'life/no-browser.test.mjs': {
        ...ABOUT_CHROMIUM['life/no-browser.test.mjs'],
        'one that does not start is reported with its stderr': 'the test starts its driver instead',
        'an invalid executable is reported': 'the test starts its driver instead'
      },
      'protocol/resources.test.mjs': {
        'the network log of a page is listed and read': NO_REQUESTS
      },
      'protocol/start.test.mjs': {
        ...ABOUT_CHROMIUM['protocol/start.test.mjs'],
        'the browser starts before the first call': BROWSER_PER_SESSION
      },
      'record/content.test.mjs': {
        'console logs do NOT implement diff (always return full logs for ref_id)': NO_CONSOLE,
        'reading the record is not recorded; snake_case names of tools and parameters are accepted':
          NO_CONSOLE,
        'is returned with levels and locations, with --store memory': NO_CONSOLE,
        'is returned with levels and locations, with --store none': NO_CONSOLE,
        'returns the metadata of the call, and its content on demand': NO_CONSOLE
      },
      'interaction/changes.test.mjs': {
        'contains what the page shows some time after a response': NO_REQUESTS,
        'contains what a part of the program shows after it was loaded': NO_REQUESTS,
        'contains what a busy page shows after it has loaded a part of the program': NO_REQUESTS,
        'contains what a page with hundreds of resources shows some time after a response':
          NO_REQUESTS
      },
      'interaction/forms.test.mjs': {
        'fill and check work in closed shadow roots':
          'WebDriver does not return closed shadow roots'
      },
      'interaction/no-effect.test.mjs': {
        'reports the uncaught error that it caused': NO_CONSOLE,
        'reports the first of several errors, and truncates it': NO_CONSOLE
      },
      'interaction/pointer.test.mjs': {
        'drag_and_drop works with drag events and with pointer events, in frames too':
          'WebDriver does not start native drags',
        'a ref never clicks the element that has replaced its element': AFTER_PAGE_SCRIPTS,
        'an element that covers the target after the check does not receive the click, and is awaited':
          AFTER_PAGE_SCRIPTS,
        'a covering element is reported, and was not clicked': AFTER_PAGE_SCRIPTS,
        'a link opened in a new tab by a modifier or the middle button is a new page, without a wait':
          'MiniBrowser opens no window for a link that is clicked with a modifier'
      },
      'life/pool.test.mjs': {
        'are started up to the maximum, each session in the one with the fewest, and closed again down to the minimum':
          BROWSER_PER_SESSION,
        'crash independently: sessions in the others are not affected': BROWSER_PER_SESSION,
        'are used by new sessions: with an empty page, and without data of other sessions':
          BROWSER_PER_SESSION,
        'are not used by sessions with options, and end with their browser': BROWSER_PER_SESSION
      },
      'life/deaths.test.mjs': {
        'between two calls, the next one has the log-in, the form and the refs':
          'the test mocks its site, and WebDriver cannot mock',
        'when a page crashes':
          'when a renderer crashes, its WebDriver session ends, and the session is resumed',
        'while the browser starts, the browser ends too':
          'the browser that starts slowly is a Chromium'
      },
      'navigation/overview.test.mjs': {
        'reports that an empty page is still loading': NO_REQUESTS,
        'waits for content that the page loads by script': POLLED_REQUESTS,
        'waits until the page shows what it has requested after its load event': POLLED_REQUESTS
      },
      'navigation/navigation.test.mjs': {
        'each navigation reports the dialog of a popup that opens during the load, with its page':
          POPUP_DIALOG,
        'each navigation reports a dialog of the new or the previous page': NO_DIALOG_KIND,
        'handle_dialog returns the new page after an accepted beforeunload dialog': NO_BEFOREUNLOAD,
        'wait_for_load waits for each stage, and returns at once if it is reached': WITHOUT_STATUS,
        'go_back and go_forward move through the history, and report its ends': WITHOUT_STATUS,
        'reload uses the cache, unless `ignoreCache` is set': WITHOUT_STATUS,
        'are opened, listed, selected and closed; calls without a pageId use the current one':
          WITHOUT_STATUS
      },
      'network/': { '*': 'WebDriver does not support network interception' },
      'page/closed-roots.test.mjs': { '*': 'WebDriver does not return closed shadow roots' },
      'page/frames.test.mjs': {
        'of another site run init scripts too': 'WebDriver runs no script before the page’s own'
      },
      'page/oracle.test.mjs': { '*': 'Chromium’s accessibility tree is the oracle' },
      'record/redaction.test.mjs': {
        'a password is not written if it is typed key by key, appended to, or sent in a URL':
          NO_REQUESTS,
        'a short password is not written as a separate word': NO_REQUESTS,
        'cookies and Authorization are not written': NO_REQUESTS,
        'cookies and Authorization are written with --record-headers': NO_REQUESTS
      },
      'safety/attacks.test.mjs': { '*': NO_PROXY },
      'safety/gateways.test.mjs': { '*': NO_PROXY },
      'safety/proxy.test.mjs': { '*': 'WebKit’s driver does not support proxy credentials' },
      'safety/rules.test.mjs': {
        'reports the rule, the URL and a suggestion, however it was triggered': NO_PROXY,
        'reports the rule if its host name resolves to a blocked address': NO_PROXY,
        'from a public page to a private one says that the client can navigate there itself':
          NO_PROXY,
        'from a public page to a private one stays blocked after the client went back': NO_PROXY,
        'stays blocked in a resumed session, and hosts that the client has navigated to stay allowed':
          NO_PROXY,
        'is blocked in every notation of its address, compared with another URL parser': NO_PROXY,
        'a page whose host name is rebound to 127.0.0.1 (DNS rebinding) gets no data from a server on a port':
          NO_PROXY
      },
      'safety/secrets.test.mjs': {
        'is typed by its name, and is in nothing that leaves the process': NO_REQUESTS,
        'is masked for programs, too, which see passwords': NO_REQUESTS
      },
      'requirements/requirement-3.test.mjs': {
        '3.2 a navigation returns the title, the final URL and the status': WITHOUT_STATUS
      },
      'requirements/requirement-4.test.mjs': {
        '4.3 a missing element is reported as ELEMENT_NOT_FOUND, one that cannot be clicked as ELEMENT_NOT_CLICKABLE':
          SEEMS_STABLE,
        '4.5 timeout, force, clickCount and button are used': OTHER_BUTTONS
      },
      'requirements/requirement-6.test.mjs': {
        ...ABOUT_CHROMIUM['requirements/requirement-6.test.mjs'],
        '6.3 without --headless the browser has a window': BROWSER_PER_SESSION,
        '6.3 without a display the browser runs headless, and one line reports that':
          BROWSER_PER_SESSION,
        '6.4 --headless determines whether the browser has a window': BROWSER_PER_SESSION
      },
      'requirements/requirement-7.test.mjs': {
        '7.1 the server starts one browser automatically': BROWSER_PER_SESSION,
        '7.2 each new session is created in that browser': BROWSER_PER_SESSION,
        '7.3 the browser keeps running when all sessions are closed': BROWSER_PER_SESSION
      },
      'properties/browser.test.mjs': {
        'Property 8: Headless Mode Configuration':
          'it always has a window, on a virtual display if it is headless'
      },
      'properties/isolation.test.mjs': {
        'Property 11: all sessions run in one browser process': BROWSER_PER_SESSION
      },
      'properties/operations.test.mjs': {
        'Property 5: Navigation Returns Complete Response': WITHOUT_STATUS
      },
      'store/bucket.test.mjs': {
        'are not replaced, and have new names if the client has not chosen one': NO_PDF,
        'include those of the Playwright tools': NO_CONSOLE
      },
      'tools/suggestions.test.mjs': { '*': SUGGESTIONS },
      'state/storage-state.test.mjs': {
        'contains the partitioned cookies of a cross-site frame':
          'WebDriver does not report the partition of such a cookie'
      },
      'waiting/afterwards.test.mjs': {
        'a response of unknown length is awaited while data arrives, and reported as open':
          NO_REQUESTS,
        'a drag without effect is reported':
          'WebDriver does not start native drags, such as that of a selection',
        'a click with another button or with modifiers reaches the page with them': OTHER_BUTTONS
      },
      'waiting/busy.test.mjs': {
        'a call with a timeout ends in time, and the page can navigate': NOT_TERMINATED
      },
      'waiting/leaving.test.mjs': {
        'reports the dialog to click; dismissed it stays, accepted it leaves': NO_BEFOREUNLOAD,
        'reports the dialog to navigate; dismissed it stays, accepted it leaves': NO_BEFOREUNLOAD,
        'reports the dialog to reload; dismissed it stays, accepted it leaves': NO_BEFOREUNLOAD,
        'reports the dialog to go_back; dismissed it stays, accepted it leaves': NO_BEFOREUNLOAD,
        'blocks its opener, which reports the name of the popup': POPUP_DIALOG
      },
      'waiting/speed.test.mjs': { '*': 'the limits are for Chromium' }
    }
  }
}

/**
 * Files and folders below `__test__` that only `npm run test:full` runs: they need apps, clients,
 * pages or validators of other projects.
 */
export const FULL_ONLY = [
  'apps/',
  'clients/',
  'deploy/',
  'miniwob/',
  'page/oracle.test.mjs',
  'playwright/applications.test.mjs',
  'playwright/locators.test.mjs',
  'playwright/snapshot.test.mjs',
  'transports/openapi.test.mjs'
]

/**
 * Files that only `npm run test:full` without `--rest` runs, in addition: each takes more than a
 * minute, or its programs do.
 */
export const NOT_IN_CI = [
  'apps/grid.test.mjs',
  'page/large.test.mjs',
  'playwright/generated-code.test.mjs',
  'store/outages.test.mjs'
]

/** Files that measure durations or start many browsers. No other file runs at the same time. */
export const ALONE = [
  'bad-input/navigation.test.mjs',
  'life/churn.test.mjs',
  'life/deaths.test.mjs',
  'life/ends.test.mjs',
  'network/conditions.test.mjs',
  'page/frames.test.mjs',
  'playwright/differential.test.mjs',
  'protocol/large-messages.test.mjs',
  'protocol/order.test.mjs',
  'properties/ten-sessions.test.mjs',
  'state/kills.test.mjs',
  'state/resume.test.mjs',
  'transports/conversations.test.mjs',
  'transports/sessions.test.mjs',
  'waiting/afterwards.test.mjs',
  'waiting/leaving.test.mjs',
  'waiting/ready.test.mjs'
]

/**
 * Returns whether no test of this file runs with this browser.
 * @param {string} browser
 * @param {string} file
 */
export function runsNone(browser, file) {
  return entriesOf(browser, file).some((names) => '*' in names)
}

/**
 * Returns the reason why this test does not run with this browser, if there is one.
 * @param {string} browser
 * @param {string} file
 * @param {string} name
 */
export function unsupported(browser, file, name) {
  for (const names of entriesOf(browser, file)) {
    const reason = names[name] ?? names['*']
    if (reason) return reason
  }
}

/** Returns the entries of the table for a file. @param {string} browser @param {string} file */
function entriesOf(browser, file) {
  const rows = Object.entries(BROWSERS[browser]?.unsupported ?? {})
  return rows
    .filter(([path]) => (path.endsWith('/') ? file.startsWith(path) : file === path))
    .map(([, names]) => names)
}
