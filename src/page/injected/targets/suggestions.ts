/** Suggestions for targets without a match. */
import type { Match } from '../api'
import { attr, normalize, queryAll } from '../dom/composed-tree'
import { shadowRoots } from '../dom/css'
import type { RefAllocator } from '../dom/refs'
import { isHiddenForAria } from '../dom/styles'
import { nameOf } from '../roles/accessible-name'
import { describeElement, tagOf } from '../roles/describe'
import { roleOf } from '../roles/roles'
import { parseRole, parseTarget } from './targets'

const candidates =
  'a[href], button, input, select, textarea, summary, [role], [onclick], [tabindex], [contenteditable], h1, h2, h3, h4, label, img, [id], [data-testid]'
const maxCandidates = 1500
const maxSuggestions = 5
/** Maximum length of texts that are compared by edit distance. Longer ones are rarely mistyped. */
const maxEditDistanceLength = 40
/** Minimum score of a suggestion. */
const minScore = 0.52
/** Minimum score of an element with the requested role. */
const minRoleScore = 0.4
/** Suggestions whose score is less than this share of the best one are omitted. */
const minShareOfBest = 0.7

interface TargetQuery {
  role: string
  words: string[]
}

/** Returns the role and the texts in a target: names, ids, classes. */
function queryOf(target: string): TargetQuery {
  const query: TargetQuery = { role: '', words: [] }
  try {
    const parts = parseTarget(target)
    const part =
      [...parts].reverse().find(({ engine }) => engine !== 'nth' && engine !== 'visible') ??
      parts[0]
    if (part.engine === 'role') {
      const role = parseRole(part.body, target)
      query.role = role.role
      if (role.name?.needle) query.words.push(role.name.needle)
    } else if (part.engine === 'css' || part.engine === 'xpath') {
      for (const match of part.body.matchAll(
        /["']([^"']+)["']|[#.]([\w-]+)|\[[\w-]+\s*[*^$~|]?=\s*([^\]"']+)\]/g
      ))
        query.words.push(match[1] ?? match[2] ?? match[3])
      const tag = /^([a-z][\w-]*)$/i.exec(part.body)
      if (tag) query.words.push(tag[1])
    } else query.words.push(part.body.replace(/^["'/]|["'/]\w*$/g, ''))
  } catch {
    // An invalid target has already failed.
  }
  query.words = query.words.map((word) => simplify(word)).filter((word) => word !== '')
  return query
}

/** Returns the suggestion of an error that lists these elements in its details. */
export const adviceFor = (similar: Match[]): string | undefined =>
  similar.length === 0
    ? undefined
    : `Pass the ref of a similar element as \`selector\`: ${similar.map(({ ref }) => ref).join(' or ')}`

const simplify = (text: string): string =>
  normalize(text.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[-_]+/g, ' ')).toLowerCase()

/**
 * Returns the similarity of two texts, 0 to 1: whether one contains the other, the words and letter
 * pairs that they share, and their edit distance.
 */
function similarity(left: string, right: string): number {
  if (left === '' || right === '') return 0
  if (left === right) return 1
  const shorter = Math.min(left.length, right.length)
  const longer = Math.max(left.length, right.length)
  if (shorter >= 3 && (left.includes(right) || right.includes(left)))
    return 0.6 + 0.35 * (shorter / longer)
  if (shorter < 2) return 0
  const shared = Math.max(sharedPairs(left, right), sharedWords(left, right))
  return longer <= maxEditDistanceLength && shorter / longer > 0.6
    ? Math.max(shared, 1 - editDistance(left, right) / longer)
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

/** Returns the Damerau-Levenshtein distance of two texts. */
function editDistance(left: string, right: string): number {
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

export function similarElements(target: string, refs: RefAllocator): Match[] {
  const query = queryOf(target)
  if (query.words.length === 0 && query.role === '') return []
  const scored: { element: Element; score: number }[] = []
  const elements: Element[] = []
  for (const root of [document, ...shadowRoots(document)])
    for (const element of queryAll(root, candidates)) elements.push(element)
  for (const element of elements.slice(0, maxCandidates)) {
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
      for (const word of query.words) score = Math.max(score, similarity(word, simplify(label)))
    }
    if (score < minScore) score = 0
    if (query.role !== '' && role === query.role)
      score = query.words.length === 0 ? 0.6 : Math.max(Math.min(score + 0.15, 1), minRoleScore)
    else if (query.role !== '' || role === 'generic') score *= 0.9
    if (score > 0) scored.push({ element, score })
  }
  scored.sort((left, right) => right.score - left.score)
  const found = new Map<string, Match>()
  let best = 0
  for (const { element, score } of scored) {
    if (score < best * minShareOfBest) break
    if (isHiddenForAria(element)) continue
    best = Math.max(best, score)
    const role = roleOf(element)
    const name = nameOf(element, role)
    // One of several elements with the same name is enough.
    const key = name === '' ? tagOf(element) : `${role} ${name}`
    if (found.has(key)) continue
    found.set(key, { ref: refs.of(element), description: describeElement(element, refs) })
    if (found.size === maxSuggestions) break
  }
  return [...found.values()]
}
