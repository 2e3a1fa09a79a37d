// Scenarios with options of the server.
import {
  click,
  documentOf,
  evaluate,
  hover,
  locator,
  press,
  scenario,
  select,
  snapshot,
  type,
  visit
} from '../scenario.mjs'

/**
 * @param {string[]} options
 * @param {Parameters<typeof scenario>} of
 * @returns {import('../scenario.mjs').Scenario}
 */
const withOptions = (options, ...of) => ({ ...scenario(...of), options })

const FORM = `<h1>Form</h1><label>Name <input></label><button onclick="console.log('pressed'); console.error('failed')">Go</button>`

const EACH_ACTION = `${FORM}<p data-qa="note" draggable="true">Note</p><p data-testid="other">Other</p>
<select multiple aria-label="Colors"><option>Red</option><option>Blue</option></select>
<label><input type="checkbox"> Agree</label><ul><li>One</li><li>Two</li></ul>
<button>Save</button><button>Save</button><button>Save all</button><b>it's \\ "quoted"</b>
<iframe title="Inner page" src="/code-frame"></iframe>`

const FIELDS = [
  { name: 'Name', type: 'textbox', target: 'ref:textbox', value: 'TOKEN' },
  { name: 'Agree', type: 'checkbox', target: 'ref:checkbox', value: 'true' },
  { name: 'Colors', type: 'combobox', target: 'ref:listbox', value: 'Blue' }
]

/** @type {import('../scenario.mjs').Call[]} */
const CALLS_WITH_CODE = [
  click('ref:button "Go"'),
  click('ref:button "Go"', { button: 'right', modifiers: ['Alt', 'Shift'] }),
  click('ref:button "Go"', { doubleClick: true, modifiers: ['Control'] }),
  type('ref:textbox', 'a "b" \\ \'c\'', { submit: true }),
  type('ref:textbox', 'slow', { slowly: true }),
  evaluate('() => 1'),
  ['browser_fill_form', { fields: FIELDS }],
  ['browser_fill_form', { fields: [{ ...FIELDS[1], value: 'false' }] }],
  select('ref:listbox', 'Red', 'Blue'),
  select('ref:listbox', 'Red'),
  select('ref:listbox'),
  hover('ref:Note'),
  press('Tab'),
  click('ref:button "Inner"'),
  click('ref:button "Save" [ref'),
  click('getByRole("button", { name: "Save", exact: true }).nth(1)'),
  click('getByRole("button", { name: "Save", exact: true }).last()'),
  click('getByRole("button", { name: /^save ALL/i })'),
  click("getByText(/it's/)"),
  click('getByText("Two", { exact: true })'),
  click('getByLabel("Agree")'),
  click('getByTestId("note")'),
  click('locator("li").filter({ hasText: "One" })'),
  click('getByRole("list").filter({ has: getByText("One") }).getByText("Two")'),
  click('getByRole("checkbox", { checked: true })'),
  click('locator("iframe").contentFrame().getByRole("button", { name: "Inner" })'),
  locator('[data-qa]'),
  locator('[data-testid]'),
  locator('getByTestId("note")'),
  ['browser_verify_element_visible', { role: 'button', accessibleName: 'Go' }],
  ['browser_verify_text_visible', { text: 'Two' }],
  ['browser_verify_list_visible', { element: 'list', target: 'ref:list [', items: ['One', 'Two'] }],
  [
    'browser_verify_value',
    { element: 'Name', type: 'textbox', target: 'ref:textbox', value: 'abc def' }
  ],
  [
    'browser_verify_value',
    { element: 'Agree', type: 'checkbox', target: 'ref:checkbox', value: 'true' }
  ],
  [
    'browser_verify_value',
    { element: 'Agree', type: 'checkbox', target: 'ref:checkbox', value: 'false' }
  ],
  ['browser_drag', { startTarget: 'ref:Note', endTarget: 'ref:Other' }],
  ['browser_navigate_back']
]

/** @type {import('../scenario.mjs').Scenario[]} */
export const OPTIONS = [
  withOptions(
    ['--snapshot-mode', 'none', '--codegen', 'none', '--image-responses', 'omit'],
    'few-sections',
    FORM,
    [click('text=Go'), type('input', 'x'), snapshot(), ['browser_take_screenshot']]
  ),
  withOptions(['--snapshot-boxes', '--file-paths', 'absolute'], 'boxes-and-absolute-paths', FORM, [
    click('ref:button "Go"'),
    snapshot(),
    snapshot({ boxes: false }),
    ['browser_take_screenshot', { filename: 'shot.png' }],
    ['browser_find', { text: 'go' }]
  ]),
  withOptions(
    ['--output-dir', 'results', '--console-level', 'error', '--image-responses', 'only'],
    'output-directory',
    FORM,
    [
      click('ref:button "Go"'),
      snapshot({ filename: 'named.yml' }),
      ['browser_take_screenshot'],
      ['browser_take_screenshot', { filename: 'shot.png' }],
      ['browser_pdf_save']
    ]
  ),
  ...['python', 'java', 'csharp'].map((language) =>
    withOptions(
      ['--test-id-attribute', 'data-qa', '--codegen', language, '--secrets', 'secrets.env'],
      `${language}-code`,
      EACH_ACTION,
      CALLS_WITH_CODE,
      { '/code-frame': documentOf('frame', '<button>Inner</button>') }
    )
  ),
  withOptions(
    ['--secrets', 'secrets.env'],
    'secrets',
    `<input aria-label="Pass" oninput="out.textContent = this.value"><p id="out"></p>`,
    [
      type('ref:textbox', 'PASSWORD'),
      snapshot(),
      type('ref:textbox', 'hunter2'),
      [
        'browser_fill_form',
        { fields: [{ name: 'Pass', type: 'textbox', target: 'ref:textbox', value: 'TOKEN' }] }
      ],
      evaluate("() => document.querySelector('input').value"),
      evaluate("() => console.log('hunter2')"),
      ['browser_console_messages'],
      snapshot({ filename: 'page.yml' })
    ]
  ),
  withOptions(
    [
      ...['--viewport-size', '800x600', '--user-agent', 'Custom/1.0', '--init-script', 'init.js'],
      ...['--storage-state', 'stored.json', '--grant-permissions', 'geolocation']
    ],
    'context-options',
    '<p>Page</p>',
    [
      evaluate(
        '() => [innerWidth, innerHeight, navigator.userAgent, window.initialized, document.cookie]'
      ),
      evaluate("async () => (await navigator.permissions.query({ name: 'geolocation' })).state"),
      ['browser_take_screenshot'],
      ['browser_cookie_list']
    ]
  ),
  withOptions(
    ['--device', 'iPhone 15'],
    'device',
    '<meta name="viewport" content="width=device-width"><p>Phone</p><button>Tap</button>',
    [
      evaluate(
        '() => [innerWidth, innerHeight, devicePixelRatio, navigator.maxTouchPoints, navigator.userAgent.includes("iPhone")]'
      ),
      click('ref:button "Tap"'),
      ['browser_take_screenshot'],
      ['browser_take_screenshot', { scale: 'device' }]
    ]
  ),
  withOptions(['--config', 'config.json'], 'configuration-file', FORM, [
    evaluate('() => [innerWidth, innerHeight, navigator.language]'),
    click('text=Go'),
    ['browser_wait_for', { text: 'Never' }]
  ]),
  withOptions(
    ['--allow-unrestricted-file-access', '--block-service-workers'],
    'all-files',
    '<input type="file" aria-label="File">',
    [
      click('ref:button "File"'),
      ['browser_file_upload', { paths: ['/etc/hostname'] }],
      ['browser_navigate', { url: 'file://{directory}/upload.txt' }],
      visit('/all-files')
    ]
  ),
  withOptions(
    ['--blocked-origins', 'http://localhost:*'],
    'blocked-origins',
    '<p id="out">Waiting</p>',
    [
      evaluate(
        "() => fetch(location.origin.replace('127.0.0.1', 'localhost') + '/api/users').then(() => 'allowed', String)"
      ),
      ['browser_network_requests', { static: true }],
      ['browser_navigate', { url: '{other}/blocked-origins' }]
    ]
  )
]
