/**
 * Walks the composed tree for a snapshot. Decides which elements become lines, and computes their
 * names and states. Each value is computed once, from the top down. Nothing is computed for folded
 * elements.
 */
import {
  activeElement,
  attr,
  byIds,
  composedContains,
  composedParent,
  eachComposedChild,
  attributeKindsOf,
  firstElementChild,
  HAS_ACTION,
  HAS_ARIA,
  HAS_CLASS,
  HAS_FIELD_STATE,
  HAS_INERT,
  HAS_OTHER,
  HAS_ROLE,
  HAS_STYLE,
  HAS_TITLE,
  hasAttr,
  localName,
  nodeType,
  normalize,
  queryAll,
  rootOf,
  shadowRootOf,
  textContent
} from '../dom/composed-tree'
import { observeRoot, processPendingRecords } from '../dom/mutation-observer'
import {
  AFTER,
  animationsRun,
  BEFORE,
  blockChecks,
  CURSOR,
  DISPLAY,
  isBlock,
  isShown,
  modalDialogs,
  pseudoText,
  Rendering,
  renderingOf,
  ruleIndexOf,
  VISIBILITY
} from '../dom/styles'
import { authorName, fieldValue, nameOf } from '../roles/accessible-name'
import { isDisabled, isSelected, stateText } from '../roles/aria-states'
import { labelledByElements } from '../roles/explicit-name'
import {
  isEditingHost,
  isFocusable,
  landmarkRoles,
  namedByContent,
  presentationalChildren,
  roleOf,
  widgetRoles
} from '../roles/roles'
import { seemsSelected } from './hints'
import { beginCachedWalk, cachedLine, cacheLine, isSelfContained, ownChangeAt } from './line-cache'
import {
  isNode,
  makeNode,
  mergeText,
  noItems,
  onlyChild,
  scalar,
  type TreeChild,
  type TreeNode
} from './node'

export interface WalkOptions {
  interactive: boolean
  /** With `interactive`: includes repeated elements, and messages with their text. */
  overview: boolean
  depth: number
  fold: number
  /** Includes the cursor of widgets too, like Playwright. */
  cursors: boolean
}

// State that children inherit.
const INVISIBLE = 1
const DISABLED = 2
const POINTER = 4
/** The name of an ancestor contains the text. */
const NAMED = 8
/** Inside `details`: also checks whether elements without attributes are rendered. */
const CHECK_RENDERING = 32
/** Inside the open modal dialog. */
const IN_MODAL = 16
/** Includes the text in interactive snapshots, because it names a control. */
const KEEP_TEXT = 64

const skippedTags = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'head',
  'meta',
  'link',
  'title',
  'base',
  'source',
  'track',
  'param',
  'datalist',
  'wbr',
  'colgroup',
  'col'
])
const inlineRoles = new Set([
  'presentation',
  'none',
  'strong',
  'emphasis',
  'mark',
  'subscript',
  'superscript',
  'time',
  'code',
  'rowgroup',
  'generic'
])
const blockTags = new Set([
  'div',
  'p',
  'pre',
  'section',
  'header',
  'footer',
  'aside',
  'form',
  'dl',
  'ul',
  'ol',
  'li',
  'tr',
  'td',
  'th',
  'table',
  'address',
  'center',
  'fieldset',
  'legend',
  'body',
  'article',
  'nav',
  'main',
  'blockquote',
  'tbody',
  'thead',
  'tfoot'
])
/** Roles of messages. Their text is the question that their buttons answer. */
const messageRoles = new Set(['alert', 'alertdialog'])
const shownEmpty = new Set([
  'cell',
  'gridcell',
  'columnheader',
  'rowheader',
  'img',
  'iframe',
  'canvas',
  'video',
  'audio',
  'embed',
  'object',
  'progressbar',
  'meter',
  'separator',
  'dialog',
  'alertdialog',
  'application'
])
const withoutRef = new Set([
  'paragraph',
  'cell',
  'columnheader',
  'rowheader',
  'separator',
  'term',
  'definition',
  'caption',
  'deletion',
  'insertion',
  'rowgroup',
  'blockquote',
  'figure',
  'status',
  'math',
  'note',
  'group',
  'list',
  'listitem',
  'row',
  'graphics-document',
  'graphics-object',
  'graphics-symbol'
])
/**
 * Roles that are named by their text if they contain only text, and otherwise shown with their
 * contents.
 */
const mixedRoles = new Set(['term', 'cell', 'gridcell', 'columnheader', 'rowheader', 'row'])
const nativelyNamed = new Set([
  'fieldset',
  'figure',
  'table',
  'img',
  'area',
  'input',
  'select',
  'textarea',
  'meter',
  'progress',
  'output',
  'optgroup',
  'option',
  'svg',
  'button'
])
const statefulTags = new Set([
  'input',
  'select',
  'textarea',
  'summary',
  'option',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6'
])
const captions = new Set(['caption', 'legend', 'figcaption'])
/** Roles that often repeat. */
export const repeatedRoles = new Set([
  'row',
  'listitem',
  'option',
  'treeitem',
  'article',
  'menuitem',
  'menuitemcheckbox',
  'menuitemradio',
  'gridcell',
  'cell',
  'columnheader',
  'generic',
  'img',
  'radio'
])
/**
 * Roles in an overview that are not interactive: repeated elements, their containers, and messages.
 */
const outline = new Set([
  'list',
  'listitem',
  'table',
  'grid',
  'treegrid',
  'row',
  'article',
  'feed',
  'status',
  'log'
])
/** Classes of messages that have no role. A class such as `text-success` only gives a color. */
const messageClass =
  /(^|\s)((\S*[-_])?(alerts?|errors?|messages?|notices?|notifications?|toasts?)|errorlist|messagelist|flash|success|warning|(in)?valid-feedback)(\s|$)/i
/** Maximum number of rows of a grid in a canvas. */
const maxRows = 40
/** URLs that name no other page: scripts, and fragments that are not the route of an app. */
const urlInDocument = /^(#[^/!]*|javascript:.*)?$/i
const meaningfulCursors = /pointer|grab|move|resize|crosshair|zoom|copy/

/** Maximum number of elements of a walk. Of larger pages, only a part is shown. */
const maxElements = 50_000
/** Maximum ms of a walk, which blocks the page's own scripts. */
const maxWalkTime = 1500
/**
 * The number of elements that a walk visits. After a timeout, it is lowered to the number that the
 * walk has reached, so that later walks stop at the same element.
 */
let elementLimit = maxElements

/** Returns the cursor of the parent. */
function cursorAround(element: Element): string {
  const parent = composedParent(element)
  return parent ? getComputedStyle(parent).cursor : ''
}

/** Returns the size of a canvas, whose contents can be used only by position. */
function canvasSize(element: Element): string {
  const { width, height } = element.getBoundingClientRect()
  return `${Math.round(width)}×${Math.round(height)} px, act in it with \`position\``
}

/**
 * Returns the text that a canvas has for screen readers, such as the rows of a grid that it draws.
 */
function canvasText(element: Element, limit: number): string[] {
  const rows = Array.from(queryAll(element, 'tr, [role=row]'))
  if (rows.length === 0) {
    const text = normalize(textContent(element))
    return text === '' ? [] : [text]
  }
  const texts = rows.slice(0, limit).map((row) => {
    const cells = Array.from(row.children, (cell) => normalize(textContent(cell)))
    return cells.join(' | ').trim()
  })
  const more = rows.length - texts.length
  return more > 0 ? [...texts, `… ${more} more rows: scroll the canvas`] : texts
}

export class Walk {
  private readonly options: WalkOptions
  private readonly until = performance.now() + maxWalkTime
  private visited = 0
  /** The node in which the walk has reached its limit, null if it was complete. */
  stoppedIn: TreeNode | null = null
  private readonly active = activeElement()
  private readonly animated = animationsRun()
  private readonly owned = new Set<Element>()
  private readonly modals = modalDialogs()
  private readonly documentRules = ruleIndexOf(document)
  private rules = this.documentRules
  private root: Element | null = null
  private depth = 0
  /** Whether this walk uses the line cache. */
  private usesCache = false
  /** Cached lines of later walks than this one are valid. */
  private validSince = 0
  /** The number of visited elements that cannot be cached. */
  private uncacheable = 0
  /** Whether anything was folded. */
  folded = false

  constructor(options: WalkOptions) {
    this.options = options
    for (const owner of queryAll(document, '[aria-owns]'))
      for (const owned of byIds(owner, 'aria-owns'))
        if (!composedContains(owned, owner)) this.owned.add(owned)
  }

  /** Walks the whole document or one element, and returns the tree. */
  run(root: Element, isDocument: boolean): TreeNode {
    const top = makeNode(root, 'document')
    this.rules = ruleIndexOf(rootOf(root))
    // An editable body (the frame of an old rich-text editor) is the field itself.
    if (isDocument && !isEditingHost(root)) {
      this.usesCache = this.canCache()
      if (this.usesCache) {
        processPendingRecords()
        beginCachedWalk(this.documentRules, this.active)
        this.validSince = ownChangeAt(root)
      }
      this.children(root, top, 0)
    } else {
      this.root = root
      this.element(
        root,
        top,
        this.modals.some((dialog) => composedContains(dialog, root)) ? IN_MODAL : 0
      )
    }
    this.close(top)
    return top
  }

  /**
   * Returns whether lines can be cached. Folded lines depend on siblings, and animations and
   * dialogs depend on the time.
   */
  private canCache(): boolean {
    const { interactive, depth, fold, cursors } = this.options
    return (
      !interactive &&
      !cursors &&
      depth === Infinity &&
      fold === Infinity &&
      !this.animated &&
      this.modals.length === 0 &&
      this.owned.size === 0
    )
  }

  private children(element: Element, parent: TreeNode, bits: number): void {
    const shadow = shadowRootOf(element)
    const rules = this.rules
    if (shadow) {
      this.uncacheable++
      this.rules = ruleIndexOf(shadow)
      observeRoot(shadow)
    }
    eachComposedChild(element, (child) => {
      const type = nodeType(child)
      if (type === 3) {
        // Elements in `details` are checked themselves, texts cannot be.
        if (!(bits & CHECK_RENDERING) || !isClosed(element))
          this.text((child as Text).data, parent, bits)
      } else if (type === 1 && !(this.owned.size > 0 && this.owned.has(child as Element))) {
        this.element(child as Element, parent, bits)
      }
    })
    this.rules = rules
    if (this.owned.size > 0 && hasAttr(element, 'aria-owns')) {
      for (const owned of byIds(element, 'aria-owns'))
        if (this.owned.has(owned)) this.element(owned, parent, bits)
    }
  }

  private text(data: string, parent: TreeNode, bits: number): void {
    if (bits & (INVISIBLE | NAMED) || (this.options.interactive && !(bits & KEEP_TEXT))) return
    if (parent.skipped.length > 0) {
      if (data.trim().length <= 3) return
      this.flush(parent)
    }
    const children = parent.children
    const last = children.length > 0 ? children[children.length - 1] : null
    if (parent.boundary) {
      if (
        typeof last === 'string' &&
        !/\s$/.test(last) &&
        !/^\s/.test(data) &&
        isBlock(parent.boundary)
      )
        children.push('\n')
      parent.boundary = null
    }
    children.push(data)
  }

  private element(element: Element, parent: TreeNode, inherited: number): void {
    const tag = localName(element)
    if (skippedTags.has(tag)) return
    if (this.stoppedIn !== null) {
      // Folded elements are only counted.
      if (parent.skipped.length > 0 && localName(parent.skipped[0][0]) === tag)
        parent.skipped.push([element, inherited])
      return
    }
    if (tag === 'br') {
      if (!(inherited & (NAMED | INVISIBLE))) parent.children.push('\n')
      return
    }
    const { validSince } = this
    if (this.usesCache) {
      const line = cachedLine(element)
      if (
        line &&
        line.bits === inherited &&
        line.at > validSince &&
        this.visited + line.elements <= elementLimit &&
        (!line.checksRendering || renderingOf(element, false) === Rendering.Visible)
      ) {
        parent.boundary = null
        parent.children.push(line.node)
        this.visited += line.elements
        return
      }
      this.validSince = Math.max(validSince, ownChangeAt(element))
      this.visit(element, tag, parent, inherited)
      this.validSince = validSince
    } else this.visit(element, tag, parent, inherited)
  }

  private visit(element: Element, tag: string, parent: TreeNode, inherited: number): void {
    const before = this.visited
    if (this.mustStop()) {
      this.stoppedIn = parent
      return
    }
    let bits = inherited
    const attributeKinds = attributeKindsOf(element)
    const effects = this.rules.of(element, attributeKinds, tag)
    const uncacheable = this.uncacheable + blockChecks
    if (
      this.usesCache &&
      (bits & CHECK_RENDERING ||
        this.rules !== this.documentRules ||
        !isSelfContained(tag, attributeKinds, effects))
    )
      this.uncacheable++
    const checksVisibility = this.animated || (effects & VISIBILITY) !== 0
    // An element without attributes, or a link with only a URL, can be hidden only by a rule for
    // its tag or by a closed `details`. A custom element can be hidden by its own `:host` rules,
    // and slotted elements by the document's rules.
    const plain =
      attributeKinds === 0 ||
      (attributeKinds === HAS_OTHER && this.rules === this.documentRules && !tag.includes('-'))
    if (!plain || checksVisibility || effects & DISPLAY || bits & CHECK_RENDERING) {
      const shown = renderingOf(element, checksVisibility)
      if (shown === Rendering.None) return
      if (shown === Rendering.Invisible) bits |= INVISIBLE
      else if (checksVisibility && shown === Rendering.Visible) bits &= ~INVISIBLE
      if (tag === 'details') bits |= CHECK_RENDERING
      if (attributeKinds & HAS_ARIA) {
        if (attr(element, 'aria-hidden') === 'true' && element !== this.active) return
        if (attr(element, 'aria-disabled') === 'true') bits |= DISABLED
      }
      if (attributeKinds & HAS_INERT) return
      if (
        attributeKinds & HAS_STYLE &&
        (attr(element, 'style') as string).includes('content-visibility')
      )
        bits |= CHECK_RENDERING
    } else if (tag === 'details') bits |= CHECK_RENDERING
    if (this.modals.length > 0 && !(bits & IN_MODAL)) {
      if (this.modals.includes(element)) bits |= IN_MODAL
      else if (!this.modals.some((dialog) => composedContains(element, dialog))) return
    }
    let cursor = ''
    if (effects & CURSOR || this.animated) {
      const value = getComputedStyle(element).cursor
      if (value === 'auto' || value === 'default' || value === 'text') bits &= ~POINTER
      else if (meaningfulCursors.test(value)) {
        // A handle in a draggable element has its own cursor.
        if (!(inherited & POINTER) || value !== cursorAround(element)) cursor = value
        bits |= POINTER
      }
    }
    const role = roleOf(element, (attributeKinds & HAS_ROLE) !== 0, tag)
    if (
      this.options.overview &&
      (role === 'status' || messageClass.test(attr(element, 'class') ?? ''))
    )
      bits |= KEEP_TEXT
    if (bits & INVISIBLE) {
      if (tag !== 'iframe') this.children(element, parent, bits)
      return
    }
    const isRoot = element === this.root
    if (
      captions.has(tag) &&
      parent.name !== '' &&
      !isRoot &&
      normalize(textContent(element)) === parent.name
    )
      return
    // Inside a named control, a pointer cursor adds no information.
    const acting =
      (cursor !== '' && !(bits & NAMED)) ||
      (attributeKinds & (HAS_ACTION | HAS_ARIA) || tag === 'label'
        ? isInteractive(element, role)
        : false)
    if (!isRoot && this.isTransparent(element, role, tag, acting, attributeKinds, bits)) {
      this.transparent(element, parent, tag, effects, bits)
      return
    }
    if (this.isSkipped(element, role, parent, inherited)) return
    const line = this.node(
      element,
      parent,
      role,
      tag,
      attributeKinds,
      acting,
      cursor,
      effects,
      bits
    )
    if (
      line &&
      this.usesCache &&
      this.stoppedIn === null &&
      this.uncacheable + blockChecks === uncacheable
    )
      cacheLine(element, line, {
        bits: inherited,
        checksRendering: !plain,
        elements: this.visited - before
      })
  }

  /** Counts an element. Returns true if the limit of elements or of time is reached. */
  private mustStop(): boolean {
    if (++this.visited > elementLimit) return true
    if (this.visited % 256 !== 0 || performance.now() < this.until) return false
    elementLimit = this.visited - 1
    return true
  }

  private isTransparent(
    element: Element,
    role: string,
    tag: string,
    acting: boolean,
    attributeKinds: number,
    bits: number
  ): boolean {
    if (acting) return false
    if (inlineRoles.has(role))
      return (
        role !== 'generic' ||
        tag === 'label' ||
        (attributeKinds & HAS_ARIA) === 0 ||
        !namedGeneric(element)
      )
    if (this.options.overview && outline.has(role)) return false
    if (this.options.interactive)
      return !(
        widgetRoles.has(role) ||
        role === 'heading' ||
        role === 'iframe' ||
        role === 'dialog' ||
        messageRoles.has(role) ||
        landmarkRoles.has(role) ||
        (isFocusable(element) && element !== this.active)
      )
    if (bits & NAMED)
      return !(
        widgetRoles.has(role) ||
        role === 'iframe' ||
        role === 'list' ||
        role === 'table' ||
        role === 'grid' ||
        role === 'group'
      )
    if (role === 'group' && (tag === 'address' || tag === 'hgroup')) return true
    return (
      role === 'img' &&
      tag !== 'img' &&
      !hasAttr(element, 'aria-label') &&
      nameOf(element, role) === ''
    )
  }

  private transparent(
    element: Element,
    parent: TreeNode,
    tag: string,
    effects: number,
    bits: number
  ): void {
    const block = blockTags.has(tag)
    if (tag === 'label' && !(bits & NAMED) && isVisibleLabel(element as HTMLLabelElement))
      bits |= NAMED
    const writesText =
      (bits & NAMED) === 0 && (!this.options.interactive || (bits & KEEP_TEXT) !== 0)
    if (writesText) {
      if (block) parent.children.push('\n')
      else if (!parent.boundary || !isBlock(parent.boundary)) parent.boundary = element
      if (effects & BEFORE) this.text(pseudoText(element, '::before'), parent, bits)
    }
    this.children(element, parent, bits)
    if (writesText) {
      if (effects & AFTER) this.text(pseudoText(element, '::after'), parent, bits)
      if (block) parent.children.push('\n')
      else parent.boundary = element
    }
  }

  /**
   * Counts runs of siblings with the same role. Defers the siblings over the limit and returns true
   * for them.
   */
  private isSkipped(element: Element, role: string, parent: TreeNode, bits: number): boolean {
    const kind = role === 'term' ? 'definition' : role
    if (parent.runRole !== kind) {
      this.flush(parent)
      parent.runRole = kind
      parent.runCount = 0
    }
    parent.runCount++
    const limit = repeatedRoles.has(kind) ? this.options.fold : this.options.fold * 2.5
    if (parent.runCount <= limit) return false
    if (isSelected(element) || (this.active && composedContains(element, this.active))) return false
    if (parent.skipped.length === 0) parent.skipped = []
    parent.skipped.push([element, bits])
    return true
  }

  /** Replaces the deferred siblings by one line, unless they are only a few. */
  private flush(parent: TreeNode): void {
    const skipped = parent.skipped
    if (skipped.length === 0) return
    parent.skipped = noItems
    if (skipped.length <= 3) {
      const { runRole, runCount } = parent
      for (const [element, bits] of skipped) {
        parent.runRole = ''
        this.element(element, parent, bits)
      }
      parent.runRole = runRole
      parent.runCount = runCount
      return
    }
    this.folded = true
    parent.folds = true
    parent.children.push({ fold: true, role: parent.runRole, count: skipped.length })
    parent.runCount = 0
  }

  private node(
    element: Element,
    parent: TreeNode,
    role: string,
    tag: string,
    attributeKinds: number,
    acting: boolean,
    cursor: string,
    effects: number,
    bits: number
  ): TreeNode | null {
    const node = makeNode(element, role === 'presentation' ? 'generic' : role)
    const native = widgetRoles.has(role)
    const own = isDisabled(element, tag)
    // Descendants of a disabled element are disabled too, but only widgets show it.
    const disabled = own || (native && (bits & DISABLED) !== 0)
    if (own) bits |= DISABLED
    node.wantsRef =
      acting ||
      (native && role !== 'option') ||
      !withoutRef.has(role) ||
      (role === 'option' && tag !== 'option') ||
      (role === 'row' && (attributeKinds & HAS_ARIA) !== 0 && hasAttr(element, 'aria-selected'))
    if (role === 'option' && tag === 'option') node.wantsRef = false
    if (cursor !== '' && (!native || this.options.cursors)) node.cursor = cursor
    if (tag === 'canvas') node.value = canvasSize(element)
    if (role === 'link') {
      const url = attr(element, 'href') ?? attr(element, 'xlink:href')
      if (url !== null && !urlInDocument.test(url))
        node.properties = [`/url: ${scalar(url.length > 300 ? `${url.slice(0, 300)}…` : url)}`]
      if (this.options.cursors && !(bits & POINTER)) node.cursor = 'pointer'
      bits |= POINTER
    }
    if (attributeKinds & (HAS_ARIA | HAS_FIELD_STATE) || disabled || statefulTags.has(tag))
      node.states = stateText(element, role, disabled, element === this.active)
    else if (element === this.active) node.states = ' [active]'
    if (attributeKinds & HAS_CLASS && seemsSelected(element, role)) node.states += ' [selected?]'
    const owns = this.owned.size > 0 && hasAttr(element, 'aria-owns')
    const leaf =
      firstElementChild(element) === null &&
      !owns &&
      (effects & (BEFORE | AFTER)) === 0 &&
      shadowRootOf(element) === null &&
      tag !== 'slot'
    if (tag === 'label' && isVisibleLabel(element as HTMLLabelElement)) bits |= NAMED
    if (
      acting ||
      mixedRoles.has(role) ||
      role === 'textbox' ||
      role === 'heading' ||
      messageRoles.has(role)
    )
      bits |= KEEP_TEXT
    this.depth++
    this.fill(
      node,
      tag,
      (attributeKinds & (HAS_ARIA | HAS_TITLE)) === 0 && !nativelyNamed.has(tag),
      leaf,
      effects,
      bits
    )
    this.depth--
    // Scripts make plain items and rows draggable and clickable. Otherwise, their contents are
    // used.
    if (!node.wantsRef && (role === 'listitem' || (role === 'row' && attributeKinds !== 0)))
      node.wantsRef = !containsRef(node.children)
    if (!this.isWorthALine(node, acting)) return null
    const line = onlyChild(node) ?? node
    parent.boundary = null
    parent.children.push(line)
    return line
  }

  /**
   * Sets the name, value and children of a node. `unnamed`: neither an attribute nor the tag can
   * name the element.
   */
  private fill(
    node: TreeNode,
    tag: string,
    unnamed: boolean,
    leaf: boolean,
    effects: number,
    bits: number
  ): void {
    const { element, role } = node
    if (tag === 'iframe' || tag === 'frame') {
      node.name = nameOf(element, role)
      return
    }
    if (tag === 'input' || tag === 'textarea' || tag === 'select') {
      this.fillField(node, tag, bits)
      return
    }
    if (tag === 'canvas') {
      if (!unnamed) node.name = authorName(element, role)
      if (!this.options.interactive || this.options.overview)
        node.children = canvasText(element, this.options.overview ? maxRows / 4 : maxRows)
      return
    }
    if (mixedRoles.has(role)) {
      if (!unnamed) node.name = authorName(element, role)
      if (leaf) {
        const text = normalize(textContent(element))
        if (node.name === '') node.name = text
        else if (text !== '' && text !== node.name) node.children.push(text)
        return
      }
      this.addContents(node, effects, bits)
      this.nameByText(node)
      return
    }
    if (namedByContent.has(role)) {
      const given = unnamed ? '' : authorName(element, role)
      const fromText =
        unnamed ||
        given === '' ||
        (!hasAttr(element, 'aria-label') && !hasAttr(element, 'aria-labelledby') && tag !== 'svg')
      if (leaf && fromText) {
        node.name = normalize(textContent(element)) || given
        return
      }
      node.name = fromText ? nameOf(element, role) : given
      const omitsText = (fromText && node.name !== '') || presentationalChildren.has(role)
      this.addContents(node, effects, omitsText ? bits | NAMED : bits)
      this.dropRepeatedText(node)
      return
    }
    if (!unnamed) node.name = authorName(element, role)
    if (role === 'img') {
      // A drawing with its own cursor, such as the canvas of a flow editor, has parts to act on.
      if (tag === 'svg' && node.name === '' && !leaf) this.addContents(node, effects, bits)
      return
    }
    if (
      role === 'slider' ||
      role === 'progressbar' ||
      role === 'meter' ||
      role === 'spinbutton' ||
      role === 'scrollbar'
    ) {
      node.value =
        attr(element, 'aria-valuetext') ??
        attr(element, 'aria-valuenow') ??
        fieldValue(element) ??
        null
      return
    }
    if (leaf) {
      const text =
        bits & NAMED || (this.options.interactive && !(bits & KEEP_TEXT))
          ? ''
          : normalize(textContent(element))
      if (text !== '' && text !== node.name) node.children.push(text)
    } else this.addContents(node, effects, bits)
    if (role === 'textbox' || role === 'searchbox' || role === 'combobox') {
      const placeholder = attr(element, 'aria-placeholder') ?? attr(element, 'data-placeholder')
      if (placeholder && placeholder !== node.name)
        node.properties = [`/placeholder: ${scalar(normalize(placeholder))}`]
    }
    this.dropRepeatedText(node)
  }

  private fillField(node: TreeNode, tag: string, bits: number): void {
    const { element, role } = node
    node.name = nameOf(element, role)
    if (tag === 'select') {
      this.addContents(node, 0, bits)
      return
    }
    const placeholder = attr(element, 'placeholder')
    if (placeholder && normalize(placeholder) !== node.name)
      node.properties = [`/placeholder: ${scalar(normalize(placeholder))}`]
    if (role === 'checkbox' || role === 'radio' || role === 'switch') return
    if (role === 'button') {
      if (attr(element, 'type')?.toLowerCase() !== 'file') return
      const files = (element as HTMLInputElement).files
      node.value =
        files && files.length > 0 ? Array.from(files, (file) => file.name).join(', ') : null
      return
    }
    const value = attr(element, 'aria-valuetext') ?? fieldValue(element) ?? ''
    node.value = value === '' ? null : value
  }

  private addContents(node: TreeNode, effects: number, bits: number): void {
    if (this.depth >= this.options.depth) {
      node.cut = (bits & NAMED) === 0
      return
    }
    if (effects & BEFORE) this.text(pseudoText(node.element, '::before'), node, bits)
    this.children(node.element, node, bits)
    if (effects & AFTER) this.text(pseudoText(node.element, '::after'), node, bits)
    this.close(node)
  }

  private close(node: TreeNode): void {
    this.flush(node)
    node.children = mergeText(node.children)
  }

  /** Names a cell, row or term by its text if it contains nothing else. */
  private nameByText(node: TreeNode): void {
    const { children } = node
    if (children.length === 0) return
    const texts = children.filter((child): child is string => typeof child === 'string')
    if (texts.length < children.length) return
    const text = texts.join(' ')
    if (node.name === '') node.name = text
    else if (text !== '' && text !== node.name) return
    node.children = []
  }

  /** Removes text that only repeats the name. */
  private dropRepeatedText(node: TreeNode): void {
    if (node.name === '' || node.children.length === 0) return
    const texts = node.children.filter((child) => typeof child === 'string')
    if (
      texts.length > 0 &&
      texts.length === node.children.length &&
      node.name.includes(texts.join(' '))
    )
      node.children = []
  }

  private isWorthALine(node: TreeNode, acting: boolean): boolean {
    if (node.children.length > 0 || node.name !== '' || node.cut || node.value !== null) return true
    if (
      node.role === 'generic' &&
      node.cursor === '' &&
      node.element !== this.active &&
      node.element !== this.root &&
      hasPresentationRole(node.element)
    )
      return false
    if (
      acting ||
      widgetRoles.has(node.role) ||
      shownEmpty.has(node.role) ||
      node.element === this.root ||
      node.element === this.active
    )
      return true
    return isFocusable(node.element)
  }
}

/** Returns whether one of these nodes or of their descendants has a ref. */
const containsRef = (children: TreeChild[]): boolean =>
  children.some(
    (child) =>
      typeof child !== 'string' && isNode(child) && (child.wantsRef || containsRef(child.children))
  )

/** Returns whether an element is a closed `details`. */
const isClosed = (element: Element): boolean =>
  localName(element) === 'details' && !hasAttr(element, 'open')

function namedGeneric(element: Element): boolean {
  const label = attr(element, 'aria-label')
  return label !== null && label.trim() !== ''
}

/**
 * Returns whether an element has `role=none`, such as a line between menu items that a toolkit
 * makes focusable.
 */
const hasPresentationRole = (element: Element): boolean =>
  /^\s*(none|presentation)\b/.test(attr(element, 'role') ?? '') && !hasAttr(element, 'onclick')

/** Returns whether scripts or markup make an element interactive beyond its role. */
function isInteractive(element: Element, role: string): boolean {
  if (hasAttr(element, 'onclick') || attr(element, 'draggable') === 'true') return true
  // A click on the header of a sortable column sorts it.
  if (hasAttr(element, 'aria-sort')) return true
  if (role !== 'generic' && role !== 'presentation')
    return (
      isFocusable(element) && hasAttr(element, 'tabindex') && attr(element, 'tabindex') !== '-1'
    )
  if (hasAttr(element, 'tabindex'))
    return isFocusable(element) && attr(element, 'tabindex') !== '-1'
  if (
    hasAttr(element, 'aria-expanded') ||
    hasAttr(element, 'aria-haspopup') ||
    hasAttr(element, 'aria-pressed')
  )
    return true
  if (localName(element) === 'label') {
    const control = (element as HTMLLabelElement).control
    return control !== null && !isShown(control)
  }
  return isEditingHost(element)
}

/** Returns whether the text of a label is the name of a visible control. */
function isVisibleLabel(label: HTMLLabelElement): boolean {
  const control = label.control
  if (!control || !isShown(control) || attr(control, 'aria-hidden') === 'true') return false
  const named = labelledByElements(control)
  return named.length > 0 ? named.includes(label) : !hasAttr(control, 'aria-label')
}
