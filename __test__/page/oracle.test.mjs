// Compares the roles and names in snapshots with Chromium's own accessibility tree, on real pages.
//
// Compared are all elements that have a line in the snapshot and a node in Chromium's tree.
// Tolerated differences:
// - Chromium's internal names of roles are translated (CHROMIUM_ROLES).
// - Names are compared without white space and invisible characters (soft hyphens, zero-width
//   spaces, private-use characters of icon fonts). Chromium separates boxes by their layout,
//   accname by their `display`.
// - A name is the computed accessible name. The line may show less if the children contain it,
//   which is checked separately.
// - A row without an explicit name has no name in the snapshot. Chromium names the rows of some
//   tables.
// Elements that only one side has are listed below the figures and not counted: the snapshot omits
// wrappers, empty lists, images without a size, and the contents of named links and headings.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { serveApp } from '../../scripts/demo-app.mjs'
import { ROOT } from '../../scripts/run.mjs'
import { PACKAGES, serveFiles } from '../apps/app.mjs'
import { DEBIAN_PAGES, NPM_PAGES } from './oracle-pages.mjs'
import { World, bundle, launchChromium } from './world.mjs'

/** Chromium's names of roles that differ from those of ARIA. */
const CHROMIUM_ROLES = {
  Abbr: 'generic',
  Audio: 'audio',
  Canvas: 'canvas',
  ColorWell: 'button',
  ComboBoxSelect: 'combobox',
  ContentDeletion: 'deletion',
  ContentInsertion: 'insertion',
  Date: 'textbox',
  DateTime: 'textbox',
  DescriptionList: 'list',
  DescriptionListDetail: 'definition',
  DescriptionListTerm: 'term',
  Details: 'group',
  DisclosureTriangle: 'button',
  DisclosureTriangleGrouped: 'button',
  EmbeddedObject: 'embed',
  Figcaption: 'caption',
  FooterAsNonLandmark: 'generic',
  GraphicsDocument: 'img',
  HeaderAsNonLandmark: 'generic',
  Iframe: 'iframe',
  IframePresentational: 'iframe',
  InputTime: 'textbox',
  LabelText: 'generic',
  Legend: 'generic',
  MathMLMath: 'math',
  MenuListPopup: 'listbox',
  PluginObject: 'object',
  PopUpButton: 'combobox',
  Pre: 'generic',
  Ruby: 'generic',
  SearchBox: 'searchbox',
  Section: 'generic',
  SvgRoot: 'img',
  TextFieldWithComboBox: 'combobox',
  Time: 'time',
  Video: 'video',
  image: 'img',
  none: 'generic',
  sectionfooter: 'generic',
  sectionheader: 'generic'
}

/** Reasons for differences, and for elements that only one side has. @type {[RegExp, string][]} */
const EXPLAINED = [
  [
    /LayoutTable/,
    'Chromium guesses which tables are there for the layout; by HTML they are tables'
  ],
  [/ but for capital letters$/, 'Chromium applies `text-transform`, which accname does not know'],
  [/ but for its end$/, 'Chromium ends a long name where it has followed enough nodes'],
  [
    /^name of generic/,
    'ARIA 1.2 lets nothing name it, but the snapshot shows its `title`: often all that a button of an old app has'
  ],
  [
    /Chromium: (code|emphasis|strong|superscript|subscript|mark|time|insertion|deletion)$/,
    'read as plain text'
  ],
  [/Chromium: rowgroup$/, 'rows are listed directly below their table'],
  [/Chromium: (img|heading)$/, 'inside a link or button, whose name contains it'],
  [/Chromium: (alert|status|log|list)$/, 'empty: it has no content yet']
]
const UNEXPLAINED = 'NOT EXPLAINED'
const why = (kind) => EXPLAINED.find(([pattern]) => pattern.test(kind))?.[1] ?? UNEXPLAINED

/** Roles without meaning: an element with such a role need not be in both. */
const PLAIN = new Set(['generic', 'none', 'presentation', 'paragraph', 'iframe', 'group'])

/** Apps that fetch parts of themselves after the load event. */
const LATE = /ckeditor4|traceViewer|:\d+\/$/

const bare = (name) => (name ?? '').replace(/[\u00ad\u200b\ufeff\u2028\ue000-\uf8ff\s]/g, '')

/**
 * Returns the browser's accessibility tree by backend id, and these ids in the order of
 * oracle-entry.ts.
 */
async function treeOf({ cdp }) {
  const { root } = await cdp.send('DOM.getDocument', { depth: -1, pierce: true })
  const ids = []
  const visit = (node) => {
    for (const child of node.children ?? []) {
      if (child.nodeType !== 1) continue
      ids.push(child.backendNodeId)
      for (const shadow of child.shadowRoots ?? [])
        if (shadow.shadowRootType === 'open') visit(shadow)
      visit(child)
    }
  }
  visit(root)
  const { nodes } = await cdp.send('Accessibility.getFullAXTree')
  const tree = new Map()
  for (const node of nodes) {
    const { backendDOMNodeId: id } = node
    // The first node is the element. The others (list markers, inline boxes) are generated from it.
    if (id && !tree.has(id)) tree.set(id, node)
  }
  return { ids, tree }
}

/** Resolves when the page has not changed for half a second, or at a timeout. */
const QUIET = `new Promise((resolve) => {
  let timer = setTimeout(resolve, 500)
  setTimeout(resolve, 10_000)
  new MutationObserver(() => {
    clearTimeout(timer)
    timer = setTimeout(resolve, 500)
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
})`

/**
 * Reads the page from both sides. Repeats it until the page has not changed in between.
 * @param {World} world
 */
async function readBoth(world) {
  for (let attempt = 0; attempt < 10; attempt++) {
    const before = await world.evaluate('__describePage()')
    const { ids, tree } = await treeOf(world)
    if ((await world.evaluate('__describePage()')) === before)
      return { troupe: JSON.parse(before), ids, tree }
    await world.evaluate(QUIET)
  }
  throw new Error('the page changed during each read')
}

/** @param {World} world */
async function compare(world) {
  const { troupe, ids, tree } = await readBoth(world)
  const figures = { compared: 0, agreed: 0, differences: [], oneOnly: [] }
  for (const { index, role, name, shown, html } of troupe.lines) {
    const node = tree.get(ids[index])
    if (!node || node.ignored) {
      if (!PLAIN.has(role))
        figures.oneOnly.push({ kind: `only in the snapshot: ${role}`, example: html })
      continue
    }
    const chromium = {
      role: CHROMIUM_ROLES[node.role.value] ?? node.role.value,
      name: node.name?.value ?? ''
    }
    figures.compared++
    const sameName = bare(chromium.name) === bare(name) || (role === 'row' && shown === '')
    if (chromium.role !== role)
      figures.differences.push({
        kind: `role ${role}, in Chromium ${node.role.value}`,
        example: html
      })
    else if (!sameName) {
      const [ownName, other] = [bare(name), bare(chromium.name)]
      const small = ownName.toLowerCase() === other.toLowerCase() ? ' but for capital letters' : ''
      const end = other.length > 500 && ownName.startsWith(other) ? ' but for its end' : ''
      figures.differences.push({
        kind: `name of ${role}${small || end}`,
        example: `${JSON.stringify(name)}, in Chromium ${JSON.stringify(chromium.name)}: ${html}`
      })
    } else if (
      shown !== '' &&
      !bare(name).includes(bare(shown)) &&
      !/^(cell|row|gridcell|columnheader|rowheader|term)$/.test(role)
    ) {
      figures.differences.push({
        kind: `shown name of ${role}`,
        example: `${JSON.stringify(shown)} of ${JSON.stringify(name)}: ${html}`
      })
    } else figures.agreed++
  }
  for (const { index, role, html } of troupe.rest) {
    const node = tree.get(ids[index])
    const chromium =
      node && !node.ignored ? (CHROMIUM_ROLES[node.role.value] ?? node.role.value) : 'generic'
    if (chromium === role && !PLAIN.has(role))
      figures.oneOnly.push({ kind: `only in Chromium: ${role}`, example: html })
  }
  return figures
}

/** Formats one line per kind of difference: the number, the kind, the reason and an example. */
function tally(found) {
  const kinds = new Map()
  for (const { kind, example } of found) kinds.set(kind, [...(kinds.get(kind) ?? []), example])
  return [...kinds]
    .sort(([, left], [, right]) => right.length - left.length)
    .map(
      ([kind, examples]) =>
        `${String(examples.length).padStart(6)} ${kind} (${why(kind)}), e.g. ${examples[0].slice(0, 200)}`
    )
}

describe(
  'roles and names against Chromium',
  { timeout: 240_000, skip: existsSync(PACKAGES) ? false : 'run `npm run setup`' },
  () => {
    test('roles and names agree for 99 of 100 common elements on at least 30 real pages', async (t) => {
      const app = await serveApp()
      t.after(app.close)
      const origin = await serveFiles(t, { folder: ROOT })
      const urls = [...[...NPM_PAGES, ...DEBIAN_PAGES].map((path) => `${origin}/${path}`), app.url]
      const browser = await launchChromium(t)
      const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
      const source = bundle('__test__/page/oracle-entry.ts')
      const all = { compared: 0, agreed: 0, differences: [], oneOnly: [] }
      for (const url of urls) {
        await page.goto(url, { waitUntil: 'load' })
        const world = await World.of(page, source)
        if (LATE.test(url)) await world.evaluate(QUIET)
        const { compared, agreed, differences, oneOnly } = await compare(world)
        await world.close()
        t.diagnostic(
          `${String(agreed).padStart(5)} of ${String(compared).padStart(5)} ${url.replace(/^.*(node_modules|doc)\//, '')}`
        )
        all.compared += compared
        all.agreed += agreed
        all.differences.push(...differences)
        all.oneOnly.push(...oneOnly)
      }
      const rate = (100 * all.agreed) / all.compared
      t.diagnostic(
        `${urls.length} pages, ${all.agreed} of ${all.compared} elements agree: ${rate.toFixed(2)} %`
      )
      for (const line of [
        'what differs:',
        ...tally(all.differences),
        'what only one has:',
        ...tally(all.oneOnly)
      ])
        t.diagnostic(line)
      assert.ok(urls.length >= 30, `only ${urls.length} pages are there`)
      assert.ok(rate >= 99, `${rate.toFixed(2)} % agree`)
      const found = [...all.differences, ...all.oneOnly]
      assert.deepEqual(
        found.filter(({ kind }) => why(kind) === UNEXPLAINED),
        [],
        'each difference has its reason'
      )
    })
  }
)
