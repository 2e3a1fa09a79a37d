// Real third-party pages, by the package that contains them. Pages of npm packages are always
// available, those of Debian's documentation if `npm run setup` could unpack it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../scripts/run.mjs'

const APPS = '__test__/apps/node_modules'
const DOCS = '.cache/docs/usr/share/doc'

/** @param {string} folder @param {string[]} names */
const below = (folder, names) => names.map((name) => `${folder}/${name}.html`)

export const NPM_PAGES = [
  // A Bootstrap admin dashboard: cards, tables, forms, menus.
  ...below(`${APPS}/startbootstrap-sb-admin-2`, [
    'index',
    'tables',
    'charts',
    'cards',
    'buttons',
    'login',
    'register',
    'forgot-password',
    '404',
    'blank',
    'utilities-border',
    'utilities-color',
    'utilities-animation',
    'utilities-other'
  ]),
  // Editors with their toolbars.
  ...below(`${APPS}/ckeditor4/samples`, [
    'index',
    'toolbarconfigurator/index',
    'old/index',
    'old/api',
    'old/appendto',
    'old/dialog/dialog',
    'old/divreplace',
    'old/htmlwriter/outputhtml',
    'old/inlineall',
    'old/readonly',
    'old/replacebycode',
    'old/tabindex',
    'old/tableresize/tableresize',
    'old/toolbar/toolbar',
    'old/uilanguages',
    'old/xhtmlstyle'
  ]),
  ...below(`${APPS}/medium-editor/demo`, [
    'index',
    'button-example',
    'clean-paste',
    'multi-editor',
    'table-extension',
    'textarea'
  ]),
  `${APPS}/jkanban/example/index.html`,
  `${APPS}/dragula/index.html`,
  'node_modules/playwright-core/lib/vite/traceViewer/index.html'
]

export const DEBIAN_PAGES = [
  ...below(`${DOCS}/r-doc-html/manual`, ['R-ints', 'R-lang']),
  ...below(`${DOCS}/git-doc`, ['git', 'git-rebase', 'user-manual', 'gittutorial', 'git-log']),
  ...below(`${DOCS}/libxml2-doc`, ['xmllint']),
  ...below(`${DOCS}/maint-guide/html`, ['dreq.en', 'first.en']),
  ...below(`${DOCS}/python-flask-doc/html`, ['quickstart', 'api', 'config']),
  ...below(`${DOCS}/sphinx-doc/html`, [
    'usage/quickstart',
    'usage/configuration',
    'usage/restructuredtext/basics'
  ]),
  ...below(`${DOCS}/debian-policy/policy.html`, ['ch-opersys', 'ch-controlfields'])
].filter((path) => existsSync(join(ROOT, path)))
