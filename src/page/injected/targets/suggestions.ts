/** Suggestions for a target without a match. */
import type { Match } from '../api'
import { attr, normalize, queryAll } from '../dom/composed-tree'
import { shadowRoots } from '../dom/css'
import type { RefGiver } from '../dom/refs'
import { isHiddenForAria } from '../dom/styles'
import { nameOf } from '../roles/accessible-name'
import { describeElement, tagOf } from '../roles/describe'
import { roleOf } from '../roles/roles'
import { parseRole, parseTarget } from './targets'

const candidates =
  'a[href], button, input, select, textarea, summary, [role], [onclick], [tabindex], [contenteditable], h1, h2, h3, h4, label, img, [id], [data-testid]'
const mostCandidates = 1500
const mostSuggestions = 5
/** Longer texts are not mistyped but remembered wrongly. */
const longestTyped = 40
/** What is less alike than this is no match at all; */
const leastLikeness = 0.52
/** something of the very role that is wanted says at least what there is; */
const sameRole = 0.4
/** and beside a good match a poor one is noise. */
const partOfBest = 0.7

interface Wanted {
  role: string
  words: string[]
}

/** The texts that a target speaks of: names, ids, classes. */
function wantedOf(target: string): Wanted {
  const wanted: Wanted = { role: '', words: [] }
  try {
    const parts = parseTarget(target)
    const part =
      [...parts].reverse().find(({ engine }) => engine !== 'nth' && engine !== 'visible') ??
      parts[0]
    if (part.engine === 'role') {
      const role = parseRole(part.body, target)
      wanted.role = role.role
      if (role.name?.needle) wanted.words.push(role.name.needle)
    } else if (part.engine === 'css' || part.engine === 'xpath') {
      for (const match of part.body.matchAll(
        /["']([^"']+)["']|[#.]([\w-]+)|\[[\w-]+\s*[*^$~|]?=\s*([^\]"']+)\]/g
      ))
        wanted.words.push(match[1] ?? match[2] ?? match[3])
      const tag = /^([a-z][\w-]*)$/i.exec(part.body)
      if (tag) wanted.words.push(tag[1])
    } else wanted.words.push(part.body.replace(/^["'/]|["'/]\w*$/g, ''))
  } catch {
    // A target that cannot be read has failed before.
  }
  wanted.words = wanted.words.map((word) => simplify(word)).filter((word) => word !== '')
  return wanted
}

const simplify = (text: string): string =>
  normalize(text.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[-_]+/g, ' ')).toLowerCase()

/** How alike two texts are, 0 to 1: one holds the other, they share pairs of letters, or few slips lie between them. */
function likeness(left: string, right: string): number {
  if (left === '' || right === '') return 0
  if (left === right) return 1
  const shorter = Math.min(left.length, right.length)
  const longer = Math.max(left.length, right.length)
  if (shorter >= 3 && (left.includes(right) || right.includes(left)))
    return 0.6 + 0.35 * (shorter / longer)
  if (shorter < 2) return 0
  const shared = Math.max(sharedPairs(left, right), sharedWords(left, right))
  return longer <= longestTyped && shorter / longer > 0.6
    ? Math.max(shared, 1 - slips(left, right) / longer)
    : shared
}

function sharedWords(left: string, right: string): number {
  const words = left.split(' ')
  const others = right.split(' ')
  const shared = words.filter((word) => word.length > 2 && others.includes(word)).length
  return shared === 0 ? 0 : 0.4 + (0.6 * shared) / Math.max(words.length, others.length)
}

function sharedPairs(left: string, right: string): number {
  const pairs = new Map<string, number>()
  for (let i = 0; i < left.length - 1; i++) {
    const pair = left.slice(i, i + 2)
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1)
  }
  let shared = 0
  for (let i = 0; i < right.length - 1; i++) {
    const pair = right.slice(i, i + 2)
    const left = pairs.get(pair) ?? 0
    if (left > 0) {
      pairs.set(pair, left - 1)
      shared++
    }
  }
  return (2 * shared) / (left.length + right.length - 2)
}

/** Letters to put in, to take away, to change or to swap with the next until one text is the other. */
function slips(left: string, right: string): number {
  let above: number[] = []
  let row = Array.from({ length: right.length + 1 }, (_, i) => i)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + same)
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1])
        next[j] = Math.min(next[j], above[j - 2] + 1)
    }
    above = row
    row = next
  }
  return row[right.length]
}

export function nearMatches(target: string, refs: RefGiver): Match[] {
  const wanted = wantedOf(target)
  if (wanted.words.length === 0 && wanted.role === '') return []
  const scored: { element: Element; score: number }[] = []
  const elements: Element[] = []
  for (const root of [document, ...shadowRoots(document)])
    for (const element of queryAll(root, candidates)) elements.push(element)
  for (const element of elements.slice(0, mostCandidates)) {
    const role = roleOf(element)
    let score = 0
    const labels = [
      nameOf(element, role),
      attr(element, 'id'),
      attr(element, 'data-testid'),
      attr(element, 'name'),
      attr(element, 'placeholder'),
      ...(attr(element, 'class') ?? '').split(' ')
    ]
    for (const label of labels) {
      if (!label || label.length > 200) continue
      for (const word of wanted.words) score = Math.max(score, likeness(word, simplify(label)))
    }
    if (score < leastLikeness) score = 0
    if (wanted.role !== '' && role === wanted.role)
      score = wanted.words.length === 0 ? 0.6 : Math.max(Math.min(score + 0.15, 1), sameRole)
    else if (wanted.role !== '' || role === 'generic') score *= 0.9
    if (score > 0) scored.push({ element, score })
  }
  scored.sort((left, right) => right.score - left.score)
  const found = new Map<string, Match>()
  let best = 0
  for (const { element, score } of scored) {
    if (score < best * partOfBest) break
    if (isHiddenForAria(element)) continue
    best = Math.max(best, score)
    const role = roleOf(element)
    const name = nameOf(element, role)
    // Of many that are called the same, one stands for all.
    const called = name === '' ? tagOf(element) : `${role} ${name}`
    if (found.has(called)) continue
    found.set(called, { ref: refs.of(element), description: describeElement(element, refs) })
    if (found.size === mostSuggestions) break
  }
  return [...found.values()]
}
