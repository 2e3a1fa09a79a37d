/** Roles according to "ARIA in HTML" and the HTML accessibility mappings. */
import { callCache } from '../dom/call-cache'
import {
  attr,
  composedParent,
  elementClosest,
  hasAttr,
  isHtml,
  localName,
  namespaceOf,
  nextElement,
  parentNode,
  previousElement,
  textContent
} from '../dom/composed-tree'
import { words } from '../dom/words'
import { hasExplicitName } from './explicit-name'

/** All roles that `role=` accepts, without abstract roles. */
export const knownRoles = words(
  'alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox comment complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading img image insertion link list listbox listitem log main mark marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox sectionfooter sectionheader separator slider spinbutton status strong subscript suggestion superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem ' +
    'doc-abstract doc-acknowledgments doc-afterword doc-appendix doc-backlink doc-biblioentry doc-bibliography doc-biblioref doc-chapter doc-colophon doc-conclusion doc-cover doc-credit doc-credits doc-dedication doc-endnote doc-endnotes doc-epigraph doc-epilogue doc-errata doc-example doc-footnote doc-foreword doc-glossary doc-glossref doc-index doc-introduction doc-noteref doc-notice doc-pagebreak doc-pagelist doc-part doc-preface doc-prologue doc-pullquote doc-qna doc-subtitle doc-tip doc-toc graphics-document graphics-object graphics-symbol'
)

/** Roles of interactive elements. */
export const widgetRoles = words(
  'button checkbox combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio option radio scrollbar searchbox slider spinbutton switch tab textbox treeitem'
)

export const landmarkRoles = words(
  'banner complementary contentinfo form main navigation region search'
)

/** Roles whose name can come from their contents. */
export const namedByContent = words(
  'button cell checkbox columnheader comment gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row rowheader switch tab term tooltip treeitem doc-backlink doc-biblioref doc-glossref doc-noteref sectionfootnote'
)

/** Roles whose descendants are presentational. */
export const presentationalChildren = words(
  'button checkbox img image graphics-symbol math menuitemcheckbox menuitemradio meter option progressbar radio scrollbar separator slider switch tab'
)

const globalAttributes = [
  'aria-atomic',
  'aria-busy',
  'aria-controls',
  'aria-current',
  'aria-describedby',
  'aria-details',
  'aria-dropeffect',
  'aria-flowto',
  'aria-grabbed',
  'aria-keyshortcuts',
  'aria-label',
  'aria-labelledby',
  'aria-live',
  'aria-owns',
  'aria-relevant',
  'aria-roledescription',
  'aria-braillelabel',
  'aria-brailleroledescription',
  'aria-description'
]

/**
 * Returns whether an element has a global ARIA attribute. `disabled`, `haspopup`, `errormessage`
 * and `invalid` are global for some roles only and do not cancel `presentation`.
 */
function hasGlobalAttribute(element: Element): boolean {
  return globalAttributes.some((name) => {
    const value = attr(element, name)
    return value !== null && value.trim() !== ''
  })
}

const nativelyFocusable = words('button details summary input select textarea iframe')

/** Returns whether an element is focusable. */
export function isFocusable(element: Element): boolean {
  const tag = localName(element)
  if (hasAttr(element, 'tabindex'))
    return !Number.isNaN(parseInt(attr(element, 'tabindex') ?? '', 10))
  if (tag === 'a' || tag === 'area') return hasAttr(element, 'href')
  if (tag === 'input' && attr(element, 'type')?.toLowerCase() === 'hidden') return false
  if (tag === 'summary') return isDetailsSummary(element)
  if (nativelyFocusable.has(tag))
    return tag !== 'details' && !(element as HTMLButtonElement).disabled
  if ((tag === 'audio' || tag === 'video') && hasAttr(element, 'controls')) return true
  return hasAttr(element, 'contenteditable') && isEditingHost(element)
}

/** Returns whether `contenteditable` makes an element editable. */
export function isEditingHost(element: Element): boolean {
  const value = attr(element, 'contenteditable')
  return value !== null && value.toLowerCase() !== 'false' && value.toLowerCase() !== 'inherit'
}

/** Returns whether a `summary` is the first one of its `details`. Others are not interactive. */
export function isDetailsSummary(element: Element): boolean {
  const parent = element.parentElement
  if (!parent || localName(parent) !== 'details') return false
  for (let before = previousElement(element); before; before = previousElement(before))
    if (localName(before) === 'summary') return false
  return true
}

const sectioning =
  'article, aside, main, nav, section, [role=article], [role=complementary], [role=main], [role=navigation], [role=region]'

/** Roles of inputs by their type. */
export const inputRoles: Record<string, string> = {
  button: 'button',
  submit: 'button',
  reset: 'button',
  image: 'button',
  file: 'button',
  color: 'button',
  checkbox: 'checkbox',
  radio: 'radio',
  range: 'slider',
  number: 'spinbutton',
  search: 'searchbox',
  text: 'textbox',
  email: 'textbox',
  tel: 'textbox',
  url: 'textbox',
  password: 'textbox',
  date: 'textbox',
  'datetime-local': 'textbox',
  month: 'textbox',
  time: 'textbox',
  week: 'textbox'
}

/** Tags whose role depends on nothing else. */
export const plainRoles = new Map<string, string>(
  Object.entries({
    address: 'group',
    article: 'article',
    blockquote: 'blockquote',
    button: 'button',
    caption: 'caption',
    code: 'code',
    datalist: 'listbox',
    dd: 'definition',
    del: 'deletion',
    details: 'group',
    dfn: 'term',
    dialog: 'dialog',
    dt: 'term',
    em: 'emphasis',
    fieldset: 'group',
    figure: 'figure',
    h1: 'heading',
    h2: 'heading',
    h3: 'heading',
    h4: 'heading',
    h5: 'heading',
    h6: 'heading',
    hgroup: 'group',
    hr: 'separator',
    html: 'document',
    iframe: 'iframe',
    frame: 'iframe',
    ins: 'insertion',
    main: 'main',
    mark: 'mark',
    math: 'math',
    menu: 'list',
    meter: 'meter',
    nav: 'navigation',
    ol: 'list',
    optgroup: 'group',
    option: 'option',
    output: 'status',
    p: 'paragraph',
    progress: 'progressbar',
    s: 'deletion',
    search: 'search',
    strong: 'strong',
    sub: 'subscript',
    sup: 'superscript',
    svg: 'img',
    table: 'table',
    textarea: 'textbox',
    time: 'time',
    ul: 'list',
    audio: 'audio',
    video: 'video',
    canvas: 'canvas',
    embed: 'embed',
    object: 'object'
  })
)

/** Returns the implicit role of a tag, null for tags without one (`div`, `span`). */
export function implicitRole(element: Element, tag = localName(element)): string | null {
  switch (tag) {
    case 'div':
    case 'span':
      return isEditingHost(element) ? 'textbox' : null
    case 'a':
    case 'area':
      return hasAttr(element, 'href') ||
        (tag === 'a' &&
          namespaceOf(element) === 'http://www.w3.org/2000/svg' &&
          hasAttr(element, 'xlink:href'))
        ? 'link'
        : null
    case 'li':
      return isListItem(element) ? 'listitem' : null
    case 'td':
      return tableRole(element, 'cell')
    case 'th':
      return headerCellRole(element)
    case 'tr':
      return tableRole(element, 'row')
    case 'tbody':
    case 'thead':
    case 'tfoot':
      return tableRole(element, 'rowgroup')
    case 'img':
      return attr(element, 'alt') === '' && !hasAttr(element, 'title') && !hasExplicitName(element)
        ? 'presentation'
        : 'img'
    case 'input': {
      const type = (attr(element, 'type') ?? 'text').toLowerCase()
      if (type === 'hidden') return null
      const role = inputRoles[type] ?? 'textbox'
      return hasAttr(element, 'list') &&
        (role === 'textbox' || role === 'searchbox') &&
        (element as HTMLInputElement).list
        ? 'combobox'
        : role
    }
    case 'select':
      return hasAttr(element, 'multiple') || (element as HTMLSelectElement).size > 1
        ? 'listbox'
        : 'combobox'
    case 'header':
    case 'footer':
      return elementClosest(element, sectioning)
        ? null
        : tag === 'header'
          ? 'banner'
          : 'contentinfo'
    case 'aside':
      return !elementClosest(element.parentElement ?? element, 'article, aside, nav, section') ||
        hasExplicitName(element)
        ? 'complementary'
        : null
    case 'section':
      return hasExplicitName(element) ? 'region' : null
    case 'form':
      return hasExplicitName(element) ? 'form' : null
    case 'summary':
      return isDetailsSummary(element) ? 'button' : null
    default:
      return plainRoles.get(tag) ?? (isEditingHost(element) ? 'textbox' : null)
  }
}

function isListItem(element: Element): boolean {
  const parent = composedParent(element)
  if (!parent) return false
  const role = explicitRole(parent)
  if (role)
    return (
      role === 'list' || role === 'directory' || (role === 'group' && localName(parent) !== 'div')
    )
  const tag = localName(parent)
  return tag === 'ul' || tag === 'ol' || tag === 'menu'
}

/** Returns the role of the table that contains a row or cell, null if there is no table. */
function ownTable(part: Element): string | null {
  const parent = parentNode(part)
  const cache = callCache()
  if (cache && parent !== null && parent === cache.row) return cache.tableRole
  const table = elementClosest(part, 'table')
  const role = table ? (explicitRole(table) ?? 'table') : null
  // Cached, because a traversal visits the cells of a row one after the other.
  if (cache) {
    cache.row = parent
    cache.tableRole = role
  }
  return role
}

function tableRole(part: Element, role: string): string | null {
  const table = ownTable(part)
  if (table === 'table') return role
  if (table === 'grid' || table === 'treegrid') return role === 'cell' ? 'gridcell' : role
  return null
}

function headerCellRole(cell: Element): string | null {
  const table = ownTable(cell)
  if (table !== 'table' && table !== 'grid' && table !== 'treegrid') return null
  const scope = attr(cell, 'scope')?.toLowerCase()
  if (scope === 'col' || scope === 'colgroup') return 'columnheader'
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader'
  const before = previousElement(cell)
  const after = nextElement(cell)
  // A cell is not the header of an empty sibling.
  const isData = (sibling: Element | null): boolean =>
    sibling !== null && localName(sibling) === 'td' && /[^ \t\n\f\r]/.test(textContent(sibling))
  return isData(before) || isData(after) ? 'rowheader' : 'columnheader'
}

/**
 * Returns whether `role=presentation` is ignored. It does not apply to focusable elements and to
 * elements with a global ARIA attribute.
 */
function presentationIsIgnored(element: Element): boolean {
  return hasGlobalAttribute(element) || (isHtml(element) && isFocusable(element))
}

/** Returns the first valid role in the `role` attribute, null if there is none. */
export function explicitRole(element: Element): string | null {
  const value = attr(element, 'role')
  if (!value) return null
  for (const token of value.toLowerCase().split(/\s+/)) {
    if (!knownRoles.has(token)) continue
    if (token === 'none' || token === 'presentation') {
      if (presentationIsIgnored(element)) return null
      return 'presentation'
    }
    if (token === 'image') return 'img'
    if (token === 'directory') return 'list'
    if ((token === 'region' || token === 'form') && !hasExplicitName(element)) continue
    return token
  }
  return null
}

/** Returns the role of an element, "generic" if it has no other. */
export function roleOf(element: Element, mayBeExplicit = true, tag = localName(element)): string {
  if (mayBeExplicit) {
    const explicit = explicitRole(element)
    if (explicit !== null) return explicit
  }
  const implicit = implicitRole(element, tag)
  if (implicit === null) return 'generic'
  if (implicit === 'term' || implicit === 'definition') {
    const list = elementClosest(element, 'dl')
    if (list && explicitRole(list) === 'presentation') return 'generic'
  }
  return implicit
}
