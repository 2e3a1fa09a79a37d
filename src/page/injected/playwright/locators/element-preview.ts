/** Short HTML of an element, as Playwright's messages show it. */

const maxAttributesLength = 500
const maxTextLength = 50
/** An element with more children is shown without its text. */
const maxChildren = 5

const voidElements = new Set(
  'area base br col command embed hr img input keygen link menuitem meta param source track wbr'.split(
    ' '
  )
)

const booleanAttributes = new Set('checked selected disabled readonly multiple required'.split(' '))

/** Returns the tag of an element with its attributes, the shortest first, and its text. */
export function elementPreview(element: Element): string {
  const name = element.nodeName.toLowerCase()
  const attributes = Array.from(element.attributes)
    .filter((attribute) => attribute.name !== 'style')
    .map(({ name, value }) =>
      value === '' && booleanAttributes.has(name) ? ` ${name}` : ` ${name}="${value}"`
    )
    .sort((first, second) => first.length - second.length)
  const start = `<${name}${shortened(attributes.join(''), maxAttributesLength)}`
  if (voidElements.has(name)) return onOneLine(`${start}/>`)
  const children = Array.from(element.childNodes)
  const hasOnlyText =
    children.length <= maxChildren && children.every(({ nodeType }) => nodeType === Node.TEXT_NODE)
  const text = hasOnlyText ? (element.textContent ?? '') : children.length > 0 ? '…' : ''
  return onOneLine(`${start}>${shortened(text, maxTextLength)}</${name}>`)
}

const shortened = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`

const onOneLine = (text: string): string => text.replace(/\n/g, '↵').replace(/\t/g, '⇆')
