/** Nodes of Playwright's accessibility tree. Each becomes a line. */

export type AriaChild = AriaNode | string

export interface AriaNode {
  element: Element
  /** `generic` for elements without a role. */
  role: string
  name: string
  /** Elements whose text is part of the name. */
  nameSources: Element[]
  /** Nodes with a ref that are part of the name, without the node itself. */
  namedBy: AriaNode[]
  /** ` [checked] [level=2]`, ready to print. */
  states: string
  isActive: boolean
  isAriaHidden: boolean
  /** Empty if the element cannot be clicked. */
  ref: string
  hasPointerCursor: boolean
  url: string | null
  placeholder: string | null
  children: AriaChild[]
}

/** A shared empty list, never modified. */
const none: never[] = []

export const makeAriaNode = (element: Element, role: string): AriaNode => ({
  element,
  role,
  name: '',
  nameSources: none,
  namedBy: none,
  states: '',
  isActive: false,
  isAriaHidden: false,
  ref: '',
  hasPointerCursor: false,
  url: null,
  placeholder: null,
  children: []
})

export const hasProperties = (node: AriaNode): boolean =>
  node.url !== null || node.placeholder !== null || node.isAriaHidden

/** Returns the only child of a node if it is a text, else null. */
export const onlyText = ({ children }: AriaNode): string | null =>
  children.length === 1 && typeof children[0] === 'string' ? children[0] : null
