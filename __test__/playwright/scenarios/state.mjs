// Storage, media, screenshots, files and settings.
import { click, evaluate, scenario, snapshot, visit } from '../scenario.mjs'

/** @param {string} verb @param {object} [more] @returns {import('../scenario.mjs').Call} */
const cookie = (verb, more = {}) => [`browser_cookie_${verb}`, more]
/**
 * @param {string} kind
 * @param {string} verb
 * @param {object} [more]
 * @returns {import('../scenario.mjs').Call}
 */
const storage = (kind, verb, more = {}) => [`browser_${kind}storage_${verb}`, more]
/** @param {object} [more] @returns {import('../scenario.mjs').Call} */
const screenshot = (more = {}) => ['browser_take_screenshot', more]
/** @param {object} more @returns {import('../scenario.mjs').Call} */
const media = (more) => ['browser_emulate_media', more]
const MATCHES = `() => ['(prefers-color-scheme: dark)', '(prefers-reduced-motion: reduce)', '(forced-colors: active)', '(prefers-contrast: more)', 'print'].map((query) => matchMedia(query).matches)`

/** @param {string} kind @returns {import('../scenario.mjs').Call[]} */
const storageCalls = (kind) => [
  storage(kind, 'list'),
  storage(kind, 'set', { key: 'a', value: '1' }),
  storage(kind, 'set', { key: "it's", value: 'line\nbreak "q"' }),
  storage(kind, 'list'),
  storage(kind, 'get', { key: 'a' }),
  storage(kind, 'get', { key: 'none' }),
  storage(kind, 'delete', { key: 'a' }),
  storage(kind, 'get', { key: 'a' }),
  storage(kind, 'clear'),
  storage(kind, 'list')
]

/** @type {import('../scenario.mjs').Scenario[]} */
export const STATE = [
  scenario('cookies', '<p>Cookies</p>', [
    cookie('list'),
    visit('/set-cookies'),
    cookie('list'),
    cookie('get', { name: 'hidden' }),
    cookie('get', { name: 'none' }),
    cookie('set', { name: 'own', value: 'v=1' }),
    cookie('set', {
      name: 'full',
      value: 'x',
      domain: '127.0.0.1',
      path: '/p',
      expires: 4000000000,
      httpOnly: true,
      sameSite: 'Strict'
    }),
    cookie('get', { name: 'full' }),
    cookie('set', { name: 'insecure', value: 'x', sameSite: 'None', secure: false }),
    cookie('set', { name: 'elsewhere', value: 'x', domain: 'example.com', secure: true }),
    cookie('list', { domain: '127.0.0.1' }),
    cookie('list', { path: '/p' }),
    evaluate('() => document.cookie'),
    cookie('delete', { name: 'own' }),
    cookie('delete', { name: "it's" }),
    cookie('clear'),
    cookie('list')
  ]),
  scenario('local-storage', '<p>Local</p>', storageCalls('local')),
  scenario('session-storage', '<p>Session</p>', storageCalls('session')),
  scenario(
    'storage-state',
    `<script>localStorage.setItem('k', 'v'); document.cookie = 'c=1; max-age=1000'</script><p>State</p>`,
    [
      ['browser_storage_state', { filename: 'saved.json' }],
      ['browser_storage_state'],
      ['browser_set_storage_state', { filename: 'state.json' }],
      cookie('list'),
      storage('local', 'list'),
      ['browser_set_storage_state', { filename: 'saved.json' }],
      cookie('list'),
      storage('local', 'list'),
      ['browser_set_storage_state', { filename: 'none.json' }],
      ['browser_set_storage_state', { filename: '/etc/hostname' }]
    ]
  ),
  scenario(
    'media',
    '<style>@media (prefers-color-scheme: dark) { p { display: none } }</style><p>Light only</p><p hidden>x</p>',
    [
      evaluate(MATCHES),
      media({ colorScheme: 'dark' }),
      snapshot(),
      media({ reducedMotion: 'reduce', forcedColors: 'active', contrast: 'more', media: 'print' }),
      evaluate(MATCHES),
      media({ colorScheme: null, media: null }),
      evaluate(MATCHES),
      media({}),
      media({ reducedMotion: null, forcedColors: null, contrast: null }),
      evaluate(MATCHES)
    ]
  ),
  scenario(
    'resize',
    '<style>@media (max-width: 500px) { h1 { display: none } }</style><h1>Wide</h1>',
    [
      evaluate('() => [innerWidth, innerHeight]'),
      ['browser_resize', { width: 400, height: 600 }],
      evaluate('() => [innerWidth, innerHeight]'),
      snapshot(),
      ['browser_resize', { width: 1000.5, height: 600 }],
      ['browser_resize', { width: 0, height: 0 }]
    ]
  ),
  scenario(
    'screenshots',
    '<div style="height:1500px"><h1 style="width:300px;height:50px;margin:0">Title</h1></div>',
    [
      screenshot(),
      screenshot({ fullPage: true }),
      screenshot({ target: 'ref:heading "Title"', element: 'the title' }),
      screenshot({ target: 'h1' }),
      screenshot({ type: 'jpeg' }),
      screenshot({ filename: 'shot.png' }),
      screenshot({ filename: 'folder/shot.jpeg', fullPage: true }),
      screenshot({ filename: 'shot.webp' }),
      screenshot({ scale: 'device' }),
      screenshot({ filename: '../outside.png' }),
      screenshot({ target: '#none' })
    ]
  ),
  scenario('pdf', '<h1>Paper</h1>', [
    ['browser_pdf_save'],
    ['browser_pdf_save', { filename: 'paper.pdf' }],
    ['browser_pdf_save', { filename: '/tmp/elsewhere.pdf' }]
  ]),
  scenario('snapshot-files', '<main><h1>Saved</h1><p>Text</p><button>Go</button></main>', [
    snapshot({ filename: 'page.yml' }),
    snapshot({ filename: 'deep/page.md' }),
    snapshot({ target: 'main', filename: 'main.yml', boxes: true }),
    ['browser_find', { text: 'text', filename: 'found.md' }],
    snapshot({ filename: '/etc/page.yml' }),
    click('ref:button "Go"')
  ]),
  scenario('get-config', '<p>Config</p>', [['browser_get_config']])
]
