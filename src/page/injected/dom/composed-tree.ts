/**
 * The composed tree: the DOM with shadow roots and slotted nodes in their places.
 *
 * Properties are read through getters from the prototypes, because of DOM clobbering: the names of
 * elements in a form or document (`<input name="parentNode">`) replace its own properties, in an
 * isolated world too.
 */

type Getter<This, Value> = (this: This) => Value

function getterOf<This, Value>(prototype: object, name: string): Getter<This, Value> {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get as
    Getter<This, Value> | undefined
  return (
    get ??
    function (this: This) {
      return (this as Record<string, Value>)[name]
    }
  )
}

const elementPrototype = Element.prototype
const { getAttribute, getAttributeNames, hasAttribute, matches, closest, querySelectorAll } =
  elementPrototype

export const attr = (element: Element, name: string): string | null =>
  getAttribute.call(element, name)
export const hasAttr = (element: Element, name: string): boolean => hasAttribute.call(element, name)
export const elementMatches = (element: Element, selector: string): boolean =>
  matches.call(element, selector)
export const elementClosest = (element: Element, selector: string): Element | null =>
  closest.call(element, selector)

// Kinds of attributes. `attributeKindsOf` finds them all with one call.
export const HAS_CLASS = 1
export const HAS_ID = 2
export const HAS_STYLE = 4
export const HAS_ROLE = 8
export const HAS_ARIA = 16
export const HAS_INERT = 32
/** `tabindex`, `onclick`, `draggable`, `contenteditable`. */
export const HAS_ACTION = 64
export const HAS_TITLE = 128
export const HAS_FIELD_STATE = 256
/** `hidden`, `popover`, the `type` of an input, `display` and `visibility` of SVG. */
export const HAS_HIDING = 512
/** References to other elements. */
export const HAS_REFERENCE = 1024
export const HAS_OTHER = 2048

const HAS_ARIA_REFERENCE = HAS_ARIA | HAS_REFERENCE

const kindsByAttribute = new Map<string, number>(
  Object.entries({
    class: HAS_CLASS,
    id: HAS_ID,
    style: HAS_STYLE,
    role: HAS_ROLE,
    inert: HAS_INERT,
    tabindex: HAS_ACTION,
    onclick: HAS_ACTION,
    draggable: HAS_ACTION,
    contenteditable: HAS_ACTION,
    title: HAS_TITLE,
    required: HAS_FIELD_STATE,
    readonly: HAS_FIELD_STATE,
    hidden: HAS_HIDING,
    popover: HAS_HIDING,
    type: HAS_HIDING,
    display: HAS_HIDING,
    visibility: HAS_HIDING,
    'aria-labelledby': HAS_ARIA_REFERENCE,
    'aria-labeledby': HAS_ARIA_REFERENCE,
    'aria-owns': HAS_ARIA_REFERENCE,
    'aria-controls': HAS_ARIA_REFERENCE
  })
)

/** Returns the kinds of attributes that an element has, 0 if it has no attributes. */
export function attributeKindsOf(element: Element): number {
  const names = getAttributeNames.call(element)
  let attributeKinds = 0
  for (let i = 0; i < names.length; i++)
    attributeKinds |=
      kindsByAttribute.get(names[i]) ?? (names[i].startsWith('aria-') ? HAS_ARIA : HAS_OTHER)
  return attributeKinds
}

// Each function is written out, because V8 inlines only this form, and they are called for every
// node.
const getNodeType = getterOf<Node, number>(Node.prototype, 'nodeType')
const getFirstChild = getterOf<Node, ChildNode | null>(Node.prototype, 'firstChild')
const getNextSibling = getterOf<Node, ChildNode | null>(Node.prototype, 'nextSibling')
const getParentNode = getterOf<Node, ParentNode | null>(Node.prototype, 'parentNode')
const getTextContent = getterOf<Node, string | null>(Node.prototype, 'textContent')
const getConnected = getterOf<Node, boolean>(Node.prototype, 'isConnected')
const getLocalName = getterOf<Element, string>(elementPrototype, 'localName')
const getNamespace = getterOf<Element, string | null>(elementPrototype, 'namespaceURI')
const getFirstElement = getterOf<Element, Element | null>(elementPrototype, 'firstElementChild')
const getPreviousElement = getterOf<Element, Element | null>(
  elementPrototype,
  'previousElementSibling'
)
const getNextElement = getterOf<Element, Element | null>(elementPrototype, 'nextElementSibling')
const getDocumentElement = getterOf<Document, HTMLElement | null>(
  Document.prototype,
  'documentElement'
)
const getBody = getterOf<Document, HTMLElement | null>(Document.prototype, 'body')
const getTitle = getterOf<Document, string>(Document.prototype, 'title')
const getShadowRoot = getterOf<Element, ShadowRoot | null>(elementPrototype, 'shadowRoot')
const getDocumentActive = getterOf<Document, Element | null>(Document.prototype, 'activeElement')
const getShadowActive = getterOf<ShadowRoot, Element | null>(ShadowRoot.prototype, 'activeElement')

export const nodeType = (node: Node): number => getNodeType.call(node)
export const firstChild = (node: Node): ChildNode | null => getFirstChild.call(node)
export const nextSibling = (node: Node): ChildNode | null => getNextSibling.call(node)
export const parentNode = (node: Node): ParentNode | null => getParentNode.call(node)
export const textContent = (node: Node): string => getTextContent.call(node) ?? ''
export const isConnected = (node: Node): boolean => getConnected.call(node)
export const localName = (element: Element): string => getLocalName.call(element)
export const namespaceOf = (element: Element): string | null => getNamespace.call(element)
export const firstElementChild = (element: Element): Element | null => getFirstElement.call(element)
export const previousElement = (element: Element): Element | null =>
  getPreviousElement.call(element)
export const nextElement = (element: Element): Element | null => getNextElement.call(element)
export const documentElement = (): HTMLElement | null => getDocumentElement.call(document)
export const bodyOf = (): HTMLElement | null => getBody.call(document)
export const documentTitle = (): string => getTitle.call(document)

const documentQueryAll = Document.prototype.querySelectorAll
const fragmentQueryAll = DocumentFragment.prototype.querySelectorAll

export type Root = Document | ShadowRoot

export const isElement = (node: Node | null): node is Element =>
  node !== null && nodeType(node) === 1
export const isShadowRoot = (node: Node | null): node is ShadowRoot => node instanceof ShadowRoot
export const isHtml = (element: Element): element is HTMLElement => element instanceof HTMLElement

/**
 * Runs `querySelectorAll` on a document, a shadow root or an element. Throws if the selector is
 * invalid.
 */
export function queryAll(root: Root | Element, selector: string): NodeListOf<Element> {
  const kind = nodeType(root)
  if (kind === 1) return querySelectorAll.call(root, selector) as NodeListOf<Element>
  if (kind === 9) return documentQueryAll.call(root, selector) as NodeListOf<Element>
  return fragmentQueryAll.call(root, selector) as NodeListOf<Element>
}

/**
 * Returns the elements of the document with a tag, in a live collection that the browser caches.
 */
export const byTag = (tag: string): HTMLCollectionOf<Element> =>
  Document.prototype.getElementsByTagName.call(document, tag)

/** Tags of built-in elements that can have a shadow root. */
export const builtInHosts = new Set([
  'article',
  'aside',
  'blockquote',
  'body',
  'div',
  'footer',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'header',
  'main',
  'nav',
  'p',
  'section',
  'span'
])

/** Closed shadow roots, which Rust passes in over the protocol. */
const closedRoots = new WeakMap<Element, ShadowRoot>()
let closedRootCount = 0

export function adoptShadowRoot(host: Element, root: ShadowRoot): void {
  if (!closedRoots.has(host)) closedRootCount++
  closedRoots.set(host, root)
}

/** Returns the shadow root of an element: an open one, or a known closed one. */
export function shadowRootOf(element: Element): ShadowRoot | null {
  const open = getShadowRoot.call(element)
  if (open !== null || closedRootCount === 0) return open
  return closedRoots.get(element) ?? null
}

/** Returns the slot of a node. `assignedSlot` is null for slots in closed roots. */
export function assignedSlotOf(node: Node): HTMLSlotElement | null {
  const slot = (node as Element).assignedSlot
  if (slot) return slot
  if (closedRootCount === 0) return null
  const parent = parentNode(node)
  const root = isElement(parent) ? closedRoots.get(parent) : undefined
  if (!root) return null
  for (const candidate of queryAll(root, 'slot')) {
    if ((candidate as HTMLSlotElement).assignedNodes().includes(node as Element))
      return candidate as HTMLSlotElement
  }
  return null
}

/** Returns the parent in the composed tree, without `aria-owns`. Null for the document element. */
export function composedParent(node: Node): Element | null {
  const slot = assignedSlotOf(node)
  if (slot) return slot
  const parent = parentNode(node)
  if (parent === null) return null
  if (isElement(parent)) return parent
  return isShadowRoot(parent) ? parent.host : null
}

/** Calls `visit` for each child in the composed tree. */
export function eachComposedChild(element: Element, visit: (child: Node) => void): void {
  const root = shadowRootOf(element)
  if (root === null && localName(element) === 'slot') {
    const assigned = (element as HTMLSlotElement).assignedNodes?.() ?? []
    if (assigned.length > 0) {
      for (const child of assigned) visit(child)
      return
    }
  }
  for (let child = firstChild(root ?? element); child !== null; child = nextSibling(child))
    visit(child)
}

/** Returns whether `inner` is `outer` or a descendant of it in the composed tree. */
export function composedContains(outer: Element, inner: Node): boolean {
  for (let node: Node | null = inner; node !== null; node = composedParent(node)) {
    if (node === outer) return true
  }
  return false
}

/** Returns the document or shadow root that scopes the ids of a node. */
export function rootOf(node: Node): Root {
  const root = node.getRootNode()
  return nodeType(root) === 9 || isShadowRoot(root) ? (root as Root) : document
}

export function byId(from: Node, id: string): Element | null {
  const root = rootOf(from)
  if (isShadowRoot(root)) return root.getElementById(id)
  return Document.prototype.getElementById.call(root, id)
}

/** Returns the elements that an attribute with ids (`aria-labelledby`) references, in order. */
export function byIds(from: Element, attribute: string): Element[] {
  const ids = attr(from, attribute)
  if (!ids) return []
  const found: Element[] = []
  for (const id of ids.split(/\s+/)) {
    const element = id ? byId(from, id) : null
    if (element && !found.includes(element)) found.push(element)
  }
  return found
}

/** Returns `document.activeElement`: the host for a shadow tree, the body without a focus. */
export const documentActiveElement = (): Element | null => getDocumentActive.call(document)

/** Returns the focused element, inside shadow roots too. Null if nothing has the focus. */
export function activeElement(): Element | null {
  let active = getDocumentActive.call(document)
  while (active) {
    const root = shadowRootOf(active)
    const inner = root ? getShadowActive.call(root) : null
    if (!inner) break
    active = inner
  }
  if (active === documentElement()) return null
  // Without a focus, `activeElement` is the body. An editable body can have the focus itself.
  if (active !== null && active === bodyOf() && !elementMatches(active, ':focus')) return null
  return active
}

/**
 * Returns the value of the focused password field, in same-origin frames too. True if a
 * cross-origin frame has the focus, null if no password field has it.
 */
export function focusedPassword(): string | true | null {
  let active = activeElement()
  while (active instanceof HTMLIFrameElement) {
    const inner = active.contentDocument
    if (!inner) return true
    active = inner.activeElement
  }
  // No `instanceof`: a frame has its own constructors.
  const field = active as HTMLInputElement | null
  return field !== null && localName(field) === 'input' && field.type === 'password'
    ? field.value
    : null
}

const irregularSpace = /[\t\n\f\r\u00a0\u00ad\u200b\ue000-\uf8ff\ufeff]| {2}|^ | $/

/**
 * Collapses white space and trims it. Removes soft hyphens, zero-width spaces and the private-use
 * characters of icon fonts.
 */
export function normalize(text: string): string {
  if (!irregularSpace.test(text)) return text
  return text
    .replace(/[\u00ad\u200b\ue000-\uf8ff\ufeff]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}
