/** Writes Playwright's accessibility tree as lines of YAML. */
import type { PlaywrightSnapshotResult } from '../api'
import type { RefAllocator } from '../dom/refs'
import { type AriaNode, onlyText } from './aria-node'
import { yamlKey, yamlValue } from './yaml'

/** Longer names are not printed. */
const maxNameLength = 900

interface LineOptions {
  /** 0: no limit. */
  depth: number
  boxes: boolean
  /** Assigns the refs of frame elements, which Rust knows. */
  nativeRefs: RefAllocator
}

export class SnapshotLines {
  readonly lines: string[] = []
  readonly frames: PlaywrightSnapshotResult['frames'] = []
  private readonly options: LineOptions

  constructor(options: LineOptions) {
    this.options = options
  }

  writeTree(root: AriaNode): void {
    for (const child of root.children) {
      if (typeof child === 'string') this.lines.push(`- text: ${yamlValue(child)}`)
      else this.writeNode(child, 0, false)
    }
  }

  /** `isInTarget`: the line of an ancestor has `[cursor=pointer]`. */
  private writeNode(node: AriaNode, depth: number, isInTarget: boolean): void {
    const isTarget = node.ref !== '' && node.hasPointerCursor
    const indent = '  '.repeat(depth)
    const head = `${indent}- ${yamlKey(this.head(node, isTarget && !isInTarget))}`
    const text = onlyText(node)
    const hasProperties = node.url !== null || node.placeholder !== null
    if (node.role === 'iframe' && node.ref !== '' && text === null) {
      this.writeFrame(node, depth, head)
      return
    }
    if (text !== null && !hasProperties) {
      this.lines.push(`${head}: ${yamlValue(text)}`)
      return
    }
    const isCut = this.options.depth !== 0 && depth === this.options.depth
    const hasChildren = node.children.length > 0 && (text !== null || !isCut)
    if (!hasProperties && !hasChildren) {
      this.lines.push(head)
      return
    }
    this.lines.push(`${head}:`)
    if (node.url !== null) this.lines.push(`${indent}  - /url: ${yamlValue(node.url)}`)
    if (node.placeholder !== null)
      this.lines.push(`${indent}  - /placeholder: ${yamlValue(node.placeholder)}`)
    if (!hasChildren) return
    for (const child of node.children) {
      if (typeof child === 'string') this.lines.push(`${indent}  - text: ${yamlValue(child)}`)
      else this.writeNode(child, depth + 1, isInTarget || isTarget)
    }
  }

  private writeFrame(node: AriaNode, depth: number, head: string): void {
    this.frames.push({
      ref: this.options.nativeRefs.of(node.element),
      line: this.lines.length,
      indent: depth * 2,
      ...(this.options.depth === 0 ? {} : { depth: this.options.depth - depth - 1 })
    })
    this.lines.push(head)
  }

  private head(node: AriaNode, withCursor: boolean): string {
    let text = node.role
    if (node.name !== '' && node.name.length <= maxNameLength)
      text += ` ${JSON.stringify(node.name)}`
    text += node.states
    if (node.isAriaHidden) text += ' [aria-hidden]'
    if (node.ref !== '') {
      text += ` [ref=${node.ref}]`
      if (withCursor) text += ' [cursor=pointer]'
    }
    if (this.options.boxes) {
      const { x, y, width, height } = node.element.getBoundingClientRect()
      text += ` [box=${[x, y, width, height].map(Math.round).join(',')}]`
    }
    return text
  }
}
