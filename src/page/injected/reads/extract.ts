/** Extracts data from a page: links, tables, metadata. */
import type {
  LinksArgument,
  LinksResult,
  MetadataResult,
  TableResult,
  TargetArgument
} from '../api'
import { CallError } from '../dom/call-error'
import {
  attr,
  bodyOf,
  documentElement,
  documentTitle,
  elementClosest,
  localName,
  normalize,
  queryAll,
  textContent
} from '../dom/composed-tree'
import { shadowRoots } from '../dom/css'
import { RefAllocator } from '../dom/refs'
import { isShown } from '../dom/styles'
import { nameOf } from '../roles/accessible-name'
import { levelOf } from '../roles/aria-states'
import { tagOf } from '../roles/describe'
import { explicitRole, roleOf } from '../roles/roles'
import { textWithFields } from '../roles/visible-text'
import { resolveOne } from '../targets/resolve'

/** Returns the visible links of the page or of an element, with those in shadow roots. */
export function links(argument: LinksArgument): LinksResult {
  const refs = new RefAllocator(argument.refs)
  const scope = argument.target === undefined ? document : resolveOne(argument.target, refs, false)
  const found: LinksResult['links'] = []
  const add = (link: Element): void => {
    const url = (link as HTMLAnchorElement).href
    if (typeof url === 'string' && isShown(link))
      found.push({ text: nameOf(link, 'link'), url, ref: refs.of(link) })
  }
  if (scope !== document && localName(scope as Element) === 'a') add(scope as Element)
  for (const root of [scope, ...shadowRoots(scope)])
    for (const link of queryAll(root, 'a[href], area[href]')) add(link)
  return { links: found, next: refs.next }
}

interface Cell {
  text: string
  header: boolean
}

/** Returns the table that is the target, is in it, or contains it. */
export function table(argument: TargetArgument): TableResult {
  const refs = new RefAllocator(argument.refs)
  const target = resolveOne(argument.target, refs, argument.strict ?? false)
  const isTable = (element: Element): boolean =>
    localName(element) === 'table' || /^(table|grid|treegrid)$/.test(explicitRole(element) ?? '')
  const element = isTable(target)
    ? target
    : (target.querySelector('table, [role="table"], [role="grid"], [role="treegrid"]') ??
      elementClosest(target, 'table, [role="table"], [role="grid"], [role="treegrid"]'))
  if (!element)
    throw new CallError(
      'ELEMENT_NOT_FOUND',
      `${tagOf(target)} is not a table, contains none, and is not in one`,
      {
        reason: 'not-a-table'
      }
    )
  const native = localName(element) === 'table' && (element as HTMLTableElement).rows.length > 0
  const { grid, headRows } = native ? nativeGrid(element as HTMLTableElement) : ariaGrid(element)
  const width = grid.reduce((most, row) => Math.max(most, row.length), 0)
  const texts = grid.map((row) =>
    Array.from({ length: width }, (_, column) => row[column]?.text ?? '')
  )
  const headers =
    headRows === 0
      ? []
      : Array.from({ length: width }, (_, column) => {
          const parts = texts.slice(0, headRows).map((row) => row[column])
          return parts
            .filter((part, index) => part !== '' && parts.indexOf(part) === index)
            .join(' / ')
        })
  const name = nameOf(element, 'table')
  const result: TableResult = { headers, rows: texts.slice(headRows), next: refs.next }
  return name === '' ? result : { caption: name, ...result }
}

/** Builds the grid of the HTML table model, in which a cell is in each slot that it spans. */
function nativeGrid(element: HTMLTableElement): { grid: Cell[][]; headRows: number } {
  const rows = Array.from(element.rows).filter(isShown)
  const grid: Cell[][] = rows.map(() => [])
  rows.forEach((row, top) => {
    let column = 0
    for (const cell of Array.from(row.cells)) {
      if (!isShown(cell)) continue
      while (grid[top][column]) column++
      const content: Cell = {
        text: normalize(textWithFields(cell)),
        header: localName(cell) === 'th'
      }
      // A cell never extends beyond its section. A rowspan of 0 extends to the end of the section.
      const section = rows.filter(
        (other, index) => index >= top && other.parentElement === row.parentElement
      ).length
      const height = cell.rowSpan === 0 ? section : Math.min(cell.rowSpan, section)
      for (let down = 0; down < height; down++)
        for (let right = 0; right < cell.colSpan; right++)
          grid[top + down][column + right] = content
      column += cell.colSpan
    }
  })
  let headRows = 0
  const inHead = (row: HTMLTableRowElement): boolean =>
    row.parentElement !== null && localName(row.parentElement) === 'thead'
  while (headRows < rows.length && inHead(rows[headRows])) headRows++
  if (headRows === 0)
    while (
      headRows < rows.length - 1 &&
      grid[headRows].length > 0 &&
      grid[headRows].every((cell) => cell.header)
    )
      headRows++
  return { grid, headRows }
}

/** Builds the grid of a table that has ARIA roles. Ignores `aria-rowspan`. */
function ariaGrid(element: Element): { grid: Cell[][]; headRows: number } {
  const grid: Cell[][] = []
  let headRows = 0
  for (const root of [element, ...shadowRoots(element)]) {
    for (const row of queryAll(root, '[role="row"]')) {
      if (!isShown(row)) continue
      const cells: Cell[] = []
      for (const cell of queryAll(
        row,
        '[role="cell"], [role="gridcell"], [role="columnheader"], [role="rowheader"]'
      )) {
        if (!isShown(cell)) continue
        const content = {
          text: normalize(textWithFields(cell)),
          header: attr(cell, 'role') === 'columnheader'
        }
        const span = parseInt(attr(cell, 'aria-colspan') ?? '1', 10) || 1
        for (let i = 0; i < span; i++) cells.push(content)
      }
      if (cells.length > 0 && cells.every((cell) => cell.header) && headRows === grid.length)
        headRows++
      grid.push(cells)
    }
  }
  return { grid, headRows }
}

/** Returns the title, the `meta` elements, JSON-LD and the headings of the page. */
export function metadata(): MetadataResult {
  const meta: Record<string, string> = {}
  for (const tag of queryAll(document, 'meta[content]')) {
    const key = attr(tag, 'property') ?? attr(tag, 'name') ?? attr(tag, 'itemprop')
    if (key && !(key in meta)) meta[key] = attr(tag, 'content') ?? ''
  }
  const jsonLd: unknown[] = []
  for (const script of queryAll(document, 'script[type="application/ld+json"]')) {
    try {
      jsonLd.push(JSON.parse(textContent(script)))
    } catch {
      // Invalid JSON is skipped.
    }
  }
  const headings: MetadataResult['headings'] = []
  for (const root of [document, ...shadowRoots(document)]) {
    for (const heading of queryAll(root, 'h1, h2, h3, h4, h5, h6, [role="heading"]')) {
      if (roleOf(heading) !== 'heading' || !isShown(heading)) continue
      const name = nameOf(heading, 'heading')
      if (name) headings.push({ level: levelOf(heading, 'heading'), text: name })
    }
  }
  const linked = (relation: string): HTMLLinkElement[] =>
    Array.from(queryAll(document, `link[rel~="${relation}" i][href]`)) as HTMLLinkElement[]
  const html = documentElement()
  return {
    title: documentTitle(),
    url: location.href,
    description: meta.description ?? meta['og:description'] ?? null,
    canonical: linked('canonical')[0]?.href ?? null,
    language:
      (html && attr(html, 'lang')) || (bodyOf() && attr(bodyOf() as Element, 'lang')) || null,
    charset: document.characterSet,
    meta,
    jsonLd,
    headings,
    icons: linked('icon').map((icon) => icon.href)
  }
}
