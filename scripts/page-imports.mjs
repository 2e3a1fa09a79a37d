// Checks the imports in src/page/injected: each folder imports only from itself, from the folders
// before it in this list and from api.ts, and the files have no import cycles.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDERS = [
  'dom',
  'roles',
  'tree',
  'targets',
  'snapshot',
  'actions',
  'reads',
  'storage',
  'playwright'
]
const ROOT = fileURLToPath(new URL('../src/page/injected/', import.meta.url))
const TOP = ['index.ts', 'prelude.ts', 'playwright.ts']

/**
 * Returns the position of a file in the order: api.ts, then the folders, then the entry points.
 * @param {string} file
 */
function layerOf(file) {
  if (file === 'api.ts') return -1
  return TOP.includes(file) ? FOLDERS.length : FOLDERS.indexOf(file.split('/')[0])
}

/** @type {Map<string, string[]>} */
const imports = new Map()
for (const found of readdirSync(ROOT, { recursive: true, encoding: 'utf8' })) {
  if (!found.endsWith('.ts')) continue
  const file = found.replaceAll(path.sep, '/')
  const code = readFileSync(path.join(ROOT, found), 'utf8')
  const modules = [...code.matchAll(/^(?:import|export|\}) .*?['"](\.[^'"]+)['"]$/gm)]
  imports.set(
    file,
    modules.map(([, module]) => `${path.posix.join(path.posix.dirname(file), module)}.ts`)
  )
}

/** @type {string[]} */
const problems = []
for (const [file, used] of imports) {
  if (file !== 'api.ts' && layerOf(file) < 0)
    problems.push(`${file}: its folder is not in the list of scripts/page-imports.mjs`)
  for (const other of used) {
    if (!imports.has(other)) problems.push(`${file} imports ${other}, which does not exist`)
    else if (layerOf(other) > layerOf(file) || (TOP.includes(other) && !TOP.includes(file)))
      problems.push(`${file} imports ${other}, which is in a later folder`)
  }
}

const done = new Set()
/** Visits the imports of a file depth first. @param {string} file @param {string[]} ancestors */
function findCycles(file, ancestors) {
  if (ancestors.includes(file))
    problems.push(`cycle: ${[...ancestors.slice(ancestors.indexOf(file)), file].join(' → ')}`)
  if (done.has(file) || ancestors.includes(file)) return
  for (const other of imports.get(file) ?? []) findCycles(other, [...ancestors, file])
  done.add(file)
}
for (const file of imports.keys()) findCycles(file, [])

if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
}
